"""Numbers of a partition that renaming its clusters leaves alone."""

import numpy as np

from pyroclust.diagnostics.draws import DrawsLike, as_chains
from pyroclust.diagnostics.losses import variation_of_information
from pyroclust.diagnostics.num_clusters import count_clusters
from pyroclust.diagnostics.point_estimates import point_estimate

__all__ = ["functionals"]


def functionals(
    draws: DrawsLike, *, seed: int = 0, reference: np.ndarray | None = None, num_pairs: int = 5
) -> dict[str, np.ndarray]:
    """Return the functionals on which convergence is judged, each draw by draw.

    ``num_clusters``; ``entropy`` of the cluster shares, in bits; ``largest_share``;
    ``distance_to_reference``, the variation of information to a reference partition, in bits; and
    ``together_i_j``, 1 where the points i and j share a cluster, for pairs drawn once with ``seed``. Callers
    with a model add ``log_joint``.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; reference: ``(N,)``;
        each output: ``(chains, draws)`` float64.

    Args:
        draws: posterior draws.
        seed: of the pairs, and of the reference where none is given.
        reference: labels to measure distances from; the point estimate of the draws by default.
        num_pairs: how many pairs of points; fewer where the points have fewer pairs.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1.

    Example:
        >>> values = functionals(np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]]))
        >>> values["num_clusters"].tolist(), values["entropy"].tolist()
        ([[2.0, 1.0]], [[1.0, 0.0]])
    """
    draws = as_chains(draws)
    if reference is None:
        reference = point_estimate(draws, seed=seed)
    sizes = _sizes(draws)
    share = sizes / draws.shape[-1]
    values = {
        "num_clusters": count_clusters(draws).astype(np.float64),
        "entropy": -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(-1) + 0.0,
        "largest_share": share.max(-1),
        "distance_to_reference": variation_of_information(draws, reference),
    }
    for i, j in _pairs(draws.shape[-1], num_pairs, seed):
        values[f"together_{i}_{j}"] = (draws[..., i] == draws[..., j]).astype(np.float64)
    return values


def _sizes(draws: np.ndarray) -> np.ndarray:
    width = int(draws.max()) + 1
    flat = draws.reshape(-1, draws.shape[-1])
    cells = flat + width * np.arange(len(flat))[:, None]
    return np.bincount(cells.ravel(), minlength=len(flat) * width).reshape(*draws.shape[:-1], width)


def _pairs(num_points: int, num_pairs: int, seed: int) -> np.ndarray:
    if num_points < 2:
        return np.empty((0, 2), dtype=np.int64)
    rng = np.random.default_rng(seed)
    # Enough tries to find as many different pairs as there are, or as are wanted.
    tries = np.sort(rng.integers(num_points, size=(20 * num_pairs, 2)), axis=1)
    tries = tries[tries[:, 0] < tries[:, 1]]
    _, first = np.unique(tries, axis=0, return_index=True)
    return tries[np.sort(first)[:num_pairs]]
