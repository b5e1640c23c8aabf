"""Files, data frames and arrays as raw tables, and raw tables turned, or with a row for each unit."""

import os
import re
import warnings
import zipfile
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, read_safely, short, visible
from pyroclust.data.binary_files import NumpyHeader, numpy_header_of
from pyroclust.data.columns import Column, RawTable, as_text
from pyroclust.data.delimited_text import (
    PLAIN,
    DelimitedRows,
    ReadingOptions,
    check_file,
    foreign_suffix,
    read_delimited,
)
from pyroclust.data.identifiers import are_identifiers
from pyroclust.data.missing_codes import marks_note, without_marks
from pyroclust.data.numerals import (
    HOURS,
    MISSING,
    Cells,
    NumberFormat,
    find_number_format,
    is_numeral,
    quantities,
)

# Of an array's entry, and of a number of a file that is copied.
_BYTES_AN_ENTRY, _BYTES_A_NUMBER, _LITTLE = 16, 24, 1 << 20
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
    # Arrays that repeat one number take no memory before they are copied; of small ones asking takes longer.
    if (needed := _BYTES_AN_ENTRY * array.size) > _LITTLE:
        check_memory(needed, f"the array has {array.size:,} values, which", remedy="take fewer rows")
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


SUFFIXES = (*PLAIN, ".parquet", ".xlsx", ".npy")

_MOST_TITLES = 5
_YEAR = re.compile(r"(18|19|20)\d\d", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
# With fewer rows below, numbers of a first line without decimals say nothing.
_ENOUGH_ROWS = 5
# Bytes, unpacked; of a sheet of more than about a million cells minutes pass before anything is known.
_LARGEST = 32 << 20
# Cells of a sheet for each that holds something; and of a sheet that is small whatever it holds.
_EMPTY, _FEW = 100, 10_000
# In the XML of a sheet; a formula whose value is an empty text has a type of its own.
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)><(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)(?:<(?:\w+:)?v\s*/>|<v></v>)?</(?:\w+:)?c>"
)
_HIDDEN = re.compile(rb"<(?:\w+:)?(?:row|col)\s[^>]*\bhidden=\"(?:1|true)\"")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s")


