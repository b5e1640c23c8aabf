"""Draw data sets from the priors of the two mixtures for real data, beside real standardised data.

python examples/prior_predictive.py --out prior_predictive.png
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pyro import poutine
from torch import Tensor

from pyroclust import read_table, standardise
from pyroclust.models import nig_mixture, niw_mixture

COLOURS = matplotlib.colormaps["tab10"]
LIMIT = 4.0


def simulate(
    model: Callable[[Tensor], Tensor], num_datasets: int, num_points: int, dim: int
) -> list[tuple[Tensor, Tensor]]:
    """Draw data sets and their partitions from a model's prior."""
    program = poutine.uncondition(model)
    found = []
    for _ in range(num_datasets):
        nodes = poutine.trace(program).get_trace(torch.empty(num_points, dim)).nodes
        found.append((nodes["data"]["value"], nodes["assignments"]["value"]))
    return found


def draw_points(axes: Axes, data: Tensor, colours: list[Any]) -> None:
    """Draw one data set, a colour a point: a stacked histogram in one dimension, a scatter plot in two."""
    if data.shape[-1] == 1:
        kinds = list(dict.fromkeys(colours))
        parts = [
            [x for x, colour in zip(data[:, 0].tolist(), colours, strict=True) if colour == k] for k in kinds
        ]
        axes.hist(parts, bins=40, range=(-LIMIT, LIMIT), stacked=True, color=kinds)
    else:
        axes.scatter(*data.T.numpy(), s=6, c=colours)
        axes.set(ylim=(-LIMIT, LIMIT), aspect="equal")
    axes.set(xlim=(-LIMIT, LIMIT), xticks=(-2, 0, 2), yticks=() if data.shape[-1] == 1 else (-2, 0, 2))


def draw_row(row: list[Axes], source: str, model: Callable[[Tensor], Tensor]) -> None:
    """Draw a real data set in grey, then as many simulated ones of its size as fit."""
    real = torch.tensor(standardise(read_table(source)).data)
    draw_points(row[0], real, ["0.4"] * len(real))
    row[0].set_title(f"{source}, standardised", fontsize=8)
    for axes, (data, assignments) in zip(row[1:], simulate(model, len(row) - 1, *real.shape), strict=True):
        draw_points(axes, data, [COLOURS(k % 10) for k in assignments.tolist()])
        outside = int((data.abs() > LIMIT).any(-1).sum())
        note = f", {outside} of {len(data)} outside" if outside else ""
        axes.set_title(f"K = {int(assignments.max()) + 1}{note}", fontsize=8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("prior_predictive.png"))
    parser.add_argument("--datasets", type=int, default=7, help="simulated data sets a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    rows = [("galaxies", nig_mixture(1)), ("iris", niw_mixture(2))]
    columns = 1 + arguments.datasets
    figure = Figure(figsize=(1.9 * columns, 2.1 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for line, (source, model) in zip(grid, rows, strict=True):
        draw_row(list(line), source, model)
        line[0].set_ylabel(f"{model.name} prior", fontsize=8)
    figure.savefig(arguments.out, dpi=110)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
