"""The protocol of conjugate component families, and what all share."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

__all__ = ["ConjugateComponent"]


class ConjugateComponent(ABC):
    """A component family whose parameters integrate out.

    A block of points enters only through its count and the sum of ``moments(x)`` over its points, so that
    adding, removing and merging are additions of vectors. All is float64: sums of squares lose too much in
    float32.

    Shape:
        moments: ``(..., D) -> (..., F)``; counts ``(...)``; predictive parameters ``(..., P)``.
    """

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}, expected at least 1")
        self.dim = dim

    @property
    @abstractmethod
    def typical_scale(self) -> float:
        """A typical standard deviation within a cluster, in data units: where networks start looking."""

    @property
    def scale_is_known(self) -> bool:
        """Whether all clusters have the same known covariance, ``typical_scale**2`` times the identity."""
        return False

    @abstractmethod
    def moments(self, data: Tensor) -> Tensor:
        """Return the sufficient statistics of single points, ``(..., D) -> (..., F)`` float64."""

    @abstractmethod
    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats; 0 for an empty block."""

    @abstractmethod
    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive density of blocks into vectors ``(..., P)`` for :meth:`log_predictive`."""

    @abstractmethod
    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points under packed predictives, O(D) to O(D^2)."""

    @abstractmethod
    def sample(self, assignments: Tensor) -> Tensor:
        """Draw parameters for every cluster, then points: ``(..., N) -> (..., N, D)``."""

    @property
    def num_moments(self) -> int:
        """Length F of the sufficient statistics."""
        return self.moments(torch.zeros(self.dim)).shape[-1]

    def prior_predictive_parameters(self) -> Tensor:
        """Return the packed predictive density of an empty block, ``(P,)``."""
        zero = torch.zeros((), dtype=torch.float64)
        return self.predictive_parameters(zero, torch.zeros(self.num_moments, dtype=torch.float64))


def per_point(parameters: Tensor, assignments: Tensor) -> Tensor:
    """Look up cluster parameters ``(..., K, E)`` for points ``(..., N)``, giving ``(..., N, E)``."""
    index = assignments.unsqueeze(-1).expand(*assignments.shape, parameters.shape[-1])
    return parameters.gather(-2, index)
