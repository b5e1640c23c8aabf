"""Amortized guides: from data to a distribution over partitions."""

from pyroclust.guides.anchored_guide import AnchoredGuide
from pyroclust.guides.base import AmortizedGuide, retarget
from pyroclust.guides.clusterwise_clustering_process import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
)
from pyroclust.guides.deep_amortized_clustering import DeepAmortizedClustering, filtering_network_for
from pyroclust.guides.deep_mixture_guide import DeepGuide, DeepMixtureGuide
from pyroclust.guides.embedded_mixture_guide import EmbeddedMixtureGuide
from pyroclust.guides.exact_filters import BlockFilter, PredictiveFilter
from pyroclust.guides.neural_clustering_process import (
    NeuralClusteringProcess,
    column_scorer_for,
    light_scorer_for,
)
from pyroclust.guides.scale_averaged_process import ScaleAveragedProcess
from pyroclust.guides.semi_supervised_guide import SemiSupervisedGuide
from pyroclust.guides.sequential_guide import SequentialGuide
from pyroclust.guides.set_transformer_mixture import SetTransformerMixture, mixture_network_for
from pyroclust.guides.spanning_forest import SpanningForestGuide

__all__ = [
    "AmortizedGuide",
    "AnchoredGuide",
    "AttentiveClusteringProcess",
    "BlockFilter",
    "ClusterwiseClusteringProcess",
    "DeepAmortizedClustering",
    "DeepGuide",
    "DeepMixtureGuide",
    "EmbeddedMixtureGuide",
    "NeuralClusteringProcess",
    "PredictiveFilter",
    "ScaleAveragedProcess",
    "SemiSupervisedGuide",
    "SequentialGuide",
    "SetTransformerMixture",
    "SpanningForestGuide",
    "column_scorer_for",
    "filtering_network_for",
    "light_scorer_for",
    "mixture_network_for",
    "retarget",
]
