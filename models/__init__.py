"""Generative mixture models, written as Pyro programs."""

from pyroclust.distributions.programs import Program
from pyroclust.models.any_table import AnyTable, LosingCells, NoisyTables
from pyroclust.models.bent_classes import bent_classes
from pyroclust.models.companion import Companion, companion
from pyroclust.models.deep.deep_mixture import DeepMixture
from pyroclust.models.deep.embedded_mixture import EmbeddedMixture
from pyroclust.models.deep.semi_supervised import SemiSupervisedClustering
from pyroclust.models.deformed_glyphs import DeformedGlyphs, GlyphImages
from pyroclust.models.distorted import DistortedClusters
from pyroclust.models.few_components import few_components
from pyroclust.models.gaussian2d import gaussian2d
from pyroclust.models.gaussian_clusters import GaussianClusters, filtering_clusters, set_transformer_clusters
from pyroclust.models.in_words import in_words
from pyroclust.models.labelled.labelled_images import LabelledImages
from pyroclust.models.labelled.labelled_tables import AbsentTables, LabelledTables
from pyroclust.models.labelled.partially_labelled import PartiallyLabelled
from pyroclust.models.marginal_mixture import MarginalMixture
from pyroclust.models.mixture import Mixture
from pyroclust.models.nig_mixture import nig_mixture
from pyroclust.models.niw_mixture import niw_mixture
from pyroclust.models.normal_mixture import normal_mixture
from pyroclust.models.overlap2d import overlap2d
from pyroclust.models.predictive import PosteriorPredictive, Replicated
from pyroclust.models.rows_of_tables import RowsOfTables
from pyroclust.models.sampled_predictive import SampledPredictive
from pyroclust.models.sensitivity2d import sensitivity2d
from pyroclust.models.spike_waveforms import SpikeRecording, SpikeWaveforms
from pyroclust.models.standardised import FAMILIES, PRIORS, NamedPrior, standardised_mixture
from pyroclust.models.stochastic_block_model import StochasticBlockModel
from pyroclust.models.table_mixture import default_mixture, table_mixture
from pyroclust.models.unlabelled_tables import UnlabelledTables
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
