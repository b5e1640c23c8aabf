"""Which points of a data set a guide labels itself, the exact filter labelling the others."""

from typing import Protocol

import torch
from torch import Tensor

from pyroclust.nn.orders import RandomOrder
from pyroclust.registry import register

__all__ = ["Anchors", "RandomAnchors", "SpreadAnchors"]


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
class SpreadAnchors:
    r"""Points far from one another, as k-means++ begins: the next one with probability :math:`\propto d^2`.

    d is the distance to the nearest point that is chosen already; a point that lies on one comes last. One
    batched step an anchor: cost O(N A D).

    Example:
        >>> line = torch.tensor([[[0.0], [0.0], [0.0], [5.0], [9.0]]])
        >>> SpreadAnchors()(line, 3).sort().values[0, 1:].tolist()
        [3, 4]

    References:
        Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding.
        https://dl.acm.org/doi/10.5555/1283383.1283494
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        """Choose points."""
        points = positions.detach().double()
        rows = torch.arange(len(points), device=points.device)
        free = torch.ones(points.shape[:2], dtype=torch.float64, device=points.device)
        near, chosen = torch.full_like(free, torch.inf), [free.multinomial(1).squeeze(-1)]
        for _ in range(number - 1):
            last = points[rows, chosen[-1]]
            free[rows, chosen[-1]] = 0.0
            near = torch.minimum(near, (points - last.unsqueeze(1)).square().sum(-1))
            weight = near * free
            # Where all that are left lie on anchors any will do.
            weight = torch.where(weight.sum(-1, keepdim=True) > 0, weight, free)
            chosen.append(weight.multinomial(1).squeeze(-1))
        return torch.stack(chosen, -1)
