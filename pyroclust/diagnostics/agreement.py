"""Do two sources of draws agree on the posterior, measured against the noise of MCMC itself?"""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.counts import count_clusters, total_variation
from pyroclust.diagnostics.membership import as_chains, checked_weights, flatten
from pyroclust.diagnostics.similarity import co_assignment

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True)
class Agreement:
    """Distances between the posteriors of two sources, and the same within the second.

    Attributes:
        total_variation: of the posteriors of the number of clusters, in [0, 1].
        largest_difference: of the co-assignment probabilities, over all pairs of points.
        mean_difference: mean absolute difference of the co-assignment probabilities of different points.
        noise_total_variation: the first, between two halves of the second source.
        noise_largest_difference: the second, between two halves of the second source.
        noise_mean_difference: the third, between two halves of the second source.
    """

    total_variation: float
    largest_difference: float
    mean_difference: float
    noise_total_variation: float
    noise_largest_difference: float
    noise_mean_difference: float


def agreement(draws_a: np.ndarray, draws_b: np.ndarray, *, weights: np.ndarray | None = None) -> Agreement:
    """Compare two sources of draws, the second with the noise floor of its own chains.

    The noise floor compares one half of the chains with the other half, or the two halves of a single chain.
    Each half has half the draws, so the floor is a little higher than the noise of the comparison itself.
    Cost: four co-assignment matrices.

    Shape:
        draws_a, draws_b: ``(chains, draws, N)`` or ``(S, N)``; weights: one entry a draw of ``draws_a``.

    Args:
        draws_a: draws in question.
        draws_b: draws of the reference, usually MCMC.
        weights: importance weights of ``draws_a``; equal by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the numbers of points differ.

    Example:
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 100, 5))
        >>> agreement(draws, draws).largest_difference
        0.0
    """
    first, second = flatten(draws_a), as_chains(draws_b)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"draws have {first.shape[-1]} and {second.shape[-1]} points, expected equally many")
    share = None if weights is None else checked_weights(weights, len(first))
    between = _distances(first, flatten(second), share)
    return Agreement(*between, *_distances(*_halves(second)))


def _halves(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(draws) == 1:
        half = max(1, draws.shape[1] // 2)
        return draws[0, :half], draws[0, half:] if draws.shape[1] > 1 else draws[0]
    half = len(draws) // 2
    return flatten(draws[:half]), flatten(draws[half:])


def _distances(
    first: np.ndarray, second: np.ndarray, weights: np.ndarray | None = None
) -> tuple[float, float, float]:
    points = first.shape[-1]
    counts = [
        np.bincount(count_clusters(draws), weights=share, minlength=points + 1)
        for draws, share in ((first, weights), (second, None))
    ]
    counts = [count / count.sum() for count in counts]
    gap = np.abs(co_assignment(first, weights=weights) - co_assignment(second))
    return total_variation(*counts), float(gap.max()), float(gap.sum() / max(1, points * (points - 1)))
