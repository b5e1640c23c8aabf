"""How far two sources of draws differ: marginals beside their noise, and two-sample tests."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.chains import distance_rhat, functionals, rhats_and_ess
from pyroclust.diagnostics.frequencies import (
    cluster_count_posterior,
    co_assignment,
    count_clusters,
    paired_draws,
    paired_points,
    total_variation,
)
from pyroclust.diagnostics.importance import effective_draws
from pyroclust.diagnostics.labels import as_chains, checked_weights, compact, flatten, labels_and_weights
from pyroclust.diagnostics.losses import Binder, check_same_points, losses_within, pairwise_loss
from pyroclust.partitions.raw_labels import DrawsLike, raw_labels


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
    check_same_points(first, second)
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
    some = compact(flat[:, points])[0]
    return Marginals(counts, co_assignment(some, weights=share), points)


def distances(first: Marginals, second: Marginals) -> tuple[float, float, float]:
    """Return the total variation of the cluster counts, and the largest and mean co-assignment difference."""
    gap = np.abs(first.together - second.together)
    points = len(gap)
    variation = total_variation(first.counts, second.counts)
    return variation, float(gap.max()), float(gap.sum() / max(1, points * (points - 1)))


MAX_TEST_DRAWS = 500
MIN_TEST_DRAWS = 20
# One draw in two effective ones: an autoregression thinned to its effective size still has a correlation of
# exp(-2) between neighbours, which makes permutation tests reject too often; at half of it exp(-4).
SPACING = 2.0
# Share of the total weight that may be cut off so that no draw has to be taken twice.
MAX_CUT_WEIGHT = 0.02
_MAX_CENTRE_DRAWS = 200


@dataclass(frozen=True)
class Mixing:
    """How well a source of draws has mixed."""

    effective: float
    max_rhat: float
    constant: bool


def mixing(
    draws: DrawsLike, *, seed: int, weights: np.ndarray | None = None, row_weights: np.ndarray | None = None
) -> Mixing:
    """Return how many independent draws a source is worth, and whether its chains agree."""
    draws, weights = labels_and_weights("draws", draws, weights)
    draws = as_chains(draws)
    total = math.prod(draws.shape[:2])
    constant = bool((draws == draws[:1, :1]).all())
    if weights is not None:
        return Mixing(effective_draws(checked_weights(weights, total)), 1.0, constant)
    reference = central_draw(draws, row_weights=row_weights)
    values = functionals(draws, seed=seed, reference=reference, row_weights=row_weights)
    stacked = np.stack(list(values.values()), axis=-1)
    moving = stacked[..., ~(stacked == stacked[:1, :1]).all((0, 1))]
    distances = distance_rhat(draws, seed=seed, row_weights=row_weights)
    ratios, effective = rhats_and_ess(moving)
    fewest = np.nan_to_num(effective, nan=0.0).min(initial=float(total))
    largest = np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=1.0)
    return Mixing(min(float(fewest), distances.min_ess), max(float(largest), distances.rhat), constant)


def central_draw(draws: DrawsLike, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the draw with the smallest summed variation of information to the others."""
    flat = flatten(draws)
    few = _spread(flat, min(_MAX_CENTRE_DRAWS, paired_draws(flat.shape[1])))
    return few[pairwise_loss(few, few, row_weights=row_weights).sum(0).argmin()]


