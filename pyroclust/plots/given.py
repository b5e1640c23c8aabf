"""What users give to pictures, as arrays that can be drawn; anything else is refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyroclust.core.arrays import as_finite, as_numbers, whole_numbers
from pyroclust.diagnostics.draws.labels import checked_labels

__all__ = [
    "MAX_BINS",
    "check_mapping",
    "drawable",
    "drawable_labels",
    "drawable_order",
    "drawable_points",
    "drawable_shares",
]

MAX_BINS = 10_000
"""Of a histogram: more are thinner than a pixel."""

# Axes whose ends lie further apart have no ticks.
_LARGEST = 1e100


def drawable(name: str, values: Any, *, gaps: bool = False) -> np.ndarray:
    """Return numbers that have a place on an axis.

    Args:
        name: of the argument, for errors.
        values: the numbers.
        gaps: whether nan is allowed, which leaves a gap.

    Raises:
        ValueError: if one is not finite, or larger than an axis can show.

    Example:
        >>> drawable("values", [1, 2]).tolist()
        [1.0, 2.0]
    """
    found = as_numbers(name, values) if gaps else as_finite(name, values)
    shown = found[~np.isnan(found)]
    if shown.size and np.abs(shown).max() > _LARGEST:
        raise ValueError(f"{name} reaches {np.abs(shown).max():.3g}, expected at most {_LARGEST:g}")
    return found


def drawable_points(name: str, data: Any) -> np.ndarray:
    """Return points, ``(N, D)`` with at least one of each.

    Raises:
        ValueError: if they have another shape, or cannot be drawn.

    Example:
        >>> drawable_points("data", [[1.0, 2.0]]).shape
        (1, 2)
    """
    found = drawable(name, data)
    if found.ndim != 2 or not found.size:
        raise ValueError(f"{name} has shape {found.shape}, expected (N, D) with at least one point")
    return found


def drawable_labels(name: str, assignments: Any, num_points: int) -> np.ndarray:
    """Return the labels of so many points, 0 to N - 1, ``(N,)`` int64.

    Raises:
        ValueError: if these are no such labels.

    Example:
        >>> drawable_labels("assignments", [0, 1], 2).tolist()
        [0, 1]
    """
    found = checked_labels(name, assignments)
    if found.shape != (num_points,):
        raise ValueError(f"{name} has shape {found.shape}, expected ({num_points},), one label a point")
    return found


def drawable_shares(name: str, values: Any, num_points: int) -> np.ndarray:
    """Return a number from 0 to 1 for each of so many points, ``(N,)``.

    Raises:
        ValueError: if these are none.

    Example:
        >>> drawable_shares("uncertainty", [0.5, 1], 2).tolist()
        [0.5, 1.0]
    """
    found = drawable(name, values)
    if found.shape != (num_points,) or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} has shape {found.shape}, expected ({num_points},) of numbers from 0 to 1")
    return found


def drawable_order(order: Any, num_points: int) -> np.ndarray:
    """Return an order of so many points: each of them once, ``(N,)`` int64.

    Raises:
        ValueError: if it is none.

    Example:
        >>> drawable_order([1, 0], 2).tolist()
        [1, 0]
    """
    found = whole_numbers("order", order)
    if found.shape != (num_points,) or not np.array_equal(np.sort(found), np.arange(num_points)):
        raise ValueError(f"order has shape {found.shape}, expected each of {num_points} points once")
    return found


def check_mapping(name: str, given: Any) -> None:
    """Refuse what is no dictionary, or an empty one.

    Raises:
        ValueError: if so.

    Example:
        >>> check_mapping("scores", {"a": 1})
    """
    if not isinstance(given, Mapping) or not given:
        what = "empty" if isinstance(given, Mapping) else f"of type {type(given).__name__}"
        raise ValueError(f"{name} is {what}, expected a dictionary by name with at least one entry")
