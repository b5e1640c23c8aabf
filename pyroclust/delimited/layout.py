"""What divides the cells of a text file: told, or found where one reading alone makes sense."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path

from pyroclust.delimited.decoding import decoded
from pyroclust.delimited.foreign import foreign_content
from pyroclust.delimited.grid import Grid, grid_of
from pyroclust.delimited.numerals import Cells, grouped, is_numeral
from pyroclust.delimited.rows import Form, Row, form_of, rows_of
from pyroclust.memory import check_memory
from pyroclust.text import visible

PLAIN = {".csv": ",", ".tsv": "\t"}
"""Suffixes of delimited text, and what divides cells unless a file looks otherwise."""

__all__ = ["PLAIN", "DelimitedText", "ReadingOptions", "read_delimited"]

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_COMMENT = "#"
_LOOKED_AT, _HEAD = 200, 1 << 18
# Of text, its decoded form and the lines it is divided into, for each byte of the file.
_BYTES_A_BYTE = 8
_LEADING, _ZERO_FIRST = re.compile(r"[+-]?\d{1,3}", re.ASCII), re.compile(r"0\d\d", re.ASCII)


@dataclass(frozen=True)
class ReadingOptions:
    """What is told of a delimited file; what is ``None`` is found out.

    Attributes:
        delimiter: the character between cells; a space stands for any number of spaces.
        decimal: the decimal mark, a point or a comma.
        header: whether the first line names the columns.

    Raises:
        ValueError: if the delimiter is not one character that can divide cells, or the decimal mark is none.

    Example:
        >>> ReadingOptions(decimal=";")
        Traceback (most recent call last):
        ValueError: decimal is ';', expected '.' or ','
    """

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        """Check the characters."""
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n.+-_\x00'):
            raise ValueError(
                f"delimiter is '{visible(mark)}', expected one character: ',', ';', '|', a tab or a space"
            )
        if self.decimal is not None and self.decimal not in (".", ","):
            raise ValueError(f"decimal is '{visible(self.decimal)}', expected '.' or ','")

    @property
    def told(self) -> tuple[str, ...]:
        """Names of what is told."""
        return tuple(name for name in ("delimiter", "decimal", "header") if getattr(self, name) is not None)


@dataclass(frozen=True)
class DelimitedText:
    """A text file whose rows have one width.

    Attributes:
        delimiter: what divides cells.
        form: the shape of all rows.
        notes: what was understood where it is not the plain case.
        text: the whole file.
        comment: how lines begin that are no rows, or ``None``.
        names: names of the columns that stand in a comment above the first row, or ``None``.
        grid: all cells, where they could be divided at once.
    """

    delimiter: str
    form: Form
    notes: tuple[str, ...]
    text: str
    comment: str | None
    names: tuple[str, ...] | None = None
    grid: Grid | None = None

    def __repr__(self) -> str:
        """Return the size and the delimiter."""
        return f"DelimitedText({self.form.num_rows} rows of {self.form.width} cells, '{self.delimiter}')"

    def rows(self) -> Iterator[Row]:
        """Return the rows, all of one width but a first one that may be one short."""
        return self.form.cut(rows_of(self.text, self.delimiter, comment=self.comment))

    def columns(self) -> tuple[list[str], list[Cells]]:
        """Return the first row, and the cells below of each column; nothing if there is no row."""
        if self.grid is not None:
            return self.grid.row(0), [Cells(self.grid.column(place)) for place in range(self.form.width)]
        rows = [row.cells for row in self.rows()]
        columns = [Cells(column) for column in zip(*rows[1:], strict=True)]
        return (rows[0] if rows else []), columns or [Cells() for _ in range(self.form.width)]


def read_delimited(path: Path, *, options: ReadingOptions | None = None) -> DelimitedText:
    r"""Read a text file and find out what divides its cells.

    A delimiter is believed where every row has the same number of cells; of several, the one that leaves most
    cells numbers, and among equals the plain one.

    Args:
        path: an existing file whose suffix is one of :data:`PLAIN`.
        options: what is told.

    Raises:
        ValueError: if the file is no text, its rows have different widths, or it can be read in two ways; the
            sentence says which line, or what to tell.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "points.csv"
        >>> _ = path.write_text("a;b\n1,5;2\n0,5;3\n")
        >>> read_delimited(path).notes
        ('Semicolons were read as what divides cells.',)
    """
    options = options or ReadingOptions()
    told, plain = options.delimiter, PLAIN[path.suffix.lower()]
    check_memory(path.stat().st_size * _BYTES_A_BYTE, f"the rows of '{path}'", remedy="take fewer of them")
    try:
        content = path.read_bytes()
        if (foreign := foreign_content(content)) is not None:
            raise ValueError(foreign)
        text, notes = decoded(content)
        text, own = _own_word(text)
        _refuse_brackets(text)
        comment = _COMMENT if text.lstrip("\n\r\t ").startswith(_COMMENT) else None
        delimiter = told or own or _found(text, plain, comment, options.decimal)
        grid = grid_of(text, delimiter, comment=comment)
        form = form_of(rows_of(text, delimiter, comment=comment)) if grid is None else grid.form
    except _TwoWays as two:
        raise ValueError(f"'{path}' can be read in two ways: {two}") from None
    except ValueError as error:
        raise ValueError(f"'{path}' is not a readable {path.suffix} file: {error}") from None
    if told is None and form.width > 1 and delimiter != plain:
        notes = (*notes, f"{_NAMES.get(delimiter, delimiter).capitalize()} were read as what divides cells.")
    names = None
    if comment is not None:
        names = _names_above(text, delimiter, form)
    return DelimitedText(delimiter, form, (*notes, *_about(form)), text, comment, names, grid)


class _TwoWays(Exception):
    """A file that can be read in two ways; the text says which."""


def _about(form: Form) -> Iterator[str]:
    if form.num_blank:
        lines = "1 blank line" if form.num_blank == 1 else f"{form.num_blank:,} blank lines"
        yield f"{lines} between the rows held no row."
    if form.is_cut:
        yield "Every line ends with a delimiter, behind which no column was read."
    if form.names_rows:
        yield "The first line has one name less than the others have cells: the first column names the rows."


def _own_word(text: str) -> tuple[str, str | None]:
    """Take out the first line ``sep=;`` that Excel understands."""
    found = re.match(r'"?sep=(.)"?[ \t]*(?=[\r\n])', text, re.IGNORECASE)
    return (text, None) if found is None else (text[found.end() :], found[1])


def _refuse_brackets(text: str) -> None:
    """Refuse rows as programs print lists and arrays."""
    lines = [line.strip() for line in text[:_HEAD].splitlines()[:-1] or [text] if line.strip()]
    if lines and all(line[0] in "[(" and line.rstrip(",")[-1] in "])" for line in lines):
        raise ValueError("brackets stand around its rows: leave them out")


def _names_above(text: str, delimiter: str, form: Form) -> tuple[str, ...] | None:
    """Return the names in the last comment above rows of numbers, as numpy's ``savetxt`` writes them."""
    first = next(rows_of(text, delimiter, comment=_COMMENT), None)
    if first is None or form.width < 2 or not all(map(is_numeral, first.cells)):
        return None
    above = next((row for row in rows_of(text, delimiter) if row.line == first.line - 1), None)
    if above is None or not above.cells[0].startswith(_COMMENT):
        return None
    words = [above.cells[0].removeprefix(_COMMENT), *above.cells[1:]]
    names = [name.strip() for name in (words if words[0].strip() else words[1:])]
    fits = len(names) == form.width and all(names) and not any(map(is_numeral, names))
    return tuple(names) if fits else None


