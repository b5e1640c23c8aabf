"""Twenty questions about wines: the pairs that tell most, beside pairs at random.

178 Italian wines of three grapes, on two principal components. Draws of the posterior of a Gaussian mixture
say which two wines to ask about ("the same grape?"), the answer becomes a constraint, and the posterior is
drawn anew. The figure has the questions, and the adjusted Rand index to the grapes by the number of answers.

python examples/asking.py --out asking.png
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from pyroclust.diagnostics import most_informative_pairs, point_estimate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, MergeSplit
from pyroclust.models import table_mixture
from pyroclust.plots import CYCLE, GREY, INK, new_figure, plot_clustering, style

Choose = Callable[[np.ndarray], np.ndarray]


def asked(
    points: np.ndarray, classes: np.ndarray, choose: Choose, *, answers: int, draws: int, seed: int
) -> tuple[list[float], np.ndarray]:
    """Ask one pair after the other; return the score after each answer, and the pairs, ``(answers, 2)``."""
    model = table_mixture(numbers=points.shape[1])
    pairs, scores = np.empty((0, 2), dtype=np.int64), []
    while True:
        same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
        known = model.constrained(must_link=pairs[same], cannot_link=pairs[~same])
        kernel = Compose([MergeSplit(known), CollapsedGibbs(known)])
        found = kernel.run(points, num_draws=draws, warmup=draws, num_chains=4, seed=seed + len(pairs))
        scores.append(float(adjusted_rand_score(classes, point_estimate(found, seed=0))))
        if len(pairs) == answers:
            return scores, pairs
        pairs = np.concatenate([pairs, choose(found)])


def draw_questions(ax: Axes, points: np.ndarray, classes: np.ndarray, pairs: np.ndarray) -> None:
    """Draw the points by their classes, and a line for each question."""
    columns = ("first component", "second component")
    plot_clustering(points, classes, np.zeros(len(points)), ax=ax, columns=columns)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    for answer, dashes, label in ((True, "-", "yes"), (False, "--", "no")):
        ax.add_collection(
            LineCollection(points[pairs[same == answer]], colors=INK, linestyles=dashes, lw=0.8)
        )
        ax.plot([], [], dashes, color=INK, lw=0.8, label=label)
    ax.set_title("The questions; colours are grapes")
    ax.legend(title="same grape?", loc="lower left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("asking.png"))
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--draws", type=int, default=250, help="of each of four chains, for every question")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    wines = load_wine()
    points, classes = PCA(2).fit_transform(scale(wines.data)), wines.target
    points /= points.std()
    rng = np.random.default_rng(0)
    ways: dict[str, Choose] = {
        "most informative": lambda draws: most_informative_pairs(draws).pairs,
        "at random": lambda draws: rng.choice(len(points), (1, 2), replace=False),
    }
    with style():
        figure = new_figure(11, 5)
        left, right = figure.subplots(1, 2)
        for (name, choose), colour in zip(ways.items(), (CYCLE[0], GREY), strict=True):
            runs = [
                asked(points, classes, choose, answers=options.answers, draws=options.draws, seed=1000 * one)
                for one in range(options.repeats)
            ]
            scores = np.array([found for found, _ in runs])
            right.plot(scores.T, color=colour, lw=0.6, alpha=0.5)
            right.plot(scores.mean(0), color=colour, label=name)
            print(f"{name:16}: {scores[:, 0].mean():.2f} before, {scores[:, -1].mean():.2f} after")
            if colour != GREY:
                draw_questions(left, points, classes, runs[0][1])
        right.set(xlabel="answers", ylabel="adjusted Rand index to the grapes")
        right.set_title(f"Thick: mean of {options.repeats}")
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        right.legend(loc="lower right")
        figure.savefig(options.out)
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
