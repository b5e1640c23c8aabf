"""What divides the cells of a text file: told, or found where one reading alone makes sense."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pyroclust.delimited.foreign import foreign_content
from pyroclust.delimited.numerals import Cells, grouped, is_numeral
from pyroclust.delimited.rows import COMMENT, Rows, decoded, rows_of
from pyroclust.memory import check_memory
from pyroclust.text import visible

__all__ = ["PLAIN", "DelimitedText", "ReadingOptions", "read_delimited"]

# Suffixes of delimited text, and what divides cells unless a file looks otherwise.
PLAIN = {".csv": ",", ".tsv": "\t"}

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_LOOKED_AT, _HEAD = 200, 1 << 18
# Of text, its cells and their numbers, for each byte of the file.
_BYTES_A_BYTE = 32
_LEADING, _ZERO_FIRST = re.compile(r"[+-]?\d{1,3}", re.ASCII), re.compile(r"0\d\d", re.ASCII)


@dataclass(frozen=True)
class ReadingOptions:
    """What is told of a delimited file; what is ``None`` is found out."""

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
    def told(self) -> tuple[str, ...]:
        """Names of what is told."""
        return tuple(name for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class DelimitedText:
    """The cells of a text file or a sheet, in rows of one width, the first line included."""

    cells: list[list[str]] = field(repr=False)
    notes: tuple[str, ...] = ()
    delimiter: str = ""  # empty where nothing has to divide them
    names_rows: bool = False  # the first line was one short, so that the first column is names of rows
    is_commented: bool = False  # lines that begin with # were left out
    names: tuple[str, ...] | None = None  # of the columns, in a comment above the first row


class _TwoWays(Exception):
    """A file that can be read in two ways; the text says which."""


def read_delimited(path: Path, *, options: ReadingOptions | None = None) -> DelimitedText:
    """Read a text file and find out what divides its cells."""
    options = options or ReadingOptions()
    told, plain = options.delimiter, PLAIN[path.suffix.lower()]
    check_memory(path.stat().st_size * _BYTES_A_BYTE, f"the cells of '{path}'", remedy="take fewer rows")
    try:
        content = path.read_bytes()
        if (foreign := foreign_content(content)) is not None:
            raise ValueError(foreign)
        text, notes = decoded(content)
        # The first line that Excel understands.
        if (word := re.match(r'"?sep=(.)"?[ \t]*(?=[\r\n])', text, re.IGNORECASE)) is not None:
            text, told = text[word.end() :], told or word[1]
        _refuse_brackets(text)
        comment = COMMENT if text.lstrip("\n\r\t ").startswith(COMMENT) else None
        delimiter = told or _found(text, plain, comment, options.decimal)
        rows = rows_of(text, delimiter, comment=comment)
    except _TwoWays as two:
        raise ValueError(f"'{path}' can be read in two ways: {two}") from None
    except ValueError as error:
        raise ValueError(f"'{path}' is not a readable {path.suffix} file: {error}") from None
    if options.delimiter is None and rows.width > 1 and delimiter != plain:
        notes = (*notes, f"{_NAMES.get(delimiter, delimiter).capitalize()} were read as what divides cells.")
    return DelimitedText(
        rows.cells,
        (*notes, *rows.notes),
        delimiter,
        names_rows=rows.names_rows,
        is_commented=comment is not None,
        names=None if comment is None else _names_above(text, delimiter, rows),
    )


def _refuse_brackets(text: str) -> None:
    """Refuse rows as programs print lists and arrays."""
    lines = [line.strip() for line in text[:_HEAD].splitlines()[:-1] or [text] if line.strip()]
    if lines and all(line[0] in "[(" and line.rstrip(",")[-1] in "])" for line in lines):
        raise ValueError("brackets stand around its rows: leave them out")


def _names_above(text: str, delimiter: str, rows: Rows) -> tuple[str, ...] | None:
    """Return the names in the last comment above rows of numbers, as numpy's ``savetxt`` writes them."""
    if rows.width < 2 or not all(map(is_numeral, rows.cells[0])):
        return None
    above = ""
    for line in filter(str.strip, text[:_HEAD].splitlines()):
        if not line.startswith(COMMENT):
            break
        above = line
    names = [name.strip() for name in rows_of(above.removeprefix(COMMENT), delimiter).cells[0]]
    fits = len(names) == rows.width and all(names) and not any(map(is_numeral, names))
    return tuple(names) if fits else None


@dataclass(frozen=True)
class _Candidate:
    """A delimiter under which the first rows have one shape, and the share of numbers in them."""

    delimiter: str
    rows: Rows
    share: float

    @property
    def first(self) -> list[str]:
        """The names, or cells, of the first line."""
        return [cell.strip() for cell in self.rows.cells[0][self.rows.names_rows :]]


