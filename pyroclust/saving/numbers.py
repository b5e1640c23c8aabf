"""Numbers as JSON, and nested lists of them for tensors."""

import math
import reprlib
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["build_number", "build_tensor", "build_whole", "describe_numbers", "shortest"]

# Whole numbers up to here are exact in float64.
_LARGEST = 2**53


def describe_numbers(value: Any, *, where: str) -> Any:
    """Return a number, or the nested list of a tensor's numbers, exactly; cost O(size).

    Args:
        value: number or tensor.
        where: its place in the description, for errors.

    Raises:
        ValueError: if it is of another kind, or not finite.

    Example:
        >>> describe_numbers(torch.tensor([0.5, 0.75]), where="concentration")
        [0.5, 0.75]
    """
    if isinstance(value, Tensor):
        _check_finite(value, where)
        return value.detach().cpu().tolist()
    if isinstance(value, Real) and not isinstance(value, bool):
        return build_number(int(value) if isinstance(value, Integral) else float(value), where=where)
    raise ValueError(
        f"{where} is {reprlib.repr(value)}, expected a number, a tensor or a distribution: nothing else can "
        "be described as JSON"
    )


def shortest(value: Tensor, *, where: str) -> Any:
    """Return a tensor's numbers with the fewest digits that its dtype, float32 or float64, tells apart.

    Raises:
        ValueError: if a number is not finite.

    Example:
        >>> shortest(torch.tensor(0.1), where="rate"), torch.tensor(0.1).item()
        (0.1, 0.10000000149011612)
    """
    _check_finite(value, where)
    array = value.detach().cpu().numpy()
    digits = np.array([float(str(one)) for one in array.ravel()])
    return digits.reshape(array.shape).tolist()


def build_number(value: Any, *, where: str) -> int | float:
    """Check that a value is a finite number and return it.

    Raises:
        ValueError: otherwise; ``True`` and ``False`` are no numbers.

    Example:
        >>> build_number(0.5, where="concentration")
        0.5
    """
    if isinstance(value, float) and math.isfinite(value):
        return value
    return build_whole(value, where=where, wanted="a finite number")


def build_whole(value: Any, *, where: str, wanted: str = "a whole number") -> int:
    """Check that a value is a whole number of at most 2**53 in size and return it.

    Raises:
        ValueError: otherwise; ``True``, ``False`` and ``2.0`` are no whole numbers.

    Example:
        >>> build_whole(2, where="dim")
        2
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return value
    raise ValueError(f"{where} is {reprlib.repr(value)}, expected {wanted}")


def build_tensor(value: Any, *, where: str) -> Tensor:
    """Turn nested lists of numbers into a tensor, int64 where all are whole numbers and float64 otherwise.

    Raises:
        ValueError: if the lists are empty or ragged, or hold anything but finite numbers.

    Example:
        >>> build_tensor([0.5, 0.75], where="concentration")
        tensor([0.5000, 0.7500], dtype=torch.float64)
    """
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        array = np.empty(0)
    if array.dtype.kind not in "if" or not array.size or not np.isfinite(array).all():
        raise ValueError(
            f"{where} is {reprlib.repr(value)}, expected a list of finite numbers, or of lists of one length"
        )
    return torch.tensor(array)


def _check_finite(value: Tensor, where: str) -> None:
    real = not (value.is_complex() or value.dtype == torch.bool)
    if not (value.numel() and real and bool(value.isfinite().all())):
        raise ValueError(
            f"{where} is a tensor of shape {tuple(value.shape)} and {value.dtype}, expected finite real "
            "numbers"
        )
