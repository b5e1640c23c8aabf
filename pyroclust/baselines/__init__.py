"""Classical clustering methods behind one interface, to compare a posterior with."""

from pyroclust.baselines.baseline import Baseline, BaselineResult, Clustering
from pyroclust.baselines.graphs import GRAPH_BASELINES, GraphTool, Louvain, SpectralCommunities
from pyroclust.baselines.points import (
    BASELINES,
    Agglomerative,
    DensityBased,
    EMGaussianMixture,
    KMeans,
    VariationalGaussianMixture,
    run_baselines,
)
from pyroclust.baselines.scores import FeatureScores, PartitionScores, feature_scores, partition_scores

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
