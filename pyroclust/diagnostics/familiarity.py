"""Whether a data set looks like those that a model simulates: what a guide was trained for."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

__all__ = ["Familiarity", "familiarity"]

_NEIGHBOURS = (1, 3, 8)
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 1.0)
_MOST_POINTS = 300


@dataclass(frozen=True)
class Familiarity:
    """Where a data set lies among simulated ones.

    Attributes:
        p_value: share of data sets, this one included, that are at least as unusual.
        distance: Mahalanobis distance of its summaries from those of the simulations.
        median_distance: of the simulations themselves.
        num_simulations: data sets simulated.
    """

    p_value: float
    distance: float
    median_distance: float
    num_simulations: int


def familiarity(data: np.ndarray, simulations: np.ndarray, *, seed: int = 0) -> Familiarity:
    r"""Compare the distances between points with those of simulated data sets; labels play no part.

    .. math::
        p = \frac{1 + \#\{s: d_s \ge d\}}{1 + S}, \qquad d^2 = (t - \bar t)^\top \Sigma^{-1} (t - \bar t)

    with summaries t: logarithms of the median distances to the first, third and eighth neighbour, of five
    quantiles of the distances of all pairs, and of the root mean square of the points. Mean and covariance
    are taken over all S + 1 data sets, so that under the model every rank of d is equally likely. A small p
    says that the data are unlike the simulations; a large one does not say that the model is right. Of more
    than 300 points a random 300 are looked at. Cost O(S N^2).

    Args:
        data: points, ``(N, D)``.
        simulations: data sets of as many points, ``(S, N, D)``; of more than 300, 300 are enough.
        seed: of the points that are looked at.

    Raises:
        ValueError: if the shapes do not fit, or there are fewer than 20 simulations.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> simulations = rng.standard_normal((99, 50, 2))
        >>> familiarity(rng.standard_normal((50, 2)), simulations).p_value > 0.05
        True
        >>> familiarity(rng.standard_cauchy((50, 2)), simulations).p_value
        0.01

    References:
        Box (1980), Sampling and Bayes' inference in scientific modelling and robustness.
        https://doi.org/10.2307/2982063
    """
    shown = min(len(data), _MOST_POINTS)
    fits = simulations.ndim == 3 and simulations.shape[2] == data.shape[1] and simulations.shape[1] >= shown
    if not fits or len(simulations) < 20:
        raise ValueError(
            f"simulations has shape {simulations.shape}, expected at least 20 data sets of {shown} points in "
            f"{data.shape[1]} dimensions, (S, N, D)"
        )
    own = data[np.random.default_rng(seed).permutation(len(data))[:shown]]
    rows = np.stack([_summaries(own), *(_summaries(one[:shown]) for one in simulations)])
    centred = rows - rows.mean(0)
    ridge = 1e-6 * np.eye(rows.shape[1])
    solved = np.linalg.solve(centred.T @ centred / len(rows) + ridge, centred.T).T
    distances = np.sqrt((centred * solved).sum(-1))
    unusual = int((distances[1:] >= distances[0]).sum())
    share = (1 + unusual) / len(rows)
    return Familiarity(share, float(distances[0]), float(np.median(distances[1:])), len(simulations))


def _summaries(points: np.ndarray) -> np.ndarray:
    """Describe the distances of a point set, unmoved by the order of the points."""
    size = np.sqrt((points**2).mean())
    if len(points) < 2:
        return np.log([size + 1e-9])
    pairs = np.sort(cdist(points, points), axis=1)
    near = [np.median(pairs[:, min(k, len(points) - 1)]) for k in _NEIGHBOURS]
    apart = np.quantile(pairs[:, 1:], _QUANTILES)
    return np.log(np.array([size, *near, *apart]) + 1e-9)
