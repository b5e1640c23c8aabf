"""The section that says what the missing cells may hold."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.plots.names import counted
from pyroclust.report.parts import FigureTable, Picture, Section
from pyroclust.report.words import axis_names, number
from pyroclust.results.missing_cells import ColumnOfMissing, MissingCells

__all__ = ["missing_section"]

_MOST_COLUMNS, _MOST_CELLS, _MOST_LEVELS = 4, 20, 6


def missing_section(missing: MissingCells) -> Section:
    """Show the posterior predictive of the missing cells, by column and cell by cell."""
    cells = sum(len(one.rows) for one in missing.columns)
    shown = sorted(missing.columns, key=lambda one: -len(one.rows))[:_MOST_COLUMNS]
    picture = Picture(
        lambda figure: _draw(figure, shown),
        size=(9, 3.4),
        alternative=f"Posterior predictive of the missing cells in {len(shown)} column(s).",
        caption="Each line is a missing cell. For numbers and counts it spans 95 % of the draws, the mark "
        "being their mean, above a histogram of the cells that are there; for others the bar is divided "
        "among the categories. A line as wide as the histogram says that the rest of the row tells nothing.",
    )
    frame = missing.frame()
    table = FigureTable(
        f"The first {min(_MOST_CELLS, cells)} of {counted(cells, 'missing cell')}, by {missing.drawn_by}; "
        "pyroclust.missing_cells has all of them. None was filled in for the clustering.",
        ("row", "column", "may hold"),
        tuple(
            (str(row), str(column), _may_hold(*rest))
            for row, column, *rest in frame.head(_MOST_CELLS).itertuples(index=False)
        ),
    )
    return Section("What the missing cells may hold", (picture, table), gist=counted(cells, "cell"))


def _draw(figure: Figure, shown: list[ColumnOfMissing]) -> None:
    axes: list[Axes] = list(figure.subplots(1, len(shown), squeeze=False)[0])
    for ax, column in zip(axes, shown, strict=True):
        name = axis_names((column.name,))[0]
        if not column.levels:
            plots.plot_missing_numbers(column.draws, column.observed, ax=ax, column=name)
            continue
        shares, levels = column.probabilities, column.levels
        if len(levels) > _MOST_LEVELS:
            # Colours for more could not be told apart.
            order = shares.mean(0).argsort()[::-1]
            kept, rest = order[: _MOST_LEVELS - 1], order[_MOST_LEVELS - 1 :]
            levels = (*(levels[one] for one in kept), f"{len(rest)} others")
            shares = np.column_stack([shares[:, kept], shares[:, rest].sum(1)])
        plots.plot_missing_levels(shares, levels, ax=ax, column=name)


def _may_hold(mean: float, low: float, high: float, likeliest: str | float, probability: float) -> str:
    if isinstance(likeliest, str):
        return f"{likeliest} ({probability:.0%})"
    return f"{number(mean, 3)} ({number(low, 3)} to {number(high, 3)})"
