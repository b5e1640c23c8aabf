"""Numbers from outside as arrays: nothing that is masked, missing or no number passes for one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# From here on float64 leaves whole numbers out.
_EXACT = 2.0**53


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64: an array, a tensor of any device, nested lists."""
    refuse_masked(name, values)
    try:
        numbers = np.asarray(on_host(values))
        if numbers.dtype == object and any(isinstance(entry, str | bytes) for entry in numbers.flat):
            raise TypeError
        return numbers.astype(np.float64, casting="unsafe" if numbers.dtype == object else "same_kind")
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise ValueError(
            f"{name}, of type {type(values).__name__}, is not an array of real numbers: give an array, or "
            "lists of numbers of equal lengths"
        ) from None


def as_finite(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64, and refuse nan and infinite ones."""
    numbers = as_numbers(name, values)
    if number := int((~np.isfinite(numbers)).sum()):
        raise ValueError(f"{name} has {number} numbers that are not finite, expected finite ones")
    return numbers


def as_finite_or_missing(name: str, values: Any) -> np.ndarray:
    """Return real numbers as float64, nan where there is none, and refuse infinite ones."""
    numbers = as_numbers(name, values)
    if number := int(np.isinf(numbers).sum()):
        raise ValueError(f"{name} has {number} infinite numbers, expected finite ones, or nan for none")
    return numbers


def whole_numbers(name: str, values: Any) -> np.ndarray:
    """Return whole numbers as int64, whatever type they have."""
    numbers = as_finite(name, values)
    if (np.abs(numbers) >= _EXACT).any() or (numbers != numbers.round()).any():
        raise ValueError(f"{name} has numbers that are not whole or not below 2**53, expected counts")
    return numbers.astype(np.int64)


# What clusters cache is tabulated up to the largest size that one may have.
_MOST_ROWS = 1_000_000


def checked_weights(
    name: str, values: Any, *, num_rows: int | None = None, row_names: Sequence[str] | None = None
) -> np.ndarray:
    """Return how many equal rows each row of a data set stands for, ``(N,)`` int64."""
    numbers = as_numbers(name, values)
    if numbers.ndim != 1 or not len(numbers) or num_rows not in (None, len(numbers)):
        rows = "N" if num_rows is None else num_rows
        raise ValueError(f"{name} has shape {numbers.shape}, expected ({rows},) whole numbers of at least 1")
    wrong = np.flatnonzero(~(numbers >= 1) | (numbers != np.round(numbers)))
    if len(wrong):
        value, row = numbers[wrong[0]], int(wrong[0])
        shown = "no number" if np.isnan(value) else f"{value:g}"
        advice = ": leave rows of weight zero out" if value == 0 else ", how often each row counts"
        where = row if row_names is None else row_names[row]
        raise ValueError(f"{name} has {shown} for row {where}, expected whole numbers of at least 1{advice}")
    if numbers.sum() > _MOST_ROWS:
        raise ValueError(f"{name} sum to {numbers.sum():g}, expected at most {_MOST_ROWS:,}")
    return numbers.astype(np.int64)


def overflow_scale(values: np.ndarray) -> float:
    """Return a power of two, 1 unless numbers are huge, by which their sums and squares stay finite."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return 1.0 if largest < 1e140 else 2.0 ** math.frexp(largest / 2)[1]


def on_host(values: Any) -> Any:
    """Take a tensor from its device and its graph, or a list of them."""
    if isinstance(values, list | tuple) and any(hasattr(one, "detach") for one in values):
        return [on_host(one) for one in values]
    return values.detach().cpu() if hasattr(values, "detach") else values


def refuse_masked(name: str, values: Any) -> None:
    """Refuse arrays of numpy with masked entries, also in lists: numpy would go on with what lies below."""
    if masked := _num_masked(values):
        raise ValueError(
            f"{name} has {masked} masked entries, expected a value in each: fill them, or leave out the "
            "points that have them"
        )


def _num_masked(values: Any) -> int:
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    return sum(map(_num_masked, values)) if isinstance(values, list | tuple) else 0


def json_values(value: Any) -> Any:
    """Return what JSON can hold: arrays and tuples as lists, numbers that are not finite as ``None``."""
    match value:
        case dict():
            return {key: json_values(item) for key, item in value.items()}
        case list() | tuple():
            return [json_values(item) for item in value]
        case np.ndarray() | np.generic():
            return json_values(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value


def mean_imputed(data: np.ndarray) -> np.ndarray:
    """Return points with missing cells at the mean of their column, or 0 where all of it is missing."""
    missing = np.isnan(data)
    if not missing.any():
        return data
    there = np.maximum((~missing).sum(-2, keepdims=True), 1)
    return np.where(missing, np.where(missing, 0.0, data).sum(-2, keepdims=True) / there, data)
