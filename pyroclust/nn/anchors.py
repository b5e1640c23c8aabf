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
        points = positions.detach()
        rows = torch.arange(len(points), device=points.device)
        # Ties, as of points that are all the same, are broken at random.
        noise = torch.rand(points.shape[:2], dtype=points.dtype, device=points.device)
        near = torch.full_like(noise, torch.inf)
        chosen = [noise.argmax(-1)]
        for _ in range(number - 1):
            last = points[rows, chosen[-1]]
            near = torch.minimum(near, (points - last.unsqueeze(1)).square().sum(-1))
            near[rows, chosen[-1]] = -1.0
            # The largest of u^(1/w) is a choice with probabilities in proportion to w.
            uniform = torch.rand_like(noise)
            key = torch.where(near > 0, uniform.log() / near, torch.where(near < 0, -torch.inf, noise - 1e30))
            chosen.append(key.argmax(-1))
        return torch.stack(chosen, -1)
