"""Labels that keep their meaning from one partition to the next, so that clusters keep their colours."""

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["matched_labels"]


def matched_labels(partitions: np.ndarray, *, reference: np.ndarray | None = None) -> np.ndarray:
    r"""Rename the clusters of each partition to overlap most with those of the ones before it.

    .. math:: \hat\pi_m = \arg\max_\pi \sum_i v_m(i, \pi(c_{m,i}))

    where :math:`v_m(i, k)` says how often point i had the label k in the reference and in the partitions
    before m, and :math:`\pi` gives different clusters different labels. A cluster none of whose points ever
    had its label gets a new one. Cost O(M N K + M K^3).

    Shape:
        partitions: ``(M, N)``; reference: ``(N,)``; output: ``(M, N)`` labels, perhaps with gaps.

    Args:
        partitions: label vectors of the same points.
        reference: whose labels come first; the first partition by default.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Kuhn (1955), The Hungarian method for the assignment problem. https://doi.org/10.1002/nav.3800020109

    Example:
        >>> matched_labels(np.array([[0, 0, 1, 1], [0, 1, 2, 2]])).tolist()
        [[0, 0, 1, 1], [0, 2, 1, 1]]
    """
    partitions = np.asarray(partitions)
    first = partitions[0] if reference is None and partitions.ndim == 2 else np.asarray(reference)
    if partitions.ndim != 2 or first.shape != partitions.shape[1:]:
        raise ValueError(
            f"partitions and reference have shapes {partitions.shape} and {first.shape}, "
            "expected (M, N) and (N,)"
        )
    votes = _one_hot(first)
    matched = np.empty(partitions.shape, dtype=np.int64)
    for row, labels in enumerate(partitions):
        members = _one_hot(np.unique(labels, return_inverse=True)[1])
        names = _names(votes.T @ members)
        matched[row] = members.astype(np.int64) @ names
        votes = np.pad(votes, ((0, 0), (0, max(0, names.max() + 1 - votes.shape[1]))))
        votes[np.arange(len(labels)), matched[row]] += 1
    return matched


def _one_hot(labels: np.ndarray) -> np.ndarray:
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)


def _names(overlap: np.ndarray) -> np.ndarray:
    """Return a label for each cluster (column): an old one (row) it overlaps with, or a new one."""
    names = np.full(overlap.shape[1], -1)
    old, cluster = linear_sum_assignment(-overlap)
    real = overlap[old, cluster] > 0
    names[cluster[real]] = old[real]
    fresh = names < 0
    names[fresh] = len(overlap) + np.arange(fresh.sum())
    return names
