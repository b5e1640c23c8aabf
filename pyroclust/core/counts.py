"""Counts, seeds and single numbers that callers give, checked once, for everything that takes some."""

import math
import operator
import reprlib
from typing import Any

MAX_SEED = 2**63 - 1
_MAX_COUNT = 2**53
_SHORT = 2**32
# Bits; Python refuses to write numbers of thousands of digits.
_WRITTEN_OUT = 128


def check_count(
    name: str, value: Any, *, at_least: int = 1, at_most: int = _MAX_COUNT, hint: str = ""
) -> int:
    """Return a whole number within bounds, whatever integer type it has."""
    whole = _whole(value)
    if whole is None or not at_least <= whole <= at_most:
        bounds = f"at most {at_most}" if whole is not None and whole > at_most else f"at least {at_least}"
        kind = "a whole number of " if whole is None else ""
        raise ValueError(f"{name} is {shown(value)}, expected {kind}{bounds}{': ' if hint else ''}{hint}")
    return whole


def check_range(name: str, value: Any) -> tuple[int, int]:
    """Return the smallest and the largest of some counts, from a number or from both."""
    whole = _whole(value)
    both = (whole, whole) if whole is not None else tuple(map(_whole, value)) if _is_pair(value) else ()
    match both:
        case (int(fewest), int(most)) if 1 <= fewest <= most <= _MAX_COUNT:
            return fewest, most
    raise ValueError(
        f"{name} is {shown(value)}, expected a number of at least 1, as 3, or the fewest and the most, "
        "as (2, 6)"
    )


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> float:
    """Return a finite number within bounds as a ``float``, whatever real type it has."""
    number = _real(value)
    if not (math.isfinite(number) and above < number < below and at_least <= number <= at_most):
        limits = {"above": above, "of at least": at_least, "below": below, "of at most": at_most}
        bounds = " and ".join(f"{words} {one:g}" for words, one in limits.items() if math.isfinite(one))
        bounds = bounds.removeprefix("above 0 and ").removeprefix("above 0")
        kind = "positive number" if above == 0 else "number" if bounds else "finite number"
        raise ValueError(f"{name} is {shown(value)}, expected a {kind} {bounds}".rstrip())
    return number


def check_seed(seed: Any, *, name: str = "seed") -> int:
    """Return a seed as an ``int``: a whole number from 0 to ``2**63 - 1``."""
    whole = _whole(seed)
    if whole is None or not 0 <= whole <= MAX_SEED:
        raise ValueError(f"{name} is {shown(seed)}, expected a whole number from 0 to 2**63 - 1")
    return whole


def short_seed(seed: int) -> int:
    """Return a seed below ``2**32`` for software that takes no larger one; smaller seeds stay as they are."""
    seed = check_seed(seed)
    # Knuth's multiplier spreads the upper half over all bits of the lower one.
    return seed if seed < _SHORT else (seed ^ (seed >> 32) * 2654435761) % _SHORT


def _real(value: Any) -> float:
    """Return one real number of any type as a float, and nan for what is none."""
    is_text = isinstance(value, str | bytes | bytearray)
    if is_text or _is_truth(value) or getattr(value, "shape", ()) != () or getattr(value, "is_meta", False):
        return math.nan
    try:
        # A tensor with a gradient is a number too.
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan


def _is_truth(value: Any) -> bool:
    """Say whether it is true or false, of Python, numpy or torch."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool")


def shown(value: Any) -> str:
    """Write in one line what was given for a number."""
    whole = _whole(value)
    if whole is None:
        return " ".join(reprlib.repr(value).split())
    if whole.bit_length() <= _WRITTEN_OUT:
        return str(value)
    return f"a number of {whole.bit_length()} bits"


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _whole(value: Any) -> int | None:
    """Return an integer of any type, and ``None`` for what is none."""
    if _is_truth(value) or getattr(value, "shape", ()) != () or getattr(value, "is_meta", False):
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return None
