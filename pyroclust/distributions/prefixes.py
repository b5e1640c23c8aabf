"""Distinct label prefixes with what a scorer knows of their clusters, ready to grow by one point."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.scorer import Scorer

__all__ = ["Prefixes"]


@dataclass
class Prefixes:
    """Partitions of the first points in visiting order: P rows over K cluster slots.

    Whoever samples keeps one row for all draws that agree so far. Attributes are float64 but the states.

    Attributes:
        dataset: rows of the encoding, ``(P,)``.
        clusters: number of clusters, ``(P,)``.
        counts: points of each cluster, ``(P, K)``.
        moments: sums over the points of each cluster, ``(P, K, F)``.
        states: what the scorer made of each cluster, ``(P, K, S)``; anything where there is no cluster.
        pooled: sum of the contributions of all clusters, ``(P, G)``.
    """

    dataset: Tensor
    clusters: Tensor
    counts: Tensor
    moments: Tensor
    states: Tensor
    pooled: Tensor

    @classmethod
    def of_labels(cls, scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> "Prefixes":
        """Absorb given labels of the first T points, in one batched evaluation.

        A cluster's state is the one made when it took its last member, so states are made at the last members
        of clusters only: at most min(T, P K) steps a row, not T.

        Shape:
            dataset: ``(P,)``; labels: ``(P, T)`` canonical in visiting order, T at least 1.
        """
        points = labels.shape[1]
        slots = int(labels.max()) + 1
        moments = encoding.moments[dataset, :points]
        counts = moments.new_zeros(len(labels), slots)
        counts.scatter_add_(1, labels, torch.ones_like(labels, dtype=counts.dtype))
        sums = moments.new_zeros(len(labels), slots, moments.shape[-1])
        sums.scatter_add_(1, labels.unsqueeze(-1).expand_as(moments), moments)
        position = torch.arange(points, device=labels.device).expand_as(labels)
        last = torch.full_like(counts, -1, dtype=torch.int64).scatter_reduce_(1, labels, position, "amax")
        steps = last[last >= 0].unique()
        taker = labels[:, steps]
        made = scorer.absorb(
            encoding, dataset, steps, counts.gather(1, taker), sums.gather(1, _wide(taker, sums.shape[-1]))
        )
        index = torch.searchsorted(steps, last.clamp(min=0))
        states = made.gather(1, _wide(index, made.shape[-1]))
        contributions = scorer.contribution(states).double()
        pooled = torch.where((counts > 0).unsqueeze(-1), contributions, 0.0).sum(1)
        return cls(dataset, labels.amax(-1) + 1, counts, sums, states, pooled)

    def logits(self, scorer: Scorer[Any], encoding: Any, step: int) -> Tensor:
        """Score where the point of ``step`` may go: clusters that exist, and one more, O(K) a row.

        Shape:
            output: ``(P, max K + 1)`` float64, minus infinity where a row has no such candidate.
        """
        slots = int(self.clusters.max())
        exists = torch.arange(slots, device=self.clusters.device) < self.clusters.unsqueeze(-1)
        row, cluster = exists.nonzero(as_tuple=True)
        at = torch.full_like(self.dataset, step)
        query = scorer.query(encoding, self.dataset, at, self.pooled, self.clusters)
        flat_states = self.states.flatten(0, 1)
        state = flat_states.index_select(0, row * self.states.shape[1] + cluster)
        joined = scorer.join(query.index_select(0, row), state)
        logits = joined.new_full((len(exists), slots + 1), -torch.inf)
        logits[row, cluster] = joined
        logits[torch.arange(len(exists), device=row.device), self.clusters] = scorer.open(query)
        return logits.double()

    def grow(self, scorer: Scorer[Any], encoding: Any, step: int, *, parent: Tensor, label: Tensor) -> None:
        """Replace the rows by children, each a parent with the point of ``step`` in one more cluster.

        Shape:
            parent, label: ``(children,)``; rows without children are forgotten.
        """
        self._branch(parent)
        self._reserve(int(label.max()) + 1)
        row = torch.arange(len(label), device=label.device)
        count = self.counts[row, label] + 1
        moments = self.moments[row, label] + encoding.moments[self.dataset, step]
        steps = torch.full((1,), step, device=label.device)
        state = scorer.absorb(
            encoding, self.dataset, steps, count.unsqueeze(1), moments.unsqueeze(1)
        ).squeeze(1)
        old = scorer.contribution(self.states[row, label]).double()
        replaced = torch.where((count > 1).unsqueeze(-1), old, 0.0)
        self.pooled = self.pooled + scorer.contribution(state).double() - replaced
        self.counts[row, label], self.moments[row, label], self.states[row, label] = count, moments, state
        self.clusters = torch.maximum(self.clusters, label + 1)

    def _branch(self, parent: Tensor) -> None:
        """Copy the rows that go on; skipped while every prefix has exactly one child."""
        rows = len(self.dataset)
        if len(parent) == rows and bool((parent == torch.arange(rows, device=parent.device)).all()):
            return
        for name, value in vars(self).items():
            setattr(self, name, value.index_select(0, parent))

    def _reserve(self, slots: int) -> None:
        """Make room for more clusters, half as many again at a time."""
        missing = slots - self.counts.shape[1]
        if missing > 0:
            missing += slots // 2
            self.counts = torch.nn.functional.pad(self.counts, (0, missing))
            self.moments = torch.nn.functional.pad(self.moments, (0, 0, 0, missing))
            self.states = torch.nn.functional.pad(self.states, (0, 0, 0, missing))


def _wide(index: Tensor, width: int) -> Tensor:
    return index.unsqueeze(-1).expand(*index.shape, width)
