"""Generative mixture models, written as Pyro programs."""

from pyroclust.models.companion import Companion, companion
from pyroclust.models.gaussian2d import gaussian2d
from pyroclust.models.labelled_images import LabelledImages
from pyroclust.models.labelled_tables import AbsentTables, LabelledTables
from pyroclust.models.mixture import Mixture
from pyroclust.models.nig_mixture import nig_mixture
from pyroclust.models.niw_mixture import niw_mixture
from pyroclust.models.overlap2d import overlap2d
from pyroclust.models.predictive import PosteriorPredictive, Replicated
from pyroclust.models.sensitivity2d import sensitivity2d
from pyroclust.models.warped_clusters import WarpedArc, warped_arcs, warped_clusters
from pyroclust.programs import Program

__all__ = [
    "AbsentTables",
    "Companion",
    "LabelledImages",
    "LabelledTables",
    "Mixture",
    "PosteriorPredictive",
    "Program",
    "Replicated",
    "WarpedArc",
    "companion",
    "gaussian2d",
    "nig_mixture",
    "niw_mixture",
    "overlap2d",
    "sensitivity2d",
    "warped_arcs",
    "warped_clusters",
]
