"""Partition priors as models, guides and kernels see them: a known or a Gamma-distributed concentration."""

from typing import Protocol

import numpy as np
import pyro
import torch
from pyro.distributions import Gamma
from scipy.special import gammaln
from torch import Tensor

from pyroclust.distributions.block_counts import log_gamma_of_block_sizes
from pyroclust.distributions.chinese_restaurant import ChineseRestaurantProcess
from pyroclust.distributions.concentration_integral import log_gamma_mixed_v
from pyroclust.partitions import num_clusters

__all__ = ["FixedConcentration", "GammaConcentration", "PartitionPrior"]


class PartitionPrior(Protocol):
    r"""A Gibbs-type partition prior :math:`p(c) = V_N(K) \prod_k \Gamma(n_k)`, as guides and kernels see it.

    References:
        Gnedin & Pitman (2006), Exchangeable Gibbs partitions. https://doi.org/10.1007/s10958-006-0335-z
    """

    def log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return the log of V_N(K) for each K, float64."""
        ...

    def log_prob(self, assignments: Tensor) -> Tensor:
        """Return the log-probability of each partition, the concentration integrated out."""
        ...

    def partition(self, num_points: int) -> ChineseRestaurantProcess:
        """Return the prior of the partition inside a Pyro program, its hyperparameters sampled as sites."""
        ...


class FixedConcentration:
    """The Chinese restaurant prior with a known concentration.

    Example:
        >>> FixedConcentration(0.7).log_prob(torch.tensor([0, 0])).exp().item()  # 1 / 1.7
        0.588...
    """

    def __init__(self, concentration: float) -> None:
        if not concentration > 0:
            raise ValueError(f"concentration is {concentration}, expected a positive number")
        self.concentration = float(concentration)

    def partition(self, num_points: int) -> ChineseRestaurantProcess:
        """Return the partition prior of a Pyro program; no extra site."""
        return ChineseRestaurantProcess(torch.tensor(self.concentration), num_points)

    def log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log V_N(K) = K log a + lgamma(a) - lgamma(a + N), float64, in O(1) an element."""
        a = self.concentration
        return clusters.double() * np.log(a) + float(gammaln(a) - gammaln(a + num_points))

    def log_prob(self, assignments: Tensor) -> Tensor:
        """Return the log-probability of each partition, ``(..., N) -> (...)`` float64."""
        return self.log_v(assignments.shape[-1], num_clusters(assignments)) + log_gamma_of_block_sizes(
            assignments
        )


class GammaConcentration:
    r"""The Chinese restaurant prior with a Gamma-distributed concentration, integrated out.

    .. math::
        V_N(K) = \int \alpha^K \frac{\Gamma(\alpha)}{\Gamma(\alpha + N)} \text{Gamma}(\alpha; a, b)\, d\alpha

    by panelled Gauss-Legendre quadrature in log alpha (absolute error of the log below 1e-9), cached per N.

    Args:
        shape: shape a of the Gamma prior.
        rate: rate b of the Gamma prior.
    """

    def __init__(self, shape: float, rate: float) -> None:
        if not (shape > 0 and rate > 0):
            raise ValueError(f"shape and rate are {shape} and {rate}, expected positive numbers")
        self.shape, self.rate = float(shape), float(rate)

    def partition(self, num_points: int) -> ChineseRestaurantProcess:
        """Sample the site ``"concentration"`` and return the partition prior given it."""
        concentration = pyro.sample("concentration", Gamma(torch.tensor(self.shape), torch.tensor(self.rate)))
        return ChineseRestaurantProcess(concentration, num_points)

    def log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log V_N(K), float64; each needed column is computed once per N."""
        width = 1 << max(int(clusters.max()), 7).bit_length()
        table = log_gamma_mixed_v(self.shape, self.rate, num_points, width).to(clusters.device)
        return table[clusters.long()]

    def log_prob(self, assignments: Tensor) -> Tensor:
        """Return the log-probability of each partition, ``(..., N) -> (...)`` float64."""
        return self.log_v(assignments.shape[-1], num_clusters(assignments)) + log_gamma_of_block_sizes(
            assignments
        )
