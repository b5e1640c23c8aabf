"""The contract of scorers: what a sequential partition asks of the thing that scores candidates."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from pyroclust.distributions.families.component import Component
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.steps import ForcedSteps, pooled_before, prefix_sums


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
