"""The section that lists the rows of the data with their clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyroclust.report.parts import RowColumn, Section, rows_table
from pyroclust.report.words import number
from pyroclust.results.comparison import GuideOnData
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.draws_summary import Estimate

__all__ = ["compared_rows", "diagnosed_rows"]


def compared_rows(compared: GuideOnData, estimates: Mapping[str, Estimate]) -> Section:
    """List the rows in the units of the table, with their cluster and uncertainty by each source.

    Args:
        compared: the data.
        estimates: point estimates by what their source is called.
    """
    values = compared.data * compared.scale + compared.location
    names = compared.row_names or tuple(str(row + 1) for row in range(len(values)))
    columns = _table(values, compared.columns, compared.true_labels)
    return _rows(names, columns, estimates, elsewhere="assignments.csv")


def diagnosed_rows(found: Diagnosis) -> Section:
    """List the points, with their columns where there is a table, and their cluster by each source.

    Args:
        found: the diagnosis.
    """
    table = found.table
    columns = [] if table is None else _table(table.data, table.columns, table.labels)
    estimates = {one.name: one.estimate for one in found.summaries}
    return _rows(found.point_names, columns, estimates, elsewhere="points.csv")


def _table(
    values: np.ndarray, names: Sequence[str], labels: Sequence[Any] | np.ndarray | None
) -> list[RowColumn]:
    columns = [RowColumn(name, values[:, place], "{:.6g}".format) for place, name in enumerate(names)]
    return columns if labels is None else [*columns, RowColumn("known label", labels)]


def _rows(
    names: Sequence[str], columns: list[RowColumn], estimates: Mapping[str, Estimate], *, elsewhere: str
) -> Section:
    columns = [RowColumn("row", names), *columns]
    for source, estimate in estimates.items():
        columns.append(RowColumn(f"cluster, {source}", np.asarray(estimate.assignments) + 1))
        columns.append(RowColumn(f"uncertainty, {source}", estimate.uncertainty, _two_digits))
    caption = "Each row with its cluster in the point estimate, and the probability of being apart from it."
    return Section(
        "Every row",
        (rows_table(caption, columns, elsewhere=elsewhere),),
        gist=f"All {len(names):,} rows with their clusters and uncertainties",
    )


def _two_digits(value: float) -> str:
    return number(value, 2)
