"""Posterior frequencies: of pairs of points together, of numbers of clusters, of partitions."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import check_memory, each_in_threads
from pyroclust.core.numbers import as_numbers, check_count
from pyroclust.diagnostics.labels import compact, distinct_draws, flat_and_shares
from pyroclust.partitions.raw_labels import DrawsLike

_SUMS_TO_1 = 1e-6


def count_clusters(assignments: np.ndarray) -> np.ndarray:
    """Count the distinct labels of each label vector, whole numbers from 0."""
    return compact(assignments.reshape(-1, assignments.shape[-1]))[1].reshape(assignments.shape[:-1])


def cluster_count_posterior(
    draws: DrawsLike, *, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of clusters that occur, rising, and the probability of each.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.

    Example:
        >>> values, probabilities = cluster_count_posterior(np.array([[0, 0], [0, 1], [0, 1], [0, 1]]))
        >>> values.tolist(), probabilities.tolist()
        ([1, 2], [0.25, 0.75])
    """
    labels, share = flat_and_shares(draws, weights)
    values, place = np.unique(count_clusters(labels), return_inverse=True)
    mass = np.bincount(place, weights=share)
    return values, mass / mass.sum()


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    r"""Return the total variation of two probability vectors, :math:`\tfrac12 \sum_v |p_v - q_v|`.

    Raises:
        ValueError: if the shapes differ, or one is no probability vector.

    Example:
        >>> total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25]))
        0.25
    """
    first, second = as_numbers("p", p), as_numbers("q", q)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"p and q have shapes {first.shape} and {second.shape}, expected equal ones, (V,)")
    for name, values in (("p", first), ("q", second)):
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()
        if not ((values >= 0).all() and abs(total - 1) <= _SUMS_TO_1):
            raise ValueError(
                f"{name} sums to {total:.6g}, expected probabilities, none negative, that sum to 1"
            )
    return float(np.abs(first - second).sum() / 2)


@dataclass(frozen=True)
class RankedPartitions:
    """The likeliest partitions among draws.

    Attributes:
        partitions: ``(M, N)`` canonical, the likeliest first.
        probabilities: ``(M,)``, falling.
        num_distinct: how many different partitions were drawn.
        rest: probability of the drawn partitions that are not listed.
    """

    partitions: np.ndarray
    probabilities: np.ndarray
    num_distinct: int
    rest: float


def ranked_partitions(
    draws: DrawsLike, *, weights: np.ndarray | None = None, limit: int = 20
) -> RankedPartitions:
    r"""Return the drawn partitions by their share of the draws, :math:`\sum_s w_s 1[c^{(s)} = c]`.

    The shares estimate posterior probabilities where partitions come back: with many points every draw is
    another partition, and the ranking says nothing.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.
        limit: how many partitions to list at most.

    Example:
        >>> found = ranked_partitions(np.array([[0, 1], [0, 0], [1, 0], [0, 1]]), limit=1)
        >>> found.partitions.tolist(), found.probabilities.tolist(), found.num_distinct, found.rest
        ([[0, 1]], [0.75], 2, 0.25)
    """
    limit = check_count("limit", limit)
    found = distinct_draws(draws, weights=weights)
    listed = found.mass[:limit]
    return RankedPartitions(
        found.partitions[:limit], listed, len(found.mass), float(found.mass[limit:].sum())
    )


@dataclass(frozen=True)
class PartitionEntropy:
    """Two estimates of an entropy, in bits, and how much of the posterior was seen.

    Attributes:
        plug_in: the entropy of the shares of the draws; too small, by much where coverage is low.
        corrected: Chao and Shen's estimate; nan where no partition was drawn twice.
        coverage: Good and Turing's estimate of the probability that the next draw is a partition already
            drawn; 0 where no partition was drawn twice, and then both entropies are meaningless.
        num_distinct: how many different partitions were drawn.
    """

    plug_in: float
    corrected: float
    coverage: float
    num_distinct: int


