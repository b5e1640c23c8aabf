"""The mixture of a sequential guide over visiting orders."""

import math
from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.sequential import SequentialPartition

__all__ = ["OrderAveragedPartition"]


class OrderAveragedPartition(PartitionDistribution):
    r"""The mixture of one guide over several visiting orders.

    .. math:: \bar q(c \mid x) = \frac{1}{M} \sum_m q(c \mid x, \pi_m)

    An exact distribution again, less dependent on any one order. Draws cost as much as those of one order;
    log-probabilities M times as much. Draws that come with theirs are scored under the other M - 1 orders,
    equal prefixes merged: O(M N P K) candidates, with P the distinct prefixes of an order.

    Args:
        orders: a sequential partition whose *first* batch dimension holds the M orders.
        validate_args: check values.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> mixture = PredictiveFilter(gaussian2d()).order_averaged(torch.randn(5, 2), 4)
        >>> draws, log_prob = mixture.sample_and_log_prob((3,))
        >>> torch.allclose(mixture.log_prob(draws), log_prob, atol=1e-5)
        True
    """

    def __init__(self, orders: SequentialPartition, *, validate_args: bool | None = None) -> None:
        self.orders = orders
        super().__init__(orders.num_points, batch_shape=orders.batch_shape[1:], validate_args=validate_args)

    @property
    def num_orders(self) -> int:
        """How many orders are mixed, M."""
        return self.orders.batch_shape[0]

    @property
    def order(self) -> Tensor:
        """All visiting orders, ``(M B, N)``, those of the first mixture component in front."""
        return self.orders.order

    def expand(self, batch_shape: Any, _instance: Any = None) -> "OrderAveragedPartition":
        """Return the same distribution with a larger batch shape."""
        return OrderAveragedPartition(self._over(Size(batch_shape)), validate_args=self._validate_args)

    def sample_and_log_prob(self, sample_shape: Any = Size()) -> tuple[Tensor, Tensor]:
        """Draw partitions, each from an order of its own, with their log-probabilities in nats."""
        shape = self._extended_shape(Size(sample_shape))
        dataset = self._over(shape[:-1]).dataset.reshape(self.num_orders, -1)
        which = torch.randint(self.num_orders, (1, dataset.shape[1]), device=dataset.device)
        labels, own = self.orders.on(dataset.gather(0, which).squeeze(0)).sample_and_log_prob()
        log_prob = own.expand(self.num_orders, -1).clone()
        order, draw = torch.ones_like(dataset, dtype=torch.bool).scatter_(0, which, value=False).nonzero().T
        others = self.orders.on(dataset[order, draw])
        log_prob[order, draw] = others.merged_log_prob(labels[draw])
        return labels.view(shape), self._mixed(log_prob).view(shape[:-1])

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of many partitions, evaluated once for equal prefixes, without gradients.

        Shape:
            value: ``(*shape, *batch_shape, N)`` canonical; output: ``(*shape, *batch_shape)`` nats.
        """
        batch = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        return self._mixed(self._over(batch).merged_log_prob(value))

    def _sample(self, sample_shape: Size) -> Tensor:
        every = self._over(self._extended_shape(sample_shape)[:-1]).dataset
        which = torch.randint(every.shape[0], (1, *every.shape[1:]), device=every.device)
        return self.orders.on(every.gather(0, which).squeeze(0)).sample()

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        return self._mixed(self._over(batch)._log_prob(value))

    def _mixed(self, log_prob: Tensor) -> Tensor:
        return log_prob.logsumexp(0) - math.log(self.num_orders)

    def _over(self, batch: Size) -> SequentialPartition:
        """Return the orders, in front, over a larger batch."""
        inner = self.orders.dataset
        ones = (1,) * (len(batch) - len(self.batch_shape))
        inner = inner.reshape(self.num_orders, *ones, *self.batch_shape)
        return self.orders.on(inner.expand(self.num_orders, *batch))
