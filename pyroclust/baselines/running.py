"""Several classical clusterings of one data set."""

from collections.abc import Sequence

import numpy as np

from pyroclust.baselines.baseline import Baseline, BaselineResult
from pyroclust.baselines.graphs import GraphTool, Louvain, SpectralCommunities
from pyroclust.baselines.points import (
    Agglomerative,
    DensityBased,
    EMGaussianMixture,
    KMeans,
    VariationalGaussianMixture,
)
from pyroclust.diagnostics.draws.co_assignment import MAX_PAIRED_POINTS

BASELINES: tuple[Baseline, ...] = (
    KMeans(),
    EMGaussianMixture(),
    VariationalGaussianMixture(),
    DensityBased(),
    # Ward's tree has a distance for every pair of points.
    Agglomerative(max_points=MAX_PAIRED_POINTS),
)

GRAPH_BASELINES: tuple[Baseline, ...] = (
    SpectralCommunities(),
    Louvain(),
    *([GraphTool()] if GraphTool.is_installed() else []),
)
"""Methods that take the matrix of a graph; graph-tool where Debian's package is installed."""


def run_baselines(
    data: np.ndarray, *, seed: int, baselines: Sequence[Baseline] = BASELINES
) -> tuple[BaselineResult, ...]:
    """Cluster one data set by several methods, one after the other.

    Args:
        data: the points, ``(N, D)``, columns on one scale.
        seed: of every method.
        baselines: the methods, :data:`GRAPH_BASELINES` for the matrix of a graph; by default k-means,
            Gaussian mixtures by EM and by variational Bayes, DBSCAN and Ward's method.

    Raises:
        ValueError: if there are fewer than two points, a number is not finite, or all points are equal.

    Example:
        >>> points = np.random.default_rng(0).normal(size=(40, 2)) + 9 * (np.arange(40) % 2)[:, None]
        >>> [found.num_clusters for found in run_baselines(points, seed=0)]
        [2, 2, 2, 2, 2]
    """
    return tuple(baseline.partition(data, seed=seed) for baseline in baselines)
