"""The training engine: one loop behind ``pyroclust train`` and ``pyroclust.infer.fit``."""

from pyroclust.infer.training.checkpoint import CHECKPOINT_FILE
from pyroclust.infer.training.engine import FitResult, fit
from pyroclust.infer.training.logs import LOG_FILE, VALIDATION_FILE
from pyroclust.infer.training.settings import Devices, FitSettings
from pyroclust.infer.training.validation import Validation

__all__ = [
    "CHECKPOINT_FILE",
    "LOG_FILE",
    "VALIDATION_FILE",
    "Devices",
    "FitResult",
    "FitSettings",
    "Validation",
    "fit",
]
