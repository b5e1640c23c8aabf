"""K-means, Ward, Gaussian mixtures and DBSCAN for points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from scipy.special import ndtri

from pyroclust.baselines.baseline import Baseline, BaselineResult, Clustering
from pyroclust.core.numbers import check_count
from pyroclust.diagnostics.frequencies import MAX_PAIRED_POINTS


@dataclass(frozen=True)
class KMeans(Baseline):
    """K-means; the mean silhouette chooses the number of clusters, and the Duda-Hart test whether it is one.

    Cost: O(N D K) an iteration, for ``num_starts`` starts of each number of clusters.

    Args:
        num_clusters: K; chosen by the rule if ``None``.
        max_clusters: largest K that the rule tries.
        num_starts: random starts; the best is kept.

    References:
        Arthur and Vassilvitskii (2007), k-means++. https://dl.acm.org/doi/10.5555/1283383.1283494

    Example:
        >>> KMeans(num_clusters=2).partition(np.array([[0.0], [4.0], [4.5]]), seed=0).assignments.tolist()
        [0, 1, 1]
    """

    num_clusters: int | None = None
    max_clusters: int = 10
    num_starts: int = 10
    name: ClassVar[str] = "k-means"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn import cluster

        def labels_of(k: int) -> np.ndarray:
            return cluster.KMeans(k, n_init=self.num_starts, random_state=seed).fit_predict(data)

        if self.num_clusters is not None:
            return Clustering(labels_of(self.num_clusters), f"K-means with K = {self.num_clusters} as given.")
        labels, reason = choose_by_silhouette(data, labels_of, max_clusters=self.max_clusters, seed=seed)
        return Clustering(labels, f"K-means with {reason}.")


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
        ValueError: if ``max_points`` is below 2.

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
    name: ClassVar[str] = "agglomerative"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_points < 2:
            raise ValueError(f"max_points is {self.max_points}, expected at least 2")

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        if len(data) <= self.max_points:
            return self._cut(data, seed)
        chosen = np.random.default_rng(seed).permutation(len(data))[: self.max_points]
        found = self._cut(data[chosen], seed)
        note = (
            f"The tree is of {self.max_points} points drawn at random; the other "
            f"{len(data) - self.max_points} joined the cluster of the nearest of them."
        )
        return Clustering(found.labels[_nearest(data[chosen], data)], found.about, (note,))

    def _cut(self, data: np.ndarray, seed: int) -> Clustering:
        tree = scipy.cluster.hierarchy.ward(data)
        # Cut by the order of the merges, of which several may have the same height.
        merges = np.arange(len(tree), dtype=np.float64)

        def labels_of(k: int) -> np.ndarray:
            return scipy.cluster.hierarchy.fcluster(
                tree, len(tree) - k, criterion="monocrit", monocrit=merges
            )

        if self.num_clusters is not None:
            check_count("num_clusters", self.num_clusters, at_most=len(data), hint="the points of the tree")
            about = f"Ward's tree cut to K = {self.num_clusters} as given."
            return Clustering(labels_of(self.num_clusters), about)
        labels, reason = choose_by_silhouette(data, labels_of, max_clusters=self.max_clusters, seed=seed)
        return Clustering(labels, f"Ward's tree cut to {reason}.")


@dataclass(frozen=True)
class EMGaussianMixture(Baseline):
    """Gaussian mixture with full covariances by EM, its number of components by BIC, one included.

    Points go to their most probable component, so there can be fewer clusters than components. Columns are
    scaled to variance 1, which changes nothing but the floor under variances, 0.0001.
    Cost: O(N K D^2) an iteration, for ``num_starts`` starts of each number of components.

    Args:
        num_clusters: number of components; chosen by BIC if ``None``.
        max_clusters: largest number that BIC compares.
        num_starts: random starts; the best is kept.

    References:
        Fraley and Raftery (2002), Model-based clustering. https://doi.org/10.1198/016214502760047131

    Example:
        >>> points = np.random.default_rng(0).normal(size=(60, 1)) + 9 * (np.arange(60) % 2)[:, None]
        >>> EMGaussianMixture(max_clusters=3).partition(points, seed=0).num_clusters
        2
    """

    num_clusters: int | None = None
    max_clusters: int = 10
    num_starts: int = 3
    name: ClassVar[str] = "EM mixture"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        points = _unit_columns(data)
        if self.num_clusters is not None:
            labels = self._fitted(points, self.num_clusters, seed).predict(points)
            return Clustering(labels, f"Gaussian mixture by EM with K = {self.num_clusters} as given.")
        tried = range(1, min(self.max_clusters, len(np.unique(points, axis=0))) + 1)
        fits = [self._fitted(points, k, seed) for k in tried]
        best = int(np.argmin([fit.bic(points) for fit in fits]))
        about = f"Gaussian mixture by EM with K = {tried[best]} of 1 to {tried[-1]}: the smallest BIC."
        return Clustering(fits[best].predict(points), about)

    def _fitted(self, points: np.ndarray, k: int, seed: int) -> Any:
        from sklearn.mixture import GaussianMixture

        mixture = GaussianMixture(k, n_init=self.num_starts, max_iter=300, reg_covar=1e-4, random_state=seed)
        return mixture.fit(points)


@dataclass(frozen=True)
class VariationalGaussianMixture(Baseline):
    """Gaussian mixture under a truncated Dirichlet process by mean-field variational Bayes.

    The number of clusters is how many components are the most probable one of some point. Columns are scaled
    to variance 1.
    Cost: O(N T D^2) an iteration for T components, for ``num_starts`` starts.

    Args:
        max_clusters: components of the truncation.
        concentration: of the Dirichlet process.
        num_starts: random starts; the one of the largest bound is kept.

    Raises:
        ValueError: if the concentration is not positive.

    References:
        Blei and Jordan (2006), Variational inference for Dirichlet process mixtures.
        https://doi.org/10.1214/06-BA104

    Example:
        >>> points = np.random.default_rng(0).normal(size=(60, 1)) + 9 * (np.arange(60) % 2)[:, None]
        >>> VariationalGaussianMixture(max_clusters=5).partition(points, seed=0).num_clusters
        2
    """

    max_clusters: int = 10
    concentration: float = 1.0
    num_starts: int = 3
    name: ClassVar[str] = "variational mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.concentration < float("inf"):
            raise ValueError(f"concentration is {self.concentration}, expected a positive number")

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.mixture import BayesianGaussianMixture

        points = _unit_columns(data)
        components = min(self.max_clusters, len(np.unique(points, axis=0)))
        mixture = BayesianGaussianMixture(
            n_components=components,
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=self.concentration,
            n_init=self.num_starts,
            max_iter=1000,
            reg_covar=1e-4,
            random_state=seed,
        )
        labels = mixture.fit_predict(points)
        about = (
            f"Variational Gaussian mixture under a Dirichlet process (concentration {self.concentration:g}) "
            f"cut off at {components} components, of which {len(np.unique(labels))} have points."
        )
        return Clustering(labels, about)


@dataclass(frozen=True)
class DensityBased(Baseline):
    """DBSCAN, its radius by the knee of the sorted distances to the m-th nearest point.

    The knee is where the curve lies farthest below the straight line between its ends. Noise joins the
    cluster of the nearest core point; where no point is a core, all are one cluster.
    Cost: O(N log N) in few dimensions, O(N^2) in many.

    Args:
        radius: in the units of the data; by the knee if ``None``.
        min_points: m, how many points within the radius make a core, itself included; if ``None`` the
            largest of 4, 2 D and 2 log N.
        noise_alone: whether every noise point is a cluster of its own.

    Raises:
        ValueError: if the radius is not positive.

    References:
        Ester, Kriegel, Sander and Xu (1996), A density-based algorithm for discovering clusters.
        https://aaai.org/papers/kdd96-037-a-density-based-algorithm-for-discovering-clusters-in-large-spatial-databases-with-noise/
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
    name: ClassVar[str] = "DBSCAN"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None and not 0 < self.radius < float("inf"):
            raise ValueError(f"radius is {self.radius}, expected a positive number")

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.cluster import DBSCAN

        num_points, dimensions = data.shape
        # Twice the columns as Sander et al. (1998) have it, twice the logarithm as Birant and Kut (2007).
        usual = max(4, 2 * dimensions, math.ceil(2 * math.log(num_points)))
        neighbours = min(self.min_points or usual, num_points)
        radius, rule = self.radius, "as given"
        if radius is None:
            radius, rule = _knee(data, neighbours), "at the knee of the sorted distances"
        found = DBSCAN(eps=radius, min_samples=neighbours).fit(data)
        about = f"DBSCAN with radius {radius:.3g} {rule} and m = {neighbours}"
        labels, noise = found.labels_.copy(), np.flatnonzero(found.labels_ < 0)
        if not len(noise):
            return Clustering(labels, f"{about}; no point was noise.")
        core = found.core_sample_indices_
        if self.noise_alone:
            where = "stay alone"
            labels[noise] = labels.max() + 1 + np.arange(len(noise))
        elif len(core):
            where = "joined the cluster of the nearest core point"
            labels[noise] = labels[core][_nearest(data[core], data[noise])]
        else:
            where = "are one cluster, for no point was a core"
        return Clustering(labels, f"{about}; {len(noise)} noise point(s) {where}.")


