"""Numbers from outside as arrays: nothing that is masked, missing or no number passes for one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "as_finite",
    "as_numbers",
    "checked_weights",
    "on_host",
    "plain",
    "refuse_masked",
    "unit_of",
    "whole_numbers",
    "without_gaps",
]

# From here on float64 leaves whole numbers out.
_EXACT = 2.0**53


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64: an array, a tensor of any device, nested lists.

    Args:
        name: of the argument, for errors.
        values: the numbers; infinite ones and nan stay.

    Raises:
        ValueError: if these are no real numbers, some are masked, or rows have unequal lengths.

    Example:
        >>> as_numbers("weights", [1, 2]).tolist()
        [1.0, 2.0]
        >>> as_numbers("weights", ["a"])
        Traceback (most recent call last):
        ValueError: weights, of type list, is not an array of real numbers: give an array, or lists of ...
    """
    refuse_masked(name, values)
    try:
        found = np.asarray(on_host(values))
        if found.dtype == object and any(isinstance(one, str | bytes) for one in found.flat):
            raise TypeError
        return found.astype(np.float64, casting="unsafe" if found.dtype == object else "same_kind")
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise ValueError(
            f"{name}, of type {type(values).__name__}, is not an array of real numbers: give an array, or "
            "lists of numbers of equal lengths"
        ) from None


def as_finite(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64, and refuse nan and infinite ones.

    Args:
        name: of the argument, for errors.
        values: the numbers.

    Raises:
        ValueError: if these are no real numbers, or one is not finite.

    Example:
        >>> as_finite("values", [0.5]).tolist()
        [0.5]
    """
    found = as_numbers(name, values)
    lost = found.size - int(np.isfinite(found).sum())
    if lost:
        raise ValueError(f"{name} has {lost} numbers that are not finite, expected finite ones")
    return found


def as_finite_or_missing(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64, nan where there is none, and refuse infinite ones.

    Args:
        name: of the argument, for errors.
        values: the numbers.

    Raises:
        ValueError: if these are no real numbers, or one is infinite.

    Example:
        >>> as_finite_or_missing("values", [0.5, np.nan]).tolist()
        [0.5, nan]
    """
    found = as_numbers(name, values)
    if lost := int(np.isinf(found).sum()):
        raise ValueError(f"{name} has {lost} infinite numbers, expected finite ones, or nan for none")
    return found


def whole_numbers(name: str, values: Any) -> np.ndarray:
    """Return whole numbers as int64, whatever type they have.

    Args:
        name: of the argument, for errors.
        values: the numbers; none is as large as 2**53.

    Raises:
        ValueError: if these are no real numbers, or one is not whole.

    Example:
        >>> whole_numbers("counts", [1.0, 2.0]).tolist()
        [1, 2]
    """
    found = as_finite(name, values)
    if (np.abs(found) >= _EXACT).any() or (found != found.round()).any():
        raise ValueError(f"{name} has numbers that are not whole or not below 2**53, expected counts")
    return found.astype(np.int64)


# What clusters cache is tabulated up to the largest size that one may have.
_MOST_ROWS = 1_000_000


def checked_weights(
    name: str, values: Any, *, num_rows: int | None = None, row_names: Sequence[str] | None = None
) -> np.ndarray:
    """Return how many equal rows each row of a data set stands for, ``(N,)`` int64.

    Args:
        name: of the argument, for errors.
        values: the weights.
        num_rows: N, where it is known.
        row_names: what errors call the rows; they count from 0 by default.

    Raises:
        ValueError: if they are no whole numbers of at least 1, not one a row, or sum to more than a million.

    Example:
        >>> checked_weights("weights", [2, 1, 0])
        Traceback (most recent call last):
        ValueError: weights has 0 for row 2, expected whole numbers of at least 1: leave rows of weight...
    """
    found = as_numbers(name, values)
    if found.ndim != 1 or not len(found) or num_rows not in (None, len(found)):
        rows = "N" if num_rows is None else num_rows
        raise ValueError(f"{name} has shape {found.shape}, expected ({rows},) whole numbers of at least 1")
    wrong = np.flatnonzero(~(found >= 1) | (found != np.round(found)))
    if len(wrong):
        value, row = found[wrong[0]], int(wrong[0])
        told = "no number" if np.isnan(value) else f"{value:g}"
        advice = ": leave rows of weight zero out" if value == 0 else ", how often each row counts"
        where = row if row_names is None else row_names[row]
        raise ValueError(f"{name} has {told} for row {where}, expected whole numbers of at least 1{advice}")
    if found.sum() > _MOST_ROWS:
        raise ValueError(f"{name} sum to {found.sum():g}, expected at most {_MOST_ROWS:,}")
    return found.astype(np.int64)


def unit_of(values: np.ndarray) -> float:
    """Return a power of two by which sums and squares of numbers can be divided and stay finite.

    It is 1 unless the numbers are very large: division by it rounds nothing.

    Args:
        values: finite numbers, or nan.

    Example:
        >>> unit_of(np.array([3.0])), unit_of(np.array([1e308])) > 1e307
        (1.0, True)
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return 1.0 if largest < 1e140 else 2.0 ** math.frexp(largest / 2)[1]


def on_host(values: Any) -> Any:
    """Take a tensor from its device and its graph, or a list of them.

    Example:
        >>> on_host([1, 2])
        [1, 2]
    """
    if isinstance(values, list | tuple) and any(hasattr(one, "detach") for one in values):
        return [on_host(one) for one in values]
    return values.detach().cpu() if hasattr(values, "detach") else values


def refuse_masked(name: str, found: Any) -> None:
    """Refuse arrays of numpy with masked entries, also in lists: numpy would go on with what lies below.

    Raises:
        ValueError: if there are.

    Example:
        >>> refuse_masked("data", np.ma.masked_array([1.0, 2.0], mask=[0, 1]))
        Traceback (most recent call last):
        ValueError: data has 1 masked entries, expected a value in each: fill them, ...
    """
    lost = _num_masked(found)
    if lost:
        raise ValueError(
            f"{name} has {lost} masked entries, expected a value in each: fill them, or leave out the points "
            "that have them"
        )


def _num_masked(found: Any) -> int:
    if isinstance(found, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(found).sum())
    if isinstance(found, list | tuple):
        return sum(_num_masked(one) for one in found if isinstance(one, list | tuple | np.ma.MaskedArray))
    return 0


def plain(value: Any) -> Any:
    """Return what JSON can hold: arrays and tuples as lists, numbers that are not finite as ``None``.

    Example:
        >>> plain({"values": np.arange(2), "p": float("nan")})
        {'values': [0, 1], 'p': None}
    """
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value


def without_gaps(data: np.ndarray) -> np.ndarray:
    """Return points with missing cells at the mean of their column, or 0 where all of it is missing.

    Args:
        data: ``(..., N, D)``.

    Example:
        >>> without_gaps(np.array([[1.0], [np.nan], [2.0]])).tolist()
        [[1.0], [1.5], [2.0]]
    """
    lost = np.isnan(data)
    if not lost.any():
        return data
    there = np.maximum((~lost).sum(-2, keepdims=True), 1)
    return np.where(lost, np.where(lost, 0.0, data).sum(-2, keepdims=True) / there, data)
