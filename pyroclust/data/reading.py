"""Files as tables: delimited text, Parquet, NumPy and Excel."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.columns import RawTable, TextColumn
from pyroclust.data.frames import raw_array, raw_frame
from pyroclust.data.headers import TableHeader, find_header
from pyroclust.data.workbooks import read_workbook
from pyroclust.delimited import (
    PLAIN,
    Cells,
    DelimitedText,
    ReadingOptions,
    check_file,
    find_marks,
    foreign_suffix,
    is_numeral,
    read_delimited,
)
from pyroclust.errors import readable
from pyroclust.memory import check_memory
from pyroclust.numpy_headers import NumpyHeader, numpy_header_of
from pyroclust.text import visible

__all__ = ["SUFFIXES", "read_raw", "read_shaped"]

SUFFIXES = (*PLAIN, ".parquet", ".xlsx", ".npy")

# Of a cell as text and as a number, for each byte of a delimited file; of a number that is copied.
_BYTES_A_BYTE, _BYTES_A_NUMBER = 32, 24


def read_raw(path: Path, options: ReadingOptions | None = None) -> RawTable:
    r"""Read a CSV, TSV, Parquet, .xlsx or .npy file.

    A delimited file whose first line is a row has columns ``x1, x2, ...``. A first column without a name, as
    pandas and R write it, becomes the row names.

    Args:
        path: the file.
        options: what is told of a delimited file.

    Raises:
        ValueError: if the file is missing, of another kind, empty, damaged, or can be read in two ways.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "points.csv"
        >>> _ = path.write_text("width,height\n1,2\n3,5\n")
        >>> read_raw(path).names
        ('width', 'height')
    """
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"cannot read '{path}': {foreign_suffix(path, SUFFIXES)}")
    check_file(path)
    told = () if options is None else options.told
    if told and kind not in PLAIN:
        raise ValueError(f"{told[0]} is told, but only {' and '.join(PLAIN)} files need it: leave it out")
    try:
        if kind in PLAIN:
            return _read_delimited(path, options or ReadingOptions())
        return _read_binary(path)
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None
    except MemoryError:
        raise ValueError(f"'{path}' does not fit into memory; take a sample of its rows") from None


def _read_delimited(path: Path, options: ReadingOptions) -> RawTable:
    check_memory(path.stat().st_size * _BYTES_A_BYTE, f"the cells of '{path}'", remedy="take fewer rows")
    found = read_delimited(path, options=options)
    first, columns = found.columns()
    if not first:
        raise ValueError(f"'{path}' is empty; expected at least two rows of numbers")
    try:
        return _of_rows(found, first, columns, options)
    except ValueError as error:
        raise ValueError(f"'{path}' can be read in two ways: {error}") from None


def _of_rows(
    found: DelimitedText, first: list[str], columns: list[Cells], options: ReadingOptions
) -> RawTable:
    if found.form.names_rows:
        first = ["", *first]
    header = _header(found, first, columns, options)
    names = [cell.strip() for cell in first]
    if not header.is_header:
        columns = [Cells([cell, *column]) for cell, column in zip(first, columns, strict=True)]
        names = list(found.names or (f"x{place}" for place in range(1, len(first) + 1)))
    if found.comment is not None and found.names is None:
        header = replace(header, notes=("Lines that begin with # were left out.", *header.notes))
    marks = find_marks(columns, delimiter=found.delimiter, decimal=options.decimal)
    notes = [*found.notes, *marks.notes, *header.notes]
    if header.is_header:
        _refuse_names_again(names, columns)
    row_names = None
    if (
        len(names) > 1
        and not names[0]
        and header.is_header
        and columns[0]
        and not any(map(str.strip, columns[0]))
    ):
        names, columns = names[1:], columns[1:]
        notes.append("The first column is empty and was left out.")
    elif len(names) > 1 and not names[0] and header.is_header:
        row_names = tuple(visible(cell) for cell in _as_names(columns[0]))
        names, columns = names[1:], columns[1:]
        if not found.form.names_rows:
            notes.append("The first column has no name and was read as names of the rows.")
    empty = [
        not name and not any(map(str.strip, column)) for name, column in zip(names, columns, strict=True)
    ]
    if any(empty) and not all(empty):
        names = [name for name, no in zip(names, empty, strict=True) if not no]
        columns = [column for column, no in zip(columns, empty, strict=True) if not no]
        notes.append(f"{sum(empty)} empty column(s) without a name were left out.")
    if unnamed := [place for place, name in enumerate(names, start=1) if not name]:
        notes.append(f"{len(unnamed)} column(s) without a name are called x and their number.")
    return RawTable(
        names=tuple(visible(name or f"x{place}") for place, name in enumerate(names, start=1)),
        columns=tuple(TextColumn(column, marks) for column in columns),
        num_rows=len(columns[0]),
        row_names=row_names,
        notes=tuple(notes),
    )


def _header(
    found: DelimitedText, first: list[str], columns: list[Cells], options: ReadingOptions
) -> TableHeader:
    if options.header is not None:
        return TableHeader(options.header)
    if found.form.names_rows:
        return TableHeader(True)
    if found.names is not None:
        return TableHeader(False, ("The names of the columns stand in the comment above the first row.",))
    return find_header(first, columns)


def _refuse_names_again(names: list[str], columns: list[Cells]) -> None:
    """Refuse files that were put one after the other with their names of columns."""
    for place, cell in enumerate(columns[0]):
        if cell.strip() == names[0] and [column[place].strip() for column in columns] == names and any(names):
            raise ValueError(
                f"the names of its columns come again in row {place + 1}, two tables or a row: remove "
                "that line, or give --no-header if the first line is a row too"
            )


def _as_names(cells: list[str]) -> list[str]:
    """Return a first column without a name, unless it holds measurements."""
    broken = (cell.strip() for cell in cells if is_numeral(cell) and not cell.strip().lstrip("+-").isdigit())
    if (one := next(broken, None)) is not None:
        raise ValueError(
            f"its first column has no name and holds '{visible(one)}', a name of the row or a number: "
            "give the column a name"
        )
    return cells


def _read_binary(path: Path) -> RawTable:
    if path.suffix.lower() == ".parquet":
        return readable(path, lambda: raw_frame(pd.read_parquet(path)))
    if path.suffix.lower() == ".xlsx":
        return read_workbook(path)
    _check_array(path)
    return readable(path, lambda: raw_array(np.load(path, allow_pickle=False)))


def _check_array(path: Path) -> NumpyHeader:
    header = readable(path, lambda: _header_of_one_array(path))
    header.check(path, "it", held=path.stat().st_size)
    check_memory(header.size * _BYTES_A_NUMBER, f"the numbers of '{path}'", remedy="take fewer rows")
    return header


def read_shaped(path: Path) -> NDArray[Any] | None:
    """Read a .npy file of three and more dimensions; ``None`` if the file is another one.

    Args:
        path: the file.

    Raises:
        ValueError: if the file is a .npy file and cannot be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "images.npy"
        >>> np.save(path, np.zeros((5, 8, 8)))
        >>> read_shaped(path).shape
        (5, 8, 8)
    """
    if path.suffix.lower() != ".npy" or not path.is_file():
        return None
    try:
        if len(_check_array(path).shape) < 3:
            return None
        array: NDArray[Any] = readable(path, lambda: np.load(path, allow_pickle=False))
    except (PermissionError, MemoryError):
        # The reader of tables says it in a sentence.
        return None
    return array


def _header_of_one_array(path: Path) -> NumpyHeader:
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise ValueError("it holds several arrays, expected one")
    return numpy_header_of(path)
