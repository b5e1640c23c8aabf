"""The table's rows: each with its clusters, and what missing cells may hold."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.plots.names import counted
from pyroclust.report.parts import FigureTable, Picture, Section
from pyroclust.report.words import axis_names, interval, number
from pyroclust.results.analysis import Analysis
from pyroclust.results.missing_cells import ColumnOfMissing, MissingCells
from pyroclust.text import short, visible

__all__ = ["RowColumn", "missing_section", "rows_section", "rows_table"]

# A page stays below 3 MB whatever the data.
_MOST_ROWS, _MOST_CELLS, _LONGEST_CELL = 2000, 24_000, 60
_MOST_COLUMNS, _MOST_MISSING, _MOST_LEVELS = 4, 20, 6


class RowColumn(NamedTuple):
    """One column of a table of rows, and what turns a value into text."""

    title: str
    values: Sequence[Any] | np.ndarray
    write: Callable[[Any], str] = str


def rows_table(caption: str, columns: Sequence[RowColumn]) -> FigureTable:
    """Return a table of at most 2000 rows and 24,000 cells."""
    lengths = {len(column.values) for column in columns}
    if len(lengths) != 1:
        raise ValueError(f"columns have lengths {sorted(lengths)}, expected one length")
    num_rows = lengths.pop()
    shown = min(num_rows, _MOST_ROWS, max(1, _MOST_CELLS // len(columns)))
    cells = [
        [short(write(values[row]), _LONGEST_CELL) for row in range(shown)] for _, values, write in columns
    ]
    header = tuple(short(column.title, _LONGEST_CELL) for column in columns)
    return FigureTable(caption, header, tuple(zip(*cells, strict=True)), of_rows=num_rows)


def rows_section(found: Analysis) -> Section:
    """List the rows in the units of the table, with their cluster and uncertainty by each source."""
    names, data = found.row_names, found.data
    columns = [RowColumn("row", names, visible)]
    if data is not None:
        written = data.clustered.written() if data.shape is None else ()
        columns += [RowColumn(title, values, _cell) for title, values in written]
        known = data.table.labels
        columns += [] if known is None else [RowColumn("known label", known, _cell)]
    for key, estimate in found.estimates.items():
        name = found.summary(key).name
        columns.append(RowColumn(f"cluster, {name}", np.asarray(estimate.assignments) + 1))
        columns.append(
            RowColumn(f"uncertainty, {name}", estimate.uncertainty, lambda value: number(value, 2))
        )
    caption = "Each row with its cluster in the point estimate, and the probability of being apart from it."
    gist = f"All {len(names):,} rows with their clusters and uncertainties"
    return Section("Every row", (rows_table(caption, columns),), gist=gist)


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def missing_section(found: Analysis, missing: MissingCells) -> Section:
    """Show the posterior predictive of the missing cells, by column and cell by cell."""
    cells = sum(len(column.rows) for column in missing.columns)
    shown = sorted(missing.columns, key=lambda column: -len(column.rows))[:_MOST_COLUMNS]
    picture = Picture(
        lambda figure: _draw_missing(figure, shown),
        size=(9, 3.4),
        alternative=f"Posterior predictive of the missing cells in {len(shown)} column(s).",
        caption="Each line is a missing cell. For numbers and counts it spans 95 % of the draws, the mark "
        "being their mean, above a histogram of the cells that are there; for others the bar is divided "
        "among the categories. A line as wide as the histogram says that the rest of the row tells nothing.",
    )
    table = FigureTable(
        f"The first {min(_MOST_MISSING, cells)} of {counted(cells, 'missing cell')}, by {missing.drawn_by}; "
        "pyroclust.missing_cells has all of them. None was filled in for the clustering.",
        ("row", "column", "may hold"),
        tuple(
            (str(row), str(column), _may_hold(*rest))
            for row, column, *rest in missing.frame().head(_MOST_MISSING).itertuples(index=False)
        ),
    )
    return Section("What the missing cells may hold", (picture, table), gist=counted(cells, "cell"))


def _draw_missing(figure: Figure, shown: Sequence[ColumnOfMissing]) -> None:
    for ax, column in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
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
    return f"{number(mean)} ({interval(low, high)})"
