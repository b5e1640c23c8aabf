"""The partition of a few points given that of all others: what block moves propose from."""

from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.sequential.sampling import Prefixes, extend_labels
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.partitions import as_partitions, canonical

__all__ = ["CompletedPartition"]


class CompletedPartition(PartitionDistribution):
    r"""A sequential guide's law of the last F points in visiting order, given the partition of the others.

    .. math::
        q(c_{\text{last}} \mid c_{\text{rest}}, x) = \prod_{n=N-F+1}^{N} q(c_{\pi_n} \mid c_{\pi_1}, \ldots,
        c_{\pi_{n-1}}, x)

    Exact and normalised: a law over partitions of all N points that agree with the given one on the first
    N - F points. These are absorbed in one batched evaluation; then follows one batched step a free point,
    equal completions merged. Cost O(F P K) candidates, with P the number of distinct completions; memory
    O(P K).

    Args:
        scorer: scores the candidates of each decision.
        encoding: what the scorer made of the data sets in visiting order.
        order: visiting order, ``(B, N)``, the free points last.
        dataset: which row of the encoding each batch element uses, of shape ``batch_shape``.
        assignments: partitions of all points, ``(*batch_shape, N)`` canonical in the data's own order; what
            they say of the free points is where :meth:`propose` starts from, and does not matter elsewhere.
        num_free: F, the number of free points.
        validate_args: check values.

    Raises:
        ValueError: if the shapes do not fit, or ``num_free`` is not between 1 and N.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> guide, data = PredictiveFilter(gaussian2d()), torch.zeros(4, 2)
        >>> posterior = guide.posterior(data, order=torch.tensor([3, 0, 1, 2]))
        >>> last = posterior.given(torch.tensor([0, 1, 0, 1]), num_free=1)
        >>> last.log_prob(torch.tensor([[0, 1, 0, 1], [0, 1, 1, 1], [0, 1, 2, 1]])).exp().sum()
        tensor(1.0000, dtype=torch.float64)
        >>> last.log_prob(torch.tensor([0, 0, 0, 1]))
        tensor(-inf, dtype=torch.float64)
    """

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

    def expand(self, batch_shape: Any, _instance: Any = None) -> "CompletedPartition":
        """Return the same distribution with a larger batch shape; nothing is encoded again."""
        return CompletedPartition(
            self._scorer,
            self._encoding,
            order=self.order,
            dataset=self._dataset.expand(batch_shape),
            assignments=self.assignments.expand(*batch_shape, -1),
            num_free=self.num_free,
            validate_args=self._validate_args,
        )

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        shape, visited = sample_shape, self._visited(self.assignments)
        labels, log_prob = self._drawn(shape.numel(), visited) or self._complete(shape.numel(), visited[:0])
        return labels.view(*shape, *self.batch_shape, -1), log_prob.view(*shape, *self.batch_shape)

    def _drawn(self, num_draws: int, visited: Tensor) -> tuple[Tensor, Tensor] | None:
        """Draw completions of every batch element in compiled code; None where there is none."""
        fixed, dataset = max(self.num_points - self.num_free, 1), self._dataset.reshape(-1).repeat(num_draws)
        compiled = None
        if fixed < self.num_points:
            known = visited[:, :fixed].repeat(num_draws, 1)
            with torch.no_grad():
                compiled = self._scorer.label_points(self._encoding, dataset, known)
        return compiled and (self._in_own_order(compiled[0], dataset), compiled[1])

    def propose(self, num_draws: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw completions, and score the given partition beside them.

        Shape:
            output: labels ``(num_draws, *batch_shape, N)``, their log-probabilities ``(num_draws,
            *batch_shape)`` and that of ``assignments``, ``batch_shape``, in nats.
        """
        labels, log_prob = self._complete(num_draws, self._visited(self.assignments))
        log_prob = log_prob.view(num_draws + 1, *self.batch_shape)
        drawn = labels[: num_draws * self.batch_shape.numel()]
        return drawn.view(num_draws, *self.batch_shape, -1), log_prob[:-1], log_prob[-1]

    def _sample(self, sample_shape: Size) -> Tensor:
        return self.sample_and_log_prob(sample_shape)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        shape = Size(broadcast_shapes(value.shape[:-1], self.batch_shape))
        if shape[len(shape) - len(self.batch_shape) :] != self.batch_shape:
            return self.expand(shape)._log_prob(value)
        copies = shape.numel() // self.batch_shape.numel()
        fixed = self.num_points - self.num_free
        visited = self._visited(value.expand(*shape, -1).reshape(copies, *self.batch_shape, -1))
        given = self._visited(self.assignments)[:, :fixed].repeat(copies, 1)
        agrees = (visited[:, :fixed] == given).all(-1)
        # Those that disagree are scored as the given partition and then ruled out.
        own = self._visited(self.assignments).repeat(copies, 1)
        _, log_prob = self._complete(0, torch.where(agrees.unsqueeze(-1), visited, own))
        return torch.where(agrees, log_prob, -torch.inf).view(shape)

    def _visited(self, labels: Tensor) -> Tensor:
        """Return labels canonical in visiting order, ``(copies, *batch_shape, N) -> (copies * batch, N)``."""
        order = self.order[self._dataset].expand(labels.shape)
        return canonical(labels.long().gather(-1, order)).reshape(-1, self.num_points)

    def _complete(self, num_draws: int, visited: Tensor) -> tuple[Tensor, Tensor]:
        """Draw completions of every batch element, then score ``visited``, whole copies of the batch."""
        rows = self.batch_shape.numel()
        dataset = self._dataset.reshape(-1)
        fixed, given = self.num_points - self.num_free, self._visited(self.assignments)
        # Without fixed points the first one opens the first cluster all the same.
        first_step = max(fixed, 1)
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
        return self._in_own_order(labels, dataset[prefix]), log_prob

    def _in_own_order(self, labels: Tensor, dataset: Tensor) -> Tensor:
        return canonical(torch.empty_like(labels).scatter_(-1, self.order[dataset], labels))
