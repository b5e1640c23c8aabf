"""Pairs of rows that a user knows something of, from a file or from Python."""

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short, visible
from pyroclust.core.numbers import on_host
from pyroclust.data.delimited.reading import PLAIN, ReadingOptions, check_file, foreign_suffix, read_delimited

PairsLike: TypeAlias = str | PathLike[str] | NDArray[np.integer] | Sequence[Sequence[int]]
"""A file of pairs of rows, or pairs of points that count from 0: tensors and other arrays are arrays."""

_COLUMNS = 2


def read_pairs(pairs: PairsLike, *, name: str, row_names: Sequence[str]) -> NDArray[np.int64]:
    """Return pairs of points that count from 0, ``(P, 2)``: of a file by the names of their rows."""
    if not isinstance(pairs, str | PathLike):
        return _of_points(pairs, name, len(row_names))
    path = Path(pairs)
    shown = f"{name}: '{visible(str(path))}'"
    if path.suffix.lower() not in PLAIN:
        raise ValueError(f"{name}: cannot read '{visible(str(path))}': {foreign_suffix(path, tuple(PLAIN))}")
    check_file(path)
    cells, times = _cells(path, shown), Counter(row_names)
    if not any(cell in times or cell.isdigit() for cell in cells[0]):
        # Names of the two columns, unless no line names a row: then the first is as wrong as the others.
        cells = cells[1:] if any(cell in times for row in cells[1:] for cell in row) else cells
    for cell in (cell for row in cells for cell in row if times[cell] != 1):
        where = f"{shown} names the row '{short(visible(cell), 40)}'"
        if cell in times:
            raise ValueError(f"{where}, a name that several rows have: give every row a name of its own")
        are_numbers = all(row == str(place) for place, row in enumerate(times, start=1))
        known = f"rows from 1 to {len(times):,}" if are_numbers else f"one of {listed(times, 3)}"
        raise ValueError(f"{where}, expected {known}, as in the column 'row' of assignments.csv")
    places = {row: place for place, row in enumerate(row_names)}
    return np.array([[places[cell] for cell in row] for row in cells], dtype=np.int64)


def _of_points(pairs: Any, name: str, num_points: int) -> NDArray[np.int64]:
    try:
        points = np.asarray(on_host(pairs))
    except ValueError:
        points = np.empty(1, dtype=object)
    if not points.size:
        return np.empty((0, _COLUMNS), dtype=np.int64)
    if points.shape[1:] != (_COLUMNS,) or not np.issubdtype(points.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {points.shape} and type {points.dtype}, expected a file, or pairs of points, "
            "(P, 2) integers that count from 0"
        )
    outside = ((points < 0) | (points >= num_points)).any(-1)
    if outside.any():
        raise ValueError(
            f"{name} has the pair {tuple(points[outside][0].tolist())}, expected points from 0 to "
            f"{num_points - 1}: in Python they count from 0"
        )
    return points.astype(np.int64)


def _cells(path: Path, shown: str) -> list[list[str]]:
    # Names of rows are no decimal numbers: "1,200" is a pair. Whether the first line is one is seen later.
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = read_delimited(path, options=ReadingOptions(usual)).cells
    if not rows or len(rows[0]) != _COLUMNS:
        rows = read_delimited(path).cells
    if not rows:
        raise ValueError(f"{shown} is empty, expected a pair of rows a line")
    if len(rows[0]) != _COLUMNS:
        number = len(rows[0])
        raise ValueError(
            f"{shown} has {number} column{'s' * (number != 1)}, expected two, the rows of a pair"
        )
    return [[cell.strip() for cell in row] for row in rows]
