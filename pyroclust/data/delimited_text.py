"""A text file as rows of cells, its encoding and delimiter detected or set, and files of pairs of rows."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, short, visible
from pyroclust.core.numbers import on_host
from pyroclust.data.numerals import Cells, in_groups, is_numeral

_REMEDIES = {
    ".xlsx .xlsm .xlsb .xls .ods .numbers": "save the sheet as CSV",
    ".gz .bz2 .xz .zst .zip .7z .tar .tgz": "unpack it first",
    ".txt .dat .data .asc .tab .prn": "if it is text with one row a line, name it .csv",
}
# Suffixes of delimited text, and what divides cells unless a file looks otherwise.
PLAIN = {".csv": ",", ".tsv": "\t"}
_COMMENT = "#"
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_LOOKED_AT, _QUOTED, _HEAD = 200, 10, 1 << 18
# Of text, its cells and their numbers, for each byte of the file.
_BYTES_A_BYTE = 32
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f]")
# The first line of JSON, of web pages, and of rows as programs print lists.
_BRACKETS = re.compile(r"\s*(?:[\[({<][^\r\n]*[\])}>]|[\[{]),?\s*(?:[\r\n]|$)")
_LEADING, _ZERO_FIRST = re.compile(r"[+-]?\d{1,3}", re.ASCII), re.compile(r"0\d\d", re.ASCII)


def foreign_suffix(path: Path, expected: tuple[str, ...]) -> str:
    """Say that a file is of another kind than those that are read, and what to do."""
    if str(path) == "-":
        return "standard input is not read; write it to a file first"
    suffix = path.suffix.lower() or ".txt"
    remedies = [remedy for suffixes, remedy in _REMEDIES.items() if suffix in suffixes.split()]
    way = remedies[0] if remedies else "write it as CSV"
    return f"its suffix is '{path.suffix}', expected one of {', '.join(expected)}: {way}"


def check_file(path: Path) -> None:
    """Refuse a path under which no file can be read."""
    if path.is_dir():
        raise ValueError(f"there is no file '{path}': it is a folder")
    if path.exists() and not path.is_file():
        raise ValueError(f"'{path}' is a device or a pipe, expected a file: write it to one first")
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'; check the path")


@dataclass(frozen=True)
class ReadingOptions:
    """The format of a delimited file, where the caller sets it; what is ``None`` is detected."""

    delimiter: str | None = None  # a space stands for any number of spaces
    decimal: str | None = None
    header: bool | None = None  # whether the first line names the columns

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n.+-_\x00'):
            raise ValueError(
                f"delimiter is '{visible(mark)}', expected one character: ',', ';', '|', a tab or a space"
            )
        if self.decimal is not None and self.decimal not in (".", ","):
            raise ValueError(f"decimal is '{visible(self.decimal)}', expected '.' or ','")

    @property
    def stated(self) -> tuple[str, ...]:
        """Names of the options that are set."""
        return tuple(name for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class DelimitedRows:
    """Cells of a text file or a sheet in rows of one width, the first line included, and what was found."""

    cells: list[list[str]] = field(repr=False)  # without the spaces before them
    notes: tuple[str, ...] = ()
    delimiter: str = ""  # empty where nothing has to divide them
    names_rows: bool = False  # the first line is one name short, and the first column names the rows


class _Ambiguous(Exception):
    """A file that can be read in two ways; the text says which."""


def read_delimited(path: Path, *, options: ReadingOptions | None = None) -> DelimitedRows:
    """Read a text file and find out what divides its cells."""
    options = options or ReadingOptions()
    delimiter_given, plain = options.delimiter, PLAIN[path.suffix.lower()]
    check_memory(path.stat().st_size * _BYTES_A_BYTE, f"the cells of '{path}'", remedy="take fewer rows")
    try:
        text, notes = _decoded(path.read_bytes())
        # The first line that Excel understands.
        if (word := re.match(r'"?sep=(.)"?[ \t]*(?=[\r\n])', text, re.IGNORECASE)) is not None:
            text, delimiter_given = text[word.end() :], delimiter_given or word[1]
        if _BRACKETS.match(text):
            raise ValueError("brackets stand around its rows, as in JSON or web pages: write it as CSV")
        comment = _COMMENT if text.lstrip("\n\r\t ").startswith(_COMMENT) else None
        delimiter = delimiter_given or _delimiter_of(text, plain, comment, options.decimal)
        rows = _rows_of(text, delimiter, comment=comment)
    except _Ambiguous as two:
        raise ValueError(f"'{path}' can be read in two ways: {two}") from None
    except ValueError as error:
        raise ValueError(f"'{path}' is not a readable {path.suffix} file: {error}") from None
    if comment is not None:
        notes = (*notes, "Lines that begin with # were left out.")
    if options.delimiter is None and rows.cells and len(rows.cells[0]) > 1 and delimiter != plain:
        notes = (*notes, f"{_NAMES.get(delimiter, delimiter).capitalize()} were read as what divides cells.")
    return replace(rows, notes=(*notes, *rows.notes))


def _decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file: UTF-16 by its mark, UTF-8, or else Windows-1252, with a note."""
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding, note in (
        ("utf-16" if is_wide else "utf-8", ()),
        ("cp1252", ("The file is not UTF-8 and was read as Windows-1252 (Latin-1).",)),
    ):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if _CONTROL.search(text) is None:
                # Software that adds a mark to what has one already leaves two.
                return text.lstrip("\ufeff"), note
            break
    raise ValueError(
        "it holds bytes that are no text, as packed files and workbooks do: unpack it, or save it as CSV"
    )


