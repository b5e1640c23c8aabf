"""Compiled functions of the normal-inverse-gamma family, of whose columns cells may be missing."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions import NormalInverseGamma
from pyroclust.distributions.compiled.columns import implement_columns
from pyroclust.distributions.compiled.families.partly_observed import compile_columns
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["LARGE", "InverseGamma", "mean_and_rate"]

_MEAN, _KAPPA, _SHAPE, _RATE = range(4)
_LOG_2PI = math.log(2.0 * math.pi)
LARGE = 1e100
"""Products of factors are kept below this before their logarithm is taken."""


class InverseGamma(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`q_d = (x_d - m_d)^2 / 2 b_d` a point outside the cluster has log predictive density
    :math:`C_n - \frac12 \sum_d \log b_d - (a_n + \frac12) \log \prod_d (1 + r_n q_d)`, one inside it
    :math:`C_{n-1} - \frac12 \sum_d \log b_d + a_{n-1} \log \prod_d (1 - s_n q_d)`: one logarithm a cluster.

    Where cells are missing each column has its own n. The smallest, for all columns, bounds the density from
    above with one logarithm, and most clusters are hopeless by that.

    Attributes:
        there: 1 where a cell is there, else 0, ``(N, D)``; no rows where all are.
        half_precision: 1 / 2 b, ``(S, D)``; no rows where cells are missing.
        stretch: r / 2 b of each column, where cells are missing, ``(S, D)``.
        height: log density of each column at its mean, where cells are missing, ``(S, D)``.
        fewest: smallest number of cells of a cluster in a column, ``(S,)``.
    """

    hyper: np.ndarray
    data: np.ndarray
    there: np.ndarray
    power: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray
    log_rates: np.ndarray
    stretch: np.ndarray
    height: np.ndarray
    counts: np.ndarray
    fewest: np.ndarray


