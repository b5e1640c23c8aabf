"""Sampling partitions point by point, all draws in one batch, equal prefixes merged."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.scorer import Scorer

__all__ = ["sample_labels"]


@dataclass
class _Prefixes:
    """Distinct label prefixes: P rows over K cluster slots."""

    dataset: Tensor  # (P,)
    clusters: Tensor  # (P,)
    counts: Tensor  # (P, K)
    moments: Tensor  # (P, K, F) float64
    states: Tensor  # (P, K, S)
    pooled: Tensor  # (P, G) float64
    log_prob: Tensor  # (P,) float64

    def branch(self, parent: Tensor) -> None:
        """Copy the rows that go on; skipped while every prefix has exactly one child."""
        if len(parent) == len(self.dataset):
            return
        for name, value in vars(self).items():
            setattr(self, name, value.index_select(0, parent))

    def reserve(self, slots: int) -> None:
        """Make room for more clusters, half as many again at a time."""
        missing = slots - self.counts.shape[1]
        if missing > 0:
            missing += slots // 2
            self.counts = torch.nn.functional.pad(self.counts, (0, missing))
            self.moments = torch.nn.functional.pad(self.moments, (0, 0, 0, missing))
            self.states = torch.nn.functional.pad(self.states, (0, 0, 0, missing))

    def add(self, scorer: Scorer[Any], encoding: Any, step: int, label: Tensor) -> None:
        """Put the point of ``step`` into cluster ``label`` of each prefix."""
        self.reserve(int(label.max()) + 1)
        row = torch.arange(len(label), device=label.device)
        count = self.counts[row, label] + 1
        moments = self.moments[row, label] + encoding.moments[self.dataset, step]
        steps = torch.full((1,), step, device=label.device)
        state = scorer.absorb(
            encoding, self.dataset, steps, count.unsqueeze(1), moments.unsqueeze(1)
        ).squeeze(1)
        old = scorer.contribution(self.states[row, label]).double()
        replaced = torch.where((count > 1).unsqueeze(-1), old, 0.0)
        self.pooled += scorer.contribution(state).double() - replaced
        self.counts[row, label], self.moments[row, label], self.states[row, label] = count, moments, state
        self.clusters = torch.maximum(self.clusters, label + 1)


def sample_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one partition for each entry of ``dataset``, with its log-probability.

    One batched step a point; draws of a data set that agree so far share one state, so the cost is O(N P K)
    candidates with P the number of distinct prefixes, at most the number of draws. Memory O(P K + N draws).

    Shape:
        dataset: ``(draws,)`` rows of the encoding; output: labels ``(draws, N)`` canonical in visiting
            order, and ``(draws,)`` float64.
    """
    points = encoding.moments.shape[1]
    distinct, prefix = dataset.unique(return_inverse=True)
    prefixes = _first_point(scorer, encoding, distinct)
    labels = [torch.zeros_like(dataset)]
    for step in range(1, points):
        log_probs = _decide(scorer, encoding, prefixes, step)
        width = log_probs.shape[-1]
        cumulative = log_probs.exp().cumsum(-1)
        threshold = torch.rand(len(dataset), 1, dtype=torch.float64, device=dataset.device)
        chosen = cumulative.index_select(0, prefix)
        label = (chosen <= threshold * chosen[:, -1:]).sum(-1).minimum(prefixes.clusters[prefix])
        key, prefix = (prefix * width + label).unique(return_inverse=True)
        parent, child_label = key // width, key % width
        gained = log_probs[parent, child_label]
        prefixes.branch(parent)
        prefixes.log_prob = prefixes.log_prob + gained
        prefixes.add(scorer, encoding, step, child_label)
        labels.append(label)
    return torch.stack(labels, -1), prefixes.log_prob.index_select(0, prefix)


def _first_point(scorer: Scorer[Any], encoding: Any, dataset: Tensor) -> _Prefixes:
    rows = len(dataset)
    moments = encoding.moments[dataset, 0].unsqueeze(1)
    counts = moments.new_ones(rows, 1)
    states = scorer.absorb(
        encoding, dataset, torch.zeros(1, dtype=torch.int64, device=dataset.device), counts, moments
    )
    pooled = scorer.contribution(states).squeeze(1).double()
    return _Prefixes(
        dataset, torch.ones_like(dataset), counts, moments, states, pooled, moments.new_zeros(rows)
    )


def _decide(scorer: Scorer[Any], encoding: Any, prefixes: _Prefixes, step: int) -> Tensor:
    slots = int(prefixes.clusters.max())
    exists = torch.arange(slots, device=prefixes.clusters.device) < prefixes.clusters.unsqueeze(-1)
    row, cluster = exists.nonzero(as_tuple=True)
    at = torch.full_like(prefixes.dataset, step)
    query = scorer.query(encoding, prefixes.dataset, at, prefixes.pooled, prefixes.clusters)
    flat_states = prefixes.states.flatten(0, 1)
    state = flat_states.index_select(0, row * prefixes.states.shape[1] + cluster)
    joined = scorer.join(query.index_select(0, row), state)
    logits = joined.new_full((len(exists), slots + 1), -torch.inf)
    logits[row, cluster] = joined
    logits[torch.arange(len(exists), device=row.device), prefixes.clusters] = scorer.open(query)
    return logits.double().log_softmax(-1)
