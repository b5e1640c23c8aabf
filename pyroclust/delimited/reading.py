"""What divides the cells of a text file: told, or found where one reading alone makes sense."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pyroclust.delimited.foreign import foreign_content
from pyroclust.delimited.numerals import Cells, grouped, is_numeral
from pyroclust.delimited.rows import COMMENT, Rows, decoded, rows_of
from pyroclust.memory import check_memory
from pyroclust.text import visible

__all__ = ["PLAIN", "ReadingOptions", "read_delimited"]

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


class _TwoWays(Exception):
    """A file that can be read in two ways; the text says which."""


def read_delimited(path: Path, *, options: ReadingOptions | None = None) -> Rows:
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
    names = None if comment is None else _names_above(text, delimiter, rows)
    return replace(rows, notes=(*notes, *rows.notes), is_commented=comment is not None, names=names)


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
class _Reading:
    """The first rows of a file under a delimiter, and what speaks for it, the less the better."""

    rows: Rows
    strays: float  # share of rows in which what may divide cells as well stands in a cell that is no number
    words: float  # share of cells that are no numbers

    @property
    def order(self) -> tuple[float, bool, float]:
        """Less is better; rows of two below a first line of one cell may be those of another delimiter."""
        return self.strays, self.rows.names_rows and self.rows.width == 2, self.words


def _readings(head: str, marks: Sequence[str], comment: str | None) -> Iterator[_Reading]:
    for mark in marks:
        # Whoever reads the whole file says what is wrong with it.
        with suppress(ValueError):
            rows = rows_of(head, mark, comment=comment, most=_LOOKED_AT)
            cells = Cells([cell for row in rows.cells[1:] or rows.cells for cell in row if cell.strip()])
            words = [] if cells.plain is not None else [one for one in cells if not is_numeral(one)]
            others = [one for one in marks if one not in (mark, " ")]
            marked = ([one for one in row if any(map(one.count, others))] for row in rows.cells)
            strays = sum(not all(map(is_numeral, row)) for row in marked) / max(1, len(rows.cells))
            share = len(words) / max(1, len(cells))
            # Words are divided by spaces in many files whose cells are not.
            if rows.width > 1 and (mark != " " or share <= 0.5):
                yield _Reading(rows, strays, share)


def _found(text: str, plain: str, comment: str | None, decimal: str | None) -> str:
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1]
    marks = [mark for mark in dict.fromkeys([plain, *_NAMES]) if mark in head]
    readings = [one for one in _readings(head, marks, comment) if one.rows.delimiter != decimal]
    if any(one.rows.delimiter == "\t" for one in readings):
        # Among spaces a tab is one of them.
        readings = [one for one in readings if one.rows.delimiter != " "]
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", head)]
    lines = [line for line in lines if line and not (comment and line.startswith(comment))][:_LOOKED_AT]
    if not readings:
        return _alone(head, lines, [mark for mark in marks if mark != " "] or [plain], decimal)
    best = min(one.order for one in readings)
    chosen, *others = [one for one in readings if one.order == best]
    if chosen.rows.delimiter in ", ":
        _check_marks(chosen, lines, plain)
    if others and chosen.words < 1:
        one, other = _NAMES[chosen.rows.delimiter], _NAMES[others[0].rows.delimiter]
        raise _TwoWays(f"{other} or {one} could divide its cells, say which with --delimiter")
    return chosen.rows.delimiter


def _alone(head: str, lines: Sequence[str], marks: Sequence[str], decimal: str | None) -> str:
    """Return a delimiter for a file that none divides evenly: the one of most lines, or none that occurs."""
    if lines and lines[1:] and all(map(is_numeral, lines[1:])):
        if decimal == "," and "," in lines[0] and '"' not in lines[0] and not is_numeral(lines[0]):
            raise _TwoWays(_one_or_two(lines[1], ","))
        if decimal == "," or not (is_numeral(lines[0]) or any(mark in lines[0] for mark in _NAMES)):
            return ";"
    return max(marks, key=lambda mark: sum(mark in line for line in head.splitlines()))


def _check_marks(chosen: _Reading, lines: Sequence[str], plain: str) -> None:
    """Refuse commas and spaces between cells that could stand inside of numbers, unless names settle it."""
    mark, is_short = chosen.rows.delimiter, chosen.rows.names_rows
    if not is_short and not all(map(is_numeral, chosen.rows.cells[0])):
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
