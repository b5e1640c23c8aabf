"""K-means."""

from dataclasses import dataclass

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.number_of_clusters import check_num_clusters, choose_by_silhouette


@dataclass(frozen=True)
class KMeans(Baseline):
    """K-means; the mean silhouette chooses the number of clusters, and the Duda-Hart test whether it is one.

    Cost: O(N D K) an iteration, for ``num_starts`` starts of each number of clusters.

    Args:
        num_clusters: K; chosen by the rule if ``None``.
        max_clusters: largest K that the rule tries.
        num_starts: random starts; the best is kept.

    Raises:
        ValueError: if a number is below 1.

    References:
        Arthur and Vassilvitskii (2007), k-means++. https://dl.acm.org/doi/10.5555/1283383.1283494

    Example:
        >>> KMeans(num_clusters=2).partition(np.array([[0.0], [4.0], [4.5]]), seed=0).assignments.tolist()
        [0, 1, 1]
    """

    num_clusters: int | None = None
    max_clusters: int = 10
    num_starts: int = 10

    def __post_init__(self) -> None:
        check_num_clusters("num_clusters", self.num_clusters)
        check_num_clusters("max_clusters", self.max_clusters)
        check_num_clusters("num_starts", self.num_starts)

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "k-means"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn import cluster

        def labels_of(k: int) -> np.ndarray:
            return cluster.KMeans(k, n_init=self.num_starts, random_state=seed).fit_predict(data)

        if self.num_clusters is not None:
            check_num_clusters("num_clusters", self.num_clusters, len(data))
            return Clustering(labels_of(self.num_clusters), f"K-means with K = {self.num_clusters} as given.")
        found = choose_by_silhouette(data, labels_of, max_clusters=self.max_clusters, seed=seed)
        return Clustering(found.labels, f"K-means with {found.reason}.")
