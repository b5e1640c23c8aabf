"""Whether the first line of a table names its columns."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from pyroclust.delimited import MISSING, Cells, is_numeral
from pyroclust.text import listed

__all__ = ["FindHeader", "TableHeader", "find_header", "find_header_of_edges"]

_WHOLE = re.compile(r"\d+", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1800, 2100
# With fewer rows below, numbers of a first line without decimals say nothing.
_ENOUGH_ROWS = 5


@dataclass(frozen=True)
class TableHeader:
    """Whether the first line of a table names the columns, or is a row, and what was guessed."""

    is_header: bool
    notes: tuple[str, ...] = ()


FindHeader: TypeAlias = Callable[[Sequence[str], Sequence[Sequence[str]]], TableHeader]

_ROW = TableHeader(False, ("The first line was read as a row: there are no names of columns.",))


def find_header(first: Sequence[str], columns: Sequence[Sequence[str]]) -> TableHeader:
    """Tell names of columns, as text above numbers, from a row, which a number with decimals is."""
    cells = [cell.strip() for cell in first]
    is_number = [is_numeral(cell) for cell in cells]
    found = _numbers(cells, columns) if all(is_number) else _mixed(cells, columns, is_number)
    if found is None:
        raise ValueError(_either(cells))
    return found


def find_header_of_edges(first: Sequence[str], columns: Sequence[Sequence[str]]) -> TableHeader:
    """Tell names of columns from an edge: a node has an edge more often than a column a node of its name."""
    cells = [cell.strip() for cell in first]
    texts = {cell for cell in cells if not is_numeral(cell)}
    named = any(cell in texts and _are_numbers(column) for cell, column in zip(cells, columns, strict=True))
    again = bool(texts & {cell.strip() for column in columns for cell in column})
    # Frames without names are written with 0 and 1 above them.
    if (named and again) or cells == [str(place) for place in range(len(cells))]:
        raise ValueError(_either(cells))
    if again or not texts:
        return TableHeader(False, ("The first line was read as an edge: there are no names of columns.",))
    return _names(cells) if len(texts) == len(cells) else find_header(first, columns)


def _either(cells: Sequence[str]) -> str:
    return (
        f"its first line ({listed(cells, 5)}) could be names of columns or a row: "
        "say which with --header or --no-header"
    )


def _numbers(cells: list[str], columns: Sequence[Sequence[str]]) -> TableHeader | None:
    """Judge a line of numbers only."""
    rows = len(columns[0])
    if rows == 0 or not all(map(_WHOLE.fullmatch, cells)):
        return _ROW
    below = [cell.strip() for column in columns for cell in column if cell.strip() not in MISSING]
    has_decimals = bool(below) and not any(map(_WHOLE.fullmatch, (cell.lstrip("+-") for cell in below)))
    if _are_years(cells):
        are_years = [_is_year(cell) for cell in below]
        return _names(cells) if not any(are_years) else _ROW if all(are_years) else None
    # A table of one column that begins with 1 is no table whose columns are counted.
    if cells != ["1"] and _count_columns(cells, least=1):
        return _names(cells) if has_decimals else None
    rising = all(int(one) < int(two) for one, two in pairwise(cells))
    suspicious = len(cells) > 1 and rising and has_decimals and rows >= _ENOUGH_ROWS
    return None if suspicious else _ROW


def _mixed(cells: list[str], columns: Sequence[Sequence[str]], is_number: list[bool]) -> TableHeader | None:
    """Judge a line with text."""
    below = [_are_numbers(column) for column in columns]
    lost = [cell in MISSING for cell in cells]
    every = list(zip(cells, is_number, lost, below, strict=True))
    named = any(
        numbers and not one and not missing and any(map(str.isalpha, cell))
        for cell, one, missing, numbers in every
    )
    measured = any(numbers and one and not _WHOLE.fullmatch(cell) for cell, one, _, numbers in every)
    repeated = any(
        not missing and not numbers and cell in set(map(str.strip, column))
        for (cell, _, missing, numbers), column in zip(every, columns, strict=True)
    )
    whole = [cell for cell, one in zip(cells, is_number, strict=True) if one]
    if measured:
        return None if named else _ROW
    if whole:
        if repeated and not named:
            return _ROW
        certain = _are_years(whole) or _count_columns(whole, least=1 if named else 3)
        return _names(whole) if certain else None
    if named or not any(below):
        return None if all(lost) else TableHeader(True)
    if repeated:
        return _ROW
    # Without letters above numbers only names that are left out may be missing there.
    gaps = [cell for cell, _, missing, numbers in every if missing and numbers]
    return TableHeader(True) if gaps and not any(gaps) and not all(lost) else None


def _names(cells: list[str]) -> TableHeader:
    return TableHeader(True, (f"The first line, with {listed(cells, 3)}, was read as names of the columns.",))


def _are_numbers(column: Sequence[str]) -> bool:
    cells = Cells.of(column)
    return cells.plain is not None or (bool(cells.there) and not cells.texts)


def _are_years(cells: Sequence[str]) -> bool:
    return all(map(_is_year, cells)) and len(set(cells)) == len(cells)


def _is_year(cell: str) -> bool:
    return bool(_WHOLE.fullmatch(cell)) and _FIRST_YEAR <= int(cell) <= _LAST_YEAR


def _count_columns(cells: Sequence[str], *, least: int) -> bool:
    found = [int(one) for one in cells if _WHOLE.fullmatch(one)]
    return len(cells) == len(found) >= least and found in ([*range(len(found))], [*range(1, len(found) + 1)])
