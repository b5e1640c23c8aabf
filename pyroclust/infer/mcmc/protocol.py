"""What a conjugate family offers to the compiled sweep: a named tuple of arrays and four compiled functions.

The sweep is written once, over stubs that numba resolves by the *type* of the family's named tuple
(:func:`numba.extending.overload`), so that every family gets its own machine code and none needs a callback.
A new family registers :func:`compile_family` and overloads the four stubs; nothing else changes.

numba checks its cache on disk against the file of the sweep alone: after editing a family's file, delete
``pyroclust/infer/mcmc/__pycache__``.
"""

from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numba import types
from torch import Tensor

from pyroclust.distributions import ConjugateComponent, PartitionPrior

__all__ = [
    "SWEEP_OPTIONS",
    "CollapsedModel",
    "compile_family",
    "is_family",
    "log_marginal",
    "log_marginal_table",
    "log_predictive",
    "log_predictive_without",
    "refresh",
]

# Reassociation lets sums over dimensions use vector units; nan and infinity keep their meaning.
SWEEP_OPTIONS: Any = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


class CollapsedModel(Protocol):
    """What a kernel needs to know of a model; :class:`pyroclust.models.Mixture` has it."""

    prior: PartitionPrior
    component: ConjugateComponent

    def log_joint(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return log p(assignments, data) in nats."""
        ...


@singledispatch
def compile_family(component: ConjugateComponent, data: np.ndarray, num_slots: int) -> NamedTuple:
    """Return the tables and work arrays of a family for one chain.

    Args:
        component: the conjugate family.
        data: points, ``(N, D)`` float64.
        num_slots: how many clusters the work arrays must hold.

    Raises:
        ValueError: if no compiled functions are registered for the family.
    """
    raise ValueError(
        f"model.component is a {type(component).__name__}, expected a family with compiled sweeps: "
        f"{', '.join(sorted(c.__name__ for c in compile_family.registry if c is not object))}"
    )


def refresh(family: Any, sums: Any, slot: Any, size: Any) -> None:
    """Recompute the cache of a cluster from its size and its summed moments (a stub that numba resolves)."""
    raise NotImplementedError


def log_predictive(family: Any, point: Any, slot: Any, size: Any) -> float:
    """Return log p(x_point | cluster) for a point outside the cluster (a stub that numba resolves)."""
    raise NotImplementedError


def log_predictive_without(family: Any, point: Any, slot: Any, size: Any) -> float:
    """Return log p(x_point | cluster without it) for a point in the cluster (a stub that numba resolves)."""
    raise NotImplementedError


def log_marginal(family: Any, sums: Any, slot: Any, size: Any) -> float:
    """Return the log marginal likelihood of a cluster (a stub that numba resolves)."""
    raise NotImplementedError


def is_family(numba_type: types.Type, family: type) -> bool:
    """Say at compile time whether a numba type stands for a family's named tuple."""
    return (
        isinstance(numba_type, types.BaseNamedTuple) and getattr(numba_type, "instance_class", None) is family
    )


def log_marginal_table(component: ConjugateComponent, num_points: int) -> np.ndarray:
    """Return the log marginal likelihood of 0, 1, ..., N points that all lie at the origin, ``(N + 1,)``.

    All normalising constants of the predictives are differences of this table.
    """
    counts = torch.arange(num_points + 1, dtype=torch.float64)
    zeros = torch.zeros(num_points + 1, component.num_moments, dtype=torch.float64)
    return component.log_marginal(counts, zeros).numpy()
