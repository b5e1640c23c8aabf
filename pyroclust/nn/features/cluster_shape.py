"""Where a cluster is and how wide: the frame in which a candidate sees a point."""

import math
from typing import Protocol

import torch
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.families.inverse_wishart import cholesky
from pyroclust.nn.modules import check_scale


class ClusterShape(Protocol):
    """Turns counts and summed moments into a mean, a whitening matrix and a log volume."""

    dim: int
    scale: float
    num_moments: int

    def moments(self, positions: Tensor) -> Tensor:
        """Return what clusters sum up, ``(..., D) -> (..., F)`` float64."""
        ...

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return means ``(..., D)``, whitening matrices ``(..., D, D)``, log volumes ``(...)``, float64."""
        ...


@register(ClusterShape)
class FixedShape:
    """All clusters are round and equally wide; nothing is learned from their points but the mean.

    Args:
        dim: dimension D.
        scale: standard deviation within a cluster.
    """

    def __init__(self, dim: int, scale: float) -> None:
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.num_moments = dim

    def moments(self, positions: Tensor) -> Tensor:
        """Return the positions."""
        return positions.double()

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean and the constant frame."""
        mean = moments / counts.unsqueeze(-1)
        whiten = torch.eye(self.dim, dtype=mean.dtype, device=mean.device) / self.scale
        return mean, whiten.expand(*mean.shape, self.dim), torch.zeros_like(counts)


@register(ClusterShape)
class AdaptiveShape:
    r"""Clusters of unknown covariance, shrunk towards a round one.

    .. math:: \Sigma_k = \frac{w s^2 I + \sum_{i \in k} (x_i - \bar x_k)(x_i - \bar x_k)^T}{w + n_k}

    Args:
        dim: dimension D.
        scale: s, a typical standard deviation within a cluster.
        weight: w, how many points the prior is worth.
    """

    def __init__(self, dim: int, scale: float, *, weight: float = 4.0) -> None:
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.weight = check_scale("weight", weight)
        self.num_moments = dim + dim * dim

    def moments(self, positions: Tensor) -> Tensor:
        """Return positions and their outer products."""
        wide = positions.double()
        return torch.cat([wide, (wide.unsqueeze(-1) * wide.unsqueeze(-2)).flatten(-2)], -1)

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean, the inverse Cholesky factor of the shrunk covariance, and its log volume."""
        total, outer = moments.split([self.dim, self.dim**2], -1)
        mean = total / counts.unsqueeze(-1)
        scatter = outer.unflatten(-1, (self.dim, self.dim)) - total.unsqueeze(-1) * mean.unsqueeze(-2)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device)
        covariance = (scatter + self.weight * self.scale**2 * identity) / (self.weight + counts)[
            ..., None, None
        ]
        if self.dim == 1:
            factor = covariance.clamp(min=1e-12).sqrt()
            whiten = 1 / factor
        else:
            factor = cholesky(covariance)
            whiten = torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)
        log_volume = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) - self.dim * math.log(self.scale)
        return mean, whiten, log_volume
