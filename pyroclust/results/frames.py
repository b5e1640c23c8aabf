"""Points as data frames: what the CSV files hold."""

from collections.abc import Mapping

import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.results.draws_summary import Estimate
from pyroclust.text import spreadsheet_cell

__all__ = ["csv_text", "with_estimates", "with_table"]


def csv_text(frame: pd.DataFrame) -> str:
    """Write a data frame as CSV that every reader divides alike and no spreadsheet runs.

    Numbers are written as pandas does; text as :func:`pyroclust.text.spreadsheet_cell` does.

    Args:
        frame: columns of numbers, and of text or ``None``.

    Example:
        >>> print(csv_text(pd.DataFrame({"row": ["=1+1", "b"], "width": [0.5, 2.0]})))
        row,width
        '=1+1,0.5
        b,2.0
        <BLANKLINE>
    """
    columns = [
        ["" if pd.isna(one) else str(one) for one in column.tolist()]
        if pd.api.types.is_numeric_dtype(column.dtype)
        else ["" if pd.isna(one) else spreadsheet_cell(str(one)) for one in column]
        for column in (frame.iloc[:, place] for place in range(frame.shape[1]))
    ]
    rows = [[spreadsheet_cell(str(name)) for name in frame.columns], *zip(*columns, strict=True)]
    return "".join(",".join(row) + "\n" for row in rows)


def with_table(frame: pd.DataFrame, table: Table | None) -> pd.DataFrame:
    """Add the columns and the label of a table as given.

    Args:
        frame: names of the points.
        table: the points, or ``None``.
    """
    if table is None:
        return frame
    parts: list[pd.DataFrame | pd.Series] = [frame, pd.DataFrame(table.data, columns=list(table.columns))]
    if table.labels is not None:
        parts.append(pd.Series(table.labels, name="label", dtype=object))
    return pd.concat(parts, axis=1)


def with_estimates(frame: pd.DataFrame, estimates: Mapping[str, Estimate]) -> pd.DataFrame:
    """Add cluster and uncertainty of each point by every source.

    Clusters are those of the point estimates, numbered from 0 in order of first appearance; ``uncertainty``
    is the probability of being apart from the companions in that cluster.

    Args:
        frame: one row a point.
        estimates: by the name of their source.
    """
    found = {
        f"{source}_{column}": values
        for source, estimate in estimates.items()
        for column, values in (("cluster", estimate.assignments), ("uncertainty", estimate.uncertainty))
    }
    return pd.concat([frame, pd.DataFrame(found)], axis=1)