BASELINES: tuple[Baseline, ...] = (
    KMeans(),
    EMGaussianMixture(),
    VariationalGaussianMixture(),
    DensityBased(),
    # Ward's tree has a distance for every pair of points.
    Agglomerative(max_points=MAX_PAIRED_POINTS),
)


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


def _nearest(points: np.ndarray, queries: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=1).fit(points)
    return nearest.kneighbors(queries, return_distance=False)[:, 0]


def _knee(data: np.ndarray, neighbours: int) -> float:
    """Return the distance at which the sorted distances to the m-th nearest point turn upward."""
    from sklearn.neighbors import NearestNeighbors

    # The nearest point of each is itself.
    reached, _ = NearestNeighbors(n_neighbors=neighbours).fit(data).kneighbors(data)
    curve = np.sort(reached[:, -1])
    height = curve[-1] - curve[0]
    if height > 0:
        line = np.linspace(0, 1, len(curve))
        knee = float(curve[np.argmax(line - (curve - curve[0]) / height)])
        return knee or float(curve[curve > 0][0])
    if curve[0] > 0:
        return float(curve[0])
    # Each point has m equal ones: a radius within which only these lie.
    values = np.unique(data, axis=0)
    gaps, _ = NearestNeighbors(n_neighbors=2).fit(values).kneighbors(values)
    return float(gaps[:, 1].min()) / 2


