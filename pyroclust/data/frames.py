"""Data frames and arrays as tables."""

import datetime
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.columns import Column, RawTable, SeriesColumn, TextColumn
from pyroclust.data.missing_codes import without_marks
from pyroclust.delimited import Cells, Marks, find_marks, is_numeral, quantities
from pyroclust.memory import check_memory
from pyroclust.text import short, visible

__all__ = ["raw_array", "raw_frame", "transposed"]

_BYTES_A_NUMBER = 16
# Characters of a date such as 2020-12-31.
_DAY = 10


def raw_frame(frame: pd.DataFrame) -> RawTable:
    """Take a data frame apart; names of several levels are joined, an index that only counts is dropped."""
    notes: tuple[str, ...] = ()
    if frame.columns.nlevels > 1:
        notes = ("Names of columns with several levels were joined by an underscore.",)
    names = tuple(visible(_joined(name, "_").strip()) for name in frame.columns)
    columns = [_column(series) for _, series in frame.items()]
    # Texts of numbers are numbers, as in a workbook.
    texts = {at: one for at, one in enumerate(columns) if isinstance(one, TextColumn) and not one.unit}
    found, lost = without_marks([names[at] for at in texts], [Cells.of(one.cells) for one in texts.values()])
    for (at, one), cells in zip(texts.items(), found, strict=True):
        columns[at] = replace(one, cells=cells)
    notes = (*notes, *lost)
    counts = isinstance(frame.index, pd.RangeIndex) and frame.index.start == 0 and frame.index.step == 1
    rows = None if counts else tuple(visible(_joined(row, ", ")) for row in frame.index)
    return RawTable(names, tuple(columns), len(frame), rows, notes)


def raw_array(array: NDArray[Any]) -> RawTable:
    """Take an array apart: columns ``x1, x2, ...``, or fields of records; what a mask hides is missing."""
    # Arrays that repeat one number take no memory before they are copied.
    check_memory(
        _BYTES_A_NUMBER * array.size, f"the array has {array.size:,} values, which", remedy="take fewer rows"
    )
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise ValueError(f"the array has records of shape {array.shape}, expected (N,)")
        parts = {name: pd.Series(list(array[name])) for name in array.dtype.names}
        return raw_frame(pd.DataFrame(parts))
    if array.ndim not in (1, 2):
        raise ValueError(f"the array has shape {array.shape}, expected (N,) or (N, D)")
    if isinstance(array, np.ma.MaskedArray):
        hidden, array = np.ma.getmaskarray(array), array.data
        if hidden.any():
            array = array.astype(object)
            array[hidden] = None
    frame = pd.DataFrame(array.astype(array.dtype.newbyteorder("="), copy=False))
    return raw_frame(frame.set_axis([f"x{i}" for i in range(1, frame.shape[1] + 1)], axis=1))


def transposed(raw: RawTable) -> RawTable:
    """Return a table of numbers whose rows are the columns of another, and whose columns are its rows."""
    names, columns, rows = raw.names, raw.columns, raw.row_names
    if rows is None and columns and columns[0].numbers_or_none() is None:
        labels = columns[0].labels()
        if len(set(labels)) == len(labels) and None not in set(labels):
            rows, names, columns = tuple(map(str, labels)), names[1:], columns[1:]
    if not columns:
        raise ValueError("transpose is true, but the table has no column of numbers: leave transpose out")
    values = []
    for name, column in zip(names, columns, strict=True):
        try:
            values.append(column.numbers())
        except ValueError as error:
            raise ValueError(
                f"transpose is true, but column '{short(name, 60)}' holds {error}, expected numbers: leave "
                "the column out of the file"
            ) from None
    rows = rows or tuple(f"x{place}" for place in range(1, raw.num_rows + 1))
    turned = tuple(SeriesColumn(pd.Series(row)) for row in np.array(values).T)
    return RawTable(rows, turned, len(names), names, (*raw.notes, "Rows and columns were exchanged."))


def _column(series: "pd.Series[Any]") -> Column:
    """Return a column; one of dates or of numbers with a unit as numbers."""
    kind = series.dtype
    if pd.api.types.is_numeric_dtype(kind) or isinstance(kind, pd.CategoricalDtype):
        return SeriesColumn(series)
    cells = series.where(series.notna(), "")
    if not all(isinstance(one, str | datetime.date) for one in cells):
        return SeriesColumn(series)
    written = [str(one)[:_DAY] if isinstance(one, datetime.date) else one for one in cells]
    found = quantities(written)
    if found is None:
        are_numbers = written == list(cells) and any(map(is_numeral, written))
        return TextColumn(Cells(written), Marks()) if are_numbers else SeriesColumn(series)
    marks = Marks() if found.are_converted else find_marks([found.cells], delimiter=",")
    return TextColumn(Cells(found.cells), marks, found.unit, written)


def _joined(name: Any, mark: str) -> str:
    return mark.join(map(str, name)) if isinstance(name, tuple) else str(name)
