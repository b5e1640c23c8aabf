"""Several rows of one unit as one row: means, most frequent values, and how many rows there were."""

import numpy as np
import pandas as pd

from pyroclust.data.columns import Column, RawTable
from pyroclust.data.roles import names_things
from pyroclust.delimited import Cells
from pyroclust.text import listed, short

__all__ = ["aggregated"]

_ROWS = "rows"


def aggregated(raw: RawTable, place: int, *, counts_rows: bool | None = None) -> RawTable:
    """Return a table with a row for each value of a column, which become the names of the rows."""
    units = raw.columns[place].labels()
    if lost := sum(unit is None for unit in units):
        raise ValueError(
            f"aggregate is '{short(raw.names[place], 60)}', and {lost} row(s) have no value there, expected "
            "one in each row"
        )
    codes, found = pd.factorize(pd.Series(units))
    names: list[str] = []
    columns: list[Column] = []
    left = []
    for at, (name, column) in enumerate(zip(raw.names, raw.columns, strict=True)):
        values = column.numbers_or_none()
        if at == place:
            continue
        if values is not None and names_things(name, values[np.isfinite(values)]):
            left.append(name)
            continue
        if values is not None:
            merged = Column(pd.Series(values).groupby(codes).mean(), unit=column.unit)
        else:
            cells = pd.Series(column.labels()).groupby(codes).agg(lambda some: some.mode(dropna=True).get(0))
            merged = Column(Cells(cells.fillna("")), only_empty=column.only_empty)
        names.append(name)
        columns.append(merged)
    times = np.bincount(codes)
    if counts_rows or (counts_rows is None and times.min() < times.max()):
        names.append(_ROWS if _ROWS not in names else f"{_ROWS} of {raw.names[place]}")
        columns.append(Column(pd.Series(times)))
    said = (
        f"The {raw.num_rows:,} rows are those of {len(found):,} '{short(raw.names[place], 60)}', each of "
        "which is one row: means of numbers, most frequent values of text."
    )
    if left:
        said += f" Left out, as they name other things: {listed(left)}."
    return RawTable(tuple(names), tuple(columns), len(found), tuple(map(str, found)), (*raw.notes, said))
