"""Inference: training, exact posteriors, importance sampling, sequential Monte Carlo, references."""

from pyroclust.infer.exact import cluster_parameters, exact_posterior, log_evidence
from pyroclust.infer.fine_tune import BatchedWakeSleep, FineTuning, LeaveOneOut, fine_tune
from pyroclust.infer.importance import importance_sample
from pyroclust.infer.losses import InclusiveKL, PartialFenchelYoungLoss, VisitingOrders
from pyroclust.infer.mcmc.populations import Populations, annealed_log_evidence, tempered_populations
from pyroclust.infer.mcmc.refine import Refinement, refine
from pyroclust.infer.quality import AmortizationGap, amortization_gap, divergences, efficiencies
from pyroclust.infer.simulation import simulate
from pyroclust.infer.smc import Particles, sequential_monte_carlo
from pyroclust.infer.training.engine import FitResult, fit
from pyroclust.infer.training.posterior_laws import PosteriorPool, PosteriorTables
from pyroclust.infer.training.settings import Devices, FitSettings
from pyroclust.infer.training.validation import Validation
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
    "cluster_parameters",
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
