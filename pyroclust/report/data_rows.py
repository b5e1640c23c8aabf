"""The section that lists the data's rows with their clusters."""

from collections.abc import Mapping

import numpy as np

from pyroclust.comparison import Estimate, GuideOnData
from pyroclust.report.parts import RowColumn, Section, rows_table
from pyroclust.report.words import number

__all__ = ["data_rows"]


def data_rows(compared: GuideOnData, estimates: Mapping[str, Estimate]) -> Section:
    """List the rows in the units of the table, with their cluster and uncertainty by each source.

    Args:
        compared: the data.
        estimates: point estimates by what their source is called.
    """
    values = compared.data * compared.scale + compared.location
    names = compared.row_names or tuple(str(row + 1) for row in range(len(values)))
    columns = [RowColumn("row", names)]
    columns += [
        RowColumn(name, values[:, place], "{:.6g}".format) for place, name in enumerate(compared.columns)
    ]
    if compared.true_labels is not None:
        columns.append(RowColumn("known label", compared.true_labels))
    for source, estimate in estimates.items():
        columns.append(RowColumn(f"cluster, {source}", np.asarray(estimate.assignments) + 1))
        columns.append(RowColumn(f"uncertainty, {source}", estimate.uncertainty, _two_digits))
    caption = "Each row with its cluster in the point estimate, and the probability of being apart from it."
    return Section(
        "Every row",
        (rows_table(caption, columns),),
        gist=f"All {len(values):,} rows with their clusters and uncertainties",
    )


def _two_digits(value: float) -> str:
    return number(value, 2)
