"""Refining: draws of a guide, or of the prior, weighted, resampled and moved by a kernel."""

from pyroclust.infer.refining.annealing import annealed_log_evidence
from pyroclust.infer.refining.pool import PosteriorPool
from pyroclust.infer.refining.posterior_tables import PosteriorTables
from pyroclust.infer.refining.refine import refine
from pyroclust.infer.refining.refinement import Refinement
from pyroclust.infer.refining.tempering import Populations, tempered_populations

__all__ = [
    "Populations",
    "PosteriorPool",
    "PosteriorTables",
    "Refinement",
    "annealed_log_evidence",
    "refine",
    "tempered_populations",
]
