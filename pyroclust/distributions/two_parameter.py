"""The two-parameter family of exchangeable partitions: one law and one sampler for all its members."""

from abc import abstractmethod
from typing import Any, Self

import torch
from torch import Size, Tensor

from pyroclust.distributions.block_counts import block_sizes, log_block_weights
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.distributions.urn import draw_from_urn
from pyroclust.partitions import num_clusters

__all__ = ["TwoParameterPartition", "as_parameter", "log_two_parameter_v"]


def as_parameter(value: Tensor | float) -> Tensor:
    """Return tensors as they are and numbers in float64."""
    return value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)


def log_two_parameter_v(
    discount: Tensor, concentration: Tensor, *, num_points: int, clusters: Tensor
) -> Tensor:
    r"""Return the Gibbs weights of the two-parameter family in nats.

    .. math:: V_N(K) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}

    The product is a rising factorial, in closed form for every sign of d. Cost O(1) an element.

    Args:
        discount: d, below 1; zero in the Chinese restaurant process.
        concentration: a, above -d; where d is negative, a whole multiple M of -d, the law of M components.
        num_points: N.
        clusters: K, from 1 to N.

    Shape:
        output: the broadcast of discount, concentration and clusters, float64; minus infinity for K > M.

    Example:
        >>> half = torch.tensor(0.5)
        >>> log_two_parameter_v(half, half, num_points=2, clusters=torch.tensor([1, 2])).exp()
        tensor([0.6667, 0.6667], dtype=torch.float64)
    """
    opened = clusters.double() - 1
    d, a = discount.to(opened), concentration.to(opened)
    if bool((d == 0).all()):
        return opened * a.log() - log_rising(a + 1, num_points - 1.0)
    step = torch.where(d == 0, 1.0, d.abs())
    components = (a / step).round()
    start = torch.where(d > 0, a / step + 1, (components - opened).clamp(min=1))
    product = opened * step.log() + log_rising(start, opened)
    product = torch.where(d == 0, opened * torch.where(d == 0, a, 1.0).log(), product)
    product = torch.where((d < 0) & (opened >= components), -torch.inf, product)
    return product - log_rising(a + 1, num_points - 1.0)


class TwoParameterPartition(PartitionDistribution):
    """A partition distribution of the two-parameter family.

    Subclasses list their parameters in ``arg_constraints``, store each under its name, and translate them in
    ``_two_parameters``. Log-probabilities cost O(N), draws O(N) steps of compiled code.
    """

    has_enumerate_support = True

    @abstractmethod
    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        """Return discount and concentration, float64 of shape ``batch_shape``."""

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same distribution with a larger batch shape."""
        new = self._get_checked_instance(type(self), _instance)
        for name in self.arg_constraints:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        PartitionDistribution.__init__(
            new, self.num_points, batch_shape=Size(batch_shape), validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        discount, concentration = (one.expand(shape[:-1]) for one in self._two_parameters())
        return draw_from_urn(discount, concentration, num_points=self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        discount, concentration = self._two_parameters()
        log_v = log_two_parameter_v(
            discount, concentration, num_points=self.num_points, clusters=num_clusters(value)
        )
        return log_v + log_block_weights(block_sizes(value), discount).sum(-1)
