"""Summaries and checks of posterior draws of partitions: arrays in, arrays and small dataclasses out.

Nothing here knows a model or a guide: draws from any software will do, as integer arrays ``(chains, draws,
points)`` or ``(draws, points)`` with labels 0 to N - 1.
"""

from pyroclust.diagnostics.agreement import Agreement, agreement
from pyroclust.diagnostics.convergence import Convergence, convergence, ess, max_rhat, min_ess, rhat
from pyroclust.diagnostics.counts import cluster_count_posterior, total_variation
from pyroclust.diagnostics.estimates import point_estimate, point_uncertainty
from pyroclust.diagnostics.familiarity import Familiarity, familiarity
from pyroclust.diagnostics.functionals import functionals
from pyroclust.diagnostics.importance import (
    effective_draws,
    importance_efficiency,
    importance_weights,
    log_evidence,
    pareto_k,
)
from pyroclust.diagnostics.losses import binder, expected_vi, variation_of_information
from pyroclust.diagnostics.ranks import rank_counts, rank_statistics
from pyroclust.diagnostics.similarity import co_assignment, dendrogram_order
from pyroclust.diagnostics.uniformity import Uniformity, ecdf_band, goodness_of_fit, uniformity
from pyroclust.diagnostics.verdict import Evidence, Trust, Verdict, judge

__all__ = [
    "Agreement",
    "Convergence",
    "Evidence",
    "Familiarity",
    "Trust",
    "Uniformity",
    "Verdict",
    "agreement",
    "binder",
    "cluster_count_posterior",
    "co_assignment",
    "convergence",
    "dendrogram_order",
    "ecdf_band",
    "effective_draws",
    "ess",
    "expected_vi",
    "familiarity",
    "functionals",
    "goodness_of_fit",
    "importance_efficiency",
    "importance_weights",
    "judge",
    "log_evidence",
    "max_rhat",
    "min_ess",
    "pareto_k",
    "point_estimate",
    "point_uncertainty",
    "rank_counts",
    "rank_statistics",
    "rhat",
    "total_variation",
    "uniformity",
    "variation_of_information",
]
