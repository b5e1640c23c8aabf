"""The partition of a finite mixture with a random number of components."""

from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.distributions.block_counts import block_sizes, log_block_weights
from pyroclust.distributions.component_numbers import check_extra_components
from pyroclust.distributions.finite_mixtures_v import log_finite_mixtures_v
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.two_parameter import as_parameter
from pyroclust.distributions.urn import draw_from_urn
from pyroclust.partitions import num_clusters

__all__ = ["MixtureOfFiniteMixtures"]


class MixtureOfFiniteMixtures(PartitionDistribution):
    r"""Partition of points over a random number M of components with Dirichlet weights.

    .. math::
        p(c) = V_N(K) \prod_k \frac{\Gamma(n_k + \gamma)}{\Gamma(1 + \gamma)}, \qquad
        V_N(K) = \gamma^K \sum_{M \ge K} p(M) \frac{M!}{(M-K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)}

    A draw takes M first and then seats the points, O(N) each. The V's are tabulated once per N and
    parameters; after that a log-probability costs O(N).

    Args:
        weight_concentration: :math:`\gamma`, positive, the parameter of the symmetric Dirichlet distribution
            of each weight.
        extra_components: any distribution over 0, 1, 2, ... of M - 1: Poisson, Geometric, Categorical ...;
            its batch shape is broadcast with ``weight_concentration`` to ``batch_shape``.
        num_points: number of points N.
        validate_args: check arguments and values.

    Raises:
        ValueError: if ``extra_components`` is not a distribution of one whole number; from ``log_prob`` if
            its tail is too heavy to be summed.

    Example:
        >>> from pyro.distributions import Poisson
        >>> law = MixtureOfFiniteMixtures(1.0, Poisson(torch.tensor(2.0)), 4)
        >>> round(law.log_prob(law.enumerate_support()).exp().sum().item(), 6)
        1.0

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
    """

    arg_constraints = {"weight_concentration": constraints.positive}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(
        self,
        weight_concentration: Tensor | float,
        extra_components: Distribution,
        num_points: int,
        *,
        validate_args: bool | None = None,
    ) -> None:
        check_extra_components(extra_components)
        weight = as_parameter(weight_concentration)
        batch = torch.broadcast_shapes(weight.shape, extra_components.batch_shape)
        self.weight_concentration, self.extra_components = weight.expand(batch), extra_components
        super().__init__(num_points, batch_shape=batch, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "MixtureOfFiniteMixtures":
        """Return the same distribution with a larger batch shape."""
        return MixtureOfFiniteMixtures(
            self.weight_concentration.expand(batch_shape),
            self.extra_components,
            self.num_points,
            validate_args=self._validate_args,
        )

    def _sample(self, sample_shape: Size) -> Tensor:
        extra = self.extra_components.expand(self.batch_shape).sample(sample_shape)
        weight = self.weight_concentration.double().expand(extra.shape)
        components = extra.to(weight) + 1
        return draw_from_urn(-weight, components * weight, num_points=self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        weight = self.weight_concentration
        log_v = log_finite_mixtures_v(
            weight, self.extra_components, num_points=self.num_points, clusters=num_clusters(value)
        )
        return log_v + log_block_weights(block_sizes(value), -weight).sum(-1)
