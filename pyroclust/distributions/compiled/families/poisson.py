"""Compiled functions of the Poisson-gamma family."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from pyroclust.distributions import PoissonGamma
from pyroclust.distributions.compiled.log_rising import log_rising, look_up, table_of, tabulate_rising
from pyroclust.distributions.compiled.non_zero import NonZero, non_zero
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

__all__ = ["Poisson"]

_SHAPE, _RATE = range(2)


class Poisson(NamedTuple):
    r"""Log rising factorials of the shape, and what clusters cache of them.

    With totals s of n points and :math:`r(m) = \log \Gamma(a + m) / \Gamma(a)` a point has the log predictive
    :math:`\sum_d [r(s_d + x_d) - r(s_d) - \log x_d!] - \sum_d (a + s_d) \log(1 + 1 / (b + n)) -
    \log(b + n + 1) \sum_d x_d`: a candidate costs one look-up for each count that is not zero.
    """

    hyper: np.ndarray
    counts: NonZero
    log_base: np.ndarray
    rising: np.ndarray
    log_rate: np.ndarray
    shrink: np.ndarray
    totals: np.ndarray
    heights: np.ndarray
    grand_total: np.ndarray


@compile_family.register
def _(component: PoissonGamma, data: np.ndarray, num_slots: int) -> Poisson:
    num_points, dim = data.shape
    log_factorials = component.moments(torch.from_numpy(data))[:, dim]
    return Poisson(
        hyper=hyper_array(component),
        counts=non_zero(data),
        log_base=-log_factorials.numpy(),
        rising=table_of(data.sum(0), num_points),
        log_rate=np.zeros(num_points + 2),
        shrink=np.zeros(num_points + 1),
        totals=np.zeros((num_slots, dim), dtype=np.int64),
        heights=np.zeros((num_slots, dim)),
        grand_total=np.zeros(num_slots),
    )


@implements(tabulate, Poisson)
def _tabulate(family: Any) -> None:
    tabulate_rising(family.rising, family.hyper[_SHAPE])
    for size in range(len(family.log_rate)):
        family.log_rate[size] = math.log(family.hyper[_RATE] + size)
    for size in range(len(family.shrink)):
        family.shrink[size] = math.log1p(1.0 / (family.hyper[_RATE] + size))


@implements(refresh, Poisson)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    grand_total = 0.0
    for d in range(family.totals.shape[1]):
        total = int(sums[slot, d] + 0.5)
        family.totals[slot, d] = total
        family.heights[slot, d] = look_up(family.rising, family.hyper[_SHAPE], total)
        grand_total += total
    family.grand_total[slot] = grand_total


@implements(log_predictive, Poisson)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    counts, prior = family.counts, family.hyper[_SHAPE] * family.totals.shape[1]
    found = family.log_base[point] - counts.total[point] * family.log_rate[size + 1]
    found -= (prior + family.grand_total[slot]) * family.shrink[size]
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d = counts.column[i]
        with_point = family.totals[slot, d] + counts.value[i]
        found += look_up(family.rising, family.hyper[_SHAPE], with_point) - family.heights[slot, d]
    return found


@implements(log_predictive_without, Poisson)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    counts, prior = family.counts, family.hyper[_SHAPE] * family.totals.shape[1]
    own = counts.total[point]
    found = family.log_base[point] - own * family.log_rate[size]
    found -= (prior + family.grand_total[slot] - own) * family.shrink[size - 1]
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d = counts.column[i]
        without_point = family.totals[slot, d] - counts.value[i]
        found += family.heights[slot, d] - look_up(family.rising, family.hyper[_SHAPE], without_point)
    return found


@implements(log_marginal, Poisson)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    shape, rate, dim = family.hyper[_SHAPE], family.hyper[_RATE], family.totals.shape[1]
    found, grand_total = -sums[slot, dim], 0.0
    for d in range(dim):
        found += log_rising(shape, sums[slot, d])
        grand_total += sums[slot, d]
    return found - dim * shape * math.log1p(size / rate) - grand_total * math.log(rate + size)
