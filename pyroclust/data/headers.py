"""Whether the first line of a table names its columns."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from pyroclust.delimited import MISSING, Cells, is_numeral
from pyroclust.text import listed

__all__ = ["FindHeader", "find_header", "find_header_of_edges"]

_WHOLE = re.compile(r"\d+", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1800, 2100
# With fewer rows below, numbers of a first line without decimals say nothing.
_ENOUGH_ROWS = 5


Header: TypeAlias = tuple[bool, tuple[str, ...]]
"""Whether the first line of a table names the columns, or is a row, and what was guessed."""

FindHeader: TypeAlias = Callable[[Sequence[str], Sequence[Sequence[str]]], Header]


def find_header(first: Sequence[str], columns: Sequence[Sequence[str]]) -> Header:
    """Tell names of columns, as text above numbers, from a row, which a number with decimals is."""
    cells = [cell.strip() for cell in first]
    numbers = [cell for cell in cells if is_numeral(cell)]
    is_header = (_are_names if len(numbers) == len(cells) else _is_header)(cells, columns)
    if is_header is None:
        raise ValueError(_either(cells))
    if not is_header:
        return False, ("The first line was read as a row: there are no names of columns.",)
    return _names(numbers) if numbers else (True, ())


def find_header_of_edges(first: Sequence[str], columns: Sequence[Sequence[str]]) -> Header:
    """Tell names of columns from an edge: a node has an edge more often than a column a node of its name."""
    cells = [cell.strip() for cell in first]
    texts = {cell for cell in cells if not is_numeral(cell)}
    named = any(cell in texts and _are_numbers(column) for cell, column in zip(cells, columns, strict=True))
    again = bool(texts & {cell.strip() for column in columns for cell in column})
    # Frames without names are written with 0 and 1 above them.
    if (named and again) or cells == [str(place) for place in range(len(cells))]:
        raise ValueError(_either(cells))
    if again or not texts:
        return False, ("The first line was read as an edge: there are no names of columns.",)
    return _names(cells) if len(texts) == len(cells) else find_header(first, columns)


def _either(cells: Sequence[str]) -> str:
    return (
        f"its first line ({listed(cells, 5)}) could be names of columns or a row: "
        "say which with --header or --no-header"
    )


def _are_names(cells: list[str], columns: Sequence[Sequence[str]]) -> bool | None:
    """Say whether a line of numbers only holds names, ``None`` where it may be either."""
    rows = len(columns[0])
    if rows == 0 or not all(map(_WHOLE.fullmatch, cells)):
        return False
    below = [cell.strip() for column in columns for cell in column if cell.strip() not in MISSING]
    has_decimals = bool(below) and not any(map(_WHOLE.fullmatch, (cell.lstrip("+-") for cell in below)))
    if _are_years(cells):
        are_years = [_is_year(cell) for cell in below]
        return True if not any(are_years) else False if all(are_years) else None
    # A table of one column that begins with 1 is no table whose columns are counted.
    if cells != ["1"] and _count_columns(cells, least=1):
        return has_decimals or None
    rising = all(int(one) < int(two) for one, two in pairwise(cells))
    return None if len(cells) > 1 and rising and has_decimals and rows >= _ENOUGH_ROWS else False


def _is_header(cells: list[str], columns: Sequence[Sequence[str]]) -> bool | None:
    """Say whether a line with text is one of names, ``None`` where it may be either."""
    numbers = [cell for cell in cells if is_numeral(cell)]
    above = [cell for cell, column in zip(cells, columns, strict=True) if _are_numbers(column)]
    texts = [cell for cell in above if not is_numeral(cell) and cell not in MISSING]
    named = any(any(map(str.isalpha, cell)) for cell in texts)
    others = [one for one in zip(cells, columns, strict=True) if one[0] not in MISSING]
    repeated = any(cell in set(map(str.strip, column)) for cell, column in others if not _are_numbers(column))
    if any(is_numeral(cell) and not _WHOLE.fullmatch(cell) for cell in above):
        return None if named else False
    if numbers and repeated and not named:
        return False
    if numbers:
        return _are_years(numbers) or _count_columns(numbers, least=1 if named else 3) or None
    if named or not above:
        return bool(others) or None
    if repeated:
        return False
    # Without letters above numbers only names that are left out may be missing there.
    gaps = [cell for cell in above if cell in MISSING]
    return True if gaps and not any(gaps) and others else None


def _names(cells: list[str]) -> Header:
    return True, (f"The first line, with {listed(cells, 3)}, was read as names of the columns.",)


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
