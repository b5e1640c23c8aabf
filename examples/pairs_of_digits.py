"""Six hundred small data sets in one call: do two digits of one hand fall apart, and where is that sure?

Thirteen people filled in fourteen forms with digits, the same ones in the same order. The images of two
digits on one form, 26 or so, are a data set: their first two principal components. `cluster_many` clusters
all 630 of them, and is not told which digit an image is. The figure has the adjusted Rand index to the
digits, by pair, and by how many of its rows the posterior of a data set is certain.

python examples/pairs_of_digits.py --out pairs_of_digits.png
"""

import argparse
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from pyroclust import cluster_many
from pyroclust.plots import CYCLE, new_figure, style

# What every form asks for after three times 0 to 9.
_ON_EVERY_FORM, _BEFORE = "0955650989841773", 30


def forms_of(digits: np.ndarray) -> np.ndarray:
    """Return the number of the form of each image, from 0, by what the forms ask for."""
    found = re.finditer(_ON_EVERY_FORM, "".join(map(str, digits)))
    begins = [one.start() - _BEFORE for one in found]
    return np.searchsorted(begins, np.arange(len(digits)), side="right") - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("pairs_of_digits.png"))
    parser.add_argument("--forms", type=int, default=14)
    parser.add_argument("--draws", type=int, default=100, help="of each data set")
    options = parser.parse_args()

    images, digits = load_digits(return_X_y=True)
    form, sets, truth, pairs = forms_of(digits), {}, {}, {}
    for number in range(options.forms):
        for pair in combinations(range(10), 2):
            rows = np.flatnonzero((form == number) & np.isin(digits, pair))
            name = f"{pair[0]} and {pair[1]} on form {number + 1}"
            sets[name], truth[name], pairs[name] = PCA(2).fit_transform(images[rows]), digits[rows], pair
    found = cluster_many(sets, num_draws=options.draws, budget=0, progress=print)
    scores = pd.Series({name: adjusted_rand_score(truth[name], found.estimate(name)[0]) for name in found})
    by_pair = scores.groupby(pd.Series(pairs)).mean()
    by_certainty = scores.groupby(
        pd.cut(found.summaries["certain_rows"], np.linspace(0, 1, 6), include_lowest=True)
    )
    print(found)
    print(f"Adjusted Rand index {scores.mean():.2f}; of {by_pair.idxmin()} {by_pair.min():.2f}")

    with style():
        figure = new_figure(11, 5)
        left, right = figure.subplots(1, 2)
        grid = np.full((10, 10), np.nan)
        for (first, second), score in by_pair.items():
            grid[second, first] = score
            left.text(first, second, f"{100 * score:.0f}", ha="center", va="center", fontsize=8)
        left.imshow(grid, cmap="Blues", vmin=0, vmax=1.4)
        left.set(xticks=range(9), yticks=range(1, 10), xlim=(-0.5, 8.5), ylim=(9.5, 0.5))
        left.set(xlabel="digit", ylabel="digit")
        left.set_title("Adjusted Rand index to the digits, in percent")
        for place, (_, some) in enumerate(by_certainty):
            spread = np.linspace(-0.3, 0.3, len(some)) if len(some) > 1 else np.zeros(len(some))
            right.plot(place + spread, some.sort_values(), "o", color=CYCLE[0], ms=2.5, alpha=0.5)
            right.plot([place - 0.35, place + 0.35], [some.mean()] * 2, color=CYCLE[1], lw=2)
        right.set_xticks(range(5), ["0-20", "20-40", "40-60", "60-80", "80-100"])
        right.set(xlabel="certain rows of a data set, percent", ylabel="adjusted Rand index")
        right.set_title("A mark is a data set; lines are means")
        figure.savefig(options.out)
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
