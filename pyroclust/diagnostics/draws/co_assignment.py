"""The posterior similarity matrix, compiled, and an order of the points that shows its blocks."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import check_memory, num_threads
from pyroclust.core.numbers import as_numbers
from pyroclust.diagnostics.draws.contingency import compact
from pyroclust.diagnostics.draws.labels import flat_and_shares
from pyroclust.partitions.raw_labels import DrawsLike

MAX_PAIRED_DRAWS = 1000
"""Up to 1,000 points; above, as many as have losses that cost the same."""

MAX_PAIRED_POINTS = 2000
"""Above, matrices of pairs of points are those of so many points, and no tree of all points is made."""

_SEED = 0
_MAX_PAIRED_LABELS = MAX_PAIRED_DRAWS**2 * 1000


def paired_points(num_points: int) -> np.ndarray:
    """Return the points whose pairs stand for all pairs: every point, or 2,000 at random."""
    if num_points <= MAX_PAIRED_POINTS:
        return np.arange(num_points)
    chosen = np.random.default_rng(_SEED).choice(num_points, MAX_PAIRED_POINTS, replace=False)
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

    with ThreadPoolExecutor(num_threads()) as pool:
        list(pool.map(add, tiles))


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
    check_memory(8 * points**2, f"draws of {points:,} points: pairs of points", remedy="take fewer points")
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


def cuts(tree: np.ndarray, most: int) -> np.ndarray:
    """Return the partitions into ``most``, ..., 2 and 1 clusters that cut a tree at rising heights."""
    points = len(tree) + 1
    branches = tree[:, :2].astype(np.int64)
    sizes = np.append(np.ones(points, np.int64), tree[:, 3].astype(np.int64))
    # The leaves of a branch lie next to one another, from its first.
    first, level = np.zeros(2 * points - 1, np.int64), [2 * points - 2]
    for node in level:
        if node >= points:
            left, right = branches[node - points].tolist()
            first[left], first[right] = first[node], first[node] + sizes[left]
            level += [right, left]
    joins = np.array([node - points for node in level if node >= points])
    labels = np.zeros((most, points), np.int64)
    for number, join in enumerate(joins[np.argsort(-tree[joins, 2], kind="stable")][: most - 1], 1):
        right = branches[join, 1]
        labels[number:, first[right] : first[right] + sizes[right]] = number
    found = np.empty_like(labels)
    found[:, scipy.cluster.hierarchy.leaves_list(tree)] = labels[::-1]
    return compact(found)[0].astype(np.int64)


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
