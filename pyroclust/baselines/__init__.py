"""Classical clusterings with one face, to see what a posterior adds."""

from pyroclust.baselines.agglomerative import Agglomerative
from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.density_based import DensityBased
from pyroclust.baselines.em_gaussian_mixture import EMGaussianMixture
from pyroclust.baselines.k_means import KMeans
from pyroclust.baselines.result import BaselineResult
from pyroclust.baselines.running import BASELINES, run_baselines
from pyroclust.baselines.variational_gaussian_mixture import VariationalGaussianMixture

__all__ = [
    "BASELINES",
    "Agglomerative",
    "Baseline",
    "BaselineResult",
    "Clustering",
    "DensityBased",
    "EMGaussianMixture",
    "KMeans",
    "VariationalGaussianMixture",
    "run_baselines",
]
