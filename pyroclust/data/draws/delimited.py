"""Draws of partitions in delimited text: one row a draw, one column a point."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from pyroclust.data.delimited.numerals import Cells, Marks, find_marks
from pyroclust.data.delimited.reading import ReadingOptions, read_delimited
from pyroclust.data.draws.columns import draws_in_frame
from pyroclust.partitions import Draws
from pyroclust.partitions.renumbering import check_room

__all__ = ["read_table_draws"]

# Lines that are looked at to tell names of columns from a draw.
_LOOKED_AT = 100
_ZERO_FIRST = re.compile(r"\n0\d")


def read_table_draws(
    path: Path, *, variable: str | None, options: ReadingOptions, transpose: bool | None
) -> Draws:
    """Read draws from a table; see :func:`pyroclust.data.draws.draws.read_draws` for what it may hold."""
    where = f"'{path}'"
    check_room(where, path.stat().st_size // 2)
    found = read_delimited(path, options=options)
    rows = [[cell.strip() for cell in row] for row in found.cells]
    if not rows:
        raise ValueError(f"{where} is empty; expected one row a draw and one column a point")
    is_header, notes = _header_of_draws(rows[:_LOOKED_AT]) if options.header is None else (options.header, ())
    first, body = rows[0], rows[is_header:]
    if is_header and first in body and not np.isfinite(_numbers(first)).all():
        raise ValueError(
            f"{where} has the names of its columns again in place of draw {body.index(first) + 1}, "
            "expected them once: remove such lines, or give --no-header if the first line is a draw too"
        )
    columns = [Cells([row[place] for row in body]) for place in range(len(first))]
    try:
        marks = find_marks(columns, delimiter=found.delimiter, decimal=options.decimal)
    except ValueError as error:
        raise ValueError(f"{where} is not a readable {path.suffix} table: {error}") from None
    frame = pd.DataFrame({place: _values(one, marks) for place, one in enumerate(columns)})
    return draws_in_frame(
        frame.set_axis(first, axis=1) if is_header else frame,
        where=where,
        variable=variable,
        is_header=is_header,
        names_points=is_header and not notes,
        transpose=transpose,
        notes=(*found.notes, *marks.notes, *notes),
    )


def _values(cells: Cells, marks: Marks) -> np.ndarray:
    """Return whole numbers, numbers, or text, also where numbers begin with zeros."""
    values, is_text = marks.numbers(cells)
    if is_text.any() or _ZERO_FIRST.search("\n" + "\n".join(cells)):
        return np.array(cells, dtype=object)
    is_whole = (np.abs(values) < 2**53) & (values == np.round(values))
    return values.astype(np.int64) if is_whole.all() else values


def _header_of_draws(top: list[list[str]]) -> tuple[bool, tuple[str, ...]]:
    """Guess whether the first line names the columns of draws; a note says so where it holds numbers."""
    first, below = top[0], top[1:]
    numbers = _numbers(first)
    if not np.isnan(numbers).any():
        # The columns 0, 1, 2, ... that pandas writes, or a draw in which every point is alone.
        if len(numbers) < 3 or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
            return False, ()
        is_header = bool(below) and all(len(set(row)) < len(row) for row in below)
        what = "names of the columns" if is_header else "a draw"
        return is_header, (f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as {what}.",)
    if not all(first):
        # Only an index has a column without a name, and it is the first.
        return not first[0] and all(first[1:]), ()
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    repeats = len(set(first)) < len(first)
    names_below = bool(below) and bool(np.isnan(_numbers(below[0])).any())
    return not (repeats and names_below), ()


def _numbers(cells: list[str]) -> np.ndarray:
    return Marks().numbers(cells)[0]