def _rows_of(
    text: str, delimiter: str, *, comment: str | None = None, most: int | None = None
) -> DelimitedRows:
    """Divide a text into rows; blank lines, comments and empty rows at the ends are no rows."""
    start, is_new = 0, True

    def lines() -> Iterator[str]:
        nonlocal start, is_new
        for number, line in enumerate(io.StringIO(text, newline=""), start=1):
            if is_new and comment is not None and line.startswith(comment):
                continue
            if is_new:
                is_new, start, line = False, number, line if line.strip(" \r\n") else "\n"
            yield line.replace("\t", " ").rstrip() + "\n" if delimiter == " " else line

    numbered: list[tuple[int, list[str]]] = []
    try:
        for cells in csv.reader(lines(), delimiter=delimiter, skipinitialspace=True, strict=True):
            is_new = True
            numbered.append((start, cells))
            if len(numbered) == most:
                break
    except csv.Error as error:
        raise ValueError(f"line {start} cannot be divided into cells ({error})") from None
    # One cell that is empty stands in quotes: it is missing.
    full = [
        place for place, (_, cells) in enumerate(numbered) if len(cells) == 1 or any(map(str.strip, cells))
    ]
    between = numbered[full[0] : full[-1] + 1] if full else []
    rows = {line: cells for line, cells in between if cells}
    blank = len(between) - len(rows)
    notes = [f"{blank:,} blank line(s) between the rows held no row."] * bool(blank)
    if names_rows := _is_one_name_short([*rows.values()], text, delimiter):
        first = next(iter(rows))
        rows[first] = ["", *rows[first]]
        notes.append(
            "The first line has one name less than the others have cells: the first column names the rows."
        )
    of_one_width = _of_one_width(rows)
    if of_one_width and len(of_one_width[0]) < max(map(len, rows.values())):
        notes.append("Every line ends with a delimiter, behind which no column was read.")
    return DelimitedRows(of_one_width, tuple(notes), delimiter, names_rows)


def _is_one_name_short(rows: list[list[str]], text: str, delimiter: str) -> bool:
    """Say whether only the first line lacks a cell, as R's write.table gives names of rows no name."""
    names, width = [row[0] for row in rows[1:]], len(rows[0]) + 1 if rows else 0
    is_short = {*map(len, rows[1:])} == {width} and any(row[-1] for row in rows[1:])
    if not is_short or all(map(is_numeral, rows[0])) or not all(names) or len({*names}) < len(names):
        return False
    # A title is one cell too, above names of columns.
    if width == 2 and not all(is_numeral(row[1]) for row in rows[1:]):
        return False
    # R puts quotes around names of rows, numbers too; without them commas and spaces may stand in cells.
    if all(f'\n"{name}"' in text for name in names[:_QUOTED]):
        return True
    if any(map(is_numeral, names)):
        return delimiter not in ", " and names == [str(place) for place in range(1, len(names) + 1)]
    return delimiter not in ", " or width > 2


