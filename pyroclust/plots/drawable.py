"""What users give to pictures, as arrays and names that can be drawn; anything else is refused."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np

from pyroclust.core.messages import visible
from pyroclust.core.numbers import as_finite, as_numbers, whole_numbers
from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
)
from pyroclust.diagnostics.frequencies import paired_points
from pyroclust.diagnostics.labels import checked_labels

MAX_BINS = 10_000
"""Of a histogram: more are thinner than a pixel."""

MOST_MARKS = 5000
"""Of the points of one picture: more hide one another."""

DEFAULT_LOSS = VariationOfInformation()

# Axes whose ends lie further apart have no ticks.
_LARGEST = 1e100


def drawable(name: str, values: Any, *, gaps: bool = False) -> np.ndarray:
    """Return numbers that have a place on an axis."""
    found = as_numbers(name, values) if gaps else as_finite(name, values)
    shown = found[~np.isnan(found)]
    if shown.size and np.abs(shown).max() > _LARGEST:
        raise ValueError(f"{name} reaches {np.abs(shown).max():.3g}, expected at most {_LARGEST:g}")
    return found


def drawable_points(name: str, data: Any) -> np.ndarray:
    """Return points, ``(N, D)`` with at least one of each."""
    found = drawable(name, data)
    if found.ndim != 2 or not found.size:
        raise ValueError(f"{name} has shape {found.shape}, expected (N, D) with at least one point")
    return found


def drawable_labels(name: str, assignments: Any, num_points: int) -> np.ndarray:
    """Return the labels of so many points, 0 to N - 1, ``(N,)`` int64."""
    found = checked_labels(name, assignments)
    if found.shape != (num_points,):
        raise ValueError(f"{name} has shape {found.shape}, expected ({num_points},), one label a point")
    return found


def drawable_shares(name: str, values: Any, num_points: int) -> np.ndarray:
    """Return a number from 0 to 1 for each of so many points, ``(N,)``."""
    found = drawable(name, values)
    if found.shape != (num_points,) or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} has shape {found.shape}, expected ({num_points},) of numbers from 0 to 1")
    return found


def marked_points(num_points: int) -> np.ndarray:
    """Return the points that pictures show: every one, or so many at random, the same in every picture."""
    return paired_points(num_points, most=MOST_MARKS)


def drawable_order(order: Any, num_points: int) -> np.ndarray:
    """Return an order of so many points: each of them once, ``(N,)`` int64."""
    found = whole_numbers("order", order)
    if found.shape != (num_points,) or not np.array_equal(np.sort(found), np.arange(num_points)):
        raise ValueError(f"order has shape {found.shape}, expected each of {num_points} points once")
    return found


def check_mapping(name: str, values: Any) -> None:
    """Refuse what is no dictionary, or an empty one."""
    if not isinstance(values, Mapping) or not values:
        what = "empty" if isinstance(values, Mapping) else f"of type {type(values).__name__}"
        raise ValueError(f"{name} is {what}, expected a dictionary by name with at least one entry")


_LOSSES = {
    VariationOfInformation: "variation of information",
    Binder: "Binder loss",
    NormalisedVariationOfInformation: "normalised variation of information",
    AdjustedRand: "one minus the adjusted Rand index",
}


def counted(number: int, noun: str) -> str:
    """Write a number of things, with an s unless it is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def plain_text(name: str) -> str:
    r"""Write a user's name so that matplotlib shows it as it is: no formula, no control, in legends too."""
    text = visible(str(name))
    if mpl.rcParams["text.parse_math"]:
        text = text.replace("$", r"\$")
    # Legends leave out names that are empty or begin with an underscore.
    return f" {text}" if not text or text.startswith("_") else text


def loss_name(loss: PartitionLoss) -> str:
    """Write the name of a loss for people; the class's name where it is not one of ours."""
    name = _LOSSES.get(type(loss), type(loss).__name__)
    weight = getattr(loss, "weight", 1.0)
    return name if weight == 1.0 else f"{name}, weight {weight:g}"


def loss_unit(loss: PartitionLoss) -> str:
    """Return the unit of a loss with a space before it, or nothing."""
    return " bits" if isinstance(loss, VariationOfInformation) else ""


def with_unit(words: str, loss: PartitionLoss) -> str:
    """Add the unit of a loss in brackets, where it has one."""
    unit = loss_unit(loss)
    return f"{words} ({unit.strip()})" if unit else words
