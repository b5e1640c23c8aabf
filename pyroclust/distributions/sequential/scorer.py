"""The contract of scorers: decisions of a sequential partition, and who scores them, also constrained."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from pyroclust.distributions.families.component import Component
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions.constraints import Constraints


@dataclass(frozen=True)
class ForcedSteps:
    """What teacher forcing has to score, known from the labels alone."""

    labels: Tensor  # canonical labels, (R, N)
    clusters: Tensor  # number of clusters before each decision, (R (N - 1),)
    decision: Tensor  # the decision of each candidate, (M,)
    cluster: Tensor  # the cluster of each candidate, (M,)
    member: Tensor  # the last point its cluster has taken before, which made its state, (M,)
    point: Tensor  # the point to be labelled, (M,)
    taken: Tensor  # the candidates that the labels choose, ascending

    @classmethod
    def of(cls, labels: Tensor) -> "ForcedSteps":
        """List the candidates in O(R N K)."""
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


def _last_member(labels: Tensor, width: int) -> Tensor:
    """Return for every step and cluster the last member so far, ``(R, N, K)``, -1 where there is none."""
    position = torch.arange(labels.shape[-1], device=labels.device).unsqueeze(-1)
    member = labels.unsqueeze(-1) == torch.arange(width, device=labels.device)
    return torch.where(member, position, -1).cummax(1).values


def prefix_sums(moments: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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


def pooled_before(contributions: Tensor, previous: Tensor) -> Tensor:
    """Sum the contributions of all clusters after every step, in float64 against drift."""
    wide = contributions.double()
    index = previous.clamp(min=0).unsqueeze(-1).expand_as(wide)
    replaced = torch.where((previous >= 0).unsqueeze(-1), wide.gather(1, index), 0.0)
    return (wide - replaced).cumsum(1)


class Encoding(Protocol):
    """What is computed once per data set and order."""

    @property
    def moments(self) -> Tensor:
        """Per-point vectors that clusters sum up, ``(B, N, F)`` float64."""
        ...


EncodingT = TypeVar("EncodingT", bound=Encoding)


@dataclass(frozen=True)
class Candidates:
    """Where points may go, as flat indices: Q decisions with M clusters to join, by decision."""

    dataset: Tensor  # row of the encoding of each decision, (Q,)
    step: Tensor  # the point to be labelled, in visiting order, (Q,)
    clusters: Tensor  # number of clusters before each decision, (Q,)
    decision: Tensor  # the decision of each candidate, ascending, (M,)
    place: Tensor  # where it stands in the two tables, laid flat, (M,)
    counts: Tensor  # points of clusters, (A, B) float64
    moments: Tensor  # sums of moments over them, (A, B, F) float64


class Scorer(ABC, Generic[EncodingT]):
    """Scores the candidates of one decision: join an existing cluster, or open a new one.

    A cluster is known by its *state*, a vector made anew whenever it gains a point; all clusters together
    by the *pooled* sum of one contribution a state; the decision at hand by its *query*. Sampling and teacher
    forcing call the same five methods with other batch shapes, and the log-probabilities therefore agree.

    Subclasses write :meth:`encode`, :meth:`absorb`, :meth:`contribution`, :meth:`query`, :meth:`join` and
    :meth:`open`. Those that can save work override :meth:`encode_over_orders` and :meth:`forced_logits`.
    Those that look at all candidates of a decision together override :meth:`decide`. Those whose clusters
    bear on one another otherwise override :meth:`forced_logits` and :meth:`step_logits`, and leave the last
    three of the six out.

    Shape:
        R rows (partitions), T steps, Q decisions, M candidates; S, G, C are the scorer's own widths.
    """

    @abstractmethod
    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> EncodingT:
        """Encode data sets in visiting order, ``(B, N, ...)``, given values of the conditions, ``(B,)``."""

    @abstractmethod
    def absorb(
        self, encoding: EncodingT, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Make the states of clusters that have just gained the point of ``steps``.

        Shape:
            dataset: ``(R,)``; steps: ``(T,)``; counts: ``(R, T)``; moments: ``(R, T, F)``; output:
                ``(R, T, S)``.
        """

    @abstractmethod
    def contribution(self, states: Tensor) -> Tensor:
        """Return what each state adds to the pooled sum, ``(..., S) -> (..., G)``."""

    def query(
        self, encoding: EncodingT, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Describe decisions: ``(Q,), (Q,), (Q, G), (Q,) -> (Q, C)``."""
        raise NotImplementedError

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Return the logits of joining existing clusters, ``(M, C), (M, S) -> (M,)``."""
        raise NotImplementedError

    def open(self, query: Tensor) -> Tensor:
        """Return the logits of opening a new cluster, ``(Q, C) -> (Q,)``."""
        raise NotImplementedError

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> EncodingT:
        """Encode rows of the data, ``(R,)``, in orders, ``(R, N)``: each on its own, unless overridden."""
        return self.encode(self.in_order(data[dataset], order), hyperparameters)

    def in_order(self, data: Tensor, order: Tensor) -> Tensor:
        """Bring points into their visiting orders, ``(B, N)``; of graphs, override it to do columns too."""
        index = order.reshape(*order.shape, *(1,) * (data.dim() - 2))
        return data.gather(1, index.expand(data.shape))

    def decide(
        self, encoding: EncodingT, query: Tensor, states: Tensor, candidates: Candidates
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of joining and of opening, ``(Q, C), (M, S) -> (M,), (Q,)``, many at once."""
        return self.join(query.index_select(0, candidates.decision), states), self.open(query)

    def step_logits(self, encoding: EncodingT, step: int, prefixes: Any) -> Tensor:
        """Score where a point may go after each of P prefixes (``sampling.Prefixes``), O(K) each.

        Shape:
            output: ``(P, max K + 1)``, after a prefix's last cluster a new one, minus infinity where a prefix
                has no such candidate.
        """
        clusters = prefixes.clusters
        slots = int(clusters.max())
        exists = torch.arange(slots, device=clusters.device) < clusters.unsqueeze(-1)
        row, cluster = exists.nonzero(as_tuple=True)
        at = torch.full_like(prefixes.dataset, step)
        query = self.query(encoding, prefixes.dataset, at, prefixes.pooled, clusters)
        place = row * prefixes.states.shape[1] + cluster
        candidates = Candidates(prefixes.dataset, at, clusters, row, place, prefixes.counts, prefixes.moments)
        states = prefixes.states.flatten(0, 1).index_select(0, place)
        joined, opened = self.decide(encoding, query, states, candidates)
        logits = joined.new_full((len(exists), slots + 1), -torch.inf)
        logits[row, cluster] = joined
        logits[torch.arange(len(exists), device=row.device), clusters] = opened
        return logits

    def forced_logits(
        self, encoding: EncodingT, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of all decisions of partitions: to join ``(M,)``, to open ``(R (N - 1),)``."""
        rows, points = steps.labels.shape
        counts, sums, previous = prefix_sums(encoding.moments[dataset], steps.labels)
        every = torch.arange(points, device=dataset.device)
        states = self.absorb(encoding, dataset, every, counts, sums)
        pooled = pooled_before(self.contribution(states), previous)[:, :-1]
        candidates = Candidates(
            dataset.repeat_interleave(points - 1),
            every[1:].repeat(rows),
            steps.clusters,
            steps.decision,
            steps.member,
            counts,
            sums,
        )
        query = self.query(
            encoding, candidates.dataset, candidates.step, pooled.flatten(0, 1), candidates.clusters
        )
        return self.decide(encoding, query, states.flatten(0, 1).index_select(0, steps.member), candidates)

    def label_points(
        self, encoding: EncodingT, dataset: Tensor, known: Tensor | None = None
    ) -> tuple[Tensor, Tensor] | None:
        """Draw partitions, or score known ones, in compiled code; None where there is none.

        Shape:
            dataset: ``(S,)``; known: ``(S, N)`` canonical in visiting order, or ``(S, T)`` of the first T
                points, given which the others are drawn; output: ``(S, N)`` and ``(S,)`` float64.
        """
        return None

    def is_filter_of(self, prior: PartitionPrior, component: Component) -> bool:
        """Say whether this is the exact filter of a prior and a family, these very objects."""
        return False


@dataclass(frozen=True)
class ConstrainedEncoding:
    """Data sets as a scorer has encoded them, and the constraints on their points in visiting order.

    Every bound group has two columns among the moments: whether a cluster has its first point, and how many
    first points of groups that are apart from it.
    """

    inner: Any
    moments: Tensor  # (B, N, F + 2 G) float64
    column: Tensor  # (B, N) int64, the bound group of each point, -1 for free ones
    begun: Tensor  # (B, N) bool, whether a point of the same group comes before

    @property
    def num_own(self) -> int:
        """F, the moments of the scorer itself."""
        return int(self.inner.moments.shape[-1])

    def closed(self, dataset: Tensor, step: Tensor, features: Tensor) -> Tensor:
        """Say which clusters may not be joined: ``(M,), (M,)``, what they hold ``(M, 2 G) -> (M,)``."""
        column = self.column[dataset, step]
        groups = features.shape[-1] // 2
        place = column.clamp(min=0)
        own = features.gather(-1, place.unsqueeze(-1)).squeeze(-1) > 0
        rivals = features.gather(-1, (groups + place).unsqueeze(-1)).squeeze(-1) > 0
        return (column >= 0) & torch.where(self.begun[dataset, step], ~own, rivals)


class ConstrainedScorer(Scorer[ConstrainedEncoding]):
    """Another scorer, the candidates masked that constraints rule out, at O(G) numbers a point and cluster.

    The first point of a group that belongs together cannot join a cluster with points that are apart from any
    of the group; later ones follow the first. A partition of the points so far can always be completed, so
    that the probabilities of the allowed ones sum to one. This is not the law of the scorer given the
    constraints: a decision does not know what they will rule out later. Importance weights say how much that
    matters.
    """

    def __init__(self, scorer: Scorer[Any], constraints: Constraints) -> None:
        self.scorer, self.constraints = scorer, constraints

    def encode(
        self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None
    ) -> ConstrainedEncoding:
        order = torch.arange(data.shape[1], device=data.device).expand(len(data), -1)
        return self._constrained(self.scorer.encode(data, hyperparameters), order)

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> ConstrainedEncoding:
        inner = self.scorer.encode_over_orders(data, dataset, order, hyperparameters)
        return self._constrained(inner, order)

    def in_order(self, data: Tensor, order: Tensor) -> Tensor:
        return self.scorer.in_order(data, order)

    def absorb(
        self, encoding: ConstrainedEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        own = moments[..., : encoding.num_own]
        return self.scorer.absorb(encoding.inner, dataset, steps, counts, own)

    def contribution(self, states: Tensor) -> Tensor:
        return self.scorer.contribution(states)

    def step_logits(self, encoding: ConstrainedEncoding, step: int, prefixes: Any) -> Tensor:
        own = replace(prefixes, moments=prefixes.moments[..., : encoding.num_own])
        logits = self.scorer.step_logits(encoding.inner, step, own).clone()
        at = torch.full_like(prefixes.dataset, step)
        held = prefixes.moments[:, : logits.shape[-1] - 1, encoding.num_own :]
        rows, slots = held.shape[:2]
        closed = encoding.closed(
            prefixes.dataset.repeat_interleave(slots), at.repeat_interleave(slots), held.flatten(0, 1)
        )
        exists = torch.arange(slots, device=at.device) < prefixes.clusters.unsqueeze(-1)
        logits[:, :slots] = logits[:, :slots].masked_fill(closed.view(rows, slots) & exists, -torch.inf)
        every = torch.arange(rows, device=at.device)
        opened = logits[every, prefixes.clusters]
        begun = encoding.begun[prefixes.dataset, at]
        logits[every, prefixes.clusters] = opened.masked_fill(begun, -torch.inf)
        return logits

    def forced_logits(
        self, encoding: ConstrainedEncoding, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        joined, opened = self.scorer.forced_logits(encoding.inner, dataset, steps)
        points = steps.labels.shape[1]
        features = encoding.moments[dataset, :, encoding.num_own :]
        _, held, _ = prefix_sums(features, steps.labels)
        row, step = steps.point // points, steps.point % points
        closed = encoding.closed(dataset[row], step, held.flatten(0, 1).index_select(0, steps.member))
        begun = encoding.begun[dataset, 1:].reshape(-1)
        return joined.masked_fill(closed, -torch.inf), opened.masked_fill(begun, -torch.inf)

    def _constrained(self, inner: Any, order: Tensor) -> ConstrainedEncoding:
        of_point, apart = self.constraints.over(order.shape[-1]).bound_tables
        column = of_point.to(order.device)[order]
        own = torch.nn.functional.one_hot(column + 1, len(apart) + 1)[..., 1:].double()
        begun = (own.cumsum(-2) - own).gather(-1, column.clamp(min=0).unsqueeze(-1)).squeeze(-1) > 0
        begun &= column >= 0
        # Later points follow: first ones alone say where a group is, also in partitions that divide it.
        first_of_group = own.masked_fill(begun.unsqueeze(-1), 0.0)
        moments = torch.cat([inner.moments.double(), first_of_group, first_of_group @ apart.to(own)], -1)
        return ConstrainedEncoding(inner, moments, column, begun)
