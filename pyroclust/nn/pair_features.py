"""What two points of a plane say of each other: kernels of their distance, and walks over all points."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import threshold

from pyroclust.nn.gaussian_kernel import gaussian_kernel

__all__ = ["PairFeatures", "pair_features"]

_KERNELS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_FRAMED = (2, 3, 4)  # kernels around which local frames are measured
_NEIGHBOURS = (4, 7)
_SQUARINGS = (0, 2, 4, 6)
_FLOOR = 1e-3
_TINY = 1e-9


@dataclass(frozen=True)
class PairFeatures:
    """Channels of all ordered pairs of points, which sums over the members of a cluster turn into features.

    Attributes:
        channels: ``(B, F, N, N)``: rows are the points that look, columns those they look at.
        walks: transition matrices of some walks, ``(B, V, N, N)``.
    """

    channels: Tensor
    walks: Tensor

    num_channels = len(_KERNELS) + 2 * len(_SQUARINGS) + 5 * len(_FRAMED)
    num_features = len(_KERNELS) + 2 * len(_SQUARINGS) + 4 * len(_FRAMED)
    num_walks = 3

    @staticmethod
    def features(sums: Tensor) -> Tensor:
        """Turn sums of channels over a set of points into what a network can use, all unmoved by rotations.

        Logarithms of the sums; and of each local frame the squared distance to the mean, the two variances
        and the squared distance to the line along the major axis.

        Shape:
            sums: ``(..., F)``; output: ``(..., num_features)``.
        """
        plain = len(_KERNELS) + 2 * len(_SQUARINGS)
        kernels = sums[..., list(_FRAMED)].clamp(min=1e-9).unsqueeze(-1)
        x, y, xx, xy, yy = (sums[..., plain:].unflatten(-1, (len(_FRAMED), 5)) / kernels).unbind(-1)
        squared = x.square() + y.square()
        xx, xy, yy = xx - x * x, xy - x * y, yy - y * y
        middle, half = (xx + yy) / 2, ((xx - yy).square() / 4 + xy.square()).sqrt()
        spread = x * x * xx + 2 * x * y * xy + y * y * yy
        major, minor = middle + half, (middle - half).clamp(min=0)
        across = (((major * squared - spread) / (2 * half + 1e-6)).clamp(min=0)).minimum(squared)
        frames = torch.stack([squared, major, minor, across], -1).clamp(min=0).flatten(-2)
        logs = (sums[..., :plain].clamp(min=0) + 1e-5).log() / 3
        return torch.cat([logs, (frames + _FLOOR).log() / 3], -1)


@torch.no_grad()
def pair_features(positions: Tensor) -> PairFeatures:
    r"""Compute the channels of data sets in the plane, O(N^3) each.

    .. math::
        w_h(i, j) = (1 + d_{ij}^2 / h^2)^{-2}, \qquad
        P_{ij} \propto e^{-d_{ij}^2 / \sigma_i \sigma_j}, \qquad P^t, \; t = 1, 4, 16, 64

    with the distance :math:`\sigma_i` to a near neighbour; the kernels; the powers of P, in which points are
    near when a chain of any points, labelled or not, joins them; the same for a walk whose steps weigh more
    where they follow the tangents at both ends; and moments of the offsets.

    Shape:
        positions: ``(B, N, 2)``.

    References:
        Zelnik-Manor & Perona (2004), Self-tuning spectral clustering.
        https://papers.nips.cc/paper/2004/hash/40173ea48d9567f1f393b20c855bb40b-Abstract.html
    """
    offset = positions.unsqueeze(-3) - positions.unsqueeze(-2)
    squared = offset.square().sum(-1)
    kernels = [(1 + squared / h**2).square().reciprocal() for h in _KERNELS]
    x, y = offset.unbind(-1)
    free, straight = _walks(offset, squared)
    steps, guided = _powers(free), _powers(straight)
    moments = [w * one for w in (kernels[i] for i in _FRAMED) for one in (x, y, x * x, x * y, y * y)]
    walks = torch.stack([free, steps[2], guided[2]], 1)
    return PairFeatures(torch.stack([*kernels, *steps, *guided, *moments], 1), walks)


def _walks(offset: Tensor, squared: Tensor) -> tuple[Tensor, Tensor]:
    """Return transition matrices of the free walk and of the one along tangents."""
    points = squared.shape[-1]
    ranked = squared.sort(-1).values
    near, far = ((ranked[..., min(k, points - 1)] + 1e-3).sqrt() for k in _NEIGHBOURS)
    free = gaussian_kernel(2 * squared / (near.unsqueeze(-1) * near.unsqueeze(-2)))
    wide = gaussian_kernel(2 * squared / (far.unsqueeze(-1) * far.unsqueeze(-2)))
    direction = offset / (squared + 1e-9).sqrt().unsqueeze(-1)
    a, b = direction.unbind(-1)
    tangent = torch.stack([wide * a * a, wide * a * b, wide * b * b], -1).sum(-2)
    tangent = tangent / (tangent[..., :1] + tangent[..., 2:] + 1e-9)
    pair = torch.stack([a * a, 2 * a * b, b * b], -1)
    seen = (pair @ tangent.unsqueeze(-1)).squeeze(-1)
    # The tangent of the other end is seen along the same line.
    straight = wide * (seen * seen.mT).square()
    straight = straight + torch.eye(points, dtype=squared.dtype, device=squared.device)
    return _transitions(free), _transitions(straight)


def _transitions(affinity: Tensor) -> Tensor:
    return threshold(affinity / affinity.sum(-1, keepdim=True), _TINY, 0.0)


def _powers(walk: Tensor) -> list[Tensor]:
    """Square again and again, keeping some."""
    found = []
    for squaring in range(max(_SQUARINGS) + 1):
        if squaring in _SQUARINGS:
            found.append(walk)
        # Denormal numbers would make the products many times slower.
        walk = threshold(walk @ walk, _TINY, 0.0)
    return found
