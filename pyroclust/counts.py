"""Counts and seeds that callers give: whole numbers, checked once, for everything that takes some."""

import operator
import reprlib
from typing import Any

__all__ = ["MAX_SEED", "check_count", "check_seed", "short_seed"]

MAX_SEED = 2**63 - 1
_MAX_COUNT = 2**53
_SHORT = 2**32


def check_count(
    name: str, value: Any, *, at_least: int = 1, at_most: int = _MAX_COUNT, hint: str = ""
) -> int:
    """Return a whole number within bounds, whatever integer type it has.

    Args:
        name: the argument.
        value: what was given; ``True``, ``2.0`` and ``"2"`` are no whole numbers.
        at_least: the smallest that is possible.
        at_most: the largest.
        hint: why, or what to do, put at the end of the sentence.

    Raises:
        ValueError: if it is something else, or out of bounds.

    Example:
        >>> check_count("num_draws", 10)
        10
        >>> check_count("num_draws", 2.5)
        Traceback (most recent call last):
        ValueError: num_draws is 2.5, expected a whole number of at least 1
    """
    found = _whole(value)
    if found is None or not at_least <= found <= at_most:
        shown = str(value) if found is not None and found.bit_length() <= 128 else reprlib.repr(value)
        bounds = f"at most {at_most}" if found is not None and found > at_most else f"at least {at_least}"
        kind = "a whole number of " if found is None else ""
        raise ValueError(f"{name} is {shown}, expected {kind}{bounds}{': ' if hint else ''}{hint}")
    return found


def check_seed(seed: Any, *, name: str = "seed") -> int:
    """Return a seed as an ``int``: a whole number from 0 to ``2**63 - 1``.

    Raises:
        ValueError: if it is something else.

    Example:
        >>> check_seed(2**40)
        1099511627776
        >>> check_seed(-1)
        Traceback (most recent call last):
        ValueError: seed is -1, expected a whole number from 0 to 2**63 - 1
    """
    found = _whole(seed)
    if found is None or not 0 <= found <= MAX_SEED:
        raise ValueError(f"{name} is {reprlib.repr(seed)}, expected a whole number from 0 to 2**63 - 1")
    return found


def short_seed(seed: int) -> int:
    """Return a seed below ``2**32`` for software that takes no larger one; smaller seeds stay as they are.

    Example:
        >>> short_seed(7), short_seed(2**40) < 2**32
        (7, True)
    """
    seed = check_seed(seed)
    # Knuth's multiplier spreads the upper half over all bits of the lower one.
    return seed if seed < _SHORT else (seed ^ (seed >> 32) * 2654435761) % _SHORT


def _whole(value: Any) -> int | None:
    """Return an integer of any type, and ``None`` for what is none."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return None