def _unit_columns(data: np.ndarray) -> np.ndarray:
    """Shift and scale columns to mean 0 and variance 1; constant ones are left out."""
    varying = data[:, np.ptp(data, axis=0) > 0]
    return (varying - varying.mean(0)) / varying.std(0)


_LEVEL = 0.001
_SILHOUETTE_POINTS = 2000


def choose_by_silhouette(
    data: np.ndarray, labels_of: Callable[[int], np.ndarray], *, max_clusters: int, seed: int
) -> tuple[np.ndarray, str]:
    """Choose one cluster, by the Duda-Hart test, or more, by the largest mean silhouette; say why."""
    one = np.zeros(len(data), dtype=np.int64)
    tried = range(2, min(max_clusters, len(data) - 1, len(np.unique(data, axis=0))) + 1)
    if not tried:
        return one, "K = 1: there is nothing else to choose from"
    candidates = [labels_of(k) for k in tried]
    if not refuses_one_cluster(data, candidates[0]):
        return one, f"K = 1: the Duda-Hart test does not refuse one cluster at {_LEVEL}"
    size = min(len(data), _SILHOUETTE_POINTS)
    chosen = np.random.default_rng(seed).permutation(len(data))[:size]
    widths = [_mean_silhouette(data[chosen], labels[chosen]) for labels in candidates]
    best = int(np.argmax(widths))
    reason = (
        f"K = {tried[best]} of 1 to {tried[-1]}: the largest mean silhouette ({widths[best]:.2f}), after the "
        f"Duda-Hart test refused one cluster at {_LEVEL}"
    )
    return candidates[best], reason


def _mean_silhouette(data: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import silhouette_score

    # Equal points can leave fewer clusters than were asked for, or as many as points.
    if not 2 <= len(np.unique(labels)) < len(labels):
        return -1.0
    return float(silhouette_score(data, labels))


def refuses_one_cluster(data: np.ndarray, halves: np.ndarray) -> bool:
    """Say whether the Duda-Hart test refuses one cluster in favour of two, at the level 0.001."""
    num_points, dimensions = data.shape
    _, codes = np.unique(halves, return_inverse=True)
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, weights=column) for column in data.T], axis=1) / sizes[:, None]
    ratio = np.square(data - means[codes]).sum() / np.square(data - data.mean(0)).sum()
    spread = np.sqrt(2 * (1 - 8 / (np.pi**2 * dimensions)) / (num_points * dimensions))
    return bool(ratio < 1 - 2 / (np.pi * dimensions) + ndtri(_LEVEL) * spread)
