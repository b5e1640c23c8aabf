"""Refining: draws of a guide, resampled by weight, then moved by a kernel until nothing changes."""

from pyroclust.infer.refining.annealing import annealed_log_evidence
from pyroclust.infer.refining.pool import PosteriorPool
from pyroclust.infer.refining.posterior_tables import PosteriorTables
from pyroclust.infer.refining.proposals import Proposals
from pyroclust.infer.refining.refine import refine
from pyroclust.infer.refining.refined import Refined

__all__ = ["PosteriorPool", "PosteriorTables", "Proposals", "Refined", "annealed_log_evidence", "refine"]
