"""Columns of numbers that look like something else than measurements."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.text import short, visible

__all__ = [
    "are_codes_of_classes",
    "are_days",
    "footer_note",
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
