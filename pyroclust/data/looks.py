"""Columns of numbers that look like something else than measurements."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.text import short, visible

__all__ = [
    "are_codes_of_classes",
    "are_days",
    "footer_note",
    "is_identifier",
    "repeat",
    "stand_ins_note",
]

_IDENTIFIERS = re.compile(
    r"(.*[\W_])?(id|ids|index|idx|row|rows|no|nr|key|code|zip|zipcode|postcode|seed|uuid|unnamed: 0)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z](Id|ID|Nr|No|Key|Code|Index)")
_MOST_CODES, _LEAST_REPEATS = 10, 3
_MOST_SHOWN = 8
_FOOTERS = frozenset(
    (
        *("total", "totals", "subtotal", "sum", "mean", "average", "avg", "median"),
        *("gesamt", "insgesamt", "summe", "mittelwert", "somme", "moyenne", "totale", "media", "promedio"),
    )
)
# Numbers that programs write where there is none.
_STAND_INS = {
    *(-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, -32768.0, -1e30, 1e30, 1e20),
    *(9.969209968386869e36, -1.7976931348623157e308, -3.4028234663852886e38),
}


def repeat(distinct: int, number: int) -> bool:
    """Say whether values repeat so often that each comes three times on average."""
    return number >= _LEAST_REPEATS * distinct


def are_codes_of_classes(distinct: int, number: int) -> bool:
    """Say whether whole values are so few, and repeat so often, that they look like codes of classes."""
    return distinct <= _MOST_CODES and repeat(distinct, number)


def is_identifier(name: str, values: NDArray[np.float64]) -> bool:
    """Say whether whole numbers, all of them different, name the rows rather than measure them."""
    named = bool(_IDENTIFIERS.fullmatch(name) or _CAMEL.fullmatch(name))
    digits = {len(f"{abs(value):.0f}") for value in values.tolist()}
    # All whole numbers of a range, each once; or long numbers of one length.
    return named or np.ptp(values) == len(values) - 1 or (len(digits) == 1 and digits.pop() >= 6)


def are_days(values: NDArray[np.float64]) -> bool:
    """Say whether whole numbers are dates such as 20201231."""
    years, months, days = values // 10_000, values // 100 % 100, values % 100
    ranges = ((years, 1800, 2100), (months, 1, 12), (days, 1, 31))
    return all(bool((part >= low).all() and (part <= high).all()) for part, low, high in ranges)


def stand_ins_note(names: Sequence[str], data: NDArray[np.float64]) -> str | None:
    """Say which columns hold a number such as -999, far from all others, that may mean a missing one."""
    found = []
    for name, values in zip(names, data.T, strict=True):
        values = values[~np.isnan(values)]
        # One that is far from all others is the smallest or the largest.
        ends = {float(values.min()), float(values.max())} if len(values) else set()
        for one in sorted(ends & _STAND_INS):
            others = values[values != one]
            if 2 <= len(others) < len(values):
                low, high = float(others.min()), float(others.max())
                if one < low - (high - low) or one > high + (high - low):
                    found.append(f"{one:g} ({len(values) - len(others):,} in '{name}')")
    more = f" and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
    said = ", ".join(found[:_MOST_SHOWN])
    return f"May stand for missing values, and were read as numbers: {said}{more}." if found else None


def footer_note(last: Sequence[str | None]) -> str | None:
    """Say where the last row looks like a total of the others."""
    for text in last:
        words = (text or "").strip(" :.").casefold().split()
        if words and len(words) <= 3 and _FOOTERS & {words[0], words[-1]}:
            said = short(visible((text or "").strip()), 30)
            return f"The last row, with “{said}”, was read as a point: if it is no point, remove it."
    return None
