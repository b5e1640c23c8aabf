"""Refining: draws of a guide, or of the prior, weighted, resampled and moved by a kernel."""

from pyroclust.infer.refining.annealing import annealed_log_evidence
from pyroclust.infer.refining.pool import PosteriorPool
from pyroclust.infer.refining.posterior_tables import PosteriorTables
from pyroclust.infer.refining.proposals import Proposals
from pyroclust.infer.refining.refine import refine
from pyroclust.infer.refining.refined import Refined
from pyroclust.infer.refining.tempering import TemperedPopulations, tempered_populations

__all__ = [
    "PosteriorPool",
    "PosteriorTables",
    "Proposals",
    "Refined",
    "TemperedPopulations",
    "annealed_log_evidence",
    "refine",
    "tempered_populations",
]
