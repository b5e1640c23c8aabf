"""Gaussian mixtures with a Dirichlet process prior by variational Bayes."""

from dataclasses import dataclass

import numpy as np
from sklearn.mixture import BayesianGaussianMixture

from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.number_of_clusters import check_num_clusters
from pyroclust.baselines.unit_columns import unit_columns

__all__ = ["VariationalGaussianMixture"]


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
        """Check the numbers."""
        check_num_clusters("max_clusters", self.max_clusters)
        check_num_clusters("num_starts", self.num_starts)
        if not 0 < self.concentration < float("inf"):
            raise ValueError(f"concentration is {self.concentration}, expected a positive number")

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "variational mixture"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        points = unit_columns(data)
        components = min(self.max_clusters, len(points))
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
