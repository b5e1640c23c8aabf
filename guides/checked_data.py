"""Checks of what posteriors are asked for."""

import torch
from torch import Size, Tensor

__all__ = ["check_points", "checked_permutations"]


def check_points(data: Tensor, dim: int) -> None:
    """Refuse what are not finite points of a dimension.

    Raises:
        ValueError: if the shape is not ``(..., N, D)`` with at least one point, or a value is not finite.
    """
    if data.dim() < 2 or data.shape[-2] < 1 or data.shape[-1] != dim:
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected (..., N, {dim}) with at least one point"
        )
    if not bool(torch.isfinite(data).all()):
        raise ValueError(
            "data has NaN or infinite values, expected finite numbers; drop or impute them first"
        )


def checked_permutations(order: Tensor, *, num_points: int, batch: Size) -> Tensor:
    """Return permutations of the points of flat data sets, ``(B, N)``.

    Raises:
        ValueError: if they are none.
    """
    straight = torch.arange(num_points, device=order.device)
    if order.shape[-1:] != (num_points,) or not bool((order.sort(-1).values == straight).all()):
        raise ValueError(
            f"order has shape {tuple(order.shape)}, expected permutations of {num_points} points, "
            f"(..., {num_points})"
        )
    return order.expand(*batch, num_points).reshape(-1, num_points)
