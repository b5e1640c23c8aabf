"""Classical clustering methods behind one interface, to compare a posterior with."""

from pyroclust.baselines.agglomerative import Agglomerative
from pyroclust.baselines.baseline import Baseline, BaselineResult, Clustering
from pyroclust.baselines.communities import Louvain, SpectralCommunities
from pyroclust.baselines.deep_scores import FeatureScores, feature_scores
from pyroclust.baselines.density_based import DensityBased
from pyroclust.baselines.gaussian_mixtures import EMGaussianMixture, VariationalGaussianMixture
from pyroclust.baselines.graph_tool import GraphTool
from pyroclust.baselines.k_means import KMeans
from pyroclust.baselines.running import BASELINES, GRAPH_BASELINES, run_baselines
from pyroclust.baselines.scores import PartitionScores, partition_scores

__all__ = [
    "BASELINES",
    "GRAPH_BASELINES",
    "Agglomerative",
    "Baseline",
    "BaselineResult",
    "Clustering",
    "DensityBased",
    "EMGaussianMixture",
    "FeatureScores",
    "GraphTool",
    "KMeans",
    "Louvain",
    "PartitionScores",
    "SpectralCommunities",
    "VariationalGaussianMixture",
    "feature_scores",
    "partition_scores",
    "run_baselines",
]
