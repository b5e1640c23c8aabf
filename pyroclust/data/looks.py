"""Columns of numbers that look like something else than measurements."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.columns import Column

__all__ = ["look_of", "looks_note"]

_IDENTIFIERS = re.compile(
    r"(.*[\W_])?(id|ids|index|idx|row|rows|no|nr|key|code|zip|zipcode|postcode|seed|uuid|unnamed: 0)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z](Id|ID|Nr|No|Key|Code|Index)")
# More different values than this are no codes of classes, nor are values that hardly repeat.
_MOST_CODES, _LEAST_REPEATS = 10, 3
_MOST_SHOWN = 8


def look_of(name: str, values: NDArray[np.float64], *, are_codes: bool = False) -> str | None:
    """Say what a column looks like where it does not look like a measurement; ``None`` otherwise.

    Args:
        name: of the column.
        values: finite, ``(N,)``.
        are_codes: whether its numbers are written with zeros before them.

    Example:
        >>> look_of("patient", np.arange(1.0, 9.0))
        'it counts the rows'
        >>> look_of("smoker", np.array([0.0, 1.0, 1.0, 0.0]))
        'it has two values only, 0 and 1'
    """
    if are_codes:
        return "its numbers begin with zeros, as codes do"
    distinct = np.unique(values)
    is_whole = bool((values == np.round(values)).all())
    if len(distinct) == 1:
        return "it has one value only"
    if is_whole and len(distinct) == len(values) > 2 and _is_identifier(name, values):
        return "it counts the rows" if _counts(values) else "it looks like an identifier"
    if len(distinct) == 2 < len(values):
        return f"it has two values only, {distinct[0]:g} and {distinct[1]:g}"
    if is_whole and len(distinct) <= _MOST_CODES and len(values) >= _LEAST_REPEATS * len(distinct):
        return f"it has {len(distinct)} whole values only, as codes of classes have"
    return None


def _is_identifier(name: str, values: NDArray[np.float64]) -> bool:
    named = bool(_IDENTIFIERS.fullmatch(name) or _CAMEL.fullmatch(name))
    digits = {len(f"{abs(value):.0f}") for value in values.tolist()}
    # All whole numbers of a range, each once; or long numbers of one length.
    return named or np.ptp(values) == len(values) - 1 or (len(digits) == 1 and digits.pop() >= 6)


def _counts(values: NDArray[np.float64]) -> bool:
    return bool(values[0] in (0, 1) and (np.diff(values) == 1).all())


def looks_note(names: Sequence[str], columns: Sequence[Column], data: NDArray[np.float64]) -> str | None:
    """Say which columns were clustered that do not look like measurements, and how to leave them out.

    Args:
        names: of the columns.
        columns: as they were read.
        data: their numbers, ``(N, D)``.
    """
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
