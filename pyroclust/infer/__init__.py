"""Inference: the training loss and loop, exact posteriors, importance sampling, certificates."""

from pyroclust.infer.certificate import Certificate, certify
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.fit import FitResult, FitSettings, fit
from pyroclust.infer.importance import ImportanceSample, importance_sample
from pyroclust.infer.inclusive_kl import InclusiveKL

__all__ = [
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
]
