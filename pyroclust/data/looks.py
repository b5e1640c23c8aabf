"""Columns of numbers that look like something else than measurements."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.columns import Column
from pyroclust.data.roles import names_things
from pyroclust.text import short, visible

__all__ = [
    "are_codes_of_classes",
    "are_days",
    "footer_note",
    "look_of",
    "looks_note",
    "repeat",
]

_MOST_CODES, _LEAST_REPEATS = 10, 3
_MOST_SHOWN = 8
_FOOTERS = frozenset(
    (
        *("total", "totals", "subtotal", "sum", "mean", "average", "avg", "median"),
        *("gesamt", "insgesamt", "summe", "mittelwert", "somme", "moyenne", "totale", "media", "promedio"),
    )
)


def look_of(name: str, values: NDArray[np.float64], *, are_codes: bool = False) -> str | None:
    """Say what a column looks like where it does not look like a measurement; ``None`` otherwise."""
    if are_codes:
        return "its numbers begin with zeros, as codes do"
    distinct = np.unique(values)
    is_whole = bool((values == np.round(values)).all())
    if len(distinct) == 1:
        return "it has one value only"
    if is_whole and len(distinct) > 2 and are_days(distinct):
        return "its numbers are dates such as 20201231"
    if len(distinct) == len(values) > 2 and names_things(name, values):
        return "it counts the rows" if _counts(values) else "it looks like an identifier"
    if len(distinct) == 2 < len(values):
        return f"it has two values only, {distinct[0]:g} and {distinct[1]:g}"
    if is_whole and are_codes_of_classes(len(distinct), len(values)):
        return f"it has {len(distinct)} whole values only, as codes of classes have"
    return None


def repeat(distinct: int, number: int) -> bool:
    """Say whether values repeat so often that each comes three times on average."""
    return number >= _LEAST_REPEATS * distinct


def are_codes_of_classes(distinct: int, number: int) -> bool:
    """Say whether whole values are so few, and repeat so often, that they look like codes of classes."""
    return distinct <= _MOST_CODES and repeat(distinct, number)


def are_days(values: NDArray[np.float64]) -> bool:
    """Say whether whole numbers are dates such as 20201231."""
    years, months, days = values // 10_000, values // 100 % 100, values % 100
    ranges = ((years, 1800, 2100), (months, 1, 12), (days, 1, 31))
    return all(bool((part >= low).all() and (part <= high).all()) for part, low, high in ranges)


def footer_note(last: Sequence[str | None]) -> str | None:
    """Say where the last row looks like a total of the others."""
    for text in last:
        words = (text or "").strip(" :.").casefold().split()
        if words and len(words) <= 3 and _FOOTERS & {words[0], words[-1]}:
            said = short(visible((text or "").strip()), 30)
            return f"The last row, with “{said}”, was read as a point: if it is no point, remove it."
    return None


def _counts(values: NDArray[np.float64]) -> bool:
    return bool(values[0] in (0, 1) and (np.diff(values) == 1).all())


def looks_note(names: Sequence[str], columns: Sequence[Column], data: NDArray[np.float64]) -> str | None:
    """Say which columns were clustered that do not look like measurements, and how to leave them out."""
    looks = {
        name: look
        for name, column, values in zip(names, columns, data.T, strict=True)
        if (look := look_of(name, values, are_codes=column.are_codes)) is not None
    }
    if not looks:
        return None
    some = list(looks)[:_MOST_SHOWN]
    said = "; ".join(f"'{name}': {looks[name]}" for name in some)
    more = f"; and {len(looks) - len(some):,} more" if len(looks) > len(some) else ""
    rest = [f'"{name}"' if "," in name else name for name in names if name not in looks]
    kept = ",".join(rest[:_MOST_SHOWN]) + (",..." if len(rest) > _MOST_SHOWN else "")
    how = f"To leave such columns out, give --columns {kept}." if rest else "Clusters of it may say little."
    return f"Clustered as numbers, whatever they look like: {said}{more}. {how}"
