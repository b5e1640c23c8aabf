"""Two-sample tests on partitions: a kernel test, a classifier test and a test of the number of clusters."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.chains.thinning import independent_draws, mixing
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.diagnostics.draws.labels import labels_and_weights
from pyroclust.diagnostics.draws.losses import Binder, check_same_points, losses_within
from pyroclust.partitions.raw_labels import DrawsLike, raw_labels

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
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Return independent draws of both sources in one, whose they are by permutation, and how many each."""
    sizes = {"num_a": len(first), "num_b": len(second)}
    members = permuted_memberships(**sizes, num_permutations=num_permutations, seed=seed)
    return np.concatenate([first, second]), members, sizes


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


def against_null(statistics: np.ndarray, *, num_a: int, num_b: int) -> TwoSampleTest:
    """Return the test of the first of the statistics against the others."""
    observed, null = float(statistics[0]), statistics[1:]
    # Ties that rounding splits would make the test liberal.
    above = int((null >= observed - _TIE).sum())
    return TwoSampleTest(observed, (1 + above) / (1 + len(null)), null, num_a, num_b)


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
    pooled, members, sizes = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(squared_mmds(losses_within(pooled, loss=Binder()), members), **sizes)


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
    of the two posteriors. Both sources are thinned as in :func:`mmd_test`.

    Args:
        draws_a: draws of the first source, ``(chains, draws, N)`` or ``(S, N)``.
        draws_b: draws of the second source.
        seed: of the thinning and the permutations.
        num_permutations: how many permutations.
        weights: of ``draws_a``, ``(S,)``; equal by default.

    References:
        Lopez-Paz and Oquab (2017), Revisiting classifier two-sample tests. https://arxiv.org/abs/1610.06545

    Example:
        >>> rng = np.random.default_rng(0)
        >>> together, apart = rng.integers(2, size=(200, 6)), rng.integers(6, size=(200, 6))
        >>> classifier_test(together, apart, seed=0).statistic > 0.8
        True
    """
    pooled, members, sizes = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(accuracies(losses_within(pooled), members), **sizes)


def count_test(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    seed: int,
    num_permutations: int = 999,
    weights: np.ndarray | None = None,
) -> TwoSampleTest:
    """Test whether two sources have the same posterior of the number of clusters."""
    pooled, members, sizes = _pooled(draws_a, draws_b, weights, seed, num_permutations)
    return against_null(total_variations(count_clusters(pooled), members), **sizes)


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
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    draws_a, weights = labels_and_weights("draws_a", draws_a, weights)
    sources = []
    for draws, share in ((draws_a, weights), (raw_labels("draws_b", draws_b), None)):
        effective = mixing(draws, seed=seed, weights=share).effective
        sources.append(independent_draws(draws, seed=seed, effective=effective, weights=share))
    check_same_points(*sources)
    return exchangeable(*sources, num_permutations=num_permutations, seed=seed)
