"""Numbers that describe point sets and do not look at labels or at the order of the points."""

import numpy as np
import scipy

from pyroclust.core.counts import check_seed

_NEIGHBOURS = (1, 3, 8)
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 1.0)
_TINY = 1e-9
_FEATURES = 200
_POOLED = 1000


def distance_summaries(sets: np.ndarray) -> np.ndarray:
    """Describe the distances between the points of each set, and its size."""
    return np.stack([_distances(points) for points in sets])


def column_summaries(sets: np.ndarray) -> dict[str, np.ndarray]:
    """Return location and spread of the columns: means, and logarithms of standard deviations."""
    mean, spread = sets.mean(1), np.log(sets.std(1) + _TINY)
    found = {}
    for column in range(sets.shape[2]):
        found[f"the mean of column {column + 1}"] = mean[:, column]
        found[f"the spread of column {column + 1}"] = spread[:, column]
    return found


def embedding_distances(sets: np.ndarray, *, seed: int) -> np.ndarray:
    """Return how far the kernel mean embedding of each set is from that of all sets together."""
    rng = np.random.default_rng(check_seed(seed))
    points = sets.reshape(-1, sets.shape[2])
    pooled = points[rng.permutation(len(points))[:_POOLED]]
    width = np.median(scipy.spatial.distance.pdist(pooled)) if len(pooled) > 1 else 1.0
    frequencies = rng.standard_normal((sets.shape[2], _FEATURES)) / max(width, _TINY)
    embedded = np.stack([_embedding(points @ frequencies) for points in sets])
    return np.linalg.norm(embedded - embedded.mean(0), axis=-1)


def _embedding(phases: np.ndarray) -> np.ndarray:
    mean: np.ndarray = np.concatenate([np.cos(phases), np.sin(phases)], -1).mean(0) / np.sqrt(_FEATURES)
    return mean


def mahalanobis(rows: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the distance of each row to a centre, in the metric of the rows' covariance."""
    centred = rows - rows.mean(0)
    ridge = 1e-6 * np.eye(rows.shape[1])
    gaps = rows - centre
    solved = np.linalg.solve(centred.T @ centred / len(rows) + ridge, gaps.T).T
    return np.sqrt((gaps * solved).sum(-1))


def _distances(points: np.ndarray) -> np.ndarray:
    size = np.sqrt((points**2).mean())
    if len(points) < 2:
        return np.log([size + _TINY])
    places = [min(k, len(points) - 1) for k in _NEIGHBOURS]
    pairs = scipy.spatial.distance.cdist(points, points)
    near = np.median(np.partition(pairs, places, axis=1)[:, places], axis=0)
    # Every pair twice, as in a matrix without its diagonal.
    apart = np.quantile(np.tile(scipy.spatial.distance.pdist(points), 2), _QUANTILES)
    return np.log(np.array([size, *near, *apart]) + _TINY)
