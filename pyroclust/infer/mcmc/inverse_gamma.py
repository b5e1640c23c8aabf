"""Compiled functions of the normal-inverse-gamma family."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from pyroclust.distributions import NormalInverseGamma
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

__all__ = ["InverseGamma"]

# Products of D factors are kept below this before their logarithm is taken.
_LARGE = 1e100


class InverseGamma(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`q_d = (x_d - m_d)^2 / 2 b_d` a point outside the cluster has log predictive density
    :math:`C_n - \frac12 \sum_d \log b_d - (a_n + \frac12) \log \prod_d (1 + r_n q_d)`, one inside it
    :math:`C_{n-1} - \frac12 \sum_d \log b_d + a_{n-1} \log \prod_d (1 - s_n q_d)`: one logarithm a cluster.
    """

    data: np.ndarray
    rate: float
    kappa: np.ndarray
    power: np.ndarray
    origin: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray
    log_rates: np.ndarray


@compile_family.register
def _(component: NormalInverseGamma, data: np.ndarray, num_slots: int) -> InverseGamma:
    num_points, dim = data.shape
    size = np.arange(num_points + 1)
    kappa, power = component.kappa + size, component.shape + 0.5 * size
    origin = log_marginal_table(component, num_points) + power * dim * math.log(component.rate)
    without_point = np.zeros(num_points + 1)
    without_point[1:] = kappa[1:] / kappa[:-1]
    return InverseGamma(
        data=data,
        rate=component.rate,
        kappa=kappa,
        power=power,
        origin=origin,
        constant=np.diff(origin),
        with_point=kappa / (kappa + 1),
        without_point=without_point,
        mean=np.zeros((num_slots, dim)),
        half_precision=np.zeros((num_slots, dim)),
        log_rates=np.zeros(num_slots),
    )


@overload(refresh, jit_options=SWEEP_OPTIONS)
def _refresh(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseGamma):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> None:
        dim = family.data.shape[1]
        kappa, total = family.kappa[size], 0.0
        for d in range(dim):
            mean = sums[slot, d] / kappa
            rate = max(family.rate + 0.5 * (sums[slot, dim + d] - kappa * mean * mean), family.rate)
            family.mean[slot, d] = mean
            family.half_precision[slot, d] = 0.5 / rate
            total += math.log(rate)
        family.log_rates[slot] = total

    return compiled


@overload(log_predictive, jit_options=SWEEP_OPTIONS)
def _log_predictive(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseGamma):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        product, log_product, shrink = 1.0, 0.0, family.with_point[size]
        for d in range(family.data.shape[1]):
            difference = family.data[point, d] - family.mean[slot, d]
            product *= 1.0 + shrink * family.half_precision[slot, d] * difference * difference
            if product > _LARGE:
                log_product += math.log(product)
                product = 1.0
        log_product += math.log(product)
        return family.constant[size] - 0.5 * family.log_rates[slot] - family.power[size + 1] * log_product

    return compiled


@overload(log_predictive_without, jit_options=SWEEP_OPTIONS)
def _log_predictive_without(family: Any, point: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseGamma):
        return None

    def compiled(family: Any, point: Any, slot: Any, size: Any) -> float:
        product, log_product, stretch = 1.0, 0.0, family.without_point[size]
        for d in range(family.data.shape[1]):
            difference = family.data[point, d] - family.mean[slot, d]
            product *= max(1.0 - stretch * family.half_precision[slot, d] * difference * difference, 1e-16)
            if product < 1.0 / _LARGE:
                log_product += math.log(product)
                product = 1.0
        log_product += math.log(product)
        return family.constant[size - 1] - 0.5 * family.log_rates[slot] + family.power[size - 1] * log_product

    return compiled


@overload(log_marginal, jit_options=SWEEP_OPTIONS)
def _log_marginal(family: Any, sums: Any, slot: Any, size: Any) -> Any:
    if not is_family(family, InverseGamma):
        return None

    def compiled(family: Any, sums: Any, slot: Any, size: Any) -> float:
        return family.origin[size] - family.power[size] * family.log_rates[slot]

    return compiled
