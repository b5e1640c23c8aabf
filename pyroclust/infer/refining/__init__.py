"""Refining: draws of a guide, or of the prior, weighted, resampled and moved by a kernel."""

from pyroclust.infer.refining.populations import Populations, annealed_log_evidence, tempered_populations
from pyroclust.infer.refining.posterior_laws import PosteriorPool, PosteriorTables
from pyroclust.infer.refining.refine import Refinement, refine

__all__ = [
    "Populations",
    "PosteriorPool",
    "PosteriorTables",
    "Refinement",
    "annealed_log_evidence",
    "refine",
    "tempered_populations",
]
