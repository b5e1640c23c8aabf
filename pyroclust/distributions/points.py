"""Points from outside: arrays, data frames and lists as tensors, and what is refused of them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Size, Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import refuse_masked

_MANY = 1 << 24
# A smaller spread, of numbers around 1 in single precision, is rounding.
_CONSTANT = 1e-6
_REALS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Points = Tensor | ArrayLike
"""A tensor, or whatever numpy turns into an array of numbers: arrays, data frames, lists of numbers."""


def broadcast_shapes(*shapes: Sequence[int]) -> Size:
    """Return the broadcast of shapes; torch's own function loads sympy, for most of a second."""
    return Size(np.broadcast_shapes(*(tuple(one) for one in shapes)))


def as_points(data: Points, *, like: Tensor | None = None) -> Tensor:
    """Return points as a tensor of floating-point numbers."""
    if isinstance(data, Tensor):
        check_tensor("data", data)
        if data.dtype in (torch.float32, torch.float64):
            return data
        if data.is_floating_point():
            return data.float()
        return data.to(torch.get_default_dtype() if like is None else like.dtype)
    numbers = torch.from_numpy(np.ascontiguousarray(_numbers(data)))
    if like is None:
        return numbers.to(torch.get_default_dtype())
    return numbers.to(like)


def standardised(points: Tensor) -> Tensor:
    """Return data sets whose columns have mean 0 and variance 1; constant columns become 0."""
    spread = points.std(-2, keepdim=True, correction=0)
    return (points - points.mean(-2, keepdim=True)) / torch.where(spread > _CONSTANT, spread, 1.0)


def check_tensor(name: str, data: object) -> None:
    """Refuse what is no dense tensor of real numbers that are there."""
    if not isinstance(data, Tensor):
        raise ValueError(
            f"{name} is of type {type(data).__name__}, expected a tensor: call torch.as_tensor on it first"
        )
    if data.is_complex():
        raise ValueError(f"{name} holds complex numbers, expected real ones: take torch.view_as_real({name})")
    wrong = next((kind for kind, found in _unusual(data).items() if found), None)
    if wrong is not None:
        raise ValueError(
            f"{name} is a tensor {wrong}, expected a dense one of real numbers: convert it first, as by "
            "torch.as_tensor(array), to_dense() or dequantize()"
        )


def _unusual(data: Tensor) -> dict[str, bool]:
    return {
        "of tensors of unequal sizes": data.is_nested,
        "of quantized numbers": data.is_quantized,
        f"of layout {data.layout}": data.layout != torch.strided,
        "on the device meta, which keeps shapes alone": data.is_meta,
        f"of {data.dtype}": data.is_floating_point() and data.dtype not in _REALS,
    }


def check_finite(data: Tensor, *, missing: bool = False) -> None:
    """Refuse data with missing or infinite values."""
    if data.numel() > _MANY:
        # Tensors that repeat one number take no memory before anything is done with them.
        check_memory(
            2 * data.numel() * data.dtype.itemsize,
            f"data has {data.numel():,} values, which",
            remedy="take fewer",
        )
    wrong = torch.isinf if missing else _not_finite
    if data.is_floating_point() and bool(wrong(data).any()):
        count = int(wrong(data).sum())
        if missing:
            raise ValueError(f"data holds {count} infinite values, expected finite numbers, or nan for none")
        raise ValueError(
            f"data holds {count} nan or infinite values, expected finite numbers: "
            "remove or impute these rows first"
        )


def _not_finite(data: Tensor) -> Tensor:
    return ~torch.isfinite(data)


def check_points(data: Tensor, event_shape: Sequence[int], *, missing: bool = False) -> None:
    """Refuse what are not data sets of finite points of a shape."""
    check_shape(data, event_shape)
    if 0 in data.shape:
        raise ValueError(f"data has shape {tuple(data.shape)}, expected at least one data set")
    check_finite(data, missing=missing)


def check_shape(data: Tensor, event_shape: Sequence[int]) -> None:
    """Refuse what are not data sets of points of a shape, whatever their values, as those of a template."""
    if not isinstance(data, Tensor) or data.is_nested:
        check_tensor("data", data)
    event, points = tuple(event_shape), data.dim() - len(event_shape) - 1
    if points < 0 or data.shape[points] < 1 or data.shape[points + 1 :] != event:
        flat = data.dim() == 1 == math.prod(event)
        hint = ": add the dimension of the columns, data[:, None]" if flat else ""
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected (..., N, {', '.join(map(str, event))}) with "
            f"at least one point{hint}"
        )


def check_data_set(data: Tensor, dim: int, *, missing: bool = False) -> None:
    """Refuse anything but one data set of at least two finite points."""
    if data.dim() != 2 or data.shape[-1] != dim:
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected one data set (N, {dim}): "
            "select the model's columns, and run data sets one by one"
        )
    if data.shape[0] < 2:
        raise ValueError(f"data has {data.shape[0]} points, expected at least 2: there is nothing to cluster")
    check_finite(data, missing=missing)


def _numbers(data: Any) -> np.ndarray:
    refuse_masked("data", data)
    try:
        array = np.asarray(data)
        if array.dtype.kind == "O" and not any(isinstance(one, str) for one in array.flat):
            # What pandas calls Float64 or Int64; missing values become nan.
            array = np.array([_number(one) for one in array.flat]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ValueError(
            f"data is a {type(data).__name__} that does not turn into an array of numbers, expected "
            "(..., N, D): give a tensor, an array or a data frame, and data sets of unequal size one by one"
        ) from None
    if array.dtype.kind not in "biuf":
        what = {"c": "complex numbers", "M": "dates", "m": "durations"}.get(array.dtype.kind, "text")
        raise ValueError(
            f"data holds {what}, expected numbers: choose numeric columns, or code the others as numbers"
        )
    return array.astype(np.float64)


def _number(one: Any) -> float:
    return math.nan if one is None or str(one) == "<NA>" else float(one)
