"""Numbers of a partition that renaming its clusters leaves alone."""

import math

import numpy as np

from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.draws.labels import as_chains, checked_row_weights, cluster_sums
from pyroclust.diagnostics.draws.losses import VariationOfInformation
from pyroclust.diagnostics.estimates.point_estimates import point_estimate
from pyroclust.diagnostics.limits import LARGE_ROWS, LARGE_SHARE
from pyroclust.partitions.raw_labels import DrawsLike

_MAX_PAIRS = 100_000

_WORDS = {
    "num_clusters": "number of clusters",
    "entropy": "entropy",
    "largest_share": "largest cluster's share",
    "distance": "distance to a likely partition",
    "distance_to_reference": "distance to the estimate",
    "together": "points 1 and 2 together",
    "pairs": "pairs together",
    "neighbours": "neighbours together",
    "log_prob": "log q",
    "log_joint": "log joint",
    "log_joint_with_parameters": "log joint with the parameters",
}


def shares(assignments: np.ndarray, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the share of the rows in each cluster, 0 for labels that a partition lacks."""
    width = int(assignments.max()) + 1
    flat = assignments.reshape(-1, assignments.shape[-1])
    rows = assignments.shape[-1] if row_weights is None else row_weights.sum()
    return cluster_sums(flat, row_weights, width).reshape(*assignments.shape[:-1], width) / rows


def least_rows(num_rows: int) -> int:
    """Return the rows from which on a cluster is a large one."""
    return max(LARGE_ROWS, math.ceil(LARGE_SHARE * num_rows))


def num_large_clusters(assignments: np.ndarray, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the number of clusters that are no single rows, nor hold fewer than one in a hundred."""
    num_rows = assignments.shape[-1] if row_weights is None else int(row_weights.sum())
    # Shares are rounded.
    return (shares(assignments, row_weights=row_weights) * num_rows > least_rows(num_rows) - 0.5).sum(-1)


def cluster_share_entropy(share: np.ndarray) -> np.ndarray:
    r"""Return the entropy of cluster shares in bits, :math:`-\sum_k s_k \log_2 s_k`."""
    return -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(-1) + 0.0


def pairs_together(assignments: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return 1 where the two points of a pair share a cluster, and 0 elsewhere."""
    first, second = np.asarray(pairs).T
    return (assignments[..., first] == assignments[..., second]).astype(np.float64)


def functional_name(name: str) -> str:
    """Write the name of a functional for people; unknown names stay as they are."""
    pair = name.removeprefix("together_").split("_")
    if name.startswith("together_") and len(pair) == 2 and all(point.isdigit() for point in pair):
        return f"points {int(pair[0]) + 1} and {int(pair[1]) + 1} together"
    return _WORDS.get(name, name)


def functionals(
    draws: DrawsLike,
    *,
    seed: int = 0,
    reference: np.ndarray | None = None,
    num_pairs: int = 5,
    row_weights: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return the functionals on which convergence is judged, each ``(chains, draws)``.

    ``num_clusters``; ``entropy`` of the cluster shares, in bits; ``largest_share``;
    ``distance_to_reference``, the variation of information to a reference partition, in bits; and
    ``together_i_j``, 1 where the points i and j share a cluster, for random pairs. Callers with a model add
    ``log_joint``.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        seed: of the pairs, and of the reference where none is given.
        reference: labels to measure distances from, ``(N,)``; the point estimate of the draws by default.
        num_pairs: how many pairs of points; fewer where the points have fewer pairs.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Example:
        >>> values = functionals(np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]]))
        >>> values["num_clusters"].tolist(), values["entropy"].tolist()
        ([[2.0, 1.0]], [[1.0, 0.0]])
    """
    draws = as_chains(draws)
    num_pairs = check_count("num_pairs", num_pairs, at_least=0, at_most=_MAX_PAIRS)
    row_weights = checked_row_weights(row_weights, draws.shape[-1])
    if reference is None:
        reference = point_estimate(draws, seed=seed, row_weights=row_weights)
    share = shares(draws, row_weights=row_weights)
    values = {
        "num_clusters": (share > 0).sum(-1).astype(np.float64),
        "entropy": cluster_share_entropy(share),
        "largest_share": share.max(-1),
        "distance_to_reference": VariationOfInformation()(draws, reference, row_weights=row_weights),
    }
    pairs = _pairs(draws.shape[-1], num_pairs, seed)
    together = pairs_together(draws, pairs)
    names = (f"together_{i}_{j}" for i, j in pairs)
    return values | {name: together[..., place] for place, name in enumerate(names)}


def _pairs(num_points: int, num_pairs: int, seed: int) -> np.ndarray:
    if num_points < 2:
        return np.empty((0, 2), dtype=np.int64)
    rng = np.random.default_rng(check_seed(seed))
    # Enough tries to find as many different pairs as there are, or as are wanted.
    tries = np.sort(rng.integers(num_points, size=(20 * num_pairs, 2)), axis=1)
    tries = tries[tries[:, 0] < tries[:, 1]]
    _, first = np.unique(tries, axis=0, return_index=True)
    return tries[np.sort(first)[:num_pairs]]
