"""Columns of numbers that are mostly one value, and their two parts: whether a cell is it, and the others."""

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.columns import RawTable
from pyroclust.data.kinds import Kind, KindOfColumn
from pyroclust.text import listed, short

__all__ = ["Parts", "apart", "divide", "in_two", "masses_note", "parts_by_name", "parts_in", "put_back"]

Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""Of each column that was divided the places of its numbers and of its answers, and the value kept apart."""

_FEWEST = 10
_IS = " is "
_LEVELS = ("no", "yes")
_MOST_SHOWN = 8


def divide(
    raw: RawTable, found: dict[int, KindOfColumn], told: Container[int]
) -> tuple[RawTable, Parts, str | None]:
    """Divide columns of numbers that are mostly one value in two, and say which."""
    said, parts = [], []
    for place, one in list(found.items()):
        value = _mass_of(one.values) if one.kind is Kind.NUMBER and place not in told else None
        # The name has to say the value exactly.
        if value is None or float(f"{value:g}") != value:
            continue
        name = f"{raw.names[place]}{_IS}{value:g}"
        if name in raw.names:
            continue
        said.append(_said(raw.names[place], one.values, value))
        found[place], found[len(raw.names)] = in_two(one.values, value)
        parts.append((place, len(raw.names), value))
        raw = replace(raw, names=(*raw.names, name), columns=(*raw.columns, raw.columns[place]))
    if not said:
        return raw, (), None
    note = (
        f"{_mostly(said)} Such a column is divided in two: whether a cell holds it, and the number where it "
        "does not. To keep one whole, give --kinds NAME=number."
    )
    return raw, tuple(parts), note


def in_two(values: NDArray[np.float64], value: float) -> tuple[KindOfColumn, KindOfColumn]:
    """Return the numbers that are not the value, nan elsewhere, and whether a cell is it.

    Given its cluster, a cell is the value with a probability of its own, or else a number with a density:
    where the second column has no cell its factor is 1, and so the two have the density of the one.
    """
    is_value = values == value
    numbers = np.where(is_value, np.nan, values)
    said = np.where(np.isnan(values), np.nan, is_value)
    return KindOfColumn(Kind.NUMBER, numbers), KindOfColumn(Kind.YES_NO, said, _LEVELS)


def apart(data: NDArray[np.float64], parts: Parts) -> NDArray[np.bool_]:
    """Say which cells hold no number because they hold the value that is kept apart, and so miss nothing."""
    found = np.zeros(data.shape, dtype=bool)
    for at, place, _ in parts:
        found[:, at] = np.isnan(data[:, at]) & (data[:, place] == 1)
    return found


def put_back(
    data: NDArray[np.float64],
    parts: Parts,
    *,
    location: float | NDArray[np.float64] = 0.0,
    scale: float | NDArray[np.float64] = 1.0,
) -> NDArray[np.float64]:
    """Return columns that were divided with the value in the cells that held it."""
    masses = np.zeros(data.shape[1])
    for at, _, value in parts:
        masses[at] = value
    return np.where(apart(data, parts), (masses - location) / scale, data)


def parts_by_name(columns: Sequence[str], kinds: Sequence[Kind]) -> Parts:
    """Return what was divided in folders that do not say so."""
    found, every = [], list(enumerate(zip(columns, kinds, strict=True)))
    numbers = {name: place for place, (name, kind) in every if kind is Kind.NUMBER}
    for place, (name, kind) in every:
        whole, _, text = name.rpartition(_IS)
        value = _number(text) if kind is Kind.YES_NO and whole in numbers else None
        if value is not None:
            found.append((numbers[whole], place, value))
    return tuple(found)


def parts_in(names: Sequence[str], columns: Sequence[str], parts: Parts) -> dict[str, tuple[str, float]]:
    """Return which columns are parts of one that a table has whole: its name, and the value."""
    found = {}
    for number, place, value in parts:
        whole, said = columns[number], columns[place]
        found[whole] = (whole, value)
        if said not in names:
            found[said] = (whole, value)
    return found


def masses_note(names: Sequence[str], data: NDArray[np.float64]) -> str | None:
    """Say which columns of numbers are mostly one value, and have not been divided."""
    masses = ((name, one, _mass_of(one)) for name, one in zip(names, data.T, strict=True))
    said = [_said(name, one, value) for name, one, value in masses if value is not None]
    if not said:
        return None
    return (
        f"{_mostly(said)} Normal clusters shrink onto such rows, and chains may not find such clusters, or "
        "not leave them. Divide such a column in two: whether a cell holds that value, and the number where "
        "it does not (docs/tables.md)."
    )


def _mass_of(values: NDArray[np.float64]) -> float | None:
    """Return the value of more than half of the cells, and at least ten; ``None`` where there is none."""
    there = values[~np.isnan(values)]
    each, counts = np.unique(there, return_counts=True)
    if len(each) <= 2 or counts.max() < _FEWEST or 2 * counts.max() <= len(there):
        return None
    return float(each[counts.argmax()])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _mostly(said: Sequence[str]) -> str:
    return f"More than half of the cells hold one value in {listed(said, _MOST_SHOWN)}."


def _said(name: str, values: NDArray[np.float64], value: float) -> str:
    there = values[~np.isnan(values)]
    return f"'{short(name, 40)}' ({value:g}: {(there == value).sum():,} of {len(there):,})"
