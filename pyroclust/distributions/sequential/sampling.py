"""Labels point by point: drawn, scored or searched for, all in one batch, equal prefixes merged."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential.scorer import ForcedSteps, Scorer
from pyroclust.partitions import canonical


@dataclass
class Prefixes:
    """Partitions of the first points in visiting order, one row for all draws that agree."""

    dataset: Tensor  # rows of the encoding, (P,)
    clusters: Tensor  # number of clusters, (P,)
    counts: Tensor  # points of each cluster, (P, K) float64
    moments: Tensor  # sums over the points of each cluster, (P, K, F) float64
    states: Tensor  # what the scorer made of each cluster, (P, K, S); anything where there is no cluster
    pooled: Tensor  # sum of the contributions of all clusters, (P, G) float64

    @classmethod
    def of_labels(cls, scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> "Prefixes":
        """Absorb labels of the first T points, canonical in visiting order, ``(P, T)``, in one evaluation.

        A cluster's state is the one made when it took its last member: at most min(T, P K) steps a row, not
        T.
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
        """Score where the point of ``step`` may go, ``(P, max K + 1)``, minus infinity for no candidate."""
        return scorer.step_logits(encoding, step, self).double()

    def grow(self, scorer: Scorer[Any], encoding: Any, step: int, *, parent: Tensor, label: Tensor) -> None:
        """Replace the rows by children, each a parent with the point of ``step`` in one more cluster."""
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


def sample_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one partition for each row of the encoding in ``dataset``, with its log-probability.

    One batched step a point; draws that agree so far share one state: O(N P K) candidates, P the distinct
    prefixes.
    """
    compiled = scorer.label_points(encoding, dataset)
    if compiled is not None:
        return compiled
    prefixes, prefix = _first_points(scorer, encoding, dataset)
    labels, log_prob = extend_labels(scorer, encoding, prefixes, prefix, first_step=1)
    return torch.cat([torch.zeros_like(dataset).unsqueeze(-1), labels], -1), log_prob


def score_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    """Return log-probabilities of partitions, equal prefixes evaluated once; see :func:`sample_labels`."""
    compiled = scorer.label_points(encoding, dataset, labels)
    if compiled is not None:
        return compiled[1]
    prefixes, prefix = _first_points(scorer, encoding, dataset)
    return extend_labels(scorer, encoding, prefixes, prefix, first_step=1, known=labels[:, 1:])[1]


def _first_points(scorer: Scorer[Any], encoding: Any, dataset: Tensor) -> tuple[Prefixes, Tensor]:
    """Return the first points of the data sets there are, and which of them each row extends."""
    distinct, prefix = dataset.unique(return_inverse=True)
    labels = torch.zeros_like(distinct).unsqueeze(-1)
    return Prefixes.of_labels(scorer, encoding, distinct, labels), prefix


def extend_labels(
    scorer: Scorer[Any],
    encoding: Any,
    prefixes: Prefixes,
    prefix: Tensor,
    *,
    first_step: int,
    known: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Label the points that are left, from ``first_step`` to the last, and return the log-probabilities.

    The last entries of ``prefix`` may stand for ``known`` labels: they are scored beside the draws, and no
    random number is spent on them.

    Shape:
        prefix: ``(draws,)``; known: ``(some, N - first_step)``, numbered on from their prefix; output: labels
            ``(draws, N - first_step)`` int64, and ``(draws,)`` float64 in nats.
    """
    points = encoding.moments.shape[1]
    known = prefix.new_zeros(0, points - first_step) if known is None else known
    free = len(prefix) - len(known)
    log_prob = prefixes.counts.new_zeros(len(prefixes.dataset))
    labels = []
    for step in range(first_step, points):
        log_probs = prefixes.logits(scorer, encoding, step).log_softmax(-1)
        width = log_probs.shape[-1]
        drawn = _draw(log_probs, prefixes.clusters, prefix[:free])
        label = torch.cat([drawn, known[:, step - first_step]])
        key, prefix = (prefix * width + label).unique(return_inverse=True)
        parent, child = key // width, key % width
        log_prob = log_prob[parent] + log_probs[parent, child]
        if step + 1 < points:
            prefixes.grow(scorer, encoding, step, parent=parent, label=child)
        labels.append(label)
    stacked = torch.stack(labels, -1) if labels else known.new_zeros(len(prefix), 0)
    return stacked, log_prob.index_select(0, prefix)


