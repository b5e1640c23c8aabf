"""Counts, seeds, numbers and arrays that callers give, checked once: nothing masked passes for a number."""

import math
import operator
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

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
            return value.tolist() if value.dtype.kind in "iub" else json_values(value.tolist())
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
