"""Beam search for the most probable partition, point by point."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential.sampling import Prefixes
from pyroclust.distributions.sequential.scorer import Scorer

__all__ = ["search_labels"]


def search_labels(scorer: Scorer[Any], encoding: Any, dataset: Tensor, *, width: int) -> Tensor:
    """Return a partition of high probability for each entry of ``dataset``.

    Of all ways to label the next point of the partitions so far, the ``width`` most probable go on. One
    batched step a point over all data sets; cost O(N B W K) candidates, memory O(B W (K + N)).

    Args:
        scorer: scores the candidates.
        encoding: what the scorer made of the data sets.
        dataset: rows of the encoding, ``(B,)``.
        width: W, partitions that a data set keeps.

    Shape:
        output: ``(B, N)`` int64, canonical in visiting order.
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
    return _followed_back(parents, children, owner, datasets=len(dataset))


def _best_of_each(score: Tensor, owner: Tensor, *, width: int) -> Tensor:
    """Return the places of the largest scores of each owner, the best first."""
    by_score = score.argsort(descending=True, stable=True)
    order = by_score[owner[by_score].argsort(stable=True)]
    ordered = owner[order]
    rank = torch.arange(len(order), device=order.device) - torch.searchsorted(ordered, ordered)
    return order[rank < width]


def _followed_back(parents: list[Tensor], children: list[Tensor], owner: Tensor, *, datasets: int) -> Tensor:
    """Return the labels of the best row of each data set, from its last point to its first."""
    row = torch.searchsorted(owner, torch.arange(datasets, device=owner.device))
    labels = []
    for parent, child in zip(reversed(parents), reversed(children), strict=True):
        labels.append(child[row])
        row = parent[row]
    return torch.stack([torch.zeros_like(row), *reversed(labels)], -1)