def independent_draws(
    draws: DrawsLike, *, seed: int, effective: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return draws of a source that can be taken as independent and equally weighted, at most 500."""
    draws, weights = labels_and_weights("draws", draws, weights)
    flat = flatten(draws)
    if weights is None:
        wanted = max(MIN_TEST_DRAWS, int(effective / SPACING))
        return _spread(flat, min(wanted, MAX_TEST_DRAWS))
    share = checked_weights(weights, len(flat))
    return flat[_systematic(share, _uncut(share, effective), seed)]


def _spread(flat: np.ndarray, wanted: int) -> np.ndarray:
    wanted = min(wanted, len(flat))
    return flat[((np.arange(wanted) + 0.5) * len(flat) / wanted).astype(np.int64)]


def _uncut(share: np.ndarray, effective: float) -> int:
    sizes = np.arange(1, max(1, min(int(effective), MAX_TEST_DRAWS)) + 1)
    largest_first = np.sort(share)[::-1]
    mass = np.concatenate([[0.0], np.cumsum(largest_first)])
    above = np.searchsorted(-largest_first, -1 / sizes)
    return int(sizes[mass[above] - above / sizes <= MAX_CUT_WEIGHT][-1])


def _systematic(share: np.ndarray, size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(check_seed(seed))
    order = rng.permutation(len(share))
    edges = np.cumsum(np.minimum(share * size, 1.0)[order])
    # A little less than the last edge, so that rounding cannot ask for a draw beyond it.
    ticks = np.arange(rng.random(), edges[-1] * (1 - 1e-12), 1.0)
    return order[np.searchsorted(edges, ticks, side="right")]


_TIE = 1e-9
# Of the table of permutations: itself, permuted, and what a test makes of it.
_COPIES = 3


@dataclass(frozen=True)
class TwoSampleTest:
    """A statistic of two samples, against its values under random exchanges of draws between them.

    Attributes:
        statistic: of the two sources, larger where they differ more.
        p_value: share of the permutations, this one included, whose statistic is at least as large.
        null: the statistics of the permutations, ``(P,)``.
        num_a: draws used of the first source, after thinning.
        num_b: draws used of the second source.
    """

    statistic: float
    p_value: float
    null: np.ndarray
    num_a: int
    num_b: int


def exchangeable(
    first: np.ndarray, second: np.ndarray, *, num_permutations: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return independent draws of both sources in one, and whose they are by permutation."""
    members = permuted_memberships(len(first), len(second), num_permutations=num_permutations, seed=seed)
    return np.concatenate([first, second]), members


def permuted_memberships(num_a: int, num_b: int, *, num_permutations: int, seed: int) -> np.ndarray:
    """Return which draws belong to the first source: as they are, then randomly permuted."""
    if min(num_a, num_b) < 2:
        raise ValueError(
            f"the sources have {num_a} and {num_b} independent draws, expected at least two each"
        )
    num_permutations = check_count("num_permutations", num_permutations)
    check_memory(
        _COPIES * 8 * (num_permutations + 1) * (num_a + num_b),
        f"num_permutations is {num_permutations}: permutations of {num_a + num_b} draws",
        remedy="permute less often",
    )
    members = np.zeros((num_permutations + 1, num_a + num_b))
    members[:, :num_a] = 1
    members[1:] = np.random.default_rng(check_seed(seed)).permuted(members[1:], axis=1)
    return members


def against_null(statistics: np.ndarray, members: np.ndarray) -> TwoSampleTest:
    """Return the test of the first of the statistics against the others."""
    observed, null, num_a = float(statistics[0]), statistics[1:], int(members[0].sum())
    # Ties that rounding splits would make the test liberal.
    above = int((null >= observed - _TIE).sum())
    return TwoSampleTest(observed, (1 + above) / (1 + len(null)), null, num_a, len(members[0]) - num_a)


def mmd_test(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    seed: int,
    num_permutations: int = 999,
    weights: np.ndarray | None = None,
) -> TwoSampleTest:
    r"""Test whether two sources have the same distribution, by the maximum mean discrepancy of partitions.

    .. math:: MMD^2 = E[k(a, a')] + E[k(b, b')] - 2 E[k(a, b)], \qquad k(c, c') = \exp(-B(c, c') / h)

    with the Binder loss B and h the median of the pooled losses that are not 0. The Binder loss is the
    squared Euclidean distance of co-assignment matrices, so k is a Gaussian kernel: strictly positive
    definite on partitions, hence :math:`MMD = 0` only for equal distributions; the same is not true of the
    variation of information.

    Both sources are first thinned to at most 500 draws that can be exchanged; ``num_a`` and ``num_b`` say how
    many are left. Cost: O(M^2 N) for M such draws, and one product of a (P, M) with an (M, M) matrix.

    Args:
        draws_a: draws of the first source, ``(chains, draws, N)`` or ``(S, N)``.
        draws_b: draws of the second source.
        seed: of the thinning and the permutations.
        num_permutations: how many permutations.
        weights: importance weights of ``draws_a``; equal by default.

    References:
        Gretton et al. (2012), A kernel two-sample test. https://jmlr.org/papers/v13/gretton12a.html

    Example:
        >>> rng = np.random.default_rng(0)
        >>> together, apart = rng.integers(2, size=(200, 6)), rng.integers(6, size=(200, 6))
        >>> mmd_test(together, apart, seed=0).p_value
        0.001
    """
    pooled, members = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(squared_mmds(losses_within(pooled, loss=Binder()), members), members)


def classifier_test(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    seed: int,
    num_permutations: int = 999,
    weights: np.ndarray | None = None,
) -> TwoSampleTest:
    """Test whether a nearest-neighbour classifier can tell the draws of two sources apart.

    The statistic is the leave-one-out accuracy, each source counting half: 0.5 where they cannot be told
    apart. Neighbours are nearest in variation of information, about the square root of the number of draws
    of them; equally near draws share what is left. The classifier gives to the first source as many draws as
    it has, those with the most votes. Twice the accuracy, minus one, estimates from below the total variation
    of the two posteriors. Arguments, and how sources are thinned, as in
    :func:`mmd_test`.

    References:
        Lopez-Paz and Oquab (2017), Revisiting classifier two-sample tests. https://arxiv.org/abs/1610.06545

    Example:
        >>> rng = np.random.default_rng(0)
        >>> together, apart = rng.integers(2, size=(200, 6)), rng.integers(6, size=(200, 6))
        >>> classifier_test(together, apart, seed=0).statistic > 0.8
        True
    """
    pooled, members = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(accuracies(losses_within(pooled), members), members)


def count_test(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    seed: int,
    num_permutations: int = 999,
    weights: np.ndarray | None = None,
) -> TwoSampleTest:
    """Test whether two sources have the same posterior of the number of clusters."""
    pooled, members = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(total_variations(count_clusters(pooled), members), members)


def squared_mmds(losses: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the unbiased squared discrepancy for every row of memberships."""
    positive = losses[losses > 0]
    kernel = np.exp(-losses / (np.median(positive) if positive.size else 1.0))
    np.fill_diagonal(kernel, 0.0)
    num_a = members.sum(1)
    num_b = members.shape[1] - num_a
    in_a, from_a = ((members @ kernel) * members).sum(1), members @ kernel.sum(1)
    between, in_b = from_a - in_a, kernel.sum() - 2 * from_a + in_a
    return in_a / (num_a * (num_a - 1)) + in_b / (num_b * (num_b - 1)) - 2 * between / (num_a * num_b)


def accuracies(losses: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the balanced leave-one-out accuracy of nearest neighbours for every row of memberships."""
    near = _neighbours(losses)
    num_a = int(members[0].sum())
    num_b = members.shape[1] - num_a
    votes = members @ near.T
    # The draw itself is left out of the size of its source, else the odds would point away from it.
    score = votes / (num_a - members) - (near.sum(1) - votes) / (num_b - (1 - members))
    says_a = _highest(score.round(9), num_a)
    right_a = (members * says_a).sum(1) / num_a
    right_b = ((1 - members) * (1 - says_a)).sum(1) / num_b
    return (right_a + right_b) / 2


def total_variations(counts: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the total variation of the numbers of clusters for every row of memberships."""
    _, place = np.unique(counts, return_inverse=True)
    indicator = np.eye(place.max() + 1)[place]
    num_a = members.sum(1, keepdims=True)
    in_a = members @ indicator
    in_b = indicator.sum(0) - in_a
    return np.abs(in_a / num_a - in_b / (members.shape[1] - num_a)).sum(1) / 2


def _highest(score: np.ndarray, number: int) -> np.ndarray:
    """Mark as many of the highest scores of each row with 1; equal ones at the edge share."""
    edge = -np.partition(-score, number - 1, axis=1)[:, number - 1 : number]
    above, tied = score > edge, score == edge
    return above + tied * (number - above.sum(1, keepdims=True)) / tied.sum(1, keepdims=True)


def _neighbours(losses: np.ndarray) -> np.ndarray:
    """Weights of the nearest others, each row with the same sum; equally near ones share."""
    apart = losses.round(9)
    np.fill_diagonal(apart, np.inf)
    number = max(1, round(len(apart) ** 0.5))
    edge = np.partition(apart, number - 1, axis=1)[:, number - 1 : number]
    nearer, tied = apart < edge, apart == edge
    left = number - nearer.sum(1, keepdims=True)
    return nearer + tied * left / tied.sum(1, keepdims=True)


def _pooled(
    draws_a: DrawsLike, draws_b: DrawsLike, weights: np.ndarray | None, seed: int, num_permutations: int
) -> tuple[np.ndarray, np.ndarray]:
    draws_a, weights = labels_and_weights("draws_a", draws_a, weights)
    sources = []
    for draws, share in ((draws_a, weights), (raw_labels("draws_b", draws_b), None)):
        effective = mixing(draws, seed=seed, weights=share).effective
        sources.append(independent_draws(draws, seed=seed, effective=effective, weights=share))
    check_same_points(*sources)
    return exchangeable(*sources, num_permutations=num_permutations, seed=seed)
