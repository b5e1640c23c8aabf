"""Do two sources of draws agree on the posterior, measured against the noise of MCMC itself?"""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.draws.co_assignment import co_assignment, paired_points
from pyroclust.diagnostics.draws.contingency import compact
from pyroclust.diagnostics.draws.frequencies import cluster_count_posterior, total_variation
from pyroclust.diagnostics.draws.labels import as_chains, checked_weights, flatten, labels_and_weights
from pyroclust.partitions.raw_labels import DrawsLike


@dataclass(frozen=True)
class Agreement:
    """Distances between the posteriors of two sources, and the same between two halves of the second.

    Attributes:
        total_variation: of the posteriors of the number of clusters, in [0, 1].
        largest_difference: of the co-assignment probabilities, over all pairs of at most 2,000 points.
        mean_difference: mean absolute difference of the co-assignment probabilities of different points.
        noise_total_variation: the first, between the halves.
        noise_largest_difference: the second, between the halves.
        noise_mean_difference: the third, between the halves.
    """

    total_variation: float
    largest_difference: float
    mean_difference: float
    noise_total_variation: float
    noise_largest_difference: float
    noise_mean_difference: float


@dataclass(frozen=True)
class Noise:
    """Distances between two halves of one source: what sampling noise alone gives."""

    total_variation: float
    largest_difference: float
    mean_difference: float


@dataclass(frozen=True)
class Marginals:
    """What the distances are made of."""

    counts: np.ndarray
    together: np.ndarray
    points: np.ndarray | None = None


def agreement(draws_a: DrawsLike, draws_b: DrawsLike, *, weights: np.ndarray | None = None) -> Agreement:
    """Compare two sources of draws, the second with the noise floor of its own chains.

    The noise floor compares one half of the chains with the other half, or the two halves of a single chain.
    Each half has half the draws, so the floor is a little higher than the noise of the comparison itself.

    Args:
        draws_a: draws in question, ``(chains, draws, N)`` or ``(S, N)``.
        draws_b: draws of the reference, usually MCMC.
        weights: of ``draws_a``, ``(S,)``; equal by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the numbers of points differ.

    Example:
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 100, 5))
        >>> agreement(draws, draws).largest_difference
        0.0
    """
    draws_a, weights = labels_and_weights("draws_a", draws_a, weights)
    first, second = as_chains(draws_a, name="draws_a"), as_chains(draws_b, name="draws_b")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"draws have {first.shape[-1]} and {second.shape[-1]} points, expected equally many")
    reference, floor = marginals_and_noise(second)
    between = distances(marginals_and_noise(first, weights=weights)[0], reference)
    return Agreement(*between, floor.total_variation, floor.largest_difference, floor.mean_difference)


def marginals_and_noise(draws: DrawsLike, *, weights: np.ndarray | None = None) -> tuple[Marginals, Noise]:
    """Return the marginals of one source and its noise floor, for the cost of the marginals alone."""
    both, halves = marginals_of_halves(draws, weights=weights)
    return both, Noise(1.0, 1.0, 1.0) if halves is None else Noise(*distances(*halves))


def marginals_of_halves(
    draws: DrawsLike, *, weights: np.ndarray | None = None
) -> tuple[Marginals, tuple[Marginals, Marginals] | None]:
    """Return the marginals of one source and of its halves, ``None`` where one of these has no weight."""
    draws, weights = labels_and_weights("draws", draws, weights)
    draws = as_chains(draws)
    chains, length, points = draws.shape
    total = chains * length
    share = checked_weights(weights, total)
    half = (chains // 2) * length if chains > 1 else max(1, length // 2)
    parts = [slice(0, half), slice(half if total > 1 else 0, total)]
    flat, mass = draws.reshape(total, points), [float(share[part].sum()) for part in parts]
    if min(mass) == 0:
        return marginals(flat, weights=weights), None
    first, second = (
        marginals(flat[part], weights=None if weights is None else share[part]) for part in parts
    )
    left = mass[0] / sum(mass)
    both = Marginals(
        left * first.counts + (1 - left) * second.counts,
        left * first.together + (1 - left) * second.together,
        first.points,
    )
    return both, (first, second)


def marginals(draws: np.ndarray, *, weights: np.ndarray | None = None) -> Marginals:
    """Return the posterior of the number of clusters and the co-assignment matrix."""
    flat = flatten(draws)
    share = None if weights is None else checked_weights(weights, len(flat))
    values, probabilities = cluster_count_posterior(flat, weights=weights)
    counts = np.zeros(flat.shape[-1] + 1)
    counts[values] = probabilities
    points = paired_points(flat.shape[-1])
    if len(points) == flat.shape[-1]:
        return Marginals(counts, co_assignment(flat, weights=share))
    # Labels of some of the points may be above their number.
    some = compact(flat[:, points].astype(np.int64, copy=False))[0]
    return Marginals(counts, co_assignment(some, weights=share), points)


def distances(first: Marginals, second: Marginals) -> tuple[float, float, float]:
    """Return the total variation of the cluster counts, and the largest and mean co-assignment difference."""
    gap = np.abs(first.together - second.together)
    points = len(gap)
    variation = total_variation(first.counts, second.counts)
    return variation, float(gap.max()), float(gap.sum() / max(1, points * (points - 1)))
