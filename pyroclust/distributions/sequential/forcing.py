"""Log-probabilities of given partitions, all steps at once, as flat indices of the candidates that exist."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from pyroclust.distributions.sequential.scorer import Scorer

__all__ = ["ForcedScorer", "ForcedSteps", "teacher_forced_log_prob"]

EncodingT = TypeVar("EncodingT", contravariant=True)


@dataclass(frozen=True)
class ForcedSteps:
    """What teacher forcing has to score, known from the labels alone.

    R partitions of N points in visiting order have R (N - 1) decisions, row by row, the first point having no
    choice; and M candidates to join, by decision and then by cluster. Opening a cluster is possible at every
    decision and not listed. Points are numbered ``row * N + step``.

    Attributes:
        labels: canonical labels, ``(R, N)``.
        clusters: number of clusters before each decision, ``(R (N - 1),)``.
        decision: the decision of each candidate, ``(M,)``.
        cluster: the cluster of each candidate, ``(M,)``.
        member: the last point its cluster has taken before, which made its state, ``(M,)``.
        point: the point to be labelled, ``(M,)``.
        taken: the candidates that the labels choose, ascending.

    Example:
        >>> steps = ForcedSteps.of(torch.tensor([[0, 1, 0]]))
        >>> steps.decision.tolist(), steps.cluster.tolist(), steps.member.tolist(), steps.taken.tolist()
        ([0, 1, 1], [0, 0, 1], [0, 0, 1], [1])
    """

    labels: Tensor
    clusters: Tensor
    decision: Tensor
    cluster: Tensor
    member: Tensor
    point: Tensor
    taken: Tensor

    @classmethod
    def of(cls, labels: Tensor) -> "ForcedSteps":
        """List the candidates in O(R N K).

        Shape:
            labels: ``(R, N)`` canonical, N at least 2.
        """
        points = labels.shape[1]
        clusters = labels.cummax(-1).values[:, :-1] + 1
        last = _last_member(labels[:, :-1], int(clusters.max()))
        row, step, cluster = (last >= 0).nonzero(as_tuple=True)
        point = row * points + step + 1
        taken = (labels.reshape(-1).index_select(0, point) == cluster).nonzero().squeeze(-1)
        member = row * points + last[row, step, cluster]
        return cls(labels, clusters.reshape(-1), row * (points - 1) + step, cluster, member, point, taken)

    @property
    def width(self) -> int:
        """Largest number of candidates of a decision."""
        return int(self.clusters.max()) + 1

    def together(self, dtype: torch.dtype) -> Tensor:
        """Mark for every point the points its cluster holds once it has joined, ``(R, N, N)``."""
        same = self.labels.unsqueeze(-1) == self.labels.unsqueeze(-2)
        return same.tril().to(dtype)

    def present(self, dtype: torch.dtype) -> Tensor:
        """Mark for every decision the last members of the clusters there are, ``(R, N - 1, N)``."""
        rows, points = self.labels.shape
        marks = torch.zeros(len(self.clusters) * points, dtype=dtype, device=self.labels.device)
        marks.index_fill_(0, self.decision * points + self.member % points, 1.0)
        return marks.view(rows, points - 1, points)

    def table(self, joined: Tensor, opened: Tensor) -> Tensor:
        """Arrange logits by decision, ``(R (N - 1), K + 1)``, minus infinity where there is no candidate."""
        width, decisions = self.width, len(self.clusters)
        opening = torch.arange(decisions, device=joined.device) * width + self.clusters
        index = torch.cat([self.decision * width + self.cluster, opening])
        logits = joined.new_full((decisions * width,), -torch.inf)
        return logits.index_copy(0, index, torch.cat([joined, opened])).view(decisions, width)


@runtime_checkable
class ForcedScorer(Protocol[EncodingT]):
    """A scorer that evaluates all decisions of given partitions in a way of its own, to save work."""

    def forced_logits(
        self, encoding: EncodingT, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of joining, ``(M,)``, and of opening, ``(R (N - 1),)``.

        Shape:
            dataset: rows of the encoding, ``(R,)``.
        """
        ...


