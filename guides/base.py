"""What all guides share: a name of their own in the parameter store, and checks of their data."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import torch
from torch import Size, Tensor

__all__ = ["check_event", "checked_permutations", "own_name", "refuse_a_view"]

_serial = count()


def own_name(kind: type) -> str:
    """Return a name that no other guide of this process has.

    Two guides of one name would share, and not train, their parameters under ``pyro.infer.SVI``.

    Example:
        >>> own_name(dict) == own_name(dict)
        False
    """
    return f"{kind.__name__}_{next(_serial)}"


def check_event(data: Tensor, event_shape: Sequence[int]) -> None:
    """Refuse what are not finite points of a shape.

    Raises:
        ValueError: if the shape is not ``(..., N, *event_shape)`` with at least one point, or a value is not
            finite.

    Example:
        >>> check_event(torch.zeros(3, 5, 2), (2,))
    """
    event, points = tuple(event_shape), data.dim() - len(event_shape) - 1
    if points < 0 or data.shape[points] < 1 or data.shape[points + 1 :] != event:
        raise ValueError(
            f"data has shape {tuple(data.shape)}, expected (..., N, {', '.join(map(str, event))}) with "
            "at least one point"
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


def refuse_a_view(condition_values: Mapping[str, Any]) -> None:
    """Refuse to save or rebuild a guide that was conditioned.

    Raises:
        ValueError: if there are values.
    """
    if condition_values:
        raise ValueError(
            f"guide is conditioned on {', '.join(condition_values)}, expected the guide it is a view of: "
            "save that one, and condition it when it is loaded"
        )
