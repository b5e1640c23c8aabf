"""Columns of numbers that are mostly one value, and their two parts: whether a cell is it, and the others."""

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short
from pyroclust.data.kinds import Kind, KindOfColumn

Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""Of each column that was divided the places of its numbers and of its answers, and the value kept apart."""

_FEWEST = 10
_IS = " is "


def split_columns(
    columns: Mapping[str, KindOfColumn], *, kept_whole: Container[str] | None, names: Container[str]
) -> tuple[dict[str, KindOfColumn], dict[str, tuple[str, float]], list[str]]:
    """Divide columns that are mostly one value in two; say, by names of answers, which and the value."""
    divided, wholes, split, unsplit = dict(columns), dict[str, tuple[str, float]](), list[str](), list[str]()
    for whole, one in columns.items():
        if one.kind is not Kind.NUMBER or (value := _mass_of(one.values)) is None:
            continue
        num_present, answer = (~np.isnan(one.values)).sum(), f"{whole}{_IS}{value:g}"
        words = f"'{short(whole, 40)}' ({value:g}: {(one.values == value).sum():,} of {num_present:,})"
        # The name has to say the value exactly.
        if kept_whole is None or whole in kept_whole or float(f"{value:g}") != value or answer in names:
            unsplit.append(words)
            continue
        split.append(words)
        divided[whole], divided[answer] = split_column(one.values, value)
        wholes[answer] = whole, value
    ways = {
        "Such a column is divided in two: whether a cell holds it, and the number where it does not. To keep "
        "one whole, give --kinds NAME=number.": split,
        "Normal clusters shrink onto such rows, and chains may not find such clusters, or not leave them. "
        "Divide such a column in two: whether a cell holds that value, and the number where it does not "
        "(docs/tables.md).": unsplit,
    }
    begin = "More than half of the cells hold one value in"
    return divided, wholes, [f"{begin} {listed(some)}. {way}" for way, some in ways.items() if some]


def split_column(values: NDArray[np.float64], value: float) -> tuple[KindOfColumn, KindOfColumn]:
    """Return the numbers that are not the value, nan elsewhere, and whether a cell is it."""
    # Given its cluster, a cell is the value with a probability, or else a number with a density: where a cell
    # is missing its factor is 1, and so the two columns have the density of the one.
    is_value = values == value
    numbers = np.where(is_value, np.nan, values)
    answers = np.where(np.isnan(values), np.nan, is_value)
    return KindOfColumn(Kind.NUMBER, numbers), KindOfColumn(Kind.YES_NO, answers, ("no", "yes"))


def is_point_mass(data: NDArray[np.float64], parts: Parts) -> NDArray[np.bool_]:
    """Say which cells hold no number because they hold the value that is kept apart, and so miss nothing."""
    is_mass = np.zeros(data.shape, dtype=bool)
    for at, place, _ in parts:
        is_mass[:, at] = np.isnan(data[:, at]) & (data[:, place] == 1)
    return is_mass


def with_point_masses(
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
    return np.where(is_point_mass(data, parts), (masses - location) / scale, data)


def parts_by_name(columns: Sequence[str], kinds: Sequence[Kind]) -> Parts:
    """Return what was divided in folders that do not say so."""
    parts, columns_and_kinds = [], list(enumerate(zip(columns, kinds, strict=True)))
    numbers = {name: place for place, (name, kind) in columns_and_kinds if kind is Kind.NUMBER}
    for place, (name, kind) in columns_and_kinds:
        whole, _, text = name.rpartition(_IS)
        if kind is Kind.YES_NO and whole in numbers:
            with suppress(ValueError):
                parts.append((numbers[whole], place, float(text)))
    return tuple(parts)


def _mass_of(values: NDArray[np.float64]) -> float | None:
    """Return the value of more than half of the cells, and at least ten; ``None`` where there is none."""
    present = values[~np.isnan(values)]
    if len(present) < _FEWEST:
        return None
    # What more than half of the cells hold is in the middle of all.
    value = float(np.partition(present, len(present) // 2)[len(present) // 2])
    number = (present == value).sum()
    is_mass = number >= _FEWEST and 2 * number > len(present) and len(np.unique(present)) > 2
    return value if is_mass else None
