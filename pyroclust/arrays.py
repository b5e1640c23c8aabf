"""Numbers from outside as arrays: nothing that is masked, missing or no number passes for one."""

from typing import Any

import numpy as np

__all__ = ["as_numbers", "on_host", "refuse_masked"]


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
        return found.astype(np.float64, casting="unsafe" if found.dtype.kind in "OU" else "same_kind")
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{name}, of type {type(values).__name__}, is not an array of real numbers: give an array, or "
            "lists of "
            "numbers of equal lengths"
        ) from None


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
