"""Sampling partitions point by point, all draws in one batch, equal prefixes merged."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.prefixes import Prefixes
from pyroclust.distributions.scorer import Scorer

__all__ = ["extend_labels", "sample_labels", "score_labels"]


def sample_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one partition for each entry of ``dataset``, with its log-probability.

    One batched step a point; draws of a data set that agree so far share one state, so the cost is O(N P K)
    candidates with P the number of distinct prefixes, at most the number of draws. Memory O(P K + N draws).

    Shape:
        dataset: ``(draws,)`` rows of the encoding; output: labels ``(draws, N)`` canonical in visiting
            order, and ``(draws,)`` float64.
    """
    prefixes, prefix = _first_points(scorer, encoding, dataset)
    labels, log_prob = extend_labels(scorer, encoding, prefixes, prefix, first_step=1)
    return torch.cat([torch.zeros_like(dataset).unsqueeze(-1), labels], -1), log_prob


def score_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probabilities of given partitions, equal prefixes evaluated once; see `sample_labels`.

    Shape:
        dataset: ``(R,)`` rows of the encoding; labels: ``(R, N)`` canonical in visiting order; output:
            ``(R,)`` float64.
    """
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

    Draws that agree share a row of ``prefixes``, as in :func:`sample_labels`. The last entries of ``prefix``
    may stand for labels that are known already: they are scored beside the draws, at the same cost, and no
    random number is spent on them.

    Args:
        scorer: scores the candidates.
        encoding: what the scorer made of the data sets.
        prefixes: partitions of the points before ``first_step``; overwritten.
        prefix: which of them each draw extends, ``(draws,)``.
        first_step: the first point to label, in visiting order.
        known: labels that the last draws have, ``(some, N - first_step)``, numbered on from their prefix.

    Shape:
        output: labels ``(draws, N - first_step)`` int64, and ``(draws,)`` float64 in nats.
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
