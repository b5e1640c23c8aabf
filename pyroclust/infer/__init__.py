"""Inference: training, exact posteriors, importance sampling, sequential Monte Carlo, references."""

from pyroclust.infer.certificate import Certificate, certify
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.importance import ImportanceSample, importance_sample
from pyroclust.infer.inclusive_kl import InclusiveKL
from pyroclust.infer.smc import ParticleSample, sequential_monte_carlo
from pyroclust.infer.training import Devices, FitResult, FitSettings, Validation, fit
from pyroclust.infer.truncated_gaussian_mixture import truncated_gaussian_mixture
from pyroclust.infer.variational import VariationalDraws, variational_posterior

__all__ = [
    "Certificate",
    "Devices",
    "FitResult",
    "FitSettings",
    "ImportanceSample",
    "InclusiveKL",
    "ParticleSample",
    "Validation",
    "VariationalDraws",
    "certify",
    "exact_posterior",
    "fit",
    "importance_sample",
    "log_evidence",
    "sequential_monte_carlo",
    "truncated_gaussian_mixture",
    "variational_posterior",
]