def read_raw(
    path: Path,
    options: ReadingOptions | None = None,
    *,
    of_edges: bool = False,
    columns: Sequence[str] | None = None,
) -> RawTable:
    """Read a CSV, TSV, Parquet, .xlsx or .npy file; of a Parquet file some columns alone, if it has them."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"cannot read '{path}': {foreign_suffix(path, SUFFIXES)}")
    check_file(path)
    options = options or ReadingOptions()
    for told in options.stated if kind not in PLAIN else ():
        if kind != ".xlsx" or told != "header":
            raise ValueError(f"{told} is told, but only {' and '.join(PLAIN)} files need it: leave it out")
    try:
        if kind in (*PLAIN, ".xlsx"):
            return _read_text(path, options, of_edges=of_edges)
        if kind == ".parquet":
            return _read_parquet(path, columns)
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


def _of_text(found: DelimitedRows, options: ReadingOptions, *, of_edges: bool) -> RawTable:
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


def _read_parquet(path: Path, columns: Sequence[str] | None) -> RawTable:
    from pyarrow.parquet import read_metadata, read_schema

    metadata = read_safely(path, lambda: read_metadata(path))
    # A name that is not there is for somebody else to refuse, who knows all names.
    has_all = columns and {*columns} <= {*read_safely(path, lambda: read_schema(path).names)}
    some = columns if has_all else None
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    sizes = [
        chunk.total_uncompressed_size
        for group in groups
        for chunk in map(group.column, range(group.num_columns))
        if some is None or chunk.path_in_schema in some
    ]
    width = metadata.num_columns if some is None else len(some)
    needed = max(metadata.num_rows * width * _BYTES_A_NUMBER, 2 * sum(sizes))
    check_memory(needed, f"the {metadata.num_rows:,} rows of '{path}'", remedy="take fewer rows")
    return read_safely(path, lambda: raw_frame(pd.read_parquet(path, columns=some)))


def read_shaped(path: Path) -> NDArray[Any] | None:
    """Read a .npy file of three and more dimensions; ``None`` of others and of what cannot be read."""
    if path.suffix.lower() != ".npy" or not path.is_file() or not os.access(path, os.R_OK):
        return None
    return _read_array(path) if len(_check_array(path).shape) > 2 else None


def _read_array(path: Path) -> NDArray[Any]:
    _check_array(path)
    return read_safely(path, lambda: np.load(path, allow_pickle=False))


def _check_array(path: Path) -> NumpyHeader:
    header = read_safely(path, lambda: numpy_header_of(path))
    check_memory(header.size * _BYTES_A_NUMBER, f"the numbers of '{path}'", remedy="take fewer rows")
    return header


def find_header(
    first: Sequence[str], columns: Sequence[Sequence[str]], *, of_edges: bool = False
) -> tuple[bool, tuple[str, ...]]:
    """Tell names of columns from a row, and say what was guessed; what could be either is refused."""
    cells = [cell.strip() for cell in first]
    below = {cell.strip() for column in columns for cell in column}
    numbers = [cell for cell in cells if is_numeral(cell)]
    texts = {*cells} - {*numbers}
    named = any(any(map(str.isalpha, one)) for one in texts - MISSING)
    is_header: bool | None = None
    if not texts:
        is_header = _numbers_are_names(cells, below, len(columns[0]), of_edges=of_edges)
    elif of_edges and texts & below:
        # A node has an edge more often than a column a node of its name.
        is_header = None if any(all(map(is_numeral, column)) for column in columns) else False
    elif named and (not numbers or (len(numbers) > 1 and all(map(_YEAR.fullmatch, numbers)))):
        is_header = True
    if is_header is None:
        raise ValueError(
            f"its first line ({listed(cells, 5)}) could be names of columns or a row: "
            "say which with --header or --no-header"
        )
    if not is_header:
        return False, ("The first line was read as a row: there are no names of columns.",)
    is_said = bool(of_edges or numbers)
    return True, (f"The first line, with {listed(cells, 3)}, was read as names of the columns.",) * is_said


def _numbers_are_names(cells: list[str], below: set[str], num_rows: int, *, of_edges: bool) -> bool | None:
    """Say whether a line of numbers only holds names, as frames without names have; ``None``: it may."""
    if not num_rows or not all(map(_WHOLE.fullmatch, cells)):
        return False
    counts = cells in ([str(one + begin) for one in range(len(cells))] for begin in (0, 1))
    if of_edges:
        # Frames without names are written with 0 and 1 above them.
        return None if counts and cells[0] == "0" else False
    if all(map(_YEAR.fullmatch, cells)) and len({*cells}) == len(cells):
        return None if any(map(_YEAR.fullmatch, below)) else True
    has_decimals = not any(_WHOLE.fullmatch(one.lstrip("+-")) for one in below)
    if counts and cells != ["1"]:
        return has_decimals or None
    rising = len(cells) > 1 and all(int(one) < int(two) for one, two in pairwise(cells))
    return None if rising and has_decimals and num_rows >= _ENOUGH_ROWS else False


def read_workbook(path: Path) -> DelimitedRows:
    """Return the rows of the first sheet of a .xlsx file; formulas count as their values."""
    if find_spec("openpyxl") is None:
        raise ValueError(
            f"'{path}' is a workbook, which needs the package openpyxl: pip install 'pyroclust[excel]', or "
            "save the sheet as CSV"
        )
    with read_safely(path, lambda: zipfile.ZipFile(path)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _LARGEST:
        raise ValueError(
            f"'{path}' unpacks to {unpacked >> 20:,} MiB, expected at most {_LARGEST >> 20}: save the sheet "
            "as CSV"
        )
    names, rows, formulas, notes = read_safely(path, lambda: _filled_rows(path))
    name = short(visible(names[0]), 60)
    if formulas:
        raise ValueError(
            f"'{path}' holds {len(formulas):,} formula(s) without a value in its first sheet '{name}' "
            f"({listed(formulas, 3)}): open it in a spreadsheet program, which computes them, and save it"
        )
    if len(rows) < 2:
        raise ValueError(f"'{path}' has no rows in its first sheet '{name}'")
    every = range(min(rows), max(rows) + 1)
    width, filled = max(map(len, rows.values())), sum(len(row) - row.count("") for row in rows.values())
    if len(every) * width > max(_FEW, _EMPTY * filled):
        raise ValueError(
            f"'{path}' holds something in {filled:,} of {len(every):,} x {width:,} cells of its first sheet "
            f"'{name}', the last in row {every[-1]:,}: empty the cells that stand apart, or save the table "
            "as CSV"
        )
    cells = [row + [""] * (width - len(row)) for row in (rows.get(place, []) for place in every)]
    if len(names) > 1:
        said = f"The first of {len(names)} sheets was read, '{name}', hidden ones passed over"
        notes = [f"{said}: to read another one, save it as CSV.", *notes]
    return DelimitedRows(cells, tuple(notes))


def _filled_rows(path: Path) -> tuple[list[str], dict[int, list[str]], list[str], list[str]]:
    """Return names of sheets, and of the first its rows by numbers, formulas without a value, and notes."""
    import openpyxl
    from openpyxl.cell.cell import ERROR_CODES

    found = dict[int, list[str]]()
    with warnings.catch_warnings(action="ignore"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        with closing(book), zipfile.ZipFile(path) as archive:
            shown = [one for one in book.worksheets if one.sheet_state == "visible"]
            sheet = (shown or book.worksheets)[0]
            names = [sheet.title, *(one.title for one in book.worksheets if one is not sheet)]
            content = archive.read(sheet._worksheet_path)
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            for place, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = ["" if one is None or one in ERROR_CODES else as_text(one) or "" for one in row]
                while cells and not cells[-1].strip():
                    cells.pop()
                if cells:
                    found[place] = cells
    formulas = [one.decode() for one in _UNCOMPUTED.findall(content) if b't="str"' not in one]
    return names, found, [one.partition('r="')[2].partition('"')[0] for one in formulas], _view_notes(content)


def _view_notes(sheet: bytes) -> list[str]:
    """Say what of a sheet somebody sees otherwise than it is read; openpyxl reads no more than cells here."""
    hidden, merged = (len(one.findall(sheet)) for one in (_HIDDEN, _MERGED))
    notes = [f"{hidden:,} hidden row(s) or groups of columns were read too."] * bool(hidden)
    if merged:
        notes.append(
            f"Cells are merged in {merged:,} places: the first of them holds the value, and the others were "
            "read as missing. Undo that, and fill them, if they mean the same."
        )
    return notes
