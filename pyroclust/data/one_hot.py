"""Columns of zeros and ones that together are one category, and the category that they are."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.columns import Column, RawTable, SeriesColumn
from pyroclust.text import listed, short

__all__ = ["OneHot", "one_hot_again", "one_hot_groups", "one_hot_merged"]

_NONE_OF_THESE = "none of these"
# Rare answers that are given apart from one another may never meet by chance.
_CHANCE = 1e-3


@dataclass(frozen=True)
class OneHot:
    """Some columns as one.

    Attributes:
        name: of the category.
        places: of the columns.
        levels: their part of the names, and one for rows that have none, where there are any.
        values: places of the levels, ``(N,)``.
    """

    name: str
    places: tuple[int, ...]
    levels: tuple[str, ...]
    values: NDArray[np.int64]


def one_hot_groups(names: Sequence[str], columns: Sequence[NDArray[np.float64] | None]) -> list[OneHot]:
    """Find columns of one prefix that are 0 or 1, of which every row has exactly one, or at most one.

    Where some rows have none, the columns are taken for one category only if that no row has two would be a
    chance of less than one in a thousand between answers that are independent.
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for place, (name, values) in enumerate(zip(names, columns, strict=True)):
        if (
            values is None
            or not np.isin(values, (0.0, 1.0)).all()
            or values.min(initial=1) == values.max(initial=0)
        ):
            continue
        for prefix, rest in _ways_to_divide(name):
            groups.setdefault(prefix, []).append((place, rest))
    found: list[OneHot] = []
    taken: set[int] = set()
    for prefix, parts in sorted(groups.items(), key=lambda one: (-len(one[0]), one[0])):
        places = [place for place, _ in parts]
        if len(places) < 2 or taken & set(places):
            continue
        rows = np.stack([np.asarray(columns[place]) for place in places], -1)
        number = rows.sum(-1)
        if number.max() > 1 or (number.min() < 1 and not _is_no_chance(rows)):
            continue
        levels = [rest for _, rest in parts] + ([_NONE_OF_THESE] if number.min() < 1 else [])
        chosen = np.where(number == 1, rows.argmax(-1), len(places))
        found.append(OneHot(prefix, tuple(places), tuple(levels), chosen))
        taken |= set(places)
    return sorted(found, key=lambda one: one.places[0])


def one_hot_merged(
    raw: RawTable, places: Sequence[int], told: Container[int]
) -> tuple[RawTable, list[int], list[str]]:
    """Put one category in the place of the columns of zeros and ones that are its levels."""
    free = [place for place in places if place not in told]
    groups = one_hot_groups(
        [raw.names[place] for place in free], [raw.columns[place].numbers_or_none() for place in free]
    )
    names, columns, places, notes = list(raw.names), list(raw.columns), list(places), []
    for group in groups:
        parts = [free[at] for at in group.places]
        if group.name in raw.names:
            continue
        names[parts[0]] = group.name
        cells = [group.levels[at] for at in group.values.tolist()]
        columns[parts[0]] = SeriesColumn(pd.Series(pd.Categorical(cells, group.levels)))
        places = [place for place in places if place not in parts[1:]]
        said = listed(f"'{short(raw.names[part], 40)}'" for part in parts)
        notes.append(
            f"{said} are one category, '{short(group.name, 40)}'. To keep one apart, name it in --kinds."
        )
    return replace(raw, names=tuple(names), columns=tuple(columns)), places, notes


def one_hot_again(raw: RawTable, name: str, levels: Sequence[str]) -> Column | None:
    """Return a category whose columns of zeros and ones are there again; ``None`` where some are not."""
    values = []
    for level in levels:
        places = [at for at, one in enumerate(raw.names) if (name, level) in _ways_to_divide(one)]
        numbers = raw.columns[places[0]].numbers_or_none() if len(places) == 1 else None
        if numbers is None and level != _NONE_OF_THESE:
            return None
        values.append(np.zeros(raw.num_rows) if numbers is None else numbers)
    rows = np.stack(values, -1)
    number, places_of = rows.sum(-1), rows.argmax(-1)
    if _NONE_OF_THESE in levels:
        places_of[number == 0] = levels.index(_NONE_OF_THESE)
        number[number == 0] = 1
    # Two at once, or none where every row had one: the cell is missing.
    codes = np.where(number == 1, places_of, -1)
    return SeriesColumn(pd.Series(pd.Categorical.from_codes(codes, list(levels))))


def _ways_to_divide(name: str) -> list[tuple[str, str]]:
    """Return the ways to divide a name in a prefix and the rest."""
    return [
        (name[: one.start()].rstrip(), name[one.end() :].lstrip())
        for one in re.finditer(r"[_.=:/ -]+", name)
        if name[: one.start()].strip() and name[one.end() :].strip()
    ]


def _is_no_chance(rows: NDArray[np.float64]) -> bool:
    """Say whether independent answers would have met in some row."""
    shares = rows.mean(0)
    none = np.prod(1 - shares)
    at_most_one = none * (1 + (shares / (1 - shares)).sum())
    return len(rows) * np.log(at_most_one) < np.log(_CHANCE)
