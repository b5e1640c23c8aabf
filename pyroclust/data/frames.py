"""Data frames and arrays as tables, and tables of other rows: those of a unit in one, or columns as rows."""

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, short, visible
from pyroclust.data.columns import Column, RawTable, as_text
from pyroclust.data.delimited.numerals import Cells, NumberFormat, find_number_format
from pyroclust.data.delimited.units import HOURS, quantities
from pyroclust.data.identifiers import are_identifiers
from pyroclust.data.missing_codes import marks_note, without_marks

_BYTES_A_NUMBER = 16
TRANSPOSED = "Rows and columns were exchanged."
# What the column of how many rows a unit had is called.
_ROWS = "rows"


def raw_frame(frame: pd.DataFrame) -> RawTable:
    """Take a data frame apart; names of several levels are joined, an index that only counts is dropped."""
    levels = [frame.index.get_level_values(place) for place in range(frame.index.nlevels)]
    shared = {str(one.name): one for one in levels if one.name is not None and one.has_duplicates}
    notes = [f"The index names the rows, several of which have the same {listed(shared)}."] * bool(shared)
    if frame.columns.nlevels > 1:
        notes.append("Names of columns with several levels were joined by an underscore.")
    names = tuple(visible(_joined(name, "_").strip()) for name in frame.columns)
    columns = dict(enumerate(_typed(series) for _, series in frame.items()))
    # All else is read as the text that it would be in a file.
    places = [at for at, one in columns.items() if one is None]
    cells = [Cells(as_text(one) or "" for one in frame.iloc[:, at]) for at in places]
    texts, number_notes = text_columns(cells)
    columns |= zip(places, texts, strict=True)
    all_columns = tuple(one for one in columns.values() if one is not None)
    counts = isinstance(frame.index, pd.RangeIndex) and frame.index.start == 0 and frame.index.step == 1
    rows = None if counts else tuple(visible(_joined(row, ", ")) for row in frame.index)
    index = raw_frame(pd.DataFrame(shared)).by_name if shared else {}
    return RawTable(names, all_columns, len(frame), rows, (*notes, *number_notes), index)


def _typed(series: "pd.Series[Any]") -> Column | None:
    """Return a column of numbers or categories of pandas, and spans of time in hours."""
    kind = series.dtype
    if pd.api.types.is_numeric_dtype(kind) or isinstance(kind, pd.CategoricalDtype):
        return Column(series)
    is_span = pd.api.types.is_timedelta64_dtype(kind)
    return Column(series / pd.Timedelta(hours=1), unit=HOURS) if is_span else None


def text_columns(
    written: Sequence[Cells], *, delimiter: str = "", decimal: str | None = None
) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns of text with the numbers in them as they are meant, and notes on that."""
    bare = [without_marks(one) for one in written]
    measures = [None if one.plain is not None else quantities(one) for one, _ in bare]
    cells = [
        one if measure is None else Cells(measure.cells)
        for (one, _), measure in zip(bare, measures, strict=True)
    ]
    # In sheets and data frames, where nothing divides cells, numbers without a unit have decimal points.
    as_in_file = [bool(delimiter) if measure is None else not measure.are_converted for measure in measures]
    of_file = find_number_format(compress(cells, as_in_file), delimiter=delimiter or ",", decimal=decimal)
    formats = [of_file if is_of_file else NumberFormat() for is_of_file in as_in_file]
    units = ["" if measure is None else measure.unit for measure in measures]
    return list(map(Column, cells, formats, units, written, (missing for _, missing in bare))), of_file.notes


def raw_array(array: NDArray[Any]) -> RawTable:
    """Take an array apart: columns ``x1, x2, ...``, or fields of records; what a mask hides is missing."""
    # Arrays that repeat one number take no memory before they are copied.
    check_memory(
        _BYTES_A_NUMBER * array.size, f"the array has {array.size:,} values, which", remedy="take fewer rows"
    )
    if array.ndim not in ((1, 2) if array.dtype.names is None else (1,)):
        raise ValueError(f"the array has shape {array.shape}, expected (N,) or (N, D), or records (N,)")
    frame = pd.DataFrame(array.astype(array.dtype.newbyteorder("="), copy=False))
    if array.dtype.names is None:
        frame = frame.set_axis([f"x{i}" for i in range(1, frame.shape[1] + 1)], axis=1)
    return raw_frame(frame)


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
    turned = tuple(Column(pd.Series(row)) for row in np.array(values).T)
    notes = (*raw.notes, *marks_note(raw.by_name, dict.fromkeys(raw.names, ())), TRANSPOSED)
    return RawTable(rows, turned, len(names), names, notes)


def aggregated(raw: RawTable, place: int, *, counts_rows: bool | None = None) -> RawTable:
    """Return a table with a row for each value of a column, which become the names of the rows."""
    units = raw.columns[place].labels()
    if num_missing := sum(unit is None for unit in units):
        raise ValueError(
            f"aggregate is '{short(raw.names[place], 60)}', and {num_missing} row(s) have no value there, "
            "expected one in each row"
        )
    codes, different = pd.factorize(pd.Series(units))
    names: list[str] = []
    columns: list[Column] = []
    left_out = []
    for at, (name, column) in enumerate(zip(raw.names, raw.columns, strict=True)):
        values = column.numbers_or_none()
        if at == place:
            continue
        if values is not None and are_identifiers(name, values[np.isfinite(values)]):
            left_out.append(name)
            continue
        if values is not None:
            merged = Column(pd.Series(values).groupby(codes).mean(), unit=column.unit)
        else:
            cells = pd.Series(column.labels()).groupby(codes).agg(lambda some: some.mode(dropna=True).get(0))
            merged = Column(Cells(cells.fillna("")), only_empty=column.only_empty)
        names.append(name)
        columns.append(merged)
    times, added = np.bincount(codes), ""
    if counts_rows or (counts_rows is None and times.min() < times.max()):
        names.append(_ROWS if _ROWS not in names else f"{_ROWS} of {raw.names[place]}")
        columns.append(Column(pd.Series(times)))
        added = f" How many rows each had is a column too, '{short(names[-1], 60)}': see --except."
    note = (
        f"The {raw.num_rows:,} rows are those of {len(different):,} '{short(raw.names[place], 60)}', each "
        "of which is one row: means of numbers, most frequent values of text." + added
    )
    if left_out:
        note += f" Left out, as they name other things: {listed(left_out)}."
    notes = (*raw.notes, *marks_note(raw.by_name, dict.fromkeys(raw.names, ())), note)
    return RawTable(tuple(names), tuple(columns), len(different), tuple(map(str, different)), notes)


def _joined(name: Any, mark: str) -> str:
    return mark.join(map(str, name)) if isinstance(name, tuple) else str(name)
