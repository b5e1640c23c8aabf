"""The posterior of the number of clusters."""

import numpy as np

from pyroclust.core.arrays import as_numbers
from pyroclust.diagnostics.draws.labels import (
    check_probabilities,
    checked_weights,
    flatten,
    labels_and_weights,
)
from pyroclust.partitions.raw_labels import DrawsLike


def count_clusters(assignments: np.ndarray) -> np.ndarray:
    """Count the distinct labels of each label vector."""
    ranked = np.sort(assignments, axis=-1)
    return 1 + (ranked[..., 1:] != ranked[..., :-1]).sum(-1)


def cluster_count_posterior(
    draws: DrawsLike, *, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of clusters that occur, and the probability of each.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.
        output: ``(values, probabilities)``, both ``(V,)``, values rising.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    Example:
        >>> values, probabilities = cluster_count_posterior(np.array([[0, 0], [0, 1], [0, 1], [0, 1]]))
        >>> values.tolist(), probabilities.tolist()
        ([1, 2], [0.25, 0.75])
    """
    draws, weights = labels_and_weights("draws", draws, weights)
    draws = flatten(draws)
    share = None if weights is None else checked_weights(weights, len(draws))
    values, place = np.unique(count_clusters(draws), return_inverse=True)
    mass = np.bincount(place, weights=share)
    return values, mass / mass.sum()


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    r"""Return the total variation of two probability vectors on one support.

    .. math:: \tfrac12 \sum_v |p_v - q_v|

    Shape:
        p, q: ``(V,)``; output: a number in [0, 1].

    Raises:
        ValueError: if the shapes differ, or one is no probability vector.

    Example:
        >>> total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25]))
        0.25
    """
    first, second = as_numbers("p", p), as_numbers("q", q)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"p and q have shapes {first.shape} and {second.shape}, expected equal ones, (V,)")
    check_probabilities("p", first)
    check_probabilities("q", second)
    return float(np.abs(first - second).sum() / 2)
