"""What lies around a place: Gaussian-kernel counts and mean shifts of a masked set of points."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pyroclust.nn.gaussian_kernel import gaussian_kernel

__all__ = ["KernelSummary"]

_PAIRS_AT_ONCE = 1 << 20
_REFERENCES = 1024


class KernelSummary(nn.Module):
    r"""Gaussian-kernel counts and mean shifts of points around a place, at several learned bandwidths.

    .. math:: s_h = \sum_j \exp(-|y_j|^2 / 2h^2), \qquad m_h = \frac{\sum_j e^{-|y_j|^2/2h^2} \, y_j}{1 + s_h}

    for points at the offsets :math:`y_j`. Features: log1p(s_h), m_h / h. Cost O(T H D) a place.

    Args:
        dim: dimension D.
        bandwidths: the H bandwidths at the start.

    Example:
        >>> kernels = KernelSummary(2, (0.7, 1.4))
        >>> features, shift = kernels(torch.zeros(3, 5, 2), torch.ones(3, 5, dtype=torch.bool))
        >>> features.shape, shift.shape
        (torch.Size([3, 6]), torch.Size([3, 2]))
    """

    def __init__(self, dim: int, bandwidths: Sequence[float]) -> None:
        super().__init__()
        self.dim = dim
        self.log_bandwidths = nn.Parameter(torch.tensor(tuple(bandwidths)).log())

    @property
    def num_features(self) -> int:
        """Number of features a place."""
        return len(self.log_bandwidths) * (1 + self.dim)

    def forward(self, offsets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features, and the mean shift at the second bandwidth, or the only one.

        Shape:
            offsets: ``(R, T, D)``; mask: ``(R, T)`` bool; output: ``(R, H (1 + D))`` and ``(R, D)``.
        """
        bandwidths = self.log_bandwidths.exp()
        squared = offsets.square().sum(-1, keepdim=True)
        weight = gaussian_kernel(squared / bandwidths.square()) * mask.unsqueeze(-1)
        count = weight.sum(1)
        shift = (weight.mT @ offsets) / (1 + count).unsqueeze(-1)
        scaled = shift / bandwidths.unsqueeze(-1)
        return torch.cat([count.log1p(), scaled.flatten(1)], -1), shift[:, min(1, len(bandwidths) - 1)]

    def around_points(self, positions: Tensor) -> Tensor:
        """Return the features of every point of a data set among the others.

        Beyond 1,024 points, every k-th point stands for k: time and memory are linear in N.

        Shape:
            positions: ``(B, N, D)``; output: ``(B, N, H (1 + D))``.
        """
        num_points = positions.shape[1]
        stride = -(-num_points // _REFERENCES)
        references = positions[:, ::stride]
        bandwidths = self.log_bandwidths.exp()
        block = max(1, _PAIRS_AT_ONCE // (len(positions) * references.shape[1]))
        multiplicity = num_points / references.shape[1]
        if block >= num_points:
            return _among(positions, references, bandwidths, multiplicity)
        # Gradients would keep every pair: blocks are computed again in the backward pass instead.
        parts = [
            checkpoint(_among, part, references, bandwidths, multiplicity, use_reentrant=False)
            for part in positions.split(block, 1)
        ]
        return torch.cat(parts, 1)


def _among(places: Tensor, references: Tensor, bandwidths: Tensor, multiplicity: float) -> Tensor:
    squared = torch.cdist(places, references, compute_mode="donot_use_mm_for_euclid_dist").square()
    weight = gaussian_kernel(squared.unsqueeze(1) / bandwidths.square().view(-1, 1, 1))
    count = weight.sum(-1, keepdim=True) * multiplicity
    centre = (weight @ references.unsqueeze(1)) * multiplicity
    shift = (centre - count * places.unsqueeze(1)) / count.clamp(min=1) / bandwidths.view(-1, 1, 1)
    features = torch.cat([count.log1p(), shift], -1)
    return features.transpose(1, 2).flatten(2)
