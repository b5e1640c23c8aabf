"""Which points of a data set a guide labels itself, the exact filter labelling the others."""

from typing import Protocol

import torch
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.nn.orders import RandomOrder

__all__ = ["Anchors", "RandomAnchors", "StratifiedAnchors"]


class Anchors(Protocol):
    """A rule that chooses points by the data alone, each data set on its own."""

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        """Choose points.

        Args:
            positions: ``(B, N, D)``.
            number: A, at most N.

        Shape:
            output: ``(B, A)`` int64, all different.
        """
        ...


@register(Anchors)
class RandomAnchors:
    """Points chosen uniformly at random, O(N log N).

    Example:
        >>> RandomAnchors()(torch.zeros(2, 9, 3), 4).shape
        torch.Size([2, 4])
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        """Choose points."""
        return RandomOrder()(positions)[:, :number]


@register(Anchors)
class StratifiedAnchors:
    r"""One point of each of A cells of about equally many points: as the data, with less chance in it.

    The points are halved again and again by rank along the widest direction of each part, as in a k-d tree;
    the order that this leaves is cut into A pieces, of each of which one point is taken at random. Cost
    O((N log N + N D) log A).

    Example:
        >>> line = torch.arange(100.0).view(1, 100, 1)
        >>> (StratifiedAnchors()(line, 4).sort().values // 25).tolist()
        [[0, 1, 2, 3]]
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        """Choose points."""
        points = positions.detach().double()
        sets, size = points.shape[:2]
        order = torch.arange(size, device=points.device).expand(sets, size)
        places = torch.arange(size, device=points.device)
        for level in range((number - 1).bit_length()):
            part = (places << level) // size
            order = order.gather(1, _sorted_within(points, order, part, 1 << level))
        ends = torch.arange(number + 1, device=points.device) * size // number
        width = (ends[1:] - ends[:-1]).expand(sets, number)
        within = (torch.rand(width.shape, dtype=torch.float64, device=points.device) * width).long()
        chosen = order.gather(1, ends[:-1] + within.minimum(width - 1))
        return chosen.gather(1, torch.rand(chosen.shape, device=points.device).argsort(-1))


def _sorted_within(points: Tensor, order: Tensor, part: Tensor, num_parts: int) -> Tensor:
    """Sort the places of each part along its widest direction, ``(B, N, D), (B, N), (N,) -> (B, N)``."""
    sets, size, dim = points.shape
    placed = points.gather(1, order.unsqueeze(-1).expand(-1, -1, dim))
    index = part.view(1, size, 1).expand(sets, size, dim)
    low, high = (
        placed.new_zeros(sets, num_parts, dim).scatter_reduce(1, index, placed, how, include_self=False)
        for how in ("amin", "amax")
    )
    widest = (high - low).argmax(-1)[:, part]
    along = placed.gather(-1, widest.unsqueeze(-1)).squeeze(-1)
    by_value = along.argsort(dim=-1, stable=True)
    return by_value.gather(1, part[by_value].argsort(dim=-1, stable=True))
