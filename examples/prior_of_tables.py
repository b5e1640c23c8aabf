"""Draw tables from the prior of the mixture for columns of every kind, a colour a cluster.

A row a kind of column. First comes what clusters of the prior are like, then one column of each simulated
table: clusters are seen to differ, and none to be spread over all that there is.

python examples/prior_of_tables.py --out prior_of_tables.png
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pyro import poutine

from pyroclust.models import Mixture, table_mixture

COLOURS = matplotlib.colormaps["tab10"]
MEAN = 2.0


def simulate(model: Mixture, num_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw one table and its partition from the prior."""
    template = torch.empty(num_points, model.component.dim)
    nodes = poutine.trace(poutine.uncondition(model)).get_trace(template).nodes
    return nodes["data"]["value"].numpy(), nodes["assignments"]["value"].numpy()


def draw_column(axes: Axes, values: np.ndarray, labels: np.ndarray, edges: np.ndarray) -> None:
    """Draw a histogram of a column, divided among the clusters."""
    parts = [values[labels == k] for k in range(labels.max() + 1)]
    axes.hist(parts, bins=edges, stacked=True, color=[COLOURS(k % 10) for k in range(len(parts))])
    axes.set(yticks=(), title=f"K = {len(parts)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("prior_of_tables.png"))
    parser.add_argument("--datasets", type=int, default=6, help="simulated tables a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    rows = {
        "number (standardised)": (table_mixture(numbers=1, missing=True), np.linspace(-4, 4, 41)),
        f"count with mean {MEAN:g}": (table_mixture(count_means=[MEAN]), np.arange(-0.5, 16)),
        "yes/no": (table_mixture(yes_no=1), np.arange(-0.5, 2)),
        "category of five": (table_mixture(levels=[5]), np.arange(-0.5, 5)),
    }
    means = {
        "a cluster's mean": lambda drawn: drawn["0.loc"].flatten().numpy(),
        "a cluster's mean count": lambda drawn: drawn["intensity"].flatten().numpy(),
        "a cluster's share of yes": lambda drawn: drawn["probs"].flatten().numpy(),
        "largest share of a cluster": lambda drawn: drawn["probs_0"].max(-1).values.flatten().numpy(),
    }
    figure = Figure(figsize=(1.8 * (1 + arguments.datasets), 2.0 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), 1 + arguments.datasets, squeeze=False)
    for line, (name, (model, edges)), (title, mean) in zip(grid, rows.items(), means.items(), strict=True):
        drawn = mean(model.component.sample_prior((4000,)))
        line[0].hist(np.clip(drawn, edges[0], edges[-1]), bins=40, color="0.5")
        line[0].set(title=title, ylabel=name, yticks=())
        for axes in line[1:]:
            draw_column(axes, *(one.squeeze() for one in simulate(model, 200)), edges)
    for axes in grid.ravel():
        axes.title.set_fontsize(8)
        axes.yaxis.label.set_fontsize(8)
    figure.savefig(arguments.out, dpi=110)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
