"""Columns of zeros and ones that together are one category, and the category that they are."""

import re
from collections.abc import Container, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.columns import Column, RawTable
from pyroclust.text import listed, short

__all__ = ["one_hot_again", "one_hot_merged"]

_NONE_OF_THESE = "none of these"
# Rare answers that are given apart from one another may never meet by chance.
_CHANCE = 1e-3


def one_hot_merged(
    columns: Mapping[str, Column], *, told: Container[str], names: Container[str]
) -> tuple[dict[str, Column], list[str]]:
    """Put one category, with a note, in the place of columns of zeros and ones of one prefix."""
    found, notes = dict(columns), []
    for prefix, parts in _groups({name: one for name, one in columns.items() if name not in told}).items():
        if prefix in names:
            continue
        rows = np.stack([columns[name].numbers() for name in parts], -1)
        levels = list(parts.values()) + [_NONE_OF_THESE] * bool(rows.sum(-1).min() < 1)
        codes = np.where(rows.any(-1), rows.argmax(-1), len(parts))
        merged = Column(pd.Series(pd.Categorical.from_codes(codes, levels)))
        first = next(iter(parts))
        found = {
            prefix if name == first else name: merged if name == first else one
            for name, one in found.items()
            if name == first or name not in parts
        }
        said = listed(f"'{short(name, 40)}'" for name in parts)
        notes.append(
            f"{said} are one category, '{short(prefix, 40)}'. To keep one apart, name it in --kinds."
        )
    return found, notes


def _groups(columns: Mapping[str, Column]) -> dict[str, dict[str, str]]:
    """Return what names hold behind a prefix, by names, by prefixes, in the order of their first columns."""
    binary: dict[str, NDArray[np.float64]] = {}
    for name, column in columns.items():
        values = column.numbers_or_none()
        if values is not None and ((values == 0) | (values == 1)).all() and 0 < values.mean() < 1:
            binary[name] = values
    groups: dict[str, dict[str, str]] = {}
    for name in binary:
        for prefix, rest in _ways_to_divide(name):
            groups.setdefault(prefix, {})[name] = rest
    found: dict[str, dict[str, str]] = {}
    taken: set[str] = set()
    for prefix, parts in sorted(groups.items(), key=lambda one: (-len(one[0]), one[0])):
        if len(parts) < 2 or taken & parts.keys():
            continue
        rows = np.stack([binary[name] for name in parts], -1)
        number = rows.sum(-1)
        if number.max() <= 1 and (number.min() == 1 or _is_no_chance(rows)):
            found[prefix] = parts
            taken |= parts.keys()
    order = list(columns)
    return dict(sorted(found.items(), key=lambda one: order.index(next(iter(one[1])))))


def one_hot_again(raw: RawTable, name: str, levels: Sequence[str]) -> Column | None:
    """Return a category whose columns of zeros and ones are there again; ``None`` where some are not."""
    values = []
    for level in levels:
        every = zip(raw.names, raw.columns, strict=True)
        found = [one for other, one in every if (name, level) in _ways_to_divide(other)]
        numbers = found[0].numbers_or_none() if len(found) == 1 else None
        if numbers is None and level != _NONE_OF_THESE:
            return None
        values.append(np.zeros(raw.num_rows) if numbers is None else numbers)
    rows = np.stack(values, -1)
    number, places = rows.sum(-1), rows.argmax(-1)
    if _NONE_OF_THESE in levels:
        places[number == 0] = levels.index(_NONE_OF_THESE)
        number[number == 0] = 1
    # Two at once, or none where every row had one: the cell is missing.
    codes = np.where(number == 1, places, -1)
    return Column(pd.Series(pd.Categorical.from_codes(codes, list(levels))))


def _ways_to_divide(name: str) -> list[tuple[str, str]]:
    """Return the ways to divide a name in a prefix and the rest."""
    ends = (
        (name[: one.start()].strip(), name[one.end() :].strip()) for one in re.finditer(r"[_.=:/ -]+", name)
    )
    return [(prefix, rest) for prefix, rest in ends if prefix and rest]


def _is_no_chance(rows: NDArray[np.float64]) -> bool:
    """Say whether independent answers would have met in some row."""
    shares = rows.mean(0)
    none = np.prod(1 - shares)
    at_most_one = none * (1 + (shares / (1 - shares)).sum())
    return bool(len(rows) * np.log(at_most_one) < np.log(_CHANCE))
