"""What networks are asked to be: how long lists and stacks may be, and which scales have squares."""

import reprlib
from collections.abc import Sequence
from typing import Any

from pyroclust.core.counts import check_number

__all__ = ["MAX_BLOCKS", "check_bandwidths", "check_scale"]

MAX_BLOCKS = 100
"""Most blocks of attention, or kernels, of a network."""

_SMALLEST, _LARGEST = 1e-100, 1e100


def check_scale(name: str, value: float) -> float:
    """Return a positive number whose square is one too.

    Raises:
        ValueError: if it is something else.

    Example:
        >>> check_scale("scale", 0.0)
        Traceback (most recent call last):
        ValueError: scale is 0.0, expected a positive number from 1e-100 to 1e+100
    """
    try:
        return check_number(name, value, at_least=_SMALLEST, at_most=_LARGEST)
    except ValueError:
        raise ValueError(
            f"{name} is {reprlib.repr(value)}, expected a positive number from {_SMALLEST:g} to {_LARGEST:g}"
        ) from None


def check_bandwidths(values: Sequence[Any]) -> tuple[float, ...]:
    """Return the bandwidths of kernels as numbers.

    Raises:
        ValueError: if one is not positive, or there are too many.

    Example:
        >>> check_bandwidths([0.7, 1.4])
        (0.7, 1.4)
    """
    if len(values) > MAX_BLOCKS:
        raise ValueError(f"bandwidths has {len(values)} numbers, expected at most {MAX_BLOCKS}")
    return tuple(check_scale(f"bandwidths[{place}]", one) for place, one in enumerate(values))
