"""Generative mixture models, written as Pyro programs.

A model takes data sets, ``(*batch, N, *event_shape)``, or under ``poutine.uncondition`` a template of which
only the shape counts. Its sites are ``"assignments"``, canonical labels ``(*batch, N)`` int64, and
``"data"``, inside of ``pyro.plate_stack("datasets", ...)``; a model that has others says so. Data of another
shape, and numbers out of range, are a ``ValueError`` that names the argument.
"""

from pyroclust.distributions.protocols import Program
from pyroclust.models.companion import Companion, companion
from pyroclust.models.deep_mixture import DeepMixture, SemiSupervisedClustering
from pyroclust.models.deformed_glyphs import DeformedGlyphs
from pyroclust.models.embedded_mixture import EmbeddedMixture
from pyroclust.models.gaussian_clusters import (
    GaussianClusters,
    MarginalMixture,
    filtering_clusters,
    set_transformer_clusters,
)
from pyroclust.models.in_words import in_words
from pyroclust.models.mixture import Mixture
from pyroclust.models.predictive import PosteriorPredictive, Replicated, SampledPredictive
from pyroclust.models.reference_mixtures import few_components, gaussian2d, overlap2d, sensitivity2d
from pyroclust.models.spike_waveforms import SpikeWaveforms
from pyroclust.models.standardised import (
    FAMILIES,
    PRIORS,
    nig_mixture,
    niw_mixture,
    normal_mixture,
    standardised_mixture,
)
from pyroclust.models.stochastic_block_model import StochasticBlockModel
from pyroclust.models.table_mixture import default_mixture, table_mixture
from pyroclust.models.training_data.labelled_images import LabelledImages, bent_classes
from pyroclust.models.training_data.labelled_tables import LabelledTables, PartiallyLabelled
from pyroclust.models.training_data.real_tables import RowsOfTables, UnlabelledTables
from pyroclust.models.training_data.simulated_tables import AnyTable, DistortedClusters, NoisyTables
from pyroclust.models.warped_clusters import warped_arcs, warped_clusters

__all__ = [
    "FAMILIES",
    "PRIORS",
    "AnyTable",
    "Companion",
    "DeepMixture",
    "DeformedGlyphs",
    "DistortedClusters",
    "EmbeddedMixture",
    "GaussianClusters",
    "LabelledImages",
    "LabelledTables",
    "MarginalMixture",
    "Mixture",
    "NoisyTables",
    "PartiallyLabelled",
    "PosteriorPredictive",
    "Program",
    "Replicated",
    "RowsOfTables",
    "SampledPredictive",
    "SemiSupervisedClustering",
    "SpikeWaveforms",
    "StochasticBlockModel",
    "UnlabelledTables",
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
