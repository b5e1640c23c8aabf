"""Checks of the data that inference is asked to condition on."""

import torch
from torch import Tensor

__all__ = ["check_finite", "check_points"]


def check_finite(data: Tensor) -> None:
    """Refuse data with missing or infinite values.

    Raises:
        ValueError: if an entry of ``data`` is nan or infinite.

    Example:
        >>> check_finite(torch.zeros(3, 2))
    """
    if data.is_floating_point() and not bool(torch.isfinite(data).all()):
        count = int((~torch.isfinite(data)).sum())
        raise ValueError(
            f"data holds {count} nan or infinite values, expected finite numbers: "
            "remove or impute these rows first"
        )


def check_points(data: Tensor, dim: int) -> None:
    """Refuse anything but one data set of at least two finite points.

    Raises:
        ValueError: if ``data`` is not ``(N, dim)`` with N of at least 2, or not finite.

    Example:
        >>> check_points(torch.zeros(3, 2), 2)
    """
    if data.dim() != 2 or data.shape[-1] != dim:
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected one data set (N, {dim}): "
            "select the model's columns, and run data sets one by one"
        )
    if data.shape[0] < 2:
        raise ValueError(f"data has {data.shape[0]} points, expected at least 2: there is nothing to cluster")
    check_finite(data)
