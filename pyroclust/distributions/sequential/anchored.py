"""Partitions of which a guide draws a few points and the exact filter all others."""

from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.sequential.completion import CompletedPartition
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.partitions import canonical

__all__ = ["AnchoredPartition"]


class AnchoredPartition(PartitionDistribution):
    r"""A law of the partition of A anchors, continued to all points by the exact filter.

    .. math::
        q(c \mid x) = q_0(c_A \mid x_A) \prod_{i \notin A} p(c_i \mid c_{<i}, x_{\le i})

    the anchors coming first in the order of the filter. Exact and normalised where :math:`q_0` is. Cost of a
    draw: that of :math:`q_0`, and O(N K) predictives, one batched step a point; of a log-probability the
    same, without the steps.

    Args:
        first: :math:`q_0`, the law of the anchors' partition, ``(*batch)`` data sets.
        rest: the exact filter of all points, the anchors first in its order, ``(*batch)`` data sets.
        of_anchors: the exact filter of the anchors, in the same order.

    Raises:
        ValueError: if the three do not fit together.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> filter, data = PredictiveFilter(gaussian2d()), torch.randn(5, 2)
        >>> first = filter.posterior(data[:3], order=torch.arange(3))
        >>> law = AnchoredPartition(first, filter.posterior(data, order=torch.arange(5)), first)
        >>> draws, log_prob = law.sample_and_log_prob((4,))
        >>> torch.allclose(log_prob, law.log_prob(draws))
        True
    """

    def __init__(
        self,
        first: PartitionDistribution,
        rest: SequentialPartition,
        of_anchors: SequentialPartition,
        *,
        validate_args: bool | None = None,
    ) -> None:
        number = first.num_points
        if (
            not first.batch_shape == rest.batch_shape == of_anchors.batch_shape
            or of_anchors.num_points != number
        ):
            raise ValueError(
                f"first, rest and of_anchors are {first!r}, {rest!r} and {of_anchors!r}, expected laws of "
                "the same data sets, the first and the last of the anchors"
            )
        if not number < rest.num_points:
            raise ValueError(f"first has {number} points, expected fewer than the {rest.num_points} of rest")
        self.first, self.rest, self.of_anchors = first, rest, of_anchors
        super().__init__(rest.num_points, batch_shape=rest.batch_shape, validate_args=validate_args)
        self.is_exact = first.is_exact

    @property
    def num_anchors(self) -> int:
        """How many points the first law has, A."""
        return self.first.num_points

    @property
    def order(self) -> Tensor:
        """Visiting order of the filter, ``(B, N)``, the anchors first."""
        return self.rest.order

    def expand(self, batch_shape: Any, _instance: Any = None) -> "AnchoredPartition":
        """Return the same distribution with a larger batch shape; nothing is encoded again."""
        parts = [one.expand(batch_shape) for one in (self.first, self.rest, self.of_anchors)]
        return AnchoredPartition(*parts, validate_args=self._validate_args)

    def anchors_of(self, value: Tensor) -> Tensor:
        """Return the canonical labels of the anchors, ``(*any, *batch, N) -> (*any, *batch, A)``."""
        order = self.order[self.rest.dataset][..., : self.num_anchors]
        return canonical(value.gather(-1, order.expand(*value.shape[:-1], -1)))

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        labels, own = self.first.sample_and_log_prob(sample_shape)
        draws, others = self._continued(labels).sample_and_log_prob()
        return draws, own + others

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._sample_and_log_prob(sample_shape)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._scored(value, merged=False)

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of many partitions, equal prefixes scored once, without gradients.

        Shape:
            value: ``(*shape, *batch_shape, N)`` canonical; output: ``(*shape, *batch_shape)`` nats.

        Raises:
            ValueError: as :meth:`log_prob`.
        """
        with torch.no_grad():
            return self._scored(self._checked(value), merged=True)

    def _scored(self, value: Tensor, *, merged: bool) -> Tensor:
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        value = value.expand(*batch, -1)
        anchors = self.anchors_of(value)
        parts = [
            one.merged_log_prob(labels) if merged else one.log_prob(labels)
            for one, labels in ((self.first, anchors), (self.rest, value), (self.of_anchors, anchors))
        ]
        return parts[0] + parts[1] - parts[2]

    def _candidates(self, width: int) -> Tensor:
        labels = self.first._candidates(width)
        return self._continued(labels).sample((width,)).flatten(0, 1)

    def _continued(self, labels: Tensor) -> CompletedPartition:
        """Return the law of all points given partitions of the anchors, ``(*any, *batch, A)``."""
        dataset = self.rest.dataset.expand(labels.shape[:-1])
        # What is said of the other points does not matter: all are put into the first cluster.
        every = labels.new_zeros(*labels.shape[:-1], self.num_points)
        every = every.scatter_(-1, self.order[dataset][..., : self.num_anchors], labels)
        free = self.num_points - self.num_anchors
        return self.rest.on(dataset).given(canonical(every), num_free=free)
