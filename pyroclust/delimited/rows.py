"""Rows of delimited text with their line numbers, and whether they have one width."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from pyroclust.delimited.numerals import is_numeral

__all__ = ["BLANK", "Form", "Row", "form_of", "rows_of"]

BLANK = " \t\r\n"
"""What a blank line holds."""

_CELL = re.compile(r'"((?:[^"]|"")*)"(?=[ \t\r\n]|$)|([^ \t\r\n]+)')


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file.

    Attributes:
        line: number of its first line, from 1.
        cells: texts; spaces before a cell are left out.
        is_quoted: whether a quote begins it.
        gap: blank lines before it.
    """

    line: int
    cells: list[str]
    is_quoted: bool = False
    gap: int = 0


class _Lines:
    """Lines of a text; between rows those that are blank or comments are passed over."""

    def __init__(self, text: str, comment: str | None) -> None:
        self._lines = iter(io.StringIO(text, newline=""))
        self._comment = comment
        self.number = 0
        self.is_new = True
        self.start, self.is_quoted, self.gap = 0, False, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            if not self.is_new:
                return line
            if not line.strip(BLANK):
                self.gap += 1
                continue
            if self._comment is not None and line.startswith(self._comment):
                continue
            self.is_new, self.start, self.is_quoted = False, self.number, line.lstrip(" ").startswith('"')
            return line
        raise StopIteration


def rows_of(text: str, delimiter: str, *, comment: str | None = None) -> Iterator[Row]:
    r"""Divide a text into rows; blank lines, comments and empty rows at the ends are no rows.

    Quotes are double; inside of them stand delimiters, line ends, and quotes written twice. A space as the
    delimiter means any number of them.

    Args:
        text: of the file.
        delimiter: one character.
        comment: how lines begin that are no rows.

    Raises:
        ValueError: if a quote is not closed or stands where none can, with the line.

    Example:
        >>> [(row.line, row.cells) for row in rows_of('a, b\n\n"1, 2",3\n', ",")]
        [(1, ['a', 'b']), (3, ['1, 2', '3'])]
    """
    lines = _Lines(text, comment)
    split = _spaced(lines) if delimiter == " " else _quoted(lines, delimiter)
    empty: list[Row] = []
    is_begun = False
    for cells in split:
        row = Row(lines.start, cells, lines.is_quoted, lines.gap)
        lines.is_new, lines.gap = True, 0
        if row.is_quoted or any(cell and not cell.isspace() for cell in cells):
            yield from empty
            yield row
            empty, is_begun = [], True
        elif is_begun:
            empty.append(row)


def _quoted(lines: _Lines, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        yield from reader
    except csv.Error as error:
        raise ValueError(f"line {lines.start} cannot be divided into cells ({error})") from None


def _spaced(lines: _Lines) -> Iterator[list[str]]:
    for line in lines:
        yield [one[1].replace('""', '"') if one[1] is not None else one[2] for one in _CELL.finditer(line)]
        lines.is_new = True


@dataclass(frozen=True)
class Form:
    """The shape that all rows of a file have.

    Attributes:
        width: cells of a row.
        names_rows: whether the first line is one short, so that the first column is names of rows.
        is_cut: whether rows end in a delimiter, and the empty cell after it is no column.
        num_rows: rows, the first line included.
        num_blank: blank lines between rows.
    """

    width: int
    names_rows: bool = False
    is_cut: bool = False
    num_rows: int = 0
    num_blank: int = 0

    def cut(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Leave out what stands behind the last delimiter.

        Args:
            rows: of the file.
        """
        if not self.is_cut:
            yield from rows
            return
        for row in rows:
            yield replace(row, cells=row.cells[: self.width])


@dataclass
class _Scan:
    """What is counted while rows pass."""

    first: Row | None = None
    counts: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    ends_empty: bool = True
    leading: list[str] = field(default_factory=list)
    is_quoted: bool = True
    num_blank: int = 0

    def add(self, row: Row) -> None:
        if self.first is None:
            self.first = row
            return
        width = len(row.cells)
        self.num_blank += row.gap
        self.counts[width] = self.counts.get(width, 0) + 1
        self.lines.setdefault(width, row.line)
        self.ends_empty &= not row.cells[-1]
        self.leading.append(row.cells[0])
        self.is_quoted &= row.is_quoted


def form_of(rows: Iterable[Row]) -> Form:
    r"""Return the one shape of rows.

    One cell more than names in every row is how R writes names of rows; that is believed where these are all
    different, and text, quoted or counted from one.

    Raises:
        ValueError: if a row has more or fewer cells than the others, with its line.

    Example:
        >>> form_of(rows_of("a,b\n1,2\n3,4\n", ",")).width
        2
        >>> form_of(rows_of("a,b\n1,2\n3\n", ","))
        Traceback (most recent call last):
        ValueError: line 3 has 1 cell, expected 2 as in line 1
    """
    scan = _Scan()
    for row in rows:
        scan.add(row)
    if scan.first is None:
        return Form(0)
    form = _form(scan, len(scan.first.cells), is_open=not scan.first.cells[-1])
    if form is None:
        raise ValueError(_ragged(scan, len(scan.first.cells)))
    return replace(form, num_rows=1 + sum(scan.counts.values()), num_blank=scan.num_blank)


def _form(scan: _Scan, width: int, *, is_open: bool) -> Form | None:
    """Return the form of rows below a first one of a width; it may end in an empty cell (is open)."""
    widths = list(scan.counts)
    if widths in ([], [width]):
        is_cut = is_open and scan.ends_empty and width > 1
        return Form(width - is_cut, is_cut=is_cut)
    if widths == [width + 1] and scan.ends_empty:
        return Form(width, is_cut=True)
    if widths == [width - 1] and is_open and width > 2:
        return Form(width - 1, is_cut=True)
    return Form(width + 1, names_rows=True) if widths == [width + 1] and _are_names(scan) else None


def _are_names(scan: _Scan) -> bool:
    names, first = scan.leading, [] if scan.first is None else scan.first.cells
    if len(set(names)) < len(names) or not all(names) or all(map(is_numeral, first)):
        return False
    counted = names == [str(place) for place in range(1, len(names) + 1)]
    return scan.is_quoted or counted or not any(is_numeral(name) for name in names)


def _ragged(scan: _Scan, first: int) -> str:
    """Blame the first line that differs from most."""
    assert scan.first is not None
    counts = {first: 1}
    for width, count in scan.counts.items():
        counts[width] = counts.get(width, 0) + count
    is_first = len(scan.counts) == 1 or first in scan.counts
    usual = first if is_first else max(scan.counts, key=lambda width: scan.counts[width])
    line, width = min((line, width) for width, line in scan.lines.items() if width != usual)
    like = scan.first.line if usual == first else scan.lines[usual]
    return f"line {line} has {width} cell{'' if width == 1 else 's'}, expected {usual} as in line {like}"