def _of_one_width(rows: dict[int, list[str]]) -> list[list[str]]:
    """Cut off what is empty at the ends of all rows, and refuse rows of unequal widths."""
    all_rows = [*rows.values()]
    longest = max(map(len, all_rows), default=1)
    width = next(
        (at for at in range(longest, 1, -1) if any(len(one) >= at and one[at - 1] for one in all_rows)), 1
    )
    if any(len(cells) < width for cells in all_rows):
        (first, expected), *others = ((line, len(cells)) for line, cells in rows.items())
        # One cell in the first line may be a title, and all others as they should be.
        if expected == 1 and others:
            (line, number), (first, expected) = (first, expected), others[0]
        else:
            line, number = next(
                (line, one) for line, one in others if (one > expected if expected < width else one < width)
            )
        way = ": if it is a title or a note, remove it" if number == 1 else ""
        way = ": if the first column names the rows, name it too" if number == expected + 1 else way
        raise ValueError(
            f"line {line} has {number} cell{'s' * (number > 1)}, expected {expected} as in line {first}{way}"
        )
    return all_rows if longest == width else [cells[:width] for cells in all_rows]


@dataclass(frozen=True)
class _Reading:
    """The first rows of a file under a delimiter, and what speaks against it."""

    rows: DelimitedRows
    strays: float  # share of rows in which what may divide cells as well stands in a cell that is no number
    words: float  # share of cells that are no numbers


def _readings(head: str, marks: Sequence[str], comment: str | None) -> Iterator[_Reading]:
    for mark in marks:
        # Whoever reads the whole file says what is wrong with it.
        with suppress(ValueError):
            rows = _rows_of(head, mark, comment=comment, most=_LOOKED_AT)
            cells = Cells([cell for row in rows.cells[1:] or rows.cells for cell in row if cell.strip()])
            words = [] if cells.plain is not None else [one for one in cells if not is_numeral(one)]
            others = [one for one in marks if one not in (mark, " ")]
            marked = ([one for one in row if any(map(one.count, others))] for row in rows.cells)
            strays = sum(not all(map(is_numeral, row)) for row in marked) / max(1, len(rows.cells))
            share = len(words) / max(1, len(cells))
            # Words are divided by spaces in many files whose cells are not.
            if rows.cells and len(rows.cells[0]) > 1 and (mark != " " or share <= 0.5):
                yield _Reading(rows, strays, share)


def _delimiter_of(text: str, plain: str, comment: str | None, decimal: str | None) -> str:
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1]
    marks = [mark for mark in dict.fromkeys([plain, *_NAMES]) if mark in head]
    readings = [one for one in _readings(head, marks, comment) if one.rows.delimiter != decimal]
    if any(one.rows.delimiter == "\t" for one in readings):
        # Among spaces a tab is one of them.
        readings = [one for one in readings if one.rows.delimiter != " "]
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", head)]
    lines = [line for line in lines if line and not (comment and line.startswith(comment))][:_LOOKED_AT]
    if not readings:
        return _delimiter_of_uneven(head, lines, [mark for mark in marks if mark != " "] or [plain], decimal)
    best = min((one.strays, one.words) for one in readings)
    chosen, *others = [one for one in readings if (one.strays, one.words) == best]
    if chosen.rows.delimiter in ", ":
        _check_marks(chosen.rows, lines, plain)
    if others and chosen.words < 1:
        one, other = _NAMES[chosen.rows.delimiter], _NAMES[others[0].rows.delimiter]
        raise _Ambiguous(f"{other} or {one} could divide its cells, say which with --delimiter")
    return chosen.rows.delimiter


def _delimiter_of_uneven(head: str, lines: Sequence[str], marks: Sequence[str], decimal: str | None) -> str:
    """Return a delimiter for a file that none divides evenly: the one of most lines, or none that occurs."""
    name, below = lines[0] if lines else "", lines[1:]
    if below and all(map(is_numeral, below)):
        if decimal == "," and "," in name and '"' not in name and not is_numeral(name):
            raise _Ambiguous(_one_or_two(below[0], ","))
        # Numbers with a mark below one name may be names of rows, which R writes so, and a column.
        for mark in " ," if decimal != "," else "":
            parts = [line.split(mark) for line in below if mark not in name]
            if all(len(one) == 2 for one in parts) and len({one[0] for one in parts}) == len(below):
                raise _Ambiguous(_one_or_two(below[0], mark))
        if decimal == "," or not (is_numeral(name) or any(mark in name for mark in _NAMES)):
            return ";"
    return max(marks, key=lambda mark: sum(mark in line for line in head.splitlines()))


