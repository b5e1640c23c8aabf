"""Compiled functions of the normal-inverse-Wishart family."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from pyroclust.distributions import NormalInverseWishart
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

__all__ = ["InverseWishart"]


class InverseWishart(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`\Lambda = L L^\top` the posterior scale and :math:`q = |L^{-1}(x - m)|^2`, the matrix
    determinant lemma gives a point outside the cluster the log predictive density
    :math:`C_n - \frac12 \log|\Lambda| - \frac{\nu_n + 1}{2} \log(1 + r_n q)`, and one inside it
    :math:`C_{n-1} - \frac12 \log|\Lambda| + \frac{\nu_n - 1}{2} \log(1 - s_n q)`. Factors are recomputed only
    for the two clusters of a point that moves, from their sums: no downdate can lose positive definiteness.
    """

    data: np.ndarray
    scale: float
    kappa: np.ndarray
    power: np.ndarray
    origin: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    whiten: np.ndarray
    log_det: np.ndarray
    factor: np.ndarray


@compile_family.register
def _(component: NormalInverseWishart, data: np.ndarray, num_slots: int) -> InverseWishart:
    num_points, dim = data.shape
    size = np.arange(num_points + 1)
    kappa, power = component.kappa + size, 0.5 * (component.dof + size)
    origin = log_marginal_table(component, num_points) + power * dim * math.log(component.scale)
    without_point = np.zeros(num_points + 1)
    without_point[1:] = kappa[1:] / kappa[:-1]
    return InverseWishart(
        data=data,
        scale=component.scale,
        kappa=kappa,
        power=power,
        origin=origin,
        constant=np.diff(origin),
        with_point=kappa / (kappa + 1),
        without_point=without_point,
        mean=np.zeros((num_slots, dim)),
        whiten=np.zeros((num_slots, dim, dim)),
        log_det=np.zeros(num_slots),
        factor=np.zeros((dim, dim)),
    )


@overload(refresh, jit_options=SWEEP_OPTIONS)
def _refresh(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseWishart):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> None:
        dim = family.data.shape[1]
        kappa, factor, whiten = family.kappa[size], family.factor, family.whiten
        for a in range(dim):
            family.mean[slot, a] = sums[slot, a] / kappa
        log_det = 0.0
        for a in range(dim):
            for b in range(a + 1):
                entry = sums[slot, dim + a * dim + b] - kappa * family.mean[slot, a] * family.mean[slot, b]
                if a == b:
                    entry = max(entry, 0.0) + family.scale
                for c in range(b):
                    entry -= factor[a, c] * factor[b, c]
                if a == b:
                    factor[a, a] = math.sqrt(max(entry, 1e-16 * family.scale))
                else:
                    factor[a, b] = entry / factor[b, b]
            log_det += 2.0 * math.log(factor[a, a])
        family.log_det[slot] = log_det
        for a in range(dim):
            pivot = 1.0 / factor[a, a]
            for b in range(a):
                entry = 0.0
                for c in range(b, a):
                    entry -= factor[a, c] * whiten[slot, c, b]
                whiten[slot, a, b] = entry * pivot
            whiten[slot, a, a] = pivot

    return compiled


def _squared_distance(family: Any, point: Any, slot: Any) -> float:
    raise NotImplementedError


@overload(_squared_distance, jit_options=SWEEP_OPTIONS)
def _squared_distance_compiled(family: Any, point: Any, slot: Any) -> Any:
    def compiled(family: Any, point: Any, slot: Any) -> float:
        distance = 0.0
        for a in range(family.data.shape[1]):
            projection = 0.0
            for b in range(a + 1):
                projection += family.whiten[slot, a, b] * (family.data[point, b] - family.mean[slot, b])
            distance += projection * projection
        return distance

    return compiled


@overload(log_predictive, jit_options=SWEEP_OPTIONS)
def _log_predictive(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseWishart):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        growth = math.log(1.0 + family.with_point[size] * _squared_distance(family, point, slot))
        return family.constant[size] - 0.5 * family.log_det[slot] - family.power[size + 1] * growth

    return compiled


@overload(log_predictive_without, jit_options=SWEEP_OPTIONS)
def _log_predictive_without(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseWishart):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        remaining = 1.0 - family.without_point[size] * _squared_distance(family, point, slot)
        growth = math.log(max(remaining, 1e-16))
        return family.constant[size - 1] - 0.5 * family.log_det[slot] + family.power[size - 1] * growth

    return compiled


@overload(log_marginal, jit_options=SWEEP_OPTIONS)
def _log_marginal(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseWishart):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> float:
        return family.origin[size] - family.power[size] * family.log_det[slot]

    return compiled