@dataclass(frozen=True)
class _Candidate:
    """A delimiter under which the first rows have one shape."""

    delimiter: str
    rows: list[Row]
    form: Form

    @cached_property
    def share(self) -> float:
        """Share of numbers among the cells below the first row."""
        below = self.rows[1:] or self.rows
        cells = [cell for row in below for cell in row.cells[: self.form.width] if cell.strip()]
        if Cells(cells).plain is not None:
            return 1.0
        return sum(map(is_numeral, cells)) / max(1, len(cells))


def _found(text: str, plain: str, comment: str | None, decimal: str | None) -> str:
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1]
    candidates = [
        one
        for mark in dict.fromkeys([plain, *_NAMES])
        if mark in head and mark != decimal and (one := _candidate(head, mark, comment)) is not None
    ]
    candidates = [one for one in candidates if not _is_beaten(one, candidates)]
    lines = _head_lines(head, comment)
    is_whole = bool(lines) and all(map(is_numeral, lines))
    if not is_whole and (found := _beside_marks(candidates, decimal)) is not None:
        return found
    # Words are divided by spaces in many files whose cells are not.
    enough = 0.5 if len(candidates) == 1 else 1.0
    candidates = [one for one in candidates if one.delimiter != " " or one.share >= enough]
    if not candidates:
        return _alone(head, lines, plain, comment, decimal)
    best = max(one.share for one in candidates)
    winners = [one for one in candidates if one.share == best]
    chosen = winners[0]
    if chosen.delimiter != plain and len([one for one in winners if one.delimiter != " "]) > 1:
        raise _TwoWays(_either(winners[0].delimiter, winners[1].delimiter))
    if chosen.delimiter in ", ":
        _check_marks(chosen, lines, plain)
    return chosen.delimiter


def _is_beaten(one: _Candidate, candidates: Sequence[_Candidate]) -> bool:
    """Say whether another delimiter divides a first line that this one leaves whole above rows of two."""
    return (
        one.form.names_rows
        and one.form.width == 2
        and any(not other.form.names_rows and other.delimiter != " " for other in candidates)
    )


