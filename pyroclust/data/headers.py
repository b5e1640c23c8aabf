"""Whether the first line of a table names its columns."""

import re
from collections.abc import Sequence
from itertools import pairwise

from pyroclust.delimited import MISSING, Cells, is_numeral
from pyroclust.text import listed

__all__ = ["find_header"]

_WHOLE = re.compile(r"\d+", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1800, 2100
# With fewer rows below, numbers of a first line without decimals say nothing.
_ENOUGH_ROWS = 5


def find_header(
    first: Sequence[str], columns: Sequence[Sequence[str]], *, of_edges: bool = False
) -> tuple[bool, tuple[str, ...]]:
    """Tell names of columns, as text above numbers, from a row, and say what was guessed."""
    cells = [cell.strip() for cell in first]
    are_numbers = all(map(is_numeral, cells))
    find = _names_edges if of_edges else _are_names if are_numbers else _is_header
    is_header = find(cells, columns)
    if is_header is None:
        raise ValueError(
            f"its first line ({listed(cells, 5)}) could be names of columns or a row: "
            "say which with --header or --no-header"
        )
    if not is_header:
        return False, ("The first line was read as a row: there are no names of columns.",)
    is_said = of_edges or any(map(is_numeral, cells))
    return True, (f"The first line, with {listed(cells, 3)}, was read as names of the columns.",) * is_said


def _names_edges(cells: list[str], columns: Sequence[Sequence[str]]) -> bool | None:
    """Tell names from an edge: a node has an edge more often than a column a node of its name."""
    texts = {cell for cell in cells if not is_numeral(cell)}
    again = bool(texts & {cell.strip() for column in columns for cell in column})
    named = any(cell in texts and _are_numbers(column) for cell, column in zip(cells, columns, strict=True))
    # Frames without names are written with 0 and 1 above them.
    if (named and again) or cells == [str(place) for place in range(len(cells))]:
        return None
    return _is_header(cells, columns) if texts and not again else False


def _are_names(cells: list[str], columns: Sequence[Sequence[str]]) -> bool | None:
    """Say that a line of numbers only is a row, ``None`` where whole ones that rise may be names."""
    rows = len(columns[0])
    if rows == 0 or not all(map(_WHOLE.fullmatch, cells)):
        return False
    # A table of one column that begins with 1 is no table whose columns are counted.
    if _are_years(cells) or (cells != ["1"] and _count_columns(cells, least=1)):
        return None
    below = [cell.strip() for column in columns for cell in column if cell.strip() not in MISSING]
    has_decimals = bool(below) and not any(map(_WHOLE.fullmatch, (cell.lstrip("+-") for cell in below)))
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
    return False if repeated else None


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