def partition_entropy(draws: DrawsLike, *, weights: np.ndarray | None = None) -> PartitionEntropy:
    r"""Estimate the entropy of the posterior over partitions, in bits.

    .. math::
        \hat H = -\sum_c \hat p_c \log_2 \hat p_c, \qquad
        \hat H_{CS} = -\sum_c \frac{C \hat p_c \log_2 (C \hat p_c)}{1 - (1 - C \hat p_c)^n}

    The coverage C is one minus the share of the partitions that were drawn once, and n the number of draws
    (with weights :math:`1 / \sum_s w_s^2`). Meaningless where all draws are different, as they are for most
    posteriors of more than some thirty points. Draws of a Markov chain repeat themselves more than
    independent ones, which makes coverage too large.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.

    References:
        Chao and Shen (2003), Nonparametric estimation of Shannon's index of diversity when there are unseen
        species in sample. https://doi.org/10.1023/A:1026096204727

    Example:
        >>> found = partition_entropy(np.array([[0, 1], [0, 0], [1, 0], [0, 0]]))
        >>> found.plug_in, found.coverage, found.num_distinct
        (1.0, 1.0, 2)
    """
    found = distinct_draws(draws, weights=weights)
    drawn = found.mass > 0
    mass = found.mass[drawn]
    times = np.bincount(found.members[found.shares > 0], minlength=len(drawn))[drawn]
    coverage = min(1.0, float(mass[times > 1].sum()))
    corrected = float("nan")
    if coverage > 0:
        share = coverage * mass
        number = 1 / (found.shares**2).sum()
        # One less a power, exact for the smallest shares too.
        with np.errstate(divide="ignore"):
            seen = -np.expm1(number * np.log1p(-share))
        corrected = float(-(share * np.log2(share) / seen).sum()) + 0.0
    return PartitionEntropy(float(-(mass * np.log2(mass)).sum()) + 0.0, corrected, coverage, len(mass))


MAX_PAIRED_DRAWS = 1000
"""Up to 1,000 points; above, as many as have losses that cost the same."""

MAX_PAIRED_POINTS = 2000
"""Above, matrices of pairs of points are those of so many points, and no tree of all points is made."""

_SEED = 0
_MAX_PAIRED_LABELS = MAX_PAIRED_DRAWS**2 * 1000


def paired_points(num_points: int, *, most: int = MAX_PAIRED_POINTS) -> np.ndarray:
    """Return the points that stand for all, in pairs or pictures: every one, or so many at random."""
    if num_points <= most:
        return np.arange(num_points)
    chosen = np.random.default_rng(_SEED).choice(num_points, most, replace=False)
    return np.sort(chosen)


