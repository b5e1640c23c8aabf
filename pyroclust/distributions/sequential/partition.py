"""Partitions built point by point: in one visiting order, a mixture of several, or after other points."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.sequential.sampling import (
    Prefixes,
    extend_labels,
    in_own_order,
    sample_labels,
    score_labels,
    search_labels,
    teacher_forced_log_prob,
)
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.partitions import as_partitions, canonical


class CompletedPartition(PartitionDistribution):
    r"""A sequential guide's law of the last F points in visiting order, given the partition of the others.

    .. math::
        q(c_{\text{last}} \mid c_{\text{rest}}, x) = \prod_{n=N-F+1}^{N} q(c_{\pi_n} \mid c_{\pi_1}, \ldots,
        c_{\pi_{n-1}}, x)

    Exact and normalised over partitions of all N points that agree with the given one on the first N - F
    points. What ``assignments`` say of the free points is where :meth:`propose` starts from, and does not
    matter elsewhere.
    """

    batched: ClassVar[dict[str, int]] = {"_dataset": 0, "assignments": 1}

    def __init__(
        self,
        scorer: Scorer[Any],
        encoding: Any,
        *,
        order: Tensor,
        dataset: Tensor,
        assignments: Tensor,
        num_free: int,
        validate_args: bool | None = None,
    ) -> None:
        points = order.shape[-1]
        if assignments.shape != (*dataset.shape, points):
            raise ValueError(
                f"assignments has shape {tuple(assignments.shape)}, expected {(*dataset.shape, points)}, "
                "one partition a batch element of the guide's posterior"
            )
        if not 1 <= num_free <= points:
            raise ValueError(f"num_free is {num_free}, expected 1 to {points}, the number of points")
        self._scorer, self._encoding, self.order, self._dataset = scorer, encoding, order, dataset
        super().__init__(points, batch_shape=dataset.shape, validate_args=validate_args)
        self.num_free = num_free
        self.assignments = (
            as_partitions("assignments", assignments) if self._validate_args else assignments.long()
        )

    def propose(self, num_draws: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw completions; return them, their log-probabilities, and that of ``assignments``, in nats."""
        labels, log_prob = self._complete(num_draws, self._visited(self.assignments))
        log_prob = log_prob.view(num_draws + 1, *self.batch_shape)
        drawn = labels[: num_draws * self.batch_shape.numel()]
        return drawn.view(num_draws, *self.batch_shape, -1), log_prob[:-1], log_prob[-1]

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        num_draws, visited = sample_shape.numel(), self._visited(self.assignments)
        labels, log_prob = self._compiled(num_draws, visited) or self._complete(num_draws, visited[:0])
        shape = self._extended_shape(sample_shape)
        return labels.view(shape), log_prob.view(shape[:-1])

    def _compiled(self, num_draws: int, visited: Tensor) -> tuple[Tensor, Tensor] | None:
        """Draw completions of every batch element in compiled code; None where there is none."""
        fixed, dataset = max(self.num_points - self.num_free, 1), self._dataset.reshape(-1).repeat(num_draws)
        if fixed == self.num_points:
            return None
        with torch.no_grad():
            known = visited[:, :fixed].repeat(num_draws, 1)
            compiled = self._scorer.label_points(self._encoding, dataset, known)
        return compiled and (in_own_order(compiled[0], self.order[dataset]), compiled[1])

    def _log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        shape = value.shape[:-1]
        if shape[len(shape) - len(self.batch_shape) :] != self.batch_shape:
            return self.expand(shape)._log_prob(value)
        copies = shape.numel() // self.batch_shape.numel()
        fixed = self.num_points - self.num_free
        visited = self._visited(value.reshape(copies, *self.batch_shape, -1))
        given = self._visited(self.assignments).repeat(copies, 1)
        agrees = (visited[:, :fixed] == given[:, :fixed]).all(-1)
        # Those that disagree are scored as the given partition and then ruled out.
        _, log_prob = self._complete(0, torch.where(agrees.unsqueeze(-1), visited, given))
        return torch.where(agrees, log_prob, -torch.inf).view(shape)

    def _visited(self, labels: Tensor) -> Tensor:
        """Return labels canonical in visiting order, ``(copies, *batch_shape, N) -> (copies * batch, N)``."""
        order = self.order[self._dataset].expand(labels.shape)
        return canonical(labels.gather(-1, order)).reshape(-1, self.num_points)

    def _complete(self, num_draws: int, visited: Tensor) -> tuple[Tensor, Tensor]:
        """Draw completions of every batch element, then score ``visited``, whole copies of the batch."""
        rows = self.batch_shape.numel()
        dataset, given = self._dataset.reshape(-1), self._visited(self.assignments)
        # Without fixed points the first one opens the first cluster all the same.
        first_step = max(self.num_points - self.num_free, 1)
        with torch.no_grad():
            prefixes = Prefixes.of_labels(self._scorer, self._encoding, dataset, given[:, :first_step])
            prefix = torch.arange(rows, device=dataset.device).repeat(num_draws + len(visited) // rows)
            free, log_prob = extend_labels(
                self._scorer,
                self._encoding,
                prefixes,
                prefix,
                first_step=first_step,
                known=visited[:, first_step:],
            )
        labels = torch.cat([given[prefix, :first_step], free], -1)
        return in_own_order(labels, self.order[dataset[prefix]]), log_prob


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
    """

    batched: ClassVar[dict[str, int]] = {"dataset": 0}

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

    def on(self, dataset: Tensor) -> "SequentialPartition":
        """Return the same distribution over other batch elements, each naming its row of the encoding."""
        return SequentialPartition(
            self.scorer, self.encoding, order=self.order, dataset=dataset, validate_args=self._validate_args
        )

    def given(self, assignments: Tensor, *, num_free: int) -> CompletedPartition:
        """Return the law of the last ``num_free`` points in visiting order, given those before them.

        Args:
            assignments: partitions of all points, canonical, in the data's own order, ``(*batch_shape, N)``.
            num_free: how many points are free, 1 to N.
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
        return in_own_order(labels, self.order[dataset]).view(shape), log_prob.view(shape[:-1])

    def _log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        dataset = self.dataset.expand(value.shape[:-1]).reshape(-1)
        labels = canonical(value.reshape(-1, self.num_points).gather(-1, self.order[dataset]))
        if not torch.is_grad_enabled():
            compiled = self.scorer.label_points(self.encoding, dataset, labels)
            if compiled is not None:
                return compiled[1].view(value.shape[:-1])
        rows = max(1, _CANDIDATES_AT_ONCE // (self.num_points * (int(labels.max()) + 2)))
        chunks = zip(dataset.split(rows), labels.split(rows), strict=True)
        parts = [teacher_forced_log_prob(self.scorer, self.encoding, d, c) for d, c in chunks]
        return torch.cat(parts).view(value.shape[:-1])

    def _merged_log_prob(self, value: Tensor) -> Tensor:
        """One batched step a point, O(N P K) candidates for P distinct prefixes."""
        value = self._expanded(value)
        dataset, by_dataset = self.dataset.expand(value.shape[:-1]).reshape(-1).sort(stable=True)
        labels = value.reshape(-1, self.num_points)[by_dataset]
        labels = canonical(labels.gather(-1, self.order[dataset]))
        rows = max(1, _CLUSTERS_AT_ONCE // (int(labels.max()) + 2))
        chunks = zip(dataset.split(rows), labels.split(rows), strict=True)
        parts = torch.cat([score_labels(self.scorer, self.encoding, d, c) for d, c in chunks])
        return torch.empty_like(parts).index_copy_(0, by_dataset, parts).view(value.shape[:-1])

    def _candidates(self, width: int) -> Tensor:
        distinct, place = self.dataset.unique(return_inverse=True)
        labels = search_labels(self.scorer, self.encoding, distinct, width=width)
        return in_own_order(labels, self.order[distinct])[place].unsqueeze(0)


class OrderAveragedPartition(PartitionDistribution):
    r"""The mixture of one guide over several visiting orders, or over the data in several units.

    .. math:: \bar q(c \mid x) = \frac{1}{M} \sum_m q(c \mid x, \pi_m)

    An exact distribution again. Draws cost as much as those of one order, log-probabilities M times as much;
    those of draws are scored under the other M - 1 orders with equal prefixes merged.

    Args:
        orders: a sequential partition whose *first* batch dimension holds the M orders.

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
        return OrderAveragedPartition(self._over(Size(batch_shape)), validate_args=self._validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        every = self._over(self._extended_shape(sample_shape)[:-1]).dataset
        which = torch.randint(every.shape[0], (1, *every.shape[1:]), device=every.device)
        return self.orders.on(every.gather(0, which).squeeze(0)).sample()

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

    def _log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        return self._mixed(self._over(value.shape[:-1])._log_prob(value))

    def _merged_log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        return self._mixed(self._over(value.shape[:-1])._merged_log_prob(value))

    def _candidates(self, width: int) -> Tensor:
        return self.orders._candidates(width).squeeze(0)

    def _mixed(self, log_prob: Tensor) -> Tensor:
        return log_prob.logsumexp(0) - math.log(self.num_orders)

    def _over(self, batch: Size) -> SequentialPartition:
        """Return the orders, in front, over a larger batch."""
        inner = self.orders.dataset
        ones = (1,) * (len(batch) - len(self.batch_shape))
        inner = inner.reshape(self.num_orders, *ones, *self.batch_shape)
        return self.orders.on(inner.expand(self.num_orders, *batch))


class AnchoredPartition(PartitionDistribution):
    r"""A law of the partition of A anchors, continued to all points by the exact filter.

    .. math::
        q(c \mid x) = q_0(c_A \mid x_A) \prod_{i \notin A} p(c_i \mid c_{<i}, x_{\le i})

    the anchors coming first in the order of the filter. Exact and normalised where :math:`q_0`, ``first``,
    is; ``rest`` is the filter of all points and ``of_anchors`` that of the anchors, in the same order.
    """

    def __init__(
        self,
        first: PartitionDistribution,
        rest: SequentialPartition,
        of_anchors: SequentialPartition,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.first, self.rest, self.of_anchors = first, rest, of_anchors
        super().__init__(rest.num_points, batch_shape=rest.batch_shape, validate_args=validate_args)
        self.is_exact = first.is_exact

    @property
    def order(self) -> Tensor:
        """Visiting order of the filter, ``(B, N)``, the anchors first."""
        return self.rest.order

    def expand(self, batch_shape: Any, _instance: Any = None) -> "AnchoredPartition":
        first, rest, of_anchors = (
            one.expand(batch_shape) for one in (self.first, self.rest, self.of_anchors)
        )
        return AnchoredPartition(first, rest, of_anchors, validate_args=self._validate_args)

    def anchors_of(self, value: Tensor) -> Tensor:
        """Return the canonical labels of the anchors, ``(*any, *batch, N) -> (*any, *batch, A)``."""
        order = self.order[self.rest.dataset][..., : self.first.num_points]
        return canonical(value.gather(-1, order.expand(*value.shape[:-1], -1)))

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        labels, own = self.first.sample_and_log_prob(sample_shape)
        draws, others = self._continued(labels).sample_and_log_prob()
        return draws, own + others

    def _log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        anchors = self.anchors_of(value)
        return self.first.log_prob(anchors) + self.rest.log_prob(value) - self.of_anchors.log_prob(anchors)

    def _merged_log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        anchors = self.anchors_of(value)
        of_first, of_anchors = (one.merged_log_prob(anchors) for one in (self.first, self.of_anchors))
        return of_first + self.rest.merged_log_prob(value) - of_anchors

    def _candidates(self, width: int) -> Tensor:
        labels = self.first._candidates(width)
        return self._continued(labels).sample((width,)).flatten(0, 1)

    def _continued(self, labels: Tensor) -> CompletedPartition:
        """Return the law of all points given partitions of the anchors, ``(*any, *batch, A)``."""
        dataset, num_anchors = self.rest.dataset.expand(labels.shape[:-1]), self.first.num_points
        # What is said of the other points does not matter: all are put into the first cluster.
        every = labels.new_zeros(*labels.shape[:-1], self.num_points)
        every = every.scatter_(-1, self.order[dataset][..., :num_anchors], labels)
        return self.rest.on(dataset).given(canonical(every), num_free=self.num_points - num_anchors)


def num_orders_of(posteriors: Sequence[Any]) -> int:
    """Return how many visiting orders posteriors of one guide for the same data have: 1 if they share it."""
    orders = [posterior.order for posterior in posteriors if hasattr(posterior, "order")]
    differ = not any(torch.equal(one, orders[0]) for one in orders[1:])
    return len(orders) if differ and len(orders) == len(posteriors) else 1
