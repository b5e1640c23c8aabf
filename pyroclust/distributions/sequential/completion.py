"""The partition of a few points given that of all others: what block moves propose from."""

from typing import Any, ClassVar

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.sequential.sampling import Prefixes, extend_labels, in_own_order
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.partitions import as_partitions, canonical


class CompletedPartition(PartitionDistribution):
    r"""A sequential guide's law of the last F points in visiting order, given the partition of the others.

    .. math::
        q(c_{\text{last}} \mid c_{\text{rest}}, x) = \prod_{n=N-F+1}^{N} q(c_{\pi_n} \mid c_{\pi_1}, \ldots,
        c_{\pi_{n-1}}, x)

    Exact and normalised: a law over partitions of all N points that agree with the given one on the first
    N - F points. These are absorbed in one batched evaluation; then follows one batched step a free point,
    equal completions merged. What ``assignments`` say of the free points is where :meth:`propose` starts
    from, and does not matter elsewhere.
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

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._sample_and_log_prob(sample_shape)[0]

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
