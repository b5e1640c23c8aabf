"""Compiled functions of the normal-inverse-gamma family."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import NormalInverseGamma
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    hyper_array,
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["LARGE", "InverseGamma"]

_MEAN, _KAPPA, _SHAPE, _RATE = range(4)
_LOG_2PI = math.log(2.0 * math.pi)
LARGE = 1e100
"""Products of factors are kept below this before their logarithm is taken."""


class InverseGamma(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`q_d = (x_d - m_d)^2 / 2 b_d` a point outside the cluster has log predictive density
    :math:`C_n - \frac12 \sum_d \log b_d - (a_n + \frac12) \log \prod_d (1 + r_n q_d)`, one inside it
    :math:`C_{n-1} - \frac12 \sum_d \log b_d + a_{n-1} \log \prod_d (1 - s_n q_d)`: one logarithm a cluster.
    """

    hyper: np.ndarray
    data: np.ndarray
    kappa: np.ndarray
    power: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray
    log_rates: np.ndarray


@compile_family.register
def _(component: NormalInverseGamma, data: np.ndarray, num_slots: int) -> InverseGamma:
    num_points, dim = data.shape
    return InverseGamma(
        hyper=hyper_array(component),
        data=data,
        kappa=np.zeros(num_points + 2),
        power=np.zeros(num_points + 2),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        half_precision=np.zeros((num_slots, dim)),
        log_rates=np.zeros(num_slots),
    )


@implements(tabulate, InverseGamma)
def _tabulate(family: Any) -> None:
    dim = family.data.shape[1]
    for size in range(len(family.kappa)):
        family.kappa[size] = family.hyper[_KAPPA] + size
        family.power[size] = family.hyper[_SHAPE] + 0.5 * size
    for size in range(len(family.constant)):
        ratio = family.kappa[size] / (family.kappa[size] + 1.0)
        growth = math.lgamma(family.power[size + 1]) - math.lgamma(family.power[size])
        family.constant[size] = dim * (growth + 0.5 * (math.log(ratio) - _LOG_2PI))
        family.with_point[size] = ratio
        if size > 0:
            family.without_point[size] = family.kappa[size] / family.kappa[size - 1]


@implements(refresh, InverseGamma)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, prior_mean, prior_rate = family.data.shape[1], family.hyper[_MEAN], family.hyper[_RATE]
    kappa, product, log_product = family.kappa[size], 1.0, 0.0
    pull = family.hyper[_KAPPA] * prior_mean
    for d in range(dim):
        mean = (sums[slot, d] + pull) / kappa
        spread = sums[slot, dim + d] + pull * prior_mean - kappa * mean * mean
        rate = max(prior_rate + 0.5 * spread, prior_rate)
        family.mean[slot, d] = mean
        family.half_precision[slot, d] = 0.5 / rate
        product *= rate
        if product > LARGE or product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    family.log_rates[slot] = log_product + math.log(product)


@implements(log_predictive, InverseGamma)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    product, log_product, shrink = 1.0, 0.0, family.with_point[size]
    for d in range(family.data.shape[1]):
        difference = family.data[point, d] - family.mean[slot, d]
        product *= 1.0 + shrink * family.half_precision[slot, d] * difference * difference
        if product > LARGE:
            log_product += math.log(product)
            product = 1.0
    log_product += math.log(product)
    return family.constant[size] - 0.5 * family.log_rates[slot] - family.power[size + 1] * log_product


@implements(log_predictive_without, InverseGamma)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    product, log_product, stretch = 1.0, 0.0, family.without_point[size]
    for d in range(family.data.shape[1]):
        difference = family.data[point, d] - family.mean[slot, d]
        product *= max(1.0 - stretch * family.half_precision[slot, d] * difference * difference, 1e-16)
        if product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    log_product += math.log(product)
    return family.constant[size - 1] - 0.5 * family.log_rates[slot] + family.power[size - 1] * log_product


@implements(log_marginal, InverseGamma)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    dim, prior_mean, prior_rate = family.data.shape[1], family.hyper[_MEAN], family.hyper[_RATE]
    kappa, power = family.hyper[_KAPPA] + size, family.hyper[_SHAPE] + 0.5 * size
    pull, log_rates = family.hyper[_KAPPA] * prior_mean, 0.0
    for d in range(dim):
        total = sums[slot, d] + pull
        spread = sums[slot, dim + d] + pull * prior_mean - total * total / kappa
        log_rates += math.log(max(prior_rate + 0.5 * spread, prior_rate))
    per_dim = (
        math.lgamma(power)
        - math.lgamma(family.hyper[_SHAPE])
        + family.hyper[_SHAPE] * math.log(prior_rate)
        + 0.5 * (math.log(family.hyper[_KAPPA] / kappa) - size * _LOG_2PI)
    )
    return dim * per_dim - power * log_rates
