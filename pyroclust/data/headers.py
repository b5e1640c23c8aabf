"""Whether the first line of a table names its columns."""

import re
from collections.abc import Sequence
from itertools import pairwise

from pyroclust.core.text import listed
from pyroclust.data.delimited.numerals import MISSING, is_numeral

__all__ = ["find_header"]

_YEAR = re.compile(r"(18|19|20)\d\d", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
# With fewer rows below, numbers of a first line without decimals say nothing.
_ENOUGH_ROWS = 5


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
        is_header = _are_names(cells, below, len(columns[0]), of_edges=of_edges)
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


def _are_names(cells: list[str], below: set[str], num_rows: int, *, of_edges: bool) -> bool | None:
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
