"""Pairs of rows that a user knows something of, from a file or from Python."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyroclust.delimited import PLAIN, ReadingOptions, check_file, foreign_suffix, read_delimited
from pyroclust.text import listed, short, visible

__all__ = ["PairsLike", "read_pairs"]

PairsLike: TypeAlias = str | PathLike[str] | NDArray[np.integer] | Sequence[Sequence[int]]
"""A file of pairs of rows, or pairs of points that count from 0: tensors and other arrays are arrays."""

_COLUMNS = 2


def read_pairs(pairs: PairsLike, *, name: str, row_names: Sequence[str]) -> NDArray[np.int64]:
    """Return pairs of points, counted from 0, ``(P, 2)``.

    A file has a pair of rows a line, by their names in the column ``row`` of ``assignments.csv``: rows of
    tables without names are called 1 to N. Its first line may name the two columns. Pairs in Python are
    points that count from 0, as everywhere in the library.
    """
    if not isinstance(pairs, str | PathLike):
        return _of_points(pairs, name, len(row_names))
    path = Path(pairs)
    if path.suffix.lower() not in PLAIN:
        raise ValueError(f"{name}: cannot read '{visible(str(path))}': {foreign_suffix(path, tuple(PLAIN))}")
    check_file(path)
    cells = _cells(path, name)
    places: dict[str, int] = {}
    twice = set[str]()
    for place, row in enumerate(row_names):
        if places.setdefault(row, place) != place:
            twice.add(row)
    if not any(cell in places or cell.isdigit() for cell in cells[0]):
        # Names of the two columns, unless no line names a row: then the first is as wrong as the others.
        cells = cells[1:] if any(cell in places for row in cells[1:] for cell in row) else cells
    return np.array([_pair(row, name, path, places, twice) for row in cells], dtype=np.int64)


def _of_points(pairs: Any, name: str, num_points: int) -> NDArray[np.int64]:
    try:
        found = np.asarray(pairs.detach().cpu() if hasattr(pairs, "detach") else pairs)
    except ValueError:
        found = np.empty(1, dtype=object)
    if not found.size:
        return np.empty((0, _COLUMNS), dtype=np.int64)
    if found.shape[1:] != (_COLUMNS,) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {found.shape} and type {found.dtype}, expected a file, or pairs of points, "
            "(P, 2) integers that count from 0"
        )
    outside = ((found < 0) | (found >= num_points)).any(-1)
    if outside.any():
        raise ValueError(
            f"{name} has the pair {tuple(found[outside][0].tolist())}, expected points from 0 to "
            f"{num_points - 1}: in Python they count from 0"
        )
    return found.astype(np.int64)


def _cells(path: Path, name: str) -> list[tuple[str, str]]:
    # Names of rows are no decimal numbers: "1,200" is a pair. Whether the first line is one is seen later.
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = read_delimited(path, options=ReadingOptions(usual)).cells
    if not rows or len(rows[0]) != _COLUMNS:
        rows = read_delimited(path).cells
    where = f"{name}: '{visible(str(path))}'"
    if not rows:
        raise ValueError(f"{where} is empty, expected a pair of rows a line")
    if len(rows[0]) != _COLUMNS:
        raise ValueError(
            f"{where} has {len(rows[0])} column{'s' * (len(rows[0]) != 1)}, expected two, the rows of a pair"
        )
    return [(one.strip(), other.strip()) for one, other in rows]


def _pair(
    cells: tuple[str, str], name: str, path: Path, places: Mapping[str, int], twice: set[str]
) -> tuple[int, int]:
    for cell in cells:
        where = f"{name}: '{visible(str(path))}' names the row '{short(visible(cell), 40)}'"
        if cell not in places:
            raise ValueError(f"{where}, expected {_known(places)}, as in the column 'row' of assignments.csv")
        if cell in twice:
            raise ValueError(f"{where}, a name that several rows have: give every row a name of its own")
    return places[cells[0]], places[cells[1]]


def _known(places: Mapping[str, int]) -> str:
    if all(row == str(place + 1) for row, place in places.items()):
        return f"rows from 1 to {len(places):,}"
    return f"one of {listed(places, 3)}"
