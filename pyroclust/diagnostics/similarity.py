"""The posterior similarity matrix and an order of the points that shows its blocks."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from pyroclust.diagnostics.contingency import compact
from pyroclust.diagnostics.equal_labels import add_equal_labels
from pyroclust.diagnostics.membership import checked_weights, flat_integers

__all__ = ["average_linkage", "co_assignment", "dendrogram_order"]

_BLOCK_ENTRIES = 16_000_000


def co_assignment(draws: np.ndarray, *, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Return the co-assignment (posterior similarity) matrix.

    .. math:: P_{ij} = \sum_s w_s \, 1[c^{(s)}_i = c^{(s)}_j]

    Cost: O(S N^2 / 2) comparisons of bytes in compiled threads (two bytes where a draw has more than 256
    clusters, four where draws have unequal weights), about 35 ps of processor time each: 16 s for
    10,000 draws of 10,000 points. Memory: the output, and at most 150 MB for a block of draws.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries;
        output: ``(N, N)`` probabilities, float64.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    Example:
        >>> co_assignment(np.array([[0, 0, 1], [0, 1, 1]]))[0].tolist()
        [1.0, 0.5, 0.0]
    """
    draws = flat_integers(draws)
    share = checked_weights(weights, len(draws))
    equal = np.ptp(share) == 0
    total = np.zeros((draws.shape[-1], draws.shape[-1]))
    step = max(1, _BLOCK_ENTRIES // draws.shape[-1])
    for begin in range(0, len(draws), step):
        labels, counts = compact(draws[begin : begin + step].astype(np.int64, copy=False))
        # Weights of mean one: far from the smallest numbers of float32.
        gains = share[begin : begin + step] * len(draws)
        gains = np.ones(len(labels), np.uint8) if equal else gains.astype(np.float32)
        add_equal_labels(labels.astype(np.min_scalar_type(counts.max() - 1)), gains, total)
    total /= len(draws)
    return np.minimum(total, 1.0, out=total)


def average_linkage(similarity: np.ndarray) -> np.ndarray:
    """Return scipy's linkage matrix of the points, distance one minus similarity, average linkage.

    Shape:
        similarity: ``(N, N)``, symmetric, N >= 2; output: ``(N - 1, 4)``.

    Example:
        >>> average_linkage(np.eye(3)).shape
        (2, 4)
    """
    distance = 1 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    return linkage(squareform(distance, checks=False), method="average")


def dendrogram_order(similarity: np.ndarray) -> np.ndarray:
    """Order points so that those often together lie next to each other.

    The leaves of the average-linkage tree, its branches turned so that neighbours are as similar as can be
    where there are at most 500 points. Cost O(N^2 log N).

    Shape:
        similarity: ``(N, N)``, symmetric; output: ``(N,)``, a permutation.

    References:
        Bar-Joseph et al. (2001), Fast optimal leaf ordering.
        https://doi.org/10.1093/bioinformatics/17.suppl_1.S22

    Example:
        >>> dendrogram_order(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1.0]])).tolist()
        [1, 2, 0]
    """
    if len(similarity) < 3:
        return np.arange(len(similarity))
    tree = average_linkage(similarity)
    if len(similarity) <= 500:
        distance = 1 - (similarity + similarity.T) / 2
        np.fill_diagonal(distance, 0.0)
        tree = optimal_leaf_ordering(tree, squareform(distance, checks=False))
    return leaves_list(tree)
