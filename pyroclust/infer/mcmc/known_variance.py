"""Compiled functions of the normal with known variance."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from pyroclust.distributions import NormalKnownVariance
from pyroclust.infer.mcmc.protocol import (
    SWEEP_OPTIONS,
    compile_family,
    is_family,
    log_marginal,
    log_marginal_table,
    log_predictive,
    log_predictive_without,
    refresh,
)

__all__ = ["KnownVariance"]


class KnownVariance(NamedTuple):
    r"""Tables by cluster size n and cached means of one chain.

    With :math:`\kappa_n = n + \sigma^2 / \lambda^2` and m the posterior mean, a point outside the cluster has
    log predictive density :math:`A_n - h_n |x - m|^2`, and one inside it :math:`A_{n-1} - h'_n |x - m|^2`:
    the mean without the point is never formed.
    """

    data: np.ndarray
    kappa: np.ndarray
    origin: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    half_precision: float
    mean: np.ndarray


@compile_family.register
def _(component: NormalKnownVariance, data: np.ndarray, num_slots: int) -> KnownVariance:
    num_points, dim = data.shape
    origin = log_marginal_table(component, num_points)
    kappa = np.arange(num_points + 1) + (component.scale / component.prior_scale) ** 2
    half_precision = 0.5 / component.scale**2
    without_point = np.zeros(num_points + 1)
    without_point[1:] = half_precision * kappa[1:] / kappa[:-1]
    return KnownVariance(
        data=data,
        kappa=kappa,
        origin=origin,
        constant=np.diff(origin),
        with_point=half_precision * kappa / (kappa + 1),
        without_point=without_point,
        half_precision=half_precision,
        mean=np.zeros((num_slots, dim)),
    )


@overload(refresh, jit_options=SWEEP_OPTIONS)
def _refresh(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, KnownVariance):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> None:
        shrink = 1.0 / family.kappa[size]
        for d in range(family.data.shape[1]):
            family.mean[slot, d] = sums[slot, d] * shrink

    return compiled


@overload(log_predictive, jit_options=SWEEP_OPTIONS)
def _log_predictive(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, KnownVariance):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        distance = 0.0
        for d in range(family.data.shape[1]):
            distance += (family.data[point, d] - family.mean[slot, d]) ** 2
        return family.constant[size] - family.with_point[size] * distance

    return compiled


@overload(log_predictive_without, jit_options=SWEEP_OPTIONS)
def _log_predictive_without(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, KnownVariance):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        distance = 0.0
        for d in range(family.data.shape[1]):
            distance += (family.data[point, d] - family.mean[slot, d]) ** 2
        return family.constant[size - 1] - family.without_point[size] * distance

    return compiled


@overload(log_marginal, jit_options=SWEEP_OPTIONS)
def _log_marginal(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, KnownVariance):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> float:
        dim = family.data.shape[1]
        explained = 0.0
        for d in range(dim):
            explained += family.mean[slot, d] ** 2
        return family.origin[size] - family.half_precision * (
            sums[slot, dim] - family.kappa[size] * explained
        )

    return compiled