def paired_draws(num_points: int) -> int:
    """Return of how many draws the losses of every two are computed: M of 1,000 or M^2 N of a billion."""
    return max(2, min(MAX_PAIRED_DRAWS, math.isqrt(_MAX_PAIRED_LABELS // num_points)))


def about_pairs(num_points: int) -> tuple[str, ...]:
    """Return what to say of the pairs of a large table; nothing of a small one."""
    if num_points <= MAX_PAIRED_POINTS:
        return ()
    return (
        "Co-assignment probabilities, and the differences between them, are those of all pairs over "
        f"{MAX_PAIRED_POINTS:,} of the {num_points:,} rows, chosen at random and the same for every source.",
    )


_TILE = 256
_DRAWS = 128
_ROUNDING = 1e-6


@compiled(allocates=False, fastmath=False)
def _add_tile(
    labels: np.ndarray, gains: np.ndarray, first: int, second: int, counts: np.ndarray, total: np.ndarray
) -> None:
    points = len(total)
    for begin in range(0, len(labels), _DRAWS):
        end = min(begin + _DRAWS, len(labels))
        for i in range(first, min(first + _TILE, points)):
            for j in range(_TILE):
                counts[j] = 0
            for s in range(begin, end):
                label, gain, row = labels[s, i], gains[s], labels[s, second:]
                for j in range(_TILE):
                    counts[j] += gain if row[j] == label else 0
            for j in range(second, min(second + _TILE, points)):
                total[i, j] += counts[j - second]


def add_equal_labels(labels: np.ndarray, gains: np.ndarray, total: np.ndarray) -> None:
    """Add ``gains`` of the draws in which two points have equal labels to a symmetric ``total``."""
    points = labels.shape[1]
    starts = range(0, points, _TILE)
    tiles = [(first, second) for first in starts for second in starts if second >= first]
    # The last tile is as wide as the others.
    padded = np.pad(labels, ((0, 0), (0, -points % _TILE)))

    def add(tile: tuple[int, int]) -> None:
        _add_tile(padded, gains, *tile, np.empty(_TILE, gains.dtype), total)
        rows, columns = (slice(start, start + _TILE) for start in tile)
        total[columns, rows] = total[rows, columns].T

    each_in_threads(add, tiles)


_BLOCK_ENTRIES = 16_000_000


def co_assignment(draws: DrawsLike, *, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Return the co-assignment (posterior similarity) matrix, ``(N, N)``.

    .. math:: P_{ij} = \sum_s w_s \, 1[c^{(s)}_i = c^{(s)}_j]

    Cost: O(S N^2 / 2) comparisons of bytes in compiled threads, about 35 ps of processor time each: 16 s for
    10,000 draws of 10,000 points. Memory: the output, and at most 150 MB for a block of draws.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.

    Example:
        >>> co_assignment(np.array([[0, 0, 1], [0, 1, 1]]))[0].tolist()
        [1.0, 0.5, 0.0]
    """
    draws, share = flat_and_shares(draws, weights)
    equal, points = np.ptp(share) == 0, draws.shape[-1]
    if points > MAX_PAIRED_POINTS:
        check_memory(
            8 * points**2, f"draws of {points:,} points: pairs of points", remedy="take fewer points"
        )
    total = np.zeros((points, points))
    step = max(1, _BLOCK_ENTRIES // points)
    for begin in range(0, len(draws), step):
        labels, counts = compact(draws[begin : begin + step])
        # Weights of mean one: far from the smallest numbers of float32.
        gains = share[begin : begin + step] * len(draws)
        gains = np.ones(len(labels), np.uint8) if equal else gains.astype(np.float32)
        add_equal_labels(labels.astype(np.min_scalar_type(counts.max() - 1)), gains, total)
    total /= len(draws)
    return np.minimum(total, 1.0, out=total)


def average_linkage(similarity: np.ndarray) -> np.ndarray:
    """Return scipy's linkage matrix of the points, distance one minus similarity, average linkage."""
    return scipy.cluster.hierarchy.linkage(_distances(similarity), method="average")


def _distances(similarity: np.ndarray) -> np.ndarray:
    distance = 1 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    return scipy.spatial.distance.squareform(distance, checks=False)


@compiled(allocates=False, fastmath=False)
def _lay_out_tree(branches: np.ndarray, sizes: np.ndarray, first: np.ndarray, level: np.ndarray) -> None:
    """Write where the leaves of each branch begin, side by side, and the branches from the root down."""
    points, last = len(branches) + 1, 0
    level[0] = 2 * points - 2
    for at in range(len(level)):
        node = level[at]
        if node >= points:
            left, right = branches[node - points, 0], branches[node - points, 1]
            first[left], first[right] = first[node], first[node] + sizes[left]
            level[last + 1], level[last + 2] = right, left
            last += 2


def cuts(tree: np.ndarray, most: int) -> np.ndarray:
    """Return the partitions into ``most``, ..., 2 and 1 clusters that cut a tree at rising heights."""
    points = len(tree) + 1
    branches = tree[:, :2].astype(np.int64)
    sizes = np.append(np.ones(points, np.int64), tree[:, 3].astype(np.int64))
    first, level = np.zeros((2, 2 * points - 1), np.int64)
    _lay_out_tree(branches, sizes, first, level)
    joins = level[level >= points] - points
    labels = np.zeros((most, points), np.int64)
    for number, join in enumerate(joins[np.argsort(-tree[joins, 2], kind="stable")][: most - 1], 1):
        right = branches[join, 1]
        labels[number:, first[right] : first[right] + sizes[right]] = number
    return compact(labels[::-1, first[:points]])[0].astype(np.int64)


def dendrogram_order(similarity: np.ndarray) -> np.ndarray:
    """Order points, of a similarity ``(N, N)``, so that those often together lie next to each other.

    The leaves of the average-linkage tree, its branches turned so that neighbours are as similar as can be
    where there are at most 500 points. Cost O(N^2 log N).

    Raises:
        ValueError: if the matrix is not square and symmetric, or a number is no probability.

    References:
        Bar-Joseph et al. (2001), Fast optimal leaf ordering.
        https://doi.org/10.1093/bioinformatics/17.suppl_1.S22

    Example:
        >>> dendrogram_order(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1.0]])).tolist()
        [1, 2, 0]
    """
    similarity = as_numbers("similarity", similarity)
    if (
        similarity.ndim != 2
        or similarity.shape[0] != similarity.shape[1]
        or not np.isfinite(similarity).all()
    ):
        raise ValueError(
            f"similarity has shape {similarity.shape}, expected (N, N) finite numbers, such as "
            "co_assignment returns"
        )
    if not similarity.size:
        return np.arange(0)
    if similarity.min() < -_ROUNDING or similarity.max() > 1 + _ROUNDING:
        raise ValueError(
            f"similarity has numbers from {similarity.min():g} to {similarity.max():g}, expected from 0 to 1"
        )
    if np.abs(similarity - similarity.T).max() > _ROUNDING:
        raise ValueError("similarity is not symmetric, expected a matrix such as co_assignment returns")
    if len(similarity) < 3:
        return np.arange(len(similarity))
    similarity = similarity.clip(0, 1)
    tree = average_linkage(similarity)
    if len(similarity) <= 500:
        tree = scipy.cluster.hierarchy.optimal_leaf_ordering(tree, _distances(similarity))
    return scipy.cluster.hierarchy.leaves_list(tree)
