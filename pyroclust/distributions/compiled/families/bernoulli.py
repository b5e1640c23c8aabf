"""Compiled functions of the Bernoulli-beta family."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import BernoulliBeta
from pyroclust.distributions.compiled.log_rising import log_rising
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

__all__ = ["Bernoulli"]

_ONES, _ZEROS = range(2)


class Bernoulli(NamedTuple):
    r"""Logarithms of posterior pseudo-counts, and what clusters cache of them.

    With s ones among n points a dimension has the log odds :math:`\log(a + s) - \log(b + n - s)`; a cluster
    keeps them and its log density of a point of zeros, so that a candidate costs one product a dimension.
    """

    hyper: np.ndarray
    data: np.ndarray
    log_ones: np.ndarray
    log_zeros: np.ndarray
    log_total: np.ndarray
    ones: np.ndarray
    log_odds: np.ndarray
    all_zeros: np.ndarray


@compile_family.register
def _(component: BernoulliBeta, data: np.ndarray, num_slots: int) -> Bernoulli:
    num_points, dim = data.shape
    return Bernoulli(
        hyper=hyper_array(component),
        data=data,
        log_ones=np.zeros(num_points + 1),
        log_zeros=np.zeros(num_points + 1),
        log_total=np.zeros(num_points + 1),
        ones=np.zeros((num_slots, dim), dtype=np.int64),
        log_odds=np.zeros((num_slots, dim)),
        all_zeros=np.zeros(num_slots),
    )


@implements(tabulate, Bernoulli)
def _tabulate(family: Any) -> None:
    ones, zeros = family.hyper[_ONES], family.hyper[_ZEROS]
    for size in range(len(family.log_ones)):
        family.log_ones[size] = math.log(ones + size)
        family.log_zeros[size] = math.log(zeros + size)
        family.log_total[size] = math.log(ones + zeros + size)


@implements(refresh, Bernoulli)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim = family.data.shape[1]
    total = 0.0
    for d in range(dim):
        ones = int(sums[slot, d] + 0.5)
        log_zero = family.log_zeros[size - ones]
        family.ones[slot, d] = ones
        family.log_odds[slot, d] = family.log_ones[ones] - log_zero
        total += log_zero
    family.all_zeros[slot] = total - dim * family.log_total[size]


@implements(log_predictive, Bernoulli)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    total = family.all_zeros[slot]
    for d in range(family.data.shape[1]):
        total += family.data[point, d] * family.log_odds[slot, d]
    return total


@implements(log_predictive_without, Bernoulli)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    dim = family.data.shape[1]
    total = -dim * family.log_total[size - 1]
    for d in range(dim):
        ones = family.ones[slot, d]
        if family.data[point, d] > 0.5:
            total += family.log_ones[ones - 1]
        else:
            total += family.log_zeros[size - 1 - ones]
    return total


@implements(log_marginal, Bernoulli)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    ones, zeros, dim = family.hyper[_ONES], family.hyper[_ZEROS], family.data.shape[1]
    total = -dim * log_rising(ones + zeros, size)
    for d in range(dim):
        total += log_rising(ones, sums[slot, d]) + log_rising(zeros, size - sums[slot, d])
    return total