@compile_family.register
def _(component: NormalInverseGamma, data: np.ndarray, num_slots: int, num_points: int) -> InverseGamma:
    return _tables(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(part: NormalInverseGamma, data: np.ndarray, num_slots: int, num_points: int) -> InverseGamma:
    there = ~np.isnan(data)
    return _tables(part, np.where(there, data, 0.0), there.astype(float), num_slots, num_points)


def _tables(
    component: NormalInverseGamma, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> InverseGamma:
    dim = data.shape[1]
    with_gaps = num_slots if len(there) else 0
    return InverseGamma(
        hyper=hyper_array(component),
        data=data,
        there=there,
        power=np.zeros(num_points + 2),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        half_precision=np.zeros((num_slots - with_gaps, dim)),
        log_rates=np.zeros(num_slots),
        stretch=np.zeros((with_gaps, dim)),
        height=np.zeros((with_gaps, dim)),
        counts=np.zeros((with_gaps, dim), np.int64),
        fewest=np.zeros(with_gaps, np.int64),
    )


def _tabulate(family: Any) -> None:
    for size in range(len(family.power)):
        family.power[size] = family.hyper[_SHAPE] + 0.5 * size
    for size in range(len(family.constant)):
        kappa = family.hyper[_KAPPA] + size
        ratio = kappa / (kappa + 1.0)
        growth = math.lgamma(family.power[size + 1]) - math.lgamma(family.power[size])
        family.constant[size] = growth + 0.5 * (math.log(ratio) - _LOG_2PI)
        family.with_point[size] = ratio
        if size > 0:
            family.without_point[size] = kappa / (kappa - 1.0)


@inner
def mean_and_rate(family: Any, size: int, total: float, squares: float) -> tuple[float, float]:
    """Return the posterior mean and rate of a column from its sums."""
    prior_mean, prior_rate = family.hyper[_MEAN], family.hyper[_RATE]
    pull, kappa = family.hyper[_KAPPA] * prior_mean, family.hyper[_KAPPA] + size
    mean = (total + pull) / kappa
    spread = squares + pull * prior_mean - kappa * mean * mean
    return mean, max(prior_rate + 0.5 * spread, prior_rate)


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, product, log_product = family.data.shape[1], 1.0, 0.0
    if len(family.there):
        family.fewest[slot] = size
        for d in range(dim):
            count = int(sums[d] + 0.5)
            # What is left of a sum that was taken apart again is rounding.
            there = 1.0 if count else 0.0
            mean, rate = mean_and_rate(
                family, count, there * sums[dim + 2 * d], there * sums[dim + 2 * d + 1]
            )
            family.mean[slot, d], family.stretch[slot, d] = mean, 0.5 / rate * family.with_point[count]
            family.height[slot, d] = family.constant[count] - 0.5 * math.log(rate)
            family.counts[slot, d] = count
            family.fewest[slot] = min(family.fewest[slot], count)
        return
    for d in range(dim):
        mean, rate = mean_and_rate(family, size, sums[d], sums[dim + d])
        family.mean[slot, d], family.half_precision[slot, d] = mean, 0.5 / rate
        product *= rate
        if product > LARGE or product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    family.log_rates[slot] = log_product + math.log(product)


@inner
def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    dim, product, log_product = family.data.shape[1], 1.0, 0.0
    if len(family.there):
        return _log_predictive_of_cells(family, point, slot, floor)
    shrink = family.with_point[size]
    for d in range(dim):
        difference = family.data[point, d] - family.mean[slot, d]
        product *= 1.0 + shrink * family.half_precision[slot, d] * difference * difference
        if product > LARGE:
            log_product += math.log(product)
            product = 1.0
    log_product += math.log(product)
    return dim * family.constant[size] - 0.5 * family.log_rates[slot] - family.power[size + 1] * log_product


@inner
def _log_predictive_of_cells(family: Any, point: int, slot: int, floor: float) -> float:
    dim, product, total, fewest = family.data.shape[1], 1.0, 0.0, family.fewest[slot]
    power = family.power[fewest + 1]
    for d in range(dim):
        there, difference = family.there[point, d], family.data[point, d] - family.mean[slot, d]
        product *= 1.0 + there * family.stretch[slot, d] * difference * difference
        total += there * family.height[slot, d]
        if product > LARGE:
            total -= power * math.log(product)
            product = 1.0
    total -= power * math.log(product)
    if total < floor:
        return total
    for d in range(dim):
        count = family.counts[slot, d]
        if count > fewest and family.there[point, d] > 0.0:
            difference = family.data[point, d] - family.mean[slot, d]
            factor = 1.0 + family.stretch[slot, d] * difference * difference
            total -= 0.5 * (count - fewest) * math.log(factor)
    return total


def _log_predictives_by_column(family: Any, point: int, slot: int, found: Any) -> int:
    dim: int = family.data.shape[1]
    for d in range(dim):
        difference, power = (
            family.data[point, d] - family.mean[slot, d],
            family.power[family.counts[slot, d] + 1],
        )
        factor = 1.0 + family.stretch[slot, d] * difference * difference
        found[d] = family.there[point, d] * (family.height[slot, d] - power * math.log(factor))
    return dim


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    dim, product, log_product = family.data.shape[1], 1.0, 0.0
    if len(family.there):
        return _log_predictive_without_cells(family, point, slot)
    stretch = family.without_point[size]
    for d in range(dim):
        difference = family.data[point, d] - family.mean[slot, d]
        product *= max(1.0 - stretch * family.half_precision[slot, d] * difference * difference, 1e-16)
        if product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    log_product += math.log(product)
    constant = dim * family.constant[size - 1] - 0.5 * family.log_rates[slot]
    return constant + family.power[size - 1] * log_product


@inner
def _log_predictive_without_cells(family: Any, point: int, slot: int) -> float:
    total = 0.0
    for d in range(family.data.shape[1]):
        if family.there[point, d] == 0.0:
            continue
        count, value = family.counts[slot, d], family.data[point, d]
        if count == 1:
            rate = family.hyper[_RATE]
            squared = 0.5 * family.with_point[0] * (value - family.hyper[_MEAN]) ** 2
            total += family.constant[0] - 0.5 * math.log(rate)
            total -= family.power[1] * math.log(1.0 + squared / rate)
            continue
        stretch = family.without_point[count] / family.with_point[count] * family.stretch[slot, d]
        factor = 1.0 - stretch * (value - family.mean[slot, d]) ** 2
        total += family.height[slot, d] - family.constant[count] + family.constant[count - 1]
        total += family.power[count - 1] * math.log(max(factor, 1e-16))
    return total


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    dim, total = family.data.shape[1], 0.0
    with_gaps = len(family.there) > 0
    shape, prior_kappa, prior_rate = family.hyper[_SHAPE], family.hyper[_KAPPA], family.hyper[_RATE]
    count, constant = -1, 0.0
    for d in range(dim):
        own = int(sums[d] + 0.5) if with_gaps else size
        if own != count:
            count = own
            constant = math.lgamma(shape + 0.5 * count) - math.lgamma(shape) + shape * math.log(prior_rate)
            constant += 0.5 * (math.log(prior_kappa / (prior_kappa + count)) - count * _LOG_2PI)
        if count:
            first = dim + 2 * d if with_gaps else d
            _, rate = mean_and_rate(family, count, sums[first], sums[first + 1 if with_gaps else dim + d])
            total += constant - (shape + 0.5 * count) * math.log(rate)
    return total


def _add_log_predictives(
    family: Any,
    point: int,
    slots: Any,
    sizes: Any,
    count: int,
    own: int,
    least: float,
    floor: float,
    weights: Any,
) -> None:
    for j in range(count):
        slot = slots[j]
        if slot != own and weights[j] >= least:
            weights[j] += _log_predictive(family, point, slot, sizes[slot], floor - weights[j])


implement(
    InverseGamma,
    _tabulate,
    _refresh,
    _log_predictive,
    _log_predictive_without,
    _log_marginal,
    _add_log_predictives,
)
implement_columns(InverseGamma, _log_predictives_by_column)
