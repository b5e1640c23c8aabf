"""Agglomerative clustering by Ward's method."""

from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.number_of_clusters import check_num_clusters, choose_by_silhouette


@dataclass(frozen=True)
class Agglomerative(Baseline):
    """Ward's tree, cut at the largest mean silhouette; one cluster unless the Duda-Hart test rejects it.

    Cost: O(N^2) time and memory, 8 bytes for each pair of points. With more than ``max_points`` points the
    tree is of ``max_points`` drawn at random, and every other point joins the cluster of the nearest of them.

    Args:
        num_clusters: K; chosen by the rule if ``None``.
        max_clusters: largest K that the rule tries.
        max_points: most points in the tree.

    Raises:
        ValueError: if a number is below 1, or ``max_points`` below 2.

    References:
        Ward (1963), Hierarchical grouping to optimize an objective function.
        https://doi.org/10.1080/01621459.1963.10500845

    Example:
        >>> found = Agglomerative(num_clusters=2).partition(np.array([[0.0], [4.0], [4.5]]), seed=0)
        >>> found.assignments.tolist()
        [0, 1, 1]
    """

    num_clusters: int | None = None
    max_clusters: int = 10
    max_points: int = 10_000

    def __post_init__(self) -> None:
        check_num_clusters("num_clusters", self.num_clusters)
        check_num_clusters("max_clusters", self.max_clusters)
        if self.max_points < 2:
            raise ValueError(f"max_points is {self.max_points}, expected at least 2")

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "agglomerative"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        if len(data) <= self.max_points:
            return self._cut(data, seed)
        from sklearn.neighbors import NearestNeighbors

        chosen = np.random.default_rng(seed).permutation(len(data))[: self.max_points]
        found = self._cut(data[chosen], seed)
        nearest = NearestNeighbors(n_neighbors=1).fit(data[chosen]).kneighbors(data, return_distance=False)
        note = (
            f"The tree is of {self.max_points} points drawn at random; the other "
            f"{len(data) - self.max_points} joined the cluster of the nearest of them."
        )
        return Clustering(found.labels[nearest[:, 0]], found.about, (note,))

    def _cut(self, data: np.ndarray, seed: int) -> Clustering:
        check_num_clusters("num_clusters", self.num_clusters, len(data))
        tree = scipy.cluster.hierarchy.ward(data)
        if self.num_clusters is not None:
            return Clustering(
                _labels(tree, self.num_clusters), f"Ward's tree cut to K = {self.num_clusters} as given."
            )
        found = choose_by_silhouette(
            data, lambda k: _labels(tree, k), max_clusters=self.max_clusters, seed=seed
        )
        return Clustering(found.labels, f"Ward's tree cut to {found.reason}.")


def _labels(tree: np.ndarray, num_clusters: int) -> np.ndarray:
    """Leave out the last merges, also where several have the same height."""
    merges = np.arange(len(tree), dtype=np.float64)
    return scipy.cluster.hierarchy.fcluster(
        tree, len(tree) - num_clusters, criterion="monocrit", monocrit=merges
    )
