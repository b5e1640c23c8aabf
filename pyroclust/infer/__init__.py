"""Inference: the training loss and loop, exact posteriors, importance sampling, certificates."""

from pyroclust.infer.certificate import Certificate, certify
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.fit import FitResult, FitSettings, fit
from pyroclust.infer.importance import ImportanceSample, importance_sample
from pyroclust.infer.inclusive_kl import InclusiveKL
from pyroclust.infer.truncated_gaussian_mixture import truncated_gaussian_mixture
from pyroclust.infer.variational import VariationalDraws, variational_posterior

__all__ = [
    "VariationalDraws",
    "Certificate",
    "FitResult",
    "FitSettings",
    "ImportanceSample",
    "InclusiveKL",
    "certify",
    "exact_posterior",
    "fit",
    "importance_sample",
    "log_evidence",
    "truncated_gaussian_mixture",
    "variational_posterior",
]