def _beside_marks(candidates: Sequence[_Candidate], decimal: str | None) -> str | None:
    """Return a delimiter beside which all commas, or all spaces, stand inside of numbers."""
    for mark in ", ":
        by_mark = next((one for one in candidates if one.delimiter == mark), None)
        for one in candidates if by_mark is not None else ():
            below = [cell.strip() for row in one.rows[1:] or one.rows for cell in row.cells]
            marked = [cell for cell in below if mark in cell]
            inside = bool(marked) and all(_is_marked(cell, mark, decimal) for cell in marked)
            if by_mark is None or one is by_mark or one.form.names_rows or not inside:
                continue
            first = [cell.strip() for cell in one.rows[0].cells]
            in_names = any(mark in cell and not is_numeral(cell) for cell in first)
            if one.delimiter != " " and not in_names:
                return one.delimiter
            if one.delimiter != " " and not by_mark.form.names_rows:
                raise _TwoWays(_either(one.delimiter, mark))
            if one.delimiter == " " and not in_names:
                if not any(map(is_numeral, first)) or one.share > by_mark.share:
                    return one.delimiter
                raise _TwoWays(_either(one.delimiter, mark))
    return None


def _is_marked(cell: str, mark: str, decimal: str | None) -> bool:
    """Say whether a cell is a number with a mark that may be a decimal mark or stand between thousands."""
    groups = grouped(cell)
    return is_numeral(cell) if decimal is None else groups is not None and groups[1] == mark


def _either(one: str, other: str) -> str:
    return f"{_NAMES[one]} or {_NAMES[other]} could divide its cells, say which with --delimiter"


def _head_lines(head: str, comment: str | None) -> list[str]:
    lines = (line.strip() for line in re.split(r"\r\n|\r|\n", head))
    return [line for line in lines if line and (comment is None or not line.startswith(comment))][:_LOOKED_AT]


def _head_rows(head: str, mark: str, comment: str | None) -> list[Row]:
    found: list[Row] = []
    try:
        found.extend(islice(rows_of(head, mark, comment=comment), _LOOKED_AT))
    except ValueError:
        # Whoever reads the whole file says what is wrong with it.
        return []
    return found


def _candidate(head: str, mark: str, comment: str | None) -> _Candidate | None:
    rows = _head_rows(head, mark, comment)
    try:
        form = form_of(rows)
    except ValueError:
        return None
    return _Candidate(mark, rows, form) if form.width > 1 else None


def _alone(head: str, lines: Sequence[str], plain: str, comment: str | None, decimal: str | None) -> str:
    """Return a delimiter for a file that none divides evenly."""
    names, below = lines[:1], lines[1:]
    divided = any("," in line and '"' not in line and not is_numeral(line) for line in names)
    if decimal == "," and divided and below and all(map(is_numeral, below)):
        raise _TwoWays(_one_or_two(below[0], ","))
    has_name = bool(lines) and not is_numeral(lines[0]) and not any(mark in lines[0] for mark in _NAMES)
    if (has_name or decimal == ",") and all(map(is_numeral, lines[1:])):
        return ";"
    present = [mark for mark in dict.fromkeys([plain, *_NAMES]) if mark in head and mark != " "]
    widths = {mark: [len(row.cells) for row in _head_rows(head, mark, comment)] for mark in present}
    shared = {mark: max(map(row.count, row)) for mark, row in widths.items() if max(row, default=0) > 1}
    return max(shared, key=lambda mark: shared[mark], default=plain)


def _check_marks(chosen: _Candidate, lines: Sequence[str], plain: str) -> None:
    """Refuse commas and spaces between cells that could stand inside of numbers, unless names settle it."""
    mark, has_short_names = chosen.delimiter, chosen.form.names_rows
    if not all(map(is_numeral, chosen.rows[0].cells)) and not has_short_names:
        return
    below = lines[1:] or lines
    whole = all(map(is_numeral, below))
    if whole and (mark != plain or has_short_names or all(map(grouped, lines))):
        raise _TwoWays(_one_or_two(below[0], mark))
    for row in chosen.rows:
        for place, (one, two) in enumerate(pairwise(row.cells)):
            is_name = has_short_names and not row.is_quoted and place == 0 and is_numeral(one)
            if is_name or (_LEADING.fullmatch(one) and _ZERO_FIRST.fullmatch(two)):
                raise _TwoWays(_one_or_two(f"{one}{mark}{two}", mark, row.line))


def _one_or_two(text: str, mark: str, line: int | None = None) -> str:
    where = "" if line is None else f" in line {line}"
    what, name = ("comma", ",") if mark == "," else ("space", "space")
    return (
        f"'{visible(text)}'{where} is one number with a {what}, or two cells: give --delimiter ';' for one "
        f"number, with its mark by --decimal, or --delimiter {name} for two cells"
    )