def _last_member(labels: Tensor, width: int) -> Tensor:
    """Return for every step and cluster the last member so far, ``(R, N, K)``, -1 where there is none."""
    position = torch.arange(labels.shape[-1], device=labels.device).unsqueeze(-1)
    member = labels.unsqueeze(-1) == torch.arange(width, device=labels.device)
    return torch.where(member, position, -1).cummax(1).values


def teacher_forced_log_prob(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    r"""Sum the log-probabilities of all decisions without a loop over points.

    The state that a cluster shows to step n is the one made when it took its last member before n, so there
    are N states a partition, found by one sort, one segmented float64 sum and one running maximum. Only
    candidates that exist are scored. Cost O(N K) candidates, memory O(N K) a partition. A scorer with a
    method ``forced_logits`` evaluates the decisions itself.

    Shape:
        dataset: ``(R,)`` rows of the encoding; labels: ``(R, N)`` canonical in visiting order; output:
            ``(R,)`` float64.
    """
    rows, points = labels.shape
    if points == 1:
        return torch.zeros(rows, dtype=torch.float64, device=labels.device)
    steps = ForcedSteps.of(labels)
    if isinstance(scorer, ForcedScorer):
        joined, opened = scorer.forced_logits(encoding, dataset, steps)
    else:
        joined, opened = _forced_logits(scorer, encoding, dataset, steps)
    log_probs = steps.table(joined, opened).double().log_softmax(-1)
    return log_probs.gather(-1, labels[:, 1:].reshape(-1, 1)).view(rows, points - 1).sum(-1)


def _forced_logits(
    scorer: Scorer[Any], encoding: Any, dataset: Tensor, forced: ForcedSteps
) -> tuple[Tensor, Tensor]:
    """Make the states of all steps, then the queries of all decisions, then the candidates."""
    rows, points = forced.labels.shape
    moments = encoding.moments[dataset]
    counts, sums, previous = _prefix_sums(moments, forced.labels)
    steps = torch.arange(points, device=dataset.device)
    states = scorer.absorb(encoding, dataset, steps, counts, sums)
    pooled = _pooled_before(scorer.contribution(states), previous)[:, :-1]
    query = scorer.query(
        encoding,
        dataset.repeat_interleave(points - 1),
        steps[1:].repeat(rows),
        pooled.flatten(0, 1),
        forced.clusters,
    )
    state = states.flatten(0, 1).index_select(0, forced.member)
    return scorer.join(query.index_select(0, forced.decision), state), scorer.open(query)


def _prefix_sums(moments: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return for every point its cluster's count and sum up to it, and the member before it (or -1)."""
    ranked, order = labels.sort(dim=-1, stable=True)
    position = torch.arange(labels.shape[-1], device=labels.device).expand_as(labels)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = torch.where(starts, position, 0).cummax(-1).values
    wide = order.unsqueeze(-1).expand_as(moments)
    running = moments.gather(1, wide).cumsum(1)
    before = torch.cat([torch.zeros_like(running[:, :1]), running[:, :-1]], 1)
    segment = running - before.gather(1, first.unsqueeze(-1).expand_as(moments))
    sums = torch.zeros_like(moments).scatter(1, wide, segment)
    counts = torch.zeros_like(labels).scatter(1, order, position - first + 1)
    shifted = torch.cat([torch.full_like(order[:, :1], -1), order[:, :-1]], 1)
    previous = torch.zeros_like(labels).scatter(1, order, torch.where(starts, -1, shifted))
    return counts.double(), sums, previous


def _pooled_before(contributions: Tensor, previous: Tensor) -> Tensor:
    """Sum the contributions of all clusters after every step, in float64 against drift."""
    wide = contributions.double()
    index = previous.clamp(min=0).unsqueeze(-1).expand_as(wide)
    replaced = torch.where((previous >= 0).unsqueeze(-1), wide.gather(1, index), 0.0)
    return (wide - replaced).cumsum(1)
