"""Draws of partitions in delimited text: one row a draw, one column a point."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pyroclust.delimited import MISSING, Cells, Marks, ReadingOptions, find_marks, read_delimited
from pyroclust.io.columns import draws_in_frame, is_beside, refuse_twice
from pyroclust.partitions import Draws
from pyroclust.partitions.renumbering import check_room
from pyroclust.text import visible

__all__ = ["read_table_draws"]

# Lines that are looked at to tell names of columns from a draw.
_LOOKED_AT = 100
_ZERO_FIRST = re.compile(r"\n0\d")


def read_table_draws(
    path: Path,
    *,
    variable: str | None = None,
    options: ReadingOptions | None = None,
    transpose: bool | None = None,
) -> Draws:
    """Read draws from a table; see :func:`pyroclust.io.draws.read_draws` for what it may hold."""
    check_room(f"'{path}'", path.stat().st_size // 2)
    options = options or ReadingOptions()
    found = read_delimited(path, options=options)
    rows = [[cell.strip() for cell in row] for row in found.cells]
    if not rows:
        raise ValueError(f"'{path}' is empty; expected one row a draw and one column a point")
    if options.header is not None:
        header = _HEADER if options.header else _NO_HEADER
    else:
        header = _HEADER if found.names_rows else _header_of_draws(rows[:_LOOKED_AT])
    body = rows[header.is_header :]
    if header.is_header:
        # Of points equal names are numbered.
        refuse_twice([name for name in rows[0] if is_beside(name)], f"'{path}'")
        _refuse_names_again(rows[0], body, f"'{path}'")
    names = pd.Index(_names(rows[0]) if header.is_header else range(len(rows[0])))
    columns = [Cells([row[place] for row in body]) for place in range(len(rows[0]))]
    try:
        marks = find_marks(columns, delimiter=found.delimiter, decimal=options.decimal)
    except ValueError as error:
        raise ValueError(f"'{path}' is not a readable {path.suffix} table: {error}") from None
    return draws_in_frame(
        pd.DataFrame({place: _values(one, marks) for place, one in enumerate(columns)}).set_axis(
            names, axis=1
        ),
        written=lambda: pd.DataFrame(body, columns=names, dtype=object),
        has_zeros=any(_ZERO_FIRST.search("\n" + "\n".join(one)) for one in columns),
        where=f"'{path}'",
        variable=variable,
        is_header=header.is_header,
        names_points=header.names_points,
        transpose=transpose,
        notes=(*found.notes, *marks.notes, *header.notes),
    )


@dataclass(frozen=True)
class _DrawsHeader:
    """Whether the first line names the columns, and whether these names say anything of the points.

    Cells below are labels: whole numbers or words, of which a draw repeats some. What tells names of columns
    from measurements, such as decimals and years, says nothing of them.
    """

    is_header: bool
    names_points: bool
    notes: tuple[str, ...] = ()


_NO_HEADER = _DrawsHeader(is_header=False, names_points=False)
_HEADER = _DrawsHeader(is_header=True, names_points=True)


def _values(cells: Cells, marks: Marks) -> np.ndarray:
    """Return whole numbers, numbers, or text, ``None`` where a cell is missing."""
    values, is_text = marks.numbers(cells)
    if is_text.any():
        return np.array([None if cell in MISSING else cell for cell in cells], dtype=object)
    is_whole = (
        np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) < 2**53).all()
    )
    return values.astype(np.int64) if is_whole else values


def _refuse_names_again(names: list[str], body: list[list[str]], where: str) -> None:
    """Refuse files that were put one after the other with their names of columns."""
    if names in body and not np.isfinite(_numbers(names)).all():
        raise ValueError(
            f"{where} has the names of its columns again in place of draw {body.index(names) + 1}, "
            "expected them once: remove such lines, or give --no-header if the first line is a draw too"
        )


def _names(first: list[str]) -> list[str]:
    """Return names of columns as pandas makes them: a number follows a name that was there before."""
    names, seen = [], dict[str, int]()
    for place, cell in enumerate(first):
        name = visible(cell) or f"Unnamed: {place}"
        names.append(f"{name}.{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return names


def _header_of_draws(top: list[list[str]]) -> _DrawsHeader:
    """Guess whether the first line names the columns of draws."""
    first, below = top[0], top[1:]
    numbers = _numbers(first)
    if not np.isnan(numbers).any():
        return _numbered_line(numbers, below)
    empty = [place for place, cell in enumerate(first) if not cell]
    if empty:
        # Only an index has a column without a name, and it is the first.
        return _HEADER if empty == [0] else _NO_HEADER
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    repeats = len(set(first)) < len(first)
    names_below = bool(below) and bool(np.isnan(_numbers(below[0])).any())
    return _NO_HEADER if repeats and names_below else _HEADER


def _numbered_line(numbers: np.ndarray, below: list[list[str]]) -> _DrawsHeader:
    """Tell the columns 0, 1, 2, ... that pandas writes from a draw in which every point is alone."""
    if len(numbers) < 3 or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
        return _NO_HEADER
    is_header = bool(below) and all(len(set(row)) < len(row) for row in below)
    what = "names of the columns" if is_header else "a draw"
    note = f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as {what}."
    return _DrawsHeader(is_header=is_header, names_points=False, notes=(note,))


def _numbers(cells: list[str]) -> np.ndarray:
    return Marks().numbers(cells)[0]