def _candidates(head: str, marks: Iterable[str], comment: str | None) -> Iterator[_Candidate]:
    for mark in marks:
        # Whoever reads the whole file says what is wrong with it.
        with suppress(ValueError):
            rows = rows_of(head, mark, comment=comment, most=_LOOKED_AT)
            if rows.width > 1:
                cells = Cells([cell for row in rows.below for cell in row if cell.strip()])
                number = len(cells) if cells.plain is not None else sum(map(is_numeral, cells))
                yield _Candidate(mark, rows, number / max(1, len(cells)))


def _found(text: str, plain: str, comment: str | None, decimal: str | None) -> str:
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1]
    marks = [mark for mark in dict.fromkeys([plain, *_NAMES]) if mark in head]
    candidates = list(_candidates(head, [mark for mark in marks if mark != decimal], comment))
    # One delimiter leaves a first line whole, above rows of two, that another one divides.
    whole_first = any(not one.rows.names_rows and one.delimiter != " " for one in candidates)
    candidates = [
        one for one in candidates if not (one.rows.names_rows and one.rows.width == 2 and whole_first)
    ]
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", head)]
    lines = [line for line in lines if line and not (comment and line.startswith(comment))][:_LOOKED_AT]
    if not all(map(is_numeral, lines)) and (found := _beside_marks(candidates, decimal)) is not None:
        return found
    # Words are divided by spaces in many files whose cells are not.
    enough = 0.5 if len(candidates) == 1 else 1.0
    candidates = [one for one in candidates if one.delimiter != " " or one.share >= enough]
    if not candidates:
        return _alone(head, lines, [mark for mark in marks if mark != " "] or [plain], decimal)
    best = max(one.share for one in candidates)
    winners = [one for one in candidates if one.share == best]
    chosen = winners[0]
    if chosen.delimiter != plain and len([one for one in winners if one.delimiter != " "]) > 1:
        raise _TwoWays(_either(winners[0].delimiter, winners[1].delimiter))
    if chosen.delimiter in ", ":
        _check_marks(chosen, lines, plain)
    return chosen.delimiter


def _beside_marks(candidates: Sequence[_Candidate], decimal: str | None) -> str | None:
    """Return a delimiter beside which all commas, or all spaces, stand inside of numbers."""
    for mark in ", ":
        by_mark = next((one for one in candidates if one.delimiter == mark), None)
        for one in candidates if by_mark is not None else ():
            marked = [cell.strip() for row in one.rows.below for cell in row if mark in cell.strip()]
            # A number with a mark that may be a decimal mark, or stand between thousands.
            inside = bool(marked) and all(
                is_numeral(cell) if decimal is None else (groups := grouped(cell)) and groups[1] == mark
                for cell in marked
            )
            if by_mark is None or one is by_mark or one.rows.names_rows or not inside:
                continue
            in_names = any(mark in cell and not is_numeral(cell) for cell in one.first)
            is_certain = (
                one.delimiter != " " or not any(map(is_numeral, one.first)) or one.share > by_mark.share
            )
            if not in_names and is_certain:
                return one.delimiter
            if not in_names or (one.delimiter != " " and not by_mark.rows.names_rows):
                raise _TwoWays(_either(one.delimiter, mark))
    return None


def _either(one: str, other: str) -> str:
    return f"{_NAMES[one]} or {_NAMES[other]} could divide its cells, say which with --delimiter"


def _alone(head: str, lines: Sequence[str], marks: Sequence[str], decimal: str | None) -> str:
    """Return a delimiter for a file that none divides evenly: the one of most lines, or none that occurs."""
    if lines and lines[1:] and all(map(is_numeral, lines[1:])):
        if decimal == "," and "," in lines[0] and '"' not in lines[0] and not is_numeral(lines[0]):
            raise _TwoWays(_one_or_two(lines[1], ","))
        if decimal == "," or not (is_numeral(lines[0]) or any(mark in lines[0] for mark in _NAMES)):
            return ";"
    return max(marks, key=lambda mark: sum(mark in line for line in head.splitlines()))


def _check_marks(chosen: _Candidate, lines: Sequence[str], plain: str) -> None:
    """Refuse commas and spaces between cells that could stand inside of numbers, unless names settle it."""
    mark, is_short = chosen.delimiter, chosen.rows.names_rows
    if not all(map(is_numeral, chosen.first)) and not is_short:
        return
    below = lines[1:] or lines
    if all(map(is_numeral, below)) and (mark != plain or is_short or all(map(grouped, lines))):
        raise _TwoWays(_one_or_two(below[0], mark))
    for row in chosen.rows.cells[is_short:]:
        for place, (one, two) in enumerate(pairwise(row)):
            is_name = is_short and place == 0 and is_numeral(one)
            is_name = is_name and not any(line.startswith(f'"{one}"') for line in lines)
            if is_name or (_LEADING.fullmatch(one) and _ZERO_FIRST.fullmatch(two)):
                raise _TwoWays(_one_or_two(f"{one}{mark}{two}", mark))


def _one_or_two(text: str, mark: str) -> str:
    what, name = ("comma", ",") if mark == "," else ("space", "space")
    return (
        f"'{visible(text)}' is one number with a {what}, or two cells: give --delimiter ';' for one "
        f"number, with its mark by --decimal, or --delimiter {name} for two cells"
    )
