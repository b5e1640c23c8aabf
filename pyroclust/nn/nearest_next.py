"""A visiting order that walks along the data: next comes whatever is nearest to the points visited."""

import torch
from torch import Tensor

from pyroclust.nn.orders import DensestFirst

__all__ = ["NearestNext"]


class NearestNext(DensestFirst):
    r"""From the densest point on, always the point nearest to those visited: the order of Prim's tree.

    .. math:: \pi_1 = \arg\max_i \rho_i, \qquad
        \pi_{n+1} = \arg\min_{i \notin \pi_{1:n}} \min_{m \le n} |x_i - x_{\pi_m}|

    A function of the data alone, whatever order they come in. A curved cluster is walked along, and a point
    that belongs to the clusters there are comes when its neighbours have been labelled. Cost O(N^2) time and
    memory, one batched step a point.

    Args:
        bandwidth: of the Gaussian-kernel density of which the walk starts at the largest, in data units.

    Raises:
        ValueError: if ``bandwidth`` is not positive.

    Example:
        >>> NearestNext(1.0)(torch.tensor([[[0.0], [0.1], [9.0], [1.0], [8.0]]]))
        tensor([[1, 0, 3, 4, 2]])

    References:
        Prim (1957), Shortest connection networks and some generalizations.
        https://doi.org/10.1002/j.1538-7305.1957.tb01515.x
    """

    def __call__(self, positions: Tensor) -> Tensor:
        """Return a permutation a data set, ``(B, N, D) -> (B, N)``."""
        away = torch.cdist(
            positions.detach(), positions.detach(), compute_mode="donot_use_mm_for_euclid_dist"
        )
        density = self.density(positions)
        every = torch.arange(len(away), device=away.device)
        latest = density.argmax(-1)
        gap = torch.full_like(density, torch.inf)
        taken = torch.zeros_like(density)
        order = [latest]
        for _ in range(away.shape[1] - 1):
            taken[every, latest] = torch.inf
            gap = torch.minimum(gap, away[every, latest])
            latest = (gap + taken).argmin(-1)
            order.append(latest)
        return torch.stack(order, -1)