def _draw(log_probs: Tensor, clusters: Tensor, prefix: Tensor) -> Tensor:
    """Draw one candidate for each entry of ``prefix`` by inversion."""
    cumulative = log_probs.exp().cumsum(-1)
    threshold = torch.rand(len(prefix), 1, dtype=torch.float64, device=prefix.device)
    chosen = cumulative.index_select(0, prefix)
    return (chosen <= threshold * chosen[:, -1:]).sum(-1).minimum(clusters[prefix])


def teacher_forced_log_prob(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    """Sum the log-probabilities of all decisions of partitions ``(R, N)`` without a loop over points.

    The state that a cluster shows to step n is the one made when it took its last member before n: N states a
    partition, found by one sort, one segmented float64 sum and one running maximum. Cost and memory O(N K)
    each.
    """
    rows, points = labels.shape
    if points == 1:
        return torch.zeros(rows, dtype=torch.float64, device=labels.device)
    steps = ForcedSteps.of(labels)
    joined, opened = scorer.forced_logits(encoding, dataset, steps)
    log_probs = steps.table(joined, opened).double().log_softmax(-1)
    return log_probs.gather(-1, labels[:, 1:].reshape(-1, 1)).view(rows, points - 1).sum(-1)


def search_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor, *, width: int) -> Tensor:
    """Return a partition of high probability for each row of the encoding in ``dataset``, by beam search.

    Of all ways to label the next point of the partitions so far, the ``width`` most probable go on.
    """
    prefixes = Prefixes.of_labels(scorer, encoding, dataset, torch.zeros_like(dataset).unsqueeze(-1))
    owner = torch.arange(len(dataset), device=dataset.device)
    log_prob = prefixes.counts.new_zeros(len(dataset))
    parents, children = [], []
    points = encoding.moments.shape[1]
    for step in range(1, points):
        total = log_prob.unsqueeze(-1) + prefixes.logits(scorer, encoding, step).log_softmax(-1)
        row, child = (total > -torch.inf).nonzero(as_tuple=True)
        kept = _best_of_each(total[row, child], owner[row], width=width)
        parent, child = row[kept], child[kept]
        log_prob, owner = total[parent, child], owner[parent]
        parents.append(parent)
        children.append(child)
        if step + 1 < points:
            prefixes.grow(scorer, encoding, step, parent=parent, label=child)
    # From the last point of each data set's best row back to its first.
    row = torch.searchsorted(owner, torch.arange(len(dataset), device=owner.device))
    labels = []
    for parent, child in zip(reversed(parents), reversed(children), strict=True):
        labels.append(child[row])
        row = parent[row]
    return torch.stack([torch.zeros_like(row), *reversed(labels)], -1)


def _best_of_each(score: Tensor, owner: Tensor, *, width: int) -> Tensor:
    """Return the places of the largest scores of each owner, the best first."""
    by_score = score.argsort(descending=True, stable=True)
    order = by_score[owner[by_score].argsort(stable=True)]
    ordered = owner[order]
    rank = torch.arange(len(order), device=order.device) - torch.searchsorted(ordered, ordered)
    return order[rank < width]


def in_own_order(labels: Tensor, order: Tensor) -> Tensor:
    """Return labels in visiting order, ``(R, N)``, as canonical labels in the data's own order."""
    return canonical(torch.empty_like(labels).scatter_(-1, order, labels))
