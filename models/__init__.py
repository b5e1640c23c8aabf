"""Generative mixture models, written as Pyro programs."""

from pyroclust.distributions.programs import Program
from pyroclust.models.companion import Companion, companion
from pyroclust.models.deep_mixture import DeepMixture, SemiSupervisedClustering
from pyroclust.models.deformed_glyphs import DeformedGlyphs, GlyphImages
from pyroclust.models.embedded_mixture import EmbeddedMixture
from pyroclust.models.gaussian_clusters import (
    GaussianClusters,
    MarginalMixture,
    filtering_clusters,
    set_transformer_clusters,
)
from pyroclust.models.in_words import in_words
from pyroclust.models.mixture import Mixture
from pyroclust.models.normal_mixture import nig_mixture, niw_mixture, normal_mixture
from pyroclust.models.predictive import PosteriorPredictive, Replicated
from pyroclust.models.reference_mixtures import few_components, gaussian2d, overlap2d, sensitivity2d
from pyroclust.models.sampled_predictive import SampledPredictive
from pyroclust.models.spike_waveforms import SpikeRecording, SpikeWaveforms
from pyroclust.models.standardised import FAMILIES, PRIORS, NamedPrior, standardised_mixture
from pyroclust.models.stochastic_block_model import StochasticBlockModel
from pyroclust.models.table_mixture import default_mixture, table_mixture
from pyroclust.models.training_data.any_table import AnyTable, LosingCells, NoisyTables
from pyroclust.models.training_data.distorted_clusters import DistortedClusters
from pyroclust.models.training_data.labelled_images import LabelledImages, bent_classes
from pyroclust.models.training_data.labelled_tables import AbsentTables, LabelledTables
from pyroclust.models.training_data.partially_labelled import PartiallyLabelled
from pyroclust.models.training_data.real_tables import RowsOfTables, UnlabelledTables
from pyroclust.models.warped_clusters import WarpedArc, warped_arcs, warped_clusters

__all__ = [
    "FAMILIES",
    "PRIORS",
    "AbsentTables",
    "AnyTable",
    "Companion",
    "DeepMixture",
    "DeformedGlyphs",
    "DistortedClusters",
    "EmbeddedMixture",
    "GaussianClusters",
    "GlyphImages",
    "LabelledImages",
    "LabelledTables",
    "LosingCells",
    "MarginalMixture",
    "Mixture",
    "NamedPrior",
    "NoisyTables",
    "PartiallyLabelled",
    "PosteriorPredictive",
    "Program",
    "Replicated",
    "RowsOfTables",
    "SampledPredictive",
    "SemiSupervisedClustering",
    "SpikeRecording",
    "SpikeWaveforms",
    "StochasticBlockModel",
    "UnlabelledTables",
    "WarpedArc",
    "bent_classes",
    "companion",
    "default_mixture",
    "few_components",
    "filtering_clusters",
    "gaussian2d",
    "in_words",
    "nig_mixture",
    "niw_mixture",
    "normal_mixture",
    "overlap2d",
    "sensitivity2d",
    "set_transformer_clusters",
    "standardised_mixture",
    "table_mixture",
    "warped_arcs",
    "warped_clusters",
]
