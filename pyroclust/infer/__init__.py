"""Inference: training, exact posteriors, importance sampling, sequential Monte Carlo, references."""

from pyroclust.infer.amortization_gap import AmortizationGap, amortization_gap
from pyroclust.infer.chunked_loss import VisitingOrders, backward_in_chunks
from pyroclust.infer.cluster_parameters import cluster_parameters
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.fine_tune import FineTuning, decaying_baseline, fine_tune
from pyroclust.infer.importance import importance_sample
from pyroclust.infer.inclusive_kl import InclusiveKL
from pyroclust.infer.objectives import BatchedWakeSleep, LeaveOneOut
from pyroclust.infer.partial_fenchel_young import PartialFenchelYoungLoss
from pyroclust.infer.quality import divergences, efficiencies
from pyroclust.infer.refining import (
    Populations,
    PosteriorPool,
    PosteriorTables,
    Refinement,
    annealed_log_evidence,
    refine,
    tempered_populations,
)
from pyroclust.infer.simulation import simulate
from pyroclust.infer.smc import Particles, sequential_monte_carlo
from pyroclust.infer.training import Devices, FitResult, FitSettings, Validation, fit
from pyroclust.infer.variational import variational_posterior

__all__ = [
    "AmortizationGap",
    "BatchedWakeSleep",
    "Devices",
    "FineTuning",
    "FitResult",
    "FitSettings",
    "InclusiveKL",
    "LeaveOneOut",
    "PartialFenchelYoungLoss",
    "Particles",
    "Populations",
    "PosteriorPool",
    "PosteriorTables",
    "Refinement",
    "Validation",
    "VisitingOrders",
    "amortization_gap",
    "annealed_log_evidence",
    "backward_in_chunks",
    "cluster_parameters",
    "decaying_baseline",
    "divergences",
    "efficiencies",
    "exact_posterior",
    "fine_tune",
    "fit",
    "importance_sample",
    "log_evidence",
    "refine",
    "sequential_monte_carlo",
    "simulate",
    "tempered_populations",
    "variational_posterior",
]
