"""The Chinese restaurant process."""

from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.block_counts import log_gamma_of_block_sizes
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.partitions import num_clusters

__all__ = ["ChineseRestaurantProcess"]


class ChineseRestaurantProcess(PartitionDistribution):
    r"""Partition of ``num_points`` customers over tables.

    .. math:: \log p(c) = K \log\alpha + \sum_k \log\Gamma(n_k) + \log\Gamma(\alpha) - \log\Gamma(\alpha + N)

    Sampling draws for every point the earlier point it sits with (or none), and follows these pointers to the
    root of each tree by pointer doubling, so that log2 N batched steps replace the loop over points. Cost
    O(N log N) a draw, memory O(N) a draw. Log-probabilities cost O(N).

    Args:
        concentration: positive, shape ``batch_shape``.
        num_points: number of points N.
        validate_args: check arguments and values.

    Example:
        >>> crp = ChineseRestaurantProcess(torch.tensor(0.7), 3)
        >>> round(crp.log_prob(crp.enumerate_support()).exp().sum().item(), 6)
        1.0

    References:
        Aldous (1985), Exchangeability and related topics. https://doi.org/10.1007/BFb0099421
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(
        self, concentration: Tensor | float, num_points: int, *, validate_args: bool | None = None
    ) -> None:
        self.concentration = (
            torch.as_tensor(concentration, dtype=torch.get_default_dtype())
            if not isinstance(concentration, Tensor)
            else concentration
        )
        super().__init__(num_points, batch_shape=self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ChineseRestaurantProcess":
        """Return the same distribution with a larger batch shape."""
        new = self._get_checked_instance(ChineseRestaurantProcess, _instance)
        new.concentration = self.concentration.expand(batch_shape)
        super(ChineseRestaurantProcess, new).__init__(
            self.num_points, batch_shape=Size(batch_shape), validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        concentration = self.concentration.unsqueeze(-1).double()
        index = torch.arange(self.num_points, device=concentration.device)
        uniform = torch.rand(shape, dtype=torch.float64, device=concentration.device)
        target = uniform * (index + concentration)
        seat = target.floor().long().minimum(index - 1)
        pointer = torch.where(target < index, seat, index)
        for _ in range(max(self.num_points - 1, 1).bit_length()):
            pointer = pointer.gather(-1, pointer)
        rank = (pointer == index).long().cumsum(-1) - 1
        return rank.gather(-1, pointer)

    def _log_prob(self, value: Tensor) -> Tensor:
        concentration = self.concentration.double()
        log_v = (
            num_clusters(value) * concentration.log()
            + concentration.lgamma()
            - (concentration + self.num_points).lgamma()
        )
        return log_v + log_gamma_of_block_sizes(value)
