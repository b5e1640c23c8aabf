"""Partitions built point by point: the distribution behind every pointwise guide."""

from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.completion import CompletedPartition
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.prefix_sampling import sample_labels, score_labels
from pyroclust.distributions.scorer import Scorer
from pyroclust.distributions.teacher_forcing import teacher_forced_log_prob
from pyroclust.partitions import canonical

__all__ = ["SequentialPartition"]

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

    def sample_and_log_prob(self, sample_shape: Any = Size()) -> tuple[Tensor, Tensor]:
        """Draw partitions with their log-probabilities in nats, for the price of the draws alone."""
        shape = self._extended_shape(Size(sample_shape))
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
        """
        batch = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
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

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        dataset = self.dataset.expand(batch).reshape(-1)
        labels = value.long().expand(*batch, -1).reshape(-1, self.num_points)
        labels = canonical(labels.gather(-1, self.order[dataset]))
        rows = max(1, _CANDIDATES_AT_ONCE // (self.num_points * (int(labels.max()) + 2)))
        chunks = zip(dataset.split(rows), labels.split(rows), strict=True)
        parts = [teacher_forced_log_prob(self.scorer, self.encoding, d, c) for d, c in chunks]
        return torch.cat(parts).view(batch)
