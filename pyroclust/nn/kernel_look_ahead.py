"""Looking ahead: how many unassigned points lie around a place, and where."""

import torch
from torch import Tensor, nn

from pyroclust.nn.gaussian_kernel import gaussian_kernel

__all__ = ["KernelLookAhead"]

_PAIRS_AT_ONCE = 1 << 22
_REFERENCES = 1024


class KernelLookAhead(nn.Module):
    r"""Gaussian-kernel counts and mean shifts of the points still to come.

    .. math:: s_h = \sum_{j > n} \exp(-|y_j|^2 / 2h^2), \qquad
        m_h = \frac{1}{h} \frac{\sum_{j>n} e^{-|y_j|^2/2h^2} \, y_j}{1 + s_h}, \qquad y_j = W (x_j - q)

    for learned bandwidths h, in units of the frame W. Features: log1p(s_h), m_h. Beyond 1,024 points
    every k-th stands for k: cost O(min(N, 1024) H) a place, in blocks of bounded memory.

    Args:
        dim: dimension D.
        bandwidths: the H bandwidths at the start.
        second_moments: also return the kernel-weighted second moments of y / h, which tell elongated from
            round neighbourhoods.

    Shape:
        output: ``(R, T, H (1 + D))``.
    """

    def __init__(self, dim: int, bandwidths: tuple[float, ...], *, second_moments: bool = False) -> None:
        super().__init__()
        self.dim, self.second_moments = dim, second_moments
        self._row, self._column = torch.triu_indices(dim, dim).tolist()
        self.log_bandwidths = nn.Parameter(torch.tensor(bandwidths).log())

    @property
    def num_features(self) -> int:
        """Number of features a place."""
        per_bandwidth = 1 + self.dim + (len(self._row) if self.second_moments else 0)
        return len(self.log_bandwidths) * per_bandwidth

    def forward(self, positions: Tensor, places: Tensor, whiten: Tensor, steps: Tensor) -> Tensor:
        """Look from places at the points after their steps.

        Shape:
            positions: ``(R, N, D)``; places: ``(R, T, D)``; whiten: ``(R, T, D, D)`` or ``(D, D)``; steps:
                ``(T,)``.
        """
        if not self.num_features:
            return places.new_zeros(*places.shape[:-1], 0)
        stride = -(-positions.shape[1] // _REFERENCES)
        ahead = int(steps[0]) + 1
        first = -(-ahead // stride)
        references = positions[:, first * stride :: stride]
        # Number of references at or before each step, among those that are left.
        seen = steps // stride + 1 - first
        block = max(1, _PAIRS_AT_ONCE // max(1, references.shape[0] * references.shape[1]))
        if block >= len(steps):
            return self._block(references, places, whiten, seen, stride)
        frames = whiten.expand(*places.shape, self.dim).split(block, 1)
        parts = zip(places.split(block, 1), frames, seen.split(block), strict=True)
        return torch.cat([self._block(references, p, w, s, stride) for p, w, s in parts], 1)

    def _block(self, references: Tensor, places: Tensor, whiten: Tensor, seen: Tensor, stride: int) -> Tensor:
        difference = references.unsqueeze(1) - places.unsqueeze(2)
        offset = difference @ whiten.mT
        squared = offset.square().sum(-1)
        precision = (-2 * self.log_bandwidths).exp()
        weight = gaussian_kernel(precision.view(-1, 1) * squared.unsqueeze(2))
        if len(seen) > 1:
            past = torch.arange(references.shape[1], device=seen.device) < seen.unsqueeze(-1)
            weight = weight.masked_fill(past.unsqueeze(1), 0.0)
        if stride > 1:
            weight = weight * stride
        count = weight.sum(-1)
        share = 1 / (1 + count).unsqueeze(-1)
        shift = (weight @ offset) * share * precision.sqrt().unsqueeze(-1)
        parts = [count.log1p(), shift.flatten(-2)]
        if self.second_moments:
            products = offset[..., self._row] * offset[..., self._column]
            parts.append(((weight @ products) * share * precision.unsqueeze(-1)).flatten(-2))
        return torch.cat(parts, -1)
