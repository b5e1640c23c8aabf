"""Columns of 0 and 1 that together are one category, and the category that they are."""

import re
from collections.abc import Container, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short
from pyroclust.data.columns import Column, RawTable

_NONE, _SEVERAL = "none of these", "several of these"
# Rare answers that are given apart from one another may never meet by chance.
_CHANCE = 1e-3


def one_hot_groups(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, dict[str, str]]:
    """Return, by prefixes, names of columns of which no row has two, where that is no chance, and levels."""
    groups: dict[str, dict[str, str]] = {}
    for name, values in columns.items():
        if np.isin(values, (0, 1)).all() and 0 < values.mean() < 1:
            for prefix, level in _ways_to_divide(name):
                groups.setdefault(prefix, {})[name] = level
    by_prefix: dict[str, dict[str, str]] = {}
    for prefix, parts in sorted(groups.items(), key=lambda one: (-len(one[1]), -len(one[0]), one[0])):
        rows = np.stack([columns[name] for name in parts], -1)
        shares = rows.mean(0)
        by_chance = np.prod(1 - shares) * (1 + (shares / (1 - shares)).sum())
        is_no_chance = rows.any(-1).all() or len(rows) * np.log(by_chance) < np.log(_CHANCE)
        is_new = not any(parts.keys() & others.keys() for others in by_prefix.values())
        if is_new and len({*parts.values()}) == len(parts) > 1 and rows.sum(-1).max() <= 1 and is_no_chance:
            by_prefix[prefix] = parts
    return by_prefix


def one_hot_merged(
    columns: Mapping[str, Column], *, declared: Container[str], names: Container[str]
) -> tuple[dict[str, Column], list[str]]:
    """Put one category, with a note, in the place of columns of 0 and 1 of one prefix."""
    merged, notes = {name: (name, one) for name, one in columns.items()}, []
    numbers = ((name, one.numbers_or_none()) for name, one in columns.items() if name not in declared)
    values = {name: one for name, one in numbers if one is not None}
    for prefix, parts in one_hot_groups(values).items():
        if prefix not in names:
            first, *others = parts
            merged[first] = prefix, _category([values[name] for name in parts], [*parts.values()])
            merged = {name: one for name, one in merged.items() if name not in others}
            names_of_parts = listed(f"'{short(name, 40)}'" for name in parts)
            way = "To keep one apart, name it in --kinds."
            notes.append(f"{names_of_parts} are one category, '{short(prefix, 40)}'. {way}")
    return dict(merged.values()), notes


def one_hot_column(raw: RawTable, name: str, levels: Sequence[str]) -> Column | None:
    """Return a category whose columns of 0 and 1 are there again; ``None`` where some are not."""
    columns = {}
    for level in levels:
        named = zip(raw.names, raw.columns, strict=True)
        numbers = [one.numbers_or_none() for other, one in named if (name, level) in _ways_to_divide(other)]
        if len(numbers) == 1 and numbers[0] is not None:
            columns[level] = numbers[0]
        elif level != _NONE:
            return None
    return _category([*columns.values()], [*columns])


def _category(columns: Sequence[NDArray[np.float64]], levels: Sequence[str]) -> Column:
    rows = np.stack(columns, -1)
    number = np.where(np.isin(rows, (0, 1)).all(-1), rows.sum(-1), np.nan)
    categories = np.array([*levels, _NONE, _SEVERAL], dtype=object)
    which = np.where(number == 1, rows.argmax(-1), len(levels) + (number > 1))
    return Column(pd.Series(categories[which]).mask(np.isnan(number)).astype("category"))


def _ways_to_divide(name: str) -> list[tuple[str, str]]:
    """Return the ways to divide a name in a prefix and the rest."""
    marks = re.finditer(r"[_.=:/ -]+", name)
    ends = ((name[: one.start()].strip(), name[one.end() :].strip()) for one in marks)
    return [(prefix, rest) for prefix, rest in ends if prefix and rest]