def _check_marks(rows: DelimitedRows, lines: Sequence[str], plain: str) -> None:
    """Refuse commas and spaces between cells that could stand inside of numbers, unless names settle it."""
    if not rows.names_rows and not all(map(is_numeral, rows.cells[0])):
        return
    mark, below = rows.delimiter, lines[1:] or lines
    if all(map(is_numeral, below)) and (mark != plain or all(map(in_groups, lines))):
        raise _Ambiguous(_one_or_two(below[0], mark))
    for row in rows.cells:
        for one, two in pairwise(row):
            if _LEADING.fullmatch(one) and _ZERO_FIRST.fullmatch(two):
                raise _Ambiguous(_one_or_two(f"{one}{mark}{two}", mark))


def _one_or_two(text: str, mark: str) -> str:
    what, name = ("comma", ",") if mark == "," else ("space", "space")
    return (
        f"'{visible(text)}' is one number with a {what}, or two cells: give --delimiter ';' for one "
        f"number, with its mark by --decimal, or --delimiter {name} for two cells"
    )


PairsLike: TypeAlias = str | PathLike[str] | NDArray[np.integer] | Sequence[Sequence[int]]
"""A file of pairs of rows, or pairs of points that count from 0: tensors and other arrays are arrays."""

_COLUMNS = 2


def read_pairs(pairs: PairsLike, *, name: str, row_names: Sequence[str]) -> NDArray[np.int64]:
    """Return pairs of points that count from 0, ``(P, 2)``: of a file by the names of their rows."""
    if not isinstance(pairs, str | PathLike):
        return _of_points(pairs, name, len(row_names))
    path = Path(pairs)
    shown = f"{name}: '{visible(str(path))}'"
    if path.suffix.lower() not in PLAIN:
        raise ValueError(f"{name}: cannot read '{visible(str(path))}': {foreign_suffix(path, tuple(PLAIN))}")
    check_file(path)
    cells, times = _cells(path, shown), Counter(row_names)
    if not any(cell in times or cell.isdigit() for cell in cells[0]):
        # Names of the two columns, unless no line names a row: then the first is as wrong as the others.
        cells = cells[1:] if any(cell in times for row in cells[1:] for cell in row) else cells
    for cell in (cell for row in cells for cell in row if times[cell] != 1):
        where = f"{shown} names the row '{short(visible(cell), 40)}'"
        if cell in times:
            raise ValueError(f"{where}, a name that several rows have: give every row a name of its own")
        are_numbers = all(row == str(place) for place, row in enumerate(times, start=1))
        known = f"rows from 1 to {len(times):,}" if are_numbers else f"one of {listed(times, 3)}"
        raise ValueError(f"{where}, expected {known}, as in the column 'row' of assignments.csv")
    places = {row: place for place, row in enumerate(row_names)}
    return np.array([[places[cell] for cell in row] for row in cells], dtype=np.int64)


def _of_points(pairs: Any, name: str, num_points: int) -> NDArray[np.int64]:
    try:
        points = np.asarray(on_host(pairs))
    except ValueError:
        points = np.empty(1, dtype=object)
    if not points.size:
        return np.empty((0, _COLUMNS), dtype=np.int64)
    if points.shape[1:] != (_COLUMNS,) or not np.issubdtype(points.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {points.shape} and type {points.dtype}, expected a file, or pairs of points, "
            "(P, 2) integers that count from 0"
        )
    outside = ((points < 0) | (points >= num_points)).any(-1)
    if outside.any():
        raise ValueError(
            f"{name} has the pair {tuple(points[outside][0].tolist())}, expected points from 0 to "
            f"{num_points - 1}: in Python they count from 0"
        )
    return points.astype(np.int64)


def _cells(path: Path, shown: str) -> list[list[str]]:
    # Names of rows are no decimal numbers: "1,200" is a pair. Whether the first line is one is seen later.
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = read_delimited(path, options=ReadingOptions(usual)).cells
    if not rows or len(rows[0]) != _COLUMNS:
        rows = read_delimited(path).cells
    if not rows:
        raise ValueError(f"{shown} is empty, expected a pair of rows a line")
    if len(rows[0]) != _COLUMNS:
        number = len(rows[0])
        raise ValueError(
            f"{shown} has {number} column{'s' * (number != 1)}, expected two, the rows of a pair"
        )
    return [[cell.strip() for cell in row] for row in rows]
