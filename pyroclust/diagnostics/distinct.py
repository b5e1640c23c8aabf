"""Draws of partitions with equal ones merged."""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.contingency import compact
from pyroclust.diagnostics.membership import checked_weights, flatten

__all__ = ["DistinctDraws", "distinct_draws"]


@dataclass(frozen=True)
class DistinctDraws:
    """The partitions among draws, each once, the heaviest first.

    Attributes:
        partitions: ``(M, N)`` canonical int64.
        mass: ``(M,)``, sums to 1.
        members: ``(S,)``, the partition of each draw.
        shares: ``(S,)``, the normalised weight of each draw.
    """

    partitions: np.ndarray
    mass: np.ndarray
    members: np.ndarray
    shares: np.ndarray


def distinct_draws(draws: np.ndarray, *, weights: np.ndarray | None = None) -> DistinctDraws:
    """Merge draws of the same partition; the order does not depend on the order of the draws.

    Cost: a sort of the draws, O(S log S) comparisons of at most N labels.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    Example:
        >>> found = distinct_draws(np.array([[0, 0], [0, 1], [1, 0]]))
        >>> found.partitions.tolist(), found.members.tolist()
        ([[0, 1], [0, 0]], [1, 0, 0])
    """
    flat = flatten(draws)
    shares = checked_weights(weights, len(flat))
    labels, _ = compact(flat)
    rows = labels.view(np.dtype((np.void, labels.itemsize * labels.shape[1]))).reshape(-1)
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=shares)
    mass = mass / mass.sum()
    # Equal up to the rounding of sums: then the order is that of the labels.
    order = np.argsort(-mass.round(12), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return DistinctDraws(labels[first[order]].astype(np.int64), mass[order], rank[place.reshape(-1)], shares)
