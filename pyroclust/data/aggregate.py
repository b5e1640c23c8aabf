"""Several rows of one unit as one row: means, most frequent values, and how many rows there were."""

import numpy as np
import pandas as pd

from pyroclust.data.columns import Column, RawTable, SeriesColumn
from pyroclust.data.roles import names_things
from pyroclust.text import listed, short

__all__ = ["aggregated"]

_ROWS = "rows"


def aggregated(raw: RawTable, place: int, *, counts_rows: bool | None = None) -> RawTable:
    """Return a table with a row for each value of a column, which become the names of the rows."""
    name, units = short(raw.names[place], 60), raw.columns[place].labels()
    if any(unit is None for unit in units):
        raise ValueError(
            f"aggregate is '{name}', and {sum(unit is None for unit in units)} row(s) have no value there, "
            "expected one in each row"
        )
    codes, found = pd.factorize(pd.Series(units))
    names: list[str] = []
    columns: list[Column] = []
    left = []
    for at, (other, column) in enumerate(zip(raw.names, raw.columns, strict=True)):
        if at == place:
            continue
        series = _of_units(column, codes)
        if names_things(other, _numbers(column)):
            left.append(other)
            continue
        names.append(other)
        columns.append(SeriesColumn(series, unit=column.unit))
    times = np.bincount(codes)
    if counts_rows or (counts_rows is None and times.min() < times.max()):
        names.append(_ROWS if _ROWS not in names else f"{_ROWS} of {raw.names[place]}")
        columns.append(SeriesColumn(pd.Series(times)))
    said = (
        f"The {raw.num_rows:,} rows are those of {len(found):,} '{name}', each of which is one row: means of "
    )
    said += "numbers, most frequent values of text."
    if left:
        said += f" Left out, as they name other things: {listed(left)}."
    return RawTable(tuple(names), tuple(columns), len(found), tuple(map(str, found)), (*raw.notes, said))


def _numbers(column: Column) -> np.ndarray:
    try:
        values = column.numbers()
    except ValueError:
        return np.empty(0)
    return values[np.isfinite(values)]


def _of_units(column: Column, codes: np.ndarray) -> "pd.Series[object]":
    try:
        return pd.Series(column.numbers()).groupby(codes).mean()
    except ValueError:
        cells = pd.Series(column.labels())
        return cells.groupby(codes).agg(lambda some: some.mode(dropna=True).get(0))
