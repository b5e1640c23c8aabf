"""Density-based clustering (DBSCAN)."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering


@dataclass(frozen=True)
class DensityBased(Baseline):
    """DBSCAN, its radius by the knee of the sorted distances to the m-th nearest point.

    The knee is where the curve lies farthest below the straight line between its ends. Points in no cluster
    (noise) join the cluster of the nearest core point, or stay alone with ``noise_alone``; where no point is
    a core, all are one cluster, or all alone.
    Cost: O(N log N) in few dimensions, O(N^2) in many.

    Args:
        radius: in the units of the data; by the knee if ``None``.
        min_points: m, how many points within the radius make a core, itself included; if ``None``, twice the
            number of columns or twice the logarithm of N, whichever is larger, and at least 4.
        noise_alone: whether every noise point is a cluster of its own.

    Raises:
        ValueError: if the radius is not positive or ``min_points`` below 1.

    References:
        Ester, Kriegel, Sander and Xu (1996), A density-based algorithm for discovering clusters.
        https://aaai.org/papers/kdd96-037-a-density-based-algorithm-for-discovering-clusters-in-large-spatial-databases-with-noise/
        Sander, Ester, Kriegel and Xu (1998), for the columns. https://doi.org/10.1023/A:1009745219419
        Birant and Kut (2007), ST-DBSCAN, for the logarithm. https://doi.org/10.1016/j.datak.2006.01.013
        Satopaa, Albrecht, Irwin and Raghavan (2011), Finding a "kneedle" in a haystack.
        https://doi.org/10.1109/ICDCSW.2011.20

    Example:
        >>> points = np.concatenate([np.arange(10.0), 50 + np.arange(10.0)])[:, None]
        >>> DensityBased().partition(points, seed=0).num_clusters
        2
    """

    radius: float | None = None
    min_points: int | None = None
    noise_alone: bool = False

    def __post_init__(self) -> None:
        if self.radius is not None and not 0 < self.radius < float("inf"):
            raise ValueError(f"radius is {self.radius}, expected a positive number")
        if self.min_points is not None and self.min_points < 1:
            raise ValueError(f"min_points is {self.min_points}, expected at least 1")

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "DBSCAN"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.cluster import DBSCAN

        neighbours = min(self.min_points or _min_points(data), len(data))
        radius, rule = (
            (self.radius, "as given") if self.radius is not None else (_knee(data, neighbours), _RULE)
        )
        found = DBSCAN(eps=radius, min_samples=neighbours).fit(data)
        about = f"DBSCAN with radius {radius:.3g} {rule} and m = {neighbours}"
        noise = found.labels_ < 0
        if not noise.any():
            return Clustering(found.labels_, f"{about}; no point was noise.")
        where = "stay alone" if self.noise_alone else "joined the cluster of the nearest core point"
        if noise.all() and not self.noise_alone:
            where = "are one cluster, for no point was a core"
        labels = self._settled(data, found.labels_, found.core_sample_indices_)
        return Clustering(labels, f"{about}; {noise.sum()} noise point(s) {where}.")

    def _settled(self, data: np.ndarray, labels: np.ndarray, core: np.ndarray) -> np.ndarray:
        from sklearn.neighbors import NearestNeighbors

        noise = np.flatnonzero(labels < 0)
        settled = labels.copy()
        if self.noise_alone:
            settled[noise] = labels.max() + 1 + np.arange(len(noise))
        elif len(core):
            nearest = NearestNeighbors(n_neighbors=1).fit(data[core])
            settled[noise] = labels[core][nearest.kneighbors(data[noise], return_distance=False)[:, 0]]
        return settled


_RULE = "at the knee of the sorted distances"


def _min_points(data: np.ndarray) -> int:
    num_points, dimensions = data.shape
    return max(4, 2 * dimensions, math.ceil(2 * math.log(num_points)))


def _knee(data: np.ndarray, neighbours: int) -> float:
    """Return the distance at which the sorted distances to the m-th nearest point turn upward."""
    from sklearn.neighbors import NearestNeighbors

    # The nearest point of each is itself.
    reached, _ = NearestNeighbors(n_neighbors=neighbours).fit(data).kneighbors(data)
    curve = np.sort(reached[:, -1])
    height = curve[-1] - curve[0]
    if height == 0:
        return float(curve[0]) or _smallest_gap(data)
    line = np.linspace(0, 1, len(curve))
    knee = float(curve[np.argmax(line - (curve - curve[0]) / height)])
    return knee or float(curve[curve > 0][0])


def _smallest_gap(data: np.ndarray) -> float:
    """Return a radius within which only equal points lie, where each has at least m equal ones."""
    from sklearn.neighbors import NearestNeighbors

    values = np.unique(data, axis=0)
    gaps, _ = NearestNeighbors(n_neighbors=2).fit(values).kneighbors(values)
    return float(gaps[:, 1].min()) / 2
