"""Partitions built point by point, in one visiting order or in a mixture of several."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.sequential.beam import search_labels
from pyroclust.distributions.sequential.completion import CompletedPartition
from pyroclust.distributions.sequential.forcing import teacher_forced_log_prob
from pyroclust.distributions.sequential.sampling import sample_labels, score_labels
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.partitions import canonical

__all__ = ["OrderAveragedPartition", "SequentialPartition", "num_orders_of"]

_CANDIDATES_AT_ONCE = 1 << 18
_CLUSTERS_AT_ONCE = 1 << 19


class SequentialPartition(PartitionDistribution):
    r"""Partitions whose labels are drawn one after the other, with exact log-probabilities.

    .. math:: q(c \mid x) = \prod_{n=2}^N q(c_{\pi_n} \mid c_{\pi_1}, \ldots, c_{\pi_{n-1}}, x)

    The order :math:`\pi` is fixed when the distribution is made; labels go in and out in the data's own
    order.

    Args:
        scorer: scores the candidates of each decision.
        encoding: what the scorer made of the data sets in visiting order.
        order: visiting order, ``(B, N)``, one row a data set of the encoding.
        dataset: which row each batch element uses, of shape ``batch_shape``.
        validate_args: check values.
    """

    def __init__(
        self,
        scorer: Scorer[Any],
        encoding: Any,
        *,
        order: Tensor,
        dataset: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        self.scorer, self.encoding, self.order, self.dataset = scorer, encoding, order, dataset
        super().__init__(order.shape[-1], batch_shape=dataset.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SequentialPartition":
        """Return the same distribution with a larger batch shape; nothing is encoded again."""
        return self.on(self.dataset.expand(batch_shape))

    def on(self, dataset: Tensor) -> "SequentialPartition":
        """Return the same distribution over other batch elements, each naming its row of the encoding."""
        return SequentialPartition(
            self.scorer, self.encoding, order=self.order, dataset=dataset, validate_args=self._validate_args
        )

    def given(self, assignments: Tensor, *, num_free: int) -> CompletedPartition:
        """Return the law of the last points in visiting order, given the partition of the others.

        Args:
            assignments: partitions of all points, canonical, in the data's own order.
            num_free: how many points, the last in visiting order, are free.

        Shape:
            assignments: ``(*batch_shape, N)``.

        Raises:
            ValueError: if the shape does not fit, or ``num_free`` is not between 1 and N.
        """
        return CompletedPartition(
            self.scorer,
            self.encoding,
            order=self.order,
            dataset=self.dataset,
            assignments=assignments,
            num_free=num_free,
            validate_args=self._validate_args,
        )

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        shape = self._extended_shape(sample_shape)
        dataset = self.dataset.expand(shape[:-1]).reshape(-1)
        with torch.no_grad():
            labels, log_prob = sample_labels(self.scorer, self.encoding, dataset)
        own_order = torch.empty_like(labels).scatter_(-1, self.order[dataset], labels)
        return canonical(own_order).view(shape), log_prob.view(shape[:-1])

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of many partitions, evaluated once for equal prefixes, without gradients.

        One batched step a point: O(N P K) candidates with P the number of distinct prefixes, where
        ``log_prob`` takes O(N K) for each partition and no steps.

        Shape:
            value: ``(*shape, *batch_shape, N)`` canonical; output: ``(*shape, *batch_shape)`` nats.

        Raises:
            ValueError: as :meth:`log_prob`.
        """
        value = self._checked(value)
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        dataset, by_dataset = self.dataset.expand(batch).reshape(-1).sort(stable=True)
        labels = value.long().expand(*batch, -1).reshape(-1, self.num_points)[by_dataset]
        labels = canonical(labels.gather(-1, self.order[dataset]))
        rows = max(1, _CLUSTERS_AT_ONCE // (int(labels.max()) + 2))
        chunks = zip(dataset.split(rows), labels.split(rows), strict=True)
        with torch.no_grad():
            parts = torch.cat([score_labels(self.scorer, self.encoding, d, c) for d, c in chunks])
        return torch.empty_like(parts).index_copy_(0, by_dataset, parts).view(batch)

    def _sample(self, sample_shape: Size) -> Tensor:
        return self.sample_and_log_prob(sample_shape)[0]

    def _candidates(self, width: int) -> Tensor:
        distinct, place = self.dataset.unique(return_inverse=True)
        labels = search_labels(self.scorer, self.encoding, distinct, width=width)
        own_order = torch.empty_like(labels).scatter_(-1, self.order[distinct], labels)
        return canonical(own_order)[place].unsqueeze(0)

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        dataset = self.dataset.expand(batch).reshape(-1)
        labels = value.long().expand(*batch, -1).reshape(-1, self.num_points)
        labels = canonical(labels.gather(-1, self.order[dataset]))
        if not torch.is_grad_enabled():
            compiled = self.scorer.label_points(self.encoding, dataset, labels)
            if compiled is not None:
                return compiled[1].view(batch)
        rows = max(1, _CANDIDATES_AT_ONCE // (self.num_points * (int(labels.max()) + 2)))
        chunks = zip(dataset.split(rows), labels.split(rows), strict=True)
        parts = [teacher_forced_log_prob(self.scorer, self.encoding, d, c) for d, c in chunks]
        return torch.cat(parts).view(batch)


class OrderAveragedPartition(PartitionDistribution):
    r"""The mixture of one guide over several visiting orders, or over the data in several units.

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

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        shape = self._extended_shape(sample_shape)
        dataset = self._over(shape[:-1]).dataset.reshape(self.num_orders, -1)
        which = torch.randint(self.num_orders, (1, dataset.shape[1]), device=dataset.device)
        labels, own = self.orders.on(dataset.gather(0, which).squeeze(0)).sample_and_log_prob()
        log_prob = own.expand(self.num_orders, -1).clone()
        order, draw = torch.ones_like(dataset, dtype=torch.bool).scatter_(0, which, value=False).nonzero().T
        if len(draw):
            others = self.orders.on(dataset[order, draw])
            log_prob[order, draw] = others.merged_log_prob(labels[draw])
        return labels.view(shape), self._mixed(log_prob).view(shape[:-1])

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of many partitions, evaluated once for equal prefixes, without gradients.

        Shape:
            value: ``(*shape, *batch_shape, N)`` canonical; output: ``(*shape, *batch_shape)`` nats.

        Raises:
            ValueError: as :meth:`log_prob`.
        """
        value = self._checked(value)
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        return self._mixed(self._over(batch).merged_log_prob(value))

    def _sample(self, sample_shape: Size) -> Tensor:
        every = self._over(self._extended_shape(sample_shape)[:-1]).dataset
        which = torch.randint(every.shape[0], (1, *every.shape[1:]), device=every.device)
        return self.orders.on(every.gather(0, which).squeeze(0)).sample()

    def _candidates(self, width: int) -> Tensor:
        return self.orders._candidates(width).squeeze(0)

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        return self._mixed(self._over(batch)._log_prob(value))

    def _mixed(self, log_prob: Tensor) -> Tensor:
        return log_prob.logsumexp(0) - math.log(self.num_orders)

    def _over(self, batch: Size) -> SequentialPartition:
        """Return the orders, in front, over a larger batch."""
        inner = self.orders.dataset
        ones = (1,) * (len(batch) - len(self.batch_shape))
        inner = inner.reshape(self.num_orders, *ones, *self.batch_shape)
        return self.orders.on(inner.expand(self.num_orders, *batch))


def num_orders_of(posteriors: Sequence[Any]) -> int:
    """Return how many visiting orders posteriors of the same data have: one where they share it.

    Args:
        posteriors: of one guide.

    Example:
        >>> from pyroclust import load_guide
        >>> points, names = torch.randn(30, 2), ("ncp-overlap2d", "ncp-overlap2d")
        >>> num_orders_of([load_guide(name).posterior(points) for name in names])
        2
    """
    orders = [posterior.order for posterior in posteriors if hasattr(posterior, "order")]
    differ = not any(torch.equal(one, orders[0]) for one in orders[1:])
    return len(orders) if differ and len(orders) == len(posteriors) else 1
