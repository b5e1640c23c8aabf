"""Columns of numbers that are mostly one value, and their two parts: whether a cell is it, and the others."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.kinds import Kind, KindOfColumn
from pyroclust.text import listed, short

__all__ = [
    "apart",
    "base_of",
    "divided_note",
    "in_two",
    "mass_said",
    "masses_note",
    "name_of_mass",
    "parts_of",
    "point_mass_of",
    "put_back",
]

_FEWEST = 10
_IS = " is "
_LEVELS = ("no", "yes")
_MOST_SHOWN = 8


def point_mass_of(values: NDArray[np.float64]) -> float | None:
    """Return the value of more than half of the cells, and at least ten; ``None`` where there is none.

    Args:
        values: of a column; missing cells are nan.

    Example:
        >>> point_mass_of(np.array([0.0] * 12 + [1.5, 2.5])), point_mass_of(np.arange(14.0))
        (0.0, None)
    """
    there = values[~np.isnan(values)]
    each, counts = np.unique(there, return_counts=True)
    if len(each) <= 2 or counts.max() < _FEWEST or 2 * counts.max() <= len(there):
        return None
    return float(each[counts.argmax()])


def name_of_mass(name: str, value: float) -> str:
    """Return the name of the column that says whether a cell holds a value.

    Example:
        >>> name_of_mass("rain", 0.0)
        'rain is 0'
    """
    return f"{name}{_IS}{value:g}"


def base_of(name: str, columns: Sequence[str]) -> tuple[str, float] | None:
    """Return the column that such a name speaks of, and the value; ``None`` for other names.

    Args:
        name: of a column.
        columns: of the table.

    Example:
        >>> base_of("rain is 0", ["rain", "rain is 0"]), base_of("rain is 0", ["rain is 0"])
        (('rain', 0.0), None)
    """
    base, found, text = name.rpartition(_IS)
    if not found or base not in columns:
        return None
    try:
        return base, float(text)
    except ValueError:
        return None


def in_two(values: NDArray[np.float64], value: float) -> tuple[KindOfColumn, KindOfColumn]:
    """Return the numbers that are not the value, nan elsewhere, and whether a cell is it.

    Given its cluster, a cell is the value with a probability of its own, or else a number with a density:
    where the second column has no cell its factor is 1, and so the two have the density of the one.

    Args:
        values: of the column, ``(N,)``; missing cells are nan, and are in both.
        value: that is kept apart.

    Example:
        >>> numbers, is_zero = in_two(np.array([0.0, 2.5, np.nan]), 0.0)
        >>> numbers.values, is_zero.values
        (array([nan, 2.5, nan]), array([ 1.,  0., nan]))
    """
    is_value = values == value
    numbers = np.where(is_value, np.nan, values)
    said = np.where(np.isnan(values), np.nan, is_value)
    return KindOfColumn(Kind.NUMBER, numbers), KindOfColumn(Kind.YES_NO, said, _LEVELS)


def apart(data: NDArray[np.float64], columns: Sequence[str], kinds: Sequence[Kind]) -> NDArray[np.bool_]:
    """Say which cells hold no number because they hold the value that is kept apart, and so miss nothing.

    Args:
        data: ``(N, D)``, nan where there is no number.
        columns: D names.
        kinds: of the columns.

    Example:
        >>> rows = np.array([[np.nan, 1.0], [np.nan, np.nan], [2.5, 0.0]])
        >>> apart(rows, ["rain", "rain is 0"], [Kind.NUMBER, Kind.YES_NO])[:, 0]
        array([ True, False, False])
    """
    found = np.zeros(data.shape, dtype=bool)
    for at, place, _ in parts_of(columns, kinds):
        found[:, at] = np.isnan(data[:, at]) & (data[:, place] == 1)
    return found


def put_back(
    data: NDArray[np.float64],
    columns: Sequence[str],
    kinds: Sequence[Kind],
    *,
    location: float | NDArray[np.float64] = 0.0,
    scale: float | NDArray[np.float64] = 1.0,
) -> NDArray[np.float64]:
    """Return columns that were divided with the value in the cells that held it.

    Args:
        data: ``(N, D)``, nan where there is no number.
        columns: D names.
        kinds: of the columns.
        location: that was subtracted from the columns, ``(D,)``.
        scale: that they were divided by, ``(D,)``.

    Example:
        >>> rows = np.array([[np.nan, 1.0], [np.nan, np.nan], [2.5, 0.0]])
        >>> put_back(rows, ["rain", "rain is 0"], [Kind.NUMBER, Kind.YES_NO])[:, 0]
        array([0. , nan, 2.5])
    """
    masses = np.zeros(len(columns))
    for at, _, value in parts_of(columns, kinds):
        masses[at] = value
    return np.where(apart(data, columns, kinds), (masses - location) / scale, data)


def parts_of(columns: Sequence[str], kinds: Sequence[Kind]) -> Iterator[tuple[int, int, float]]:
    """Return the places of both parts of columns that were divided, that of numbers first, and the value.

    Args:
        columns: D names.
        kinds: of the columns.

    Example:
        >>> list(parts_of(["rain", "rain is 0"], [Kind.NUMBER, Kind.YES_NO]))
        [(0, 1, 0.0)]
    """
    for place, (name, kind) in enumerate(zip(columns, kinds, strict=True)):
        base = base_of(name, columns) if kind is Kind.YES_NO else None
        if base is not None and kinds[at := list(columns).index(base[0])] is Kind.NUMBER:
            yield at, place, base[1]


def masses_note(names: Sequence[str], data: NDArray[np.float64]) -> str | None:
    """Say which columns of numbers are mostly one value, and have not been divided.

    Args:
        names: of the columns.
        data: their numbers, ``(N, D)``; missing cells are nan.

    Example:
        >>> rain = np.array([[0.0]] * 12 + [[1.5], [2.5]])
        >>> print(masses_note(["rain"], rain)[:66])
        More than half of the cells hold one value in 'rain' (0: 12 of 14)
    """
    masses = {name: (one, point_mass_of(one)) for name, one in zip(names, data.T, strict=True)}
    said = [mass_said(name, one, value) for name, (one, value) in masses.items() if value is not None]
    if not said:
        return None
    return (
        f"More than half of the cells hold one value in {listed(said, _MOST_SHOWN)}. Normal clusters "
        "shrink onto such rows, and chains may not find such clusters, or not leave them. Divide such a "
        "column in two: whether a cell holds that value, and the number where it does not (docs/tables.md)."
    )


def divided_note(said: Sequence[str]) -> str | None:
    """Say which columns were divided; ``None`` where there are none.

    Args:
        said: of each, by :func:`mass_said`.

    Example:
        >>> divided_note([mass_said("rain", np.array([0.0, 0.0, 1.5]), 0.0)])[:71]
        "More than half of the cells hold one value in 'rain' (0: 2 of 3). Such "
    """
    if not said:
        return None
    return (
        f"More than half of the cells hold one value in {listed(said, _MOST_SHOWN)}. Such a column is "
        "divided in two: whether a cell holds it, and the number where it does not. To keep one whole, give "
        "--kinds NAME=number."
    )


def mass_said(name: str, values: NDArray[np.float64], value: float) -> str:
    """Return a column with its value and how often it holds it, for notes.

    Args:
        name: of the column.
        values: of it, ``(N,)``; missing cells are nan.
        value: that is kept apart.

    Example:
        >>> mass_said("rain", np.array([0.0, 0.0, 1.5]), 0.0)
        "'rain' (0: 2 of 3)"
    """
    there = values[~np.isnan(values)]
    return f"'{short(name, 40)}' ({value:g}: {(there == value).sum():,} of {len(there):,})"
