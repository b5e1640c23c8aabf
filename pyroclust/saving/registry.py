"""Models and guides that a card may name: loading a guide can build these and nothing else."""

from collections.abc import Callable
from typing import Any

from pyroclust.guides import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
    PredictiveFilter,
)
from pyroclust.models import gaussian2d, nig_mixture, niw_mixture, overlap2d, sensitivity2d, warped_clusters

__all__ = ["GUIDES", "MODELS"]

MODELS: dict[str, Callable[..., Any]] = {
    "gaussian2d": gaussian2d,
    "nig_mixture": nig_mixture,
    "niw_mixture": niw_mixture,
    "overlap2d": overlap2d,
    "sensitivity2d": sensitivity2d,
    "warped_clusters": warped_clusters,
}
"""Functions of ``dim`` that return a mixture, by its name; see :mod:`pyroclust.saving` for others."""

GUIDES: dict[str, Callable[..., Any]] = {
    "AttentiveClusteringProcess": AttentiveClusteringProcess.from_arguments,
    "ClusterwiseClusteringProcess": ClusterwiseClusteringProcess.from_arguments,
    "NeuralClusteringProcess": NeuralClusteringProcess.from_arguments,
    "PredictiveFilter": PredictiveFilter.from_arguments,
}
"""Functions of a model and JSON arguments that return a guide, by the name of its class."""
