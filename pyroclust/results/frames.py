"""Points as data frames: what the CSV files hold."""

from collections.abc import Mapping

import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.results.draws_summary import Estimate
from pyroclust.text import spreadsheet_cell

__all__ = ["csv_text", "points_frame"]


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


def points_frame(names: pd.Series, table: Table | None, estimates: Mapping[str, Estimate]) -> pd.DataFrame:
    """Return one row a point: its name, columns and labels as given, cluster and uncertainty by every source.

    Clusters are those of the point estimates, numbered from 0 in order of first appearance; ``uncertainty``
    is the probability of being apart from the companions in that cluster. A column of the table that is
    called as another one here has "(given)" after its name. Pixels and samples are no columns of the frame.

    Args:
        names: of the points, itself with a name.
        table: the points, or ``None``.
        estimates: by the name of their source.
    """
    found = {
        f"{source}_{column}": values
        for source, estimate in estimates.items()
        for column, values in (("cluster", estimate.assignments), ("uncertainty", estimate.uncertainty))
    }
    parts: list[pd.DataFrame | pd.Series] = [names.to_frame()]
    if table is not None:
        ours, columns = {str(names.name), "label", "partial_label", *found}, list[str]()
        for name in table.columns if table.shape is None else ():
            while name in ours or (name in columns):
                name += " (given)"
            columns.append(name)
        if table.shape is None:
            cells = dict(zip(columns, (values for _, values in table.written()), strict=True))
            parts.append(pd.DataFrame(cells, index=names.index, columns=columns))
        if table.labels is not None:
            parts.append(pd.Series(table.labels, name="label", dtype=object))
        if table.partial_labels is not None:
            parts.append(pd.Series(table.partial_labels, name="partial_label", dtype=object))
    return pd.concat([*parts, pd.DataFrame(found)], axis=1)
