"""The section that lists the rows of the data with their clusters."""

import numpy as np

from pyroclust.report.parts import RowColumn, Section, rows_table
from pyroclust.report.words import number
from pyroclust.results.analysis import Analysis
from pyroclust.text import visible

__all__ = ["rows_section"]


def rows_section(found: Analysis) -> Section:
    """List the rows in the units of the table, with their cluster and uncertainty by each source."""
    names, own, data = found.row_names, found.reference, found.data
    columns = [RowColumn("row", names, visible)]
    if data is not None:
        columns += [RowColumn(title, values, _cell) for title, values in data.written]
        columns += [] if data.labels is None else [RowColumn("known label", data.labels, _label)]
    for source in (own, *(one for one in found.sources if one.key != own.key)):
        estimate = source.summary.estimate
        if estimate is None:
            continue
        columns.append(RowColumn(f"cluster, {source.name}", np.asarray(estimate.assignments) + 1))
        columns.append(RowColumn(f"uncertainty, {source.name}", estimate.uncertainty, _two_digits))
    caption = "Each row with its cluster in the point estimate, and the probability of being apart from it."
    return Section(
        "Every row",
        (rows_table(caption, columns),),
        gist=f"All {len(names):,} rows with their clusters and uncertainties",
    )


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return visible(value) if isinstance(value, str) else f"{value:.6g}"


def _label(label: object) -> str:
    return "" if label is None else visible(str(label))


def _two_digits(value: float) -> str:
    return number(value, 2)
