"""Gaussian mixtures by expectation maximisation, and with a Dirichlet process prior by variational Bayes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering, unit_columns
from pyroclust.baselines.number_of_clusters import check_num_clusters, num_distinct


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

    Raises:
        ValueError: if a number is below 1.

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

    def __post_init__(self) -> None:
        check_num_clusters("num_clusters", self.num_clusters)
        check_num_clusters("max_clusters", self.max_clusters)
        check_num_clusters("num_starts", self.num_starts)

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "EM mixture"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        points = unit_columns(data)
        if self.num_clusters is not None:
            check_num_clusters("num_clusters", self.num_clusters, len(data))
            labels = self._fitted(points, self.num_clusters, seed).predict(points)
            return Clustering(labels, f"Gaussian mixture by EM with K = {self.num_clusters} as given.")
        tried = range(1, min(self.max_clusters, num_distinct(points)) + 1)
        fits = [self._fitted(points, k, seed) for k in tried]
        scores = [fit.bic(points) for fit in fits]
        best = int(np.argmin(scores))
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
    to variance 1; scikit-learn's default priors of means and covariances follow the data.
    Cost: O(N T D^2) an iteration for T components, for ``num_starts`` starts.

    Args:
        max_clusters: components of the truncation.
        concentration: of the Dirichlet process.
        num_starts: random starts; the one with the largest bound is kept.

    Raises:
        ValueError: if a number is below 1, or the concentration is not positive.

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

    def __post_init__(self) -> None:
        check_num_clusters("max_clusters", self.max_clusters)
        check_num_clusters("num_starts", self.num_starts)
        if not 0 < self.concentration < float("inf"):
            raise ValueError(f"concentration is {self.concentration}, expected a positive number")

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "variational mixture"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.mixture import BayesianGaussianMixture

        points = unit_columns(data)
        components = min(self.max_clusters, num_distinct(points))
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
