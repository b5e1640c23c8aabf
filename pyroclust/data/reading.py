"""Files as tables: delimited text, Parquet, NumPy and Excel."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.errors import readable
from pyroclust.core.memory import check_memory
from pyroclust.core.text import listed, short, visible
from pyroclust.data.columns import RawTable
from pyroclust.data.delimited.foreign import check_file, foreign_suffix
from pyroclust.data.delimited.numerals import Cells, is_numeral
from pyroclust.data.delimited.reading import PLAIN, ReadingOptions, Rows, read_delimited
from pyroclust.data.frames import raw_array, raw_frame, text_columns
from pyroclust.data.headers import find_header
from pyroclust.data.numpy_headers import NumpyHeader, numpy_header_of
from pyroclust.data.workbooks import read_workbook

__all__ = ["SUFFIXES", "read_raw", "read_shaped"]

SUFFIXES = (*PLAIN, ".parquet", ".xlsx", ".npy")

# Of a number that is copied.
_BYTES_A_NUMBER = 24
_MOST_TITLES = 5


def read_raw(path: Path, options: ReadingOptions | None = None, *, of_edges: bool = False) -> RawTable:
    """Read a CSV, TSV, Parquet, .xlsx or .npy file."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"cannot read '{path}': {foreign_suffix(path, SUFFIXES)}")
    check_file(path)
    options = options or ReadingOptions()
    for told in options.told if kind not in PLAIN else ():
        if kind != ".xlsx" or told != "header":
            raise ValueError(f"{told} is told, but only {' and '.join(PLAIN)} files need it: leave it out")
    try:
        if kind in (*PLAIN, ".xlsx"):
            return _read_text(path, options, of_edges=of_edges)
        if kind == ".parquet":
            return _read_parquet(path)
        return raw_array(_read_array(path))
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None
    except MemoryError:
        raise ValueError(f"'{path}' does not fit into memory; take a sample of its rows") from None


def _read_text(path: Path, options: ReadingOptions, *, of_edges: bool) -> RawTable:
    is_plain = path.suffix.lower() in PLAIN
    found = read_delimited(path, options=options) if is_plain else read_workbook(path)
    if not found.cells:
        raise ValueError(f"'{path}' is empty; expected at least two rows of numbers")
    try:
        return _of_text(found, options, of_edges=of_edges)
    except ValueError as error:
        raise ValueError(f"'{path}' can be read in two ways: {error}") from None


def _of_text(found: Rows, options: ReadingOptions, *, of_edges: bool) -> RawTable:
    title, grid = ([], found.cells) if found.names_rows else _without_title(found.cells)
    first, *rows = grid
    columns = _columns(rows, len(first))
    if options.header is None and not found.names_rows:
        is_header, guessed = find_header(first, columns, of_edges=of_edges)
    else:
        is_header, guessed = options.header is not False, ()
    if not is_header:
        columns = _columns(grid, len(first))
    names = [name.strip() if is_header else f"x{place}" for place, name in enumerate(first, start=1)]
    table, read = text_columns(columns, delimiter=found.delimiter, decimal=options.decimal)
    notes = [*found.notes, *title, *read, *guessed]
    row_names = None
    if is_header:
        _refuse_names_again(names, columns)
        empty = [not name and not any(map(str.strip, one)) for name, one in zip(names, columns, strict=True)]
        if any(empty) and not all(empty):
            names = [name for name, no in zip(names, empty, strict=True) if not no]
            table = [column for column, no in zip(table, empty, strict=True) if not no]
            notes.append(f"{sum(empty)} empty column(s) without a name were left out.")
        if found.names_rows or (len(names) > 1 and not names[0] and not empty[0] and _are_names(columns[0])):
            row_names, names, table = tuple(map(visible, columns[0])), names[1:], table[1:]
            if not found.names_rows:
                notes.append("The first column has no name and was read as names of the rows.")
        if unnamed := names.count(""):
            notes.append(f"{unnamed} column(s) without a name are called x and their number.")
    shown = tuple(visible(name or f"x{place}") for place, name in enumerate(names, start=1))
    return RawTable(shown, tuple(table), len(columns[0]), row_names, tuple(notes))


def _columns(rows: Sequence[list[str]], width: int) -> list[Cells]:
    return [Cells([row[place] for row in rows]) for place in range(width)]


def _refuse_names_again(names: list[str], columns: Sequence[Cells]) -> None:
    """Refuse files that were put one after the other with their names of columns."""
    for place, cell in enumerate(columns[0]):
        if cell.strip() == names[0] and [column[place].strip() for column in columns] == names and any(names):
            raise ValueError(
                f"the names of its columns come again in row {place + 1}, two tables or a row: remove "
                "that line, or give --no-header if the first line is a row too"
            )


def _are_names(cells: Cells) -> bool:
    """Say whether a first column without a name may be names of rows: no number in it has decimals."""
    return not any(is_numeral(one) and not one.strip().lstrip("+-").isdigit() for one in cells)


def _without_title(cells: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Leave out lines of one cell above a line of names, and say so."""
    full = [[cell.strip() for cell in row if cell.strip()] for row in cells[: _MOST_TITLES + 1]]
    above = next((place for place, row in enumerate(full) if len(row) > 1), 0)
    names = full[above]
    if not above or len(names) < len(cells[above]) or any(map(is_numeral, names)):
        return [], cells
    said = listed(f"“{short(visible(row[0]), 40)}”" for row in full[:above] if row)
    return [f"Above the names of the columns {said} was left out."], cells[above:]


def _read_parquet(path: Path) -> RawTable:
    from pyarrow.parquet import read_metadata

    about = readable(path, lambda: read_metadata(path))
    needed = max(
        about.num_rows * about.num_columns * _BYTES_A_NUMBER,
        2 * sum(about.row_group(place).total_byte_size for place in range(about.num_row_groups)),
    )
    check_memory(needed, f"the {about.num_rows:,} rows of '{path}'", remedy="take fewer rows")
    return readable(path, lambda: raw_frame(pd.read_parquet(path)))


def read_shaped(path: Path) -> NDArray[Any] | None:
    """Read a .npy file of three and more dimensions; ``None`` of others and of what cannot be read."""
    if path.suffix.lower() != ".npy" or not path.is_file() or not os.access(path, os.R_OK):
        return None
    return _read_array(path) if len(_check_array(path).shape) > 2 else None


def _read_array(path: Path) -> NDArray[Any]:
    _check_array(path)
    return readable(path, lambda: np.load(path, allow_pickle=False))


def _check_array(path: Path) -> NumpyHeader:
    header = readable(path, lambda: numpy_header_of(path))
    check_memory(header.size * _BYTES_A_NUMBER, f"the numbers of '{path}'", remedy="take fewer rows")
    return header
