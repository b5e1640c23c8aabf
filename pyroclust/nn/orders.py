"""Rules without weights: in which order points are visited, and which of them are anchors."""

from typing import Protocol

import torch
from torch import Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.look_ahead import gaussian_kernel
from pyroclust.nn.modules import check_scale

_PAIRS_AT_ONCE = 1 << 23
_REFERENCES = 4096


class Order(Protocol):
    """A rule that turns positions ``(B, N, *event_shape)`` into permutations ``(B, N)``."""

    def __call__(self, positions: Tensor) -> Tensor: ...


@register(Order)
class RandomOrder:
    """A fresh uniform permutation for every data set.

    Example:
        >>> RandomOrder()(torch.zeros(2, 5, 2)).sort(-1).values.tolist()
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    """

    def __call__(self, positions: Tensor) -> Tensor:
        return torch.rand(positions.shape[:2], dtype=torch.float32, device=positions.device).argsort(-1)


@register(Order)
class DensestFirst:
    r"""Points by decreasing Gaussian-kernel density, a function of the data alone.

    .. math:: \rho_i = \sum_j \exp(-|x_i - x_j|^2 / 2h^2)

    Early decisions are then about points that have company, where a wrong one is least likely. Beyond 4,096
    points, every k-th point stands for k: cost O(N min(N, 4096)) time, in blocks of bounded memory.

    Args:
        bandwidth: h, in data units.
    """

    def __init__(self, bandwidth: float) -> None:
        self.bandwidth = check_scale("bandwidth", bandwidth)

    def __call__(self, positions: Tensor) -> Tensor:
        return self.density(_as_vectors(positions)).argsort(dim=-1, descending=True, stable=True)

    def density(self, positions: Tensor) -> Tensor:
        """Return the density at every point, ``(B, N, D) -> (B, N)``."""
        scaled = positions.detach() / self.bandwidth
        references = scaled[:, :: -(-scaled.shape[1] // _REFERENCES)]
        rows = max(1, _PAIRS_AT_ONCE // (references.shape[0] * references.shape[1]))
        blocks = [
            gaussian_kernel(
                torch.cdist(block, references, compute_mode="donot_use_mm_for_euclid_dist").square_()
            ).sum(-1)
            for block in scaled.split(rows, dim=1)
        ]
        return torch.cat(blocks, 1)


def random_orders(num_orders: int, like: Tensor) -> Tensor:
    """Return independent uniform permutations of the points of each data set, ``(M, B, N)``."""
    num_orders = _checked_orders(num_orders, like)
    datasets, points = like.shape[:2]
    noise = torch.rand(num_orders * datasets, points, dtype=torch.float32, device=like.device)
    return noise.argsort(-1).view(num_orders, datasets, points)


def antithetic_orders(num_orders: int, like: Tensor) -> Tensor:
    """Return uniform permutations in pairs, ``(M, B, N)``, the second of a pair being the first reversed.

    What is decided early in one order is decided late in the other: averages over orders vary less.
    """
    num_orders = _checked_orders(num_orders, like)
    half = random_orders((num_orders + 1) // 2, like)
    return torch.stack([half, half.flip(-1)], 1).flatten(0, 1)[:num_orders]


@register(Order)
class NearestNext(DensestFirst):
    r"""The densest point first, then always the point nearest to those visited (the order of Prim's tree).

    .. math:: \pi_1 = \arg\max_i \rho_i, \qquad
        \pi_{n+1} = \arg\min_{i \notin \pi_{1:n}} \min_{m \le n} |x_i - x_{\pi_m}|

    A curved cluster is walked along, and a point that belongs to the clusters there are comes when its
    neighbours have been labelled. Cost O(N^2) time and memory, one batched step a point.

    Args:
        bandwidth: of the density :math:`\rho` of :class:`DensestFirst`, in data units.

    Example:
        >>> NearestNext(1.0)(torch.tensor([[[0.0], [0.1], [9.0], [1.0], [8.0]]]))
        tensor([[1, 0, 3, 4, 2]])

    References:
        Prim (1957), Shortest connection networks and some generalizations.
        https://doi.org/10.1002/j.1538-7305.1957.tb01515.x
    """

    def __call__(self, positions: Tensor) -> Tensor:
        positions = _as_vectors(positions)
        away = torch.cdist(
            positions.detach(), positions.detach(), compute_mode="donot_use_mm_for_euclid_dist"
        )
        density = self.density(positions)
        every = torch.arange(len(away), device=away.device)
        latest = density.argmax(-1)
        # Finite, so that what was visited is farther than any other point, even where distances overflow.
        gap = torch.full_like(density, torch.finfo(density.dtype).max)
        taken = torch.zeros_like(density)
        order = [latest]
        for _ in range(away.shape[1] - 1):
            taken[every, latest] = torch.inf
            gap = torch.minimum(gap, away[every, latest])
            latest = (gap + taken).argmin(-1)
            order.append(latest)
        return torch.stack(order, -1)


@register(Order)
class FarthestLast:
    r"""Farthest-first traversal backwards: of all points still to come, those far from each other come last.

    .. math:: \pi_N = \arg\min_i |x_i - \bar x|, \qquad
        \pi_n = \arg\max_{i \notin \pi_{n+1:N}} \min_{m > n} |x_i - x_{\pi_m}|

    Whatever was decided, a few points are still to come near each cluster. Cost O(N^2) time, one batched step
    a point, and O(N) memory.

    Example:
        >>> FarthestLast()(torch.tensor([[[0.0], [0.1], [9.0], [1.0], [5.0]]]))
        tensor([[1, 3, 2, 0, 4]])

    References:
        Gonzalez (1985), Clustering to minimize the maximum intercluster distance.
        https://doi.org/10.1016/0304-3975(85)90224-5
    """

    def __call__(self, positions: Tensor) -> Tensor:
        points = _as_vectors(positions).detach()
        every = torch.arange(len(points), device=points.device)
        # Halves, so that differences of the largest numbers are finite.
        points = points / 2
        latest = (points - points.mean(1, keepdim=True)).norm(dim=-1).argmin(-1)
        gap = torch.full_like(points[..., 0], torch.inf)
        order = [latest]
        for _ in range(points.shape[1] - 1):
            gap = torch.minimum(gap, (points - points[every, latest].unsqueeze(1)).norm(dim=-1))
            gap[every, latest] = -torch.inf
            latest = gap.argmax(-1)
            order.append(latest)
        return torch.stack(order[::-1], -1)


def _as_vectors(positions: Tensor) -> Tensor:
    """Return points as vectors, images and the like laid flat; refuse what are no points of data sets."""
    dense = isinstance(positions, Tensor) and positions.layout == torch.strided
    if not dense or positions.dim() < 3 or 0 in positions.shape or not positions.is_floating_point():
        shape, kind = getattr(positions, "shape", ()), getattr(positions, "dtype", type(positions).__name__)
        raise ValueError(
            f"positions is of type {kind} and shape {tuple(shape)}, expected a dense tensor of "
            "floating-point numbers, (B, N, D)"
        )
    lost = int((~positions.isfinite()).sum())
    if lost:
        raise ValueError(
            f"positions holds {lost} nan or infinite values, expected finite numbers: remove or impute these "
            "points first"
        )
    return positions.flatten(2)


def _checked_orders(num_orders: int, like: Tensor) -> int:
    """Refuse what are no orders, or more than memory holds."""
    num_orders = check_count("num_orders", num_orders)
    needed = 3 * 8 * num_orders * like.shape[0] * like.shape[1]
    check_memory(needed, f"num_orders is {num_orders}: orders", remedy="mix fewer")
    return num_orders


class Anchors(Protocol):
    """A rule that chooses A different points by the data alone, ``(B, N, D), A -> (B, A)``."""

    def __call__(self, positions: Tensor, number: int) -> Tensor: ...


@register(Anchors)
class RandomAnchors:
    """Points chosen uniformly at random, O(N log N).

    Example:
        >>> RandomAnchors()(torch.zeros(2, 9, 3), 4).shape
        torch.Size([2, 4])
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        return RandomOrder()(positions)[:, :number]


@register(Anchors)
class StratifiedAnchors:
    """One point of each of A cells of about equally many points: as the data, with less chance in it.

    The points are halved again and again by rank along the widest direction of each part, as in a k-d tree;
    the order that this leaves is cut into A pieces. Cost O((N log N + N D) log A).

    Example:
        >>> line = torch.arange(100.0).view(1, 100, 1)
        >>> (StratifiedAnchors()(line, 4).sort().values // 25).tolist()
        [[0, 1, 2, 3]]
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
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
