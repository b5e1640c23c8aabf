"""Compiled functions of the Poisson-gamma family, of whose columns cells may be missing."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from pyroclust.distributions import PoissonGamma
from pyroclust.distributions.compiled.columns import implement_columns
from pyroclust.distributions.compiled.families.partly_observed import compile_columns
from pyroclust.distributions.compiled.log_rising import log_rising, look_up, table_of, tabulate_rising
from pyroclust.distributions.compiled.non_zero import NonZero, non_zero
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["Poisson"]

_SHAPE, _RATE = range(2)


class Poisson(NamedTuple):
    r"""Log rising factorials of the shape, and what clusters cache of them.

    With totals s of n points and :math:`r(m) = \log \Gamma(a + m) / \Gamma(a)` a point has the log predictive
    :math:`\sum_d [r(s_d + x_d) - r(s_d) - \log x_d!] - \sum_d (a + s_d) \log(1 + 1 / (b + n)) -
    \log(b + n + 1) \sum_d x_d`: a candidate costs one look-up for each count that is not zero. Where cells
    are missing each column has its own n.

    Attributes:
        there: 1 where a cell is there, else 0, ``(N, D)``; no rows where all are.
        sizes: cells that are there, ``(S, D)``.
        zeros: log density of a zero in each column, where cells are missing, ``(S, D)``.
    """

    hyper: np.ndarray
    counts: NonZero
    there: np.ndarray
    log_base: np.ndarray
    rising: np.ndarray
    log_rate: np.ndarray
    shrink: np.ndarray
    totals: np.ndarray
    sizes: np.ndarray
    heights: np.ndarray
    zeros: np.ndarray
    grand_total: np.ndarray


@compile_family.register
def _(component: PoissonGamma, data: np.ndarray, num_slots: int, num_points: int) -> Poisson:
    return _tables(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(part: PoissonGamma, data: np.ndarray, num_slots: int, num_points: int) -> Poisson:
    there = ~np.isnan(data)
    return _tables(part, np.where(there, data, 0.0), there.astype(float), num_slots, num_points)


def _tables(
    component: PoissonGamma, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> Poisson:
    dim = data.shape[1]
    return Poisson(
        hyper=hyper_array(component),
        counts=non_zero(data),
        there=there,
        log_base=-torch.lgamma(torch.from_numpy(data) + 1).sum(-1).numpy(),
        rising=table_of(data.sum(0), num_points),
        log_rate=np.zeros(num_points + 2),
        shrink=np.zeros(num_points + 1),
        totals=np.zeros((num_slots, dim), dtype=np.int64),
        sizes=np.zeros((num_slots if len(there) else 0, dim), dtype=np.int64),
        heights=np.zeros((num_slots, dim)),
        zeros=np.zeros((num_slots if len(there) else 0, dim)),
        grand_total=np.zeros(num_slots),
    )


def _tabulate(family: Any) -> None:
    tabulate_rising(family.rising, family.hyper[_SHAPE])
    for size in range(len(family.log_rate)):
        family.log_rate[size] = math.log(family.hyper[_RATE] + size)
    for size in range(len(family.shrink)):
        family.shrink[size] = math.log1p(1.0 / (family.hyper[_RATE] + size))


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, with_gaps, grand_total = family.totals.shape[1], len(family.there) > 0, 0.0
    for d in range(dim):
        total = int(sums[dim + 2 * d if with_gaps else d] + 0.5)
        family.totals[slot, d] = total
        family.heights[slot, d] = look_up(family.rising, family.hyper[_SHAPE], total)
        grand_total += total
        if with_gaps:
            family.sizes[slot, d] = int(sums[d] + 0.5)
            shrink = family.shrink[family.sizes[slot, d]]
            family.zeros[slot, d] = -(family.hyper[_SHAPE] + total) * shrink
    family.grand_total[slot] = grand_total


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    counts, dim, with_gaps = family.counts, family.totals.shape[1], len(family.there) > 0
    found = family.log_base[point]
    if with_gaps:
        for d in range(dim):
            found += family.there[point, d] * family.zeros[slot, d]
    else:
        found -= counts.total[point] * family.log_rate[size + 1]
        found -= (family.hyper[_SHAPE] * dim + family.grand_total[slot]) * family.shrink[size]
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d = counts.column[i]
        with_point = family.totals[slot, d] + counts.value[i]
        found += look_up(family.rising, family.hyper[_SHAPE], with_point) - family.heights[slot, d]
        if with_gaps:
            found -= counts.value[i] * family.log_rate[family.sizes[slot, d] + 1]
    return found


def _log_predictives_by_column(family: Any, point: int, slot: int, found: Any) -> int:
    counts, dim = family.counts, family.totals.shape[1]
    for d in range(dim):
        found[d] = family.there[point, d] * family.zeros[slot, d]
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d, value = counts.column[i], counts.value[i]
        with_point = family.totals[slot, d] + value
        found[d] += look_up(family.rising, family.hyper[_SHAPE], with_point) - family.heights[slot, d]
        found[d] -= value * family.log_rate[family.sizes[slot, d] + 1] + math.lgamma(value + 1.0)
    return dim


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    counts, dim, with_gaps = family.counts, family.totals.shape[1], len(family.there) > 0
    found, own = family.log_base[point], counts.total[point]
    if with_gaps:
        for d in range(dim):
            if family.there[point, d] > 0.0:
                pulled = family.hyper[_SHAPE] + family.totals[slot, d]
                found -= pulled * family.shrink[family.sizes[slot, d] - 1]
    else:
        found -= own * family.log_rate[size]
        found -= (family.hyper[_SHAPE] * dim + family.grand_total[slot] - own) * family.shrink[size - 1]
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d, value = counts.column[i], counts.value[i]
        without_point = family.totals[slot, d] - value
        found += family.heights[slot, d] - look_up(family.rising, family.hyper[_SHAPE], without_point)
        if with_gaps:
            size = family.sizes[slot, d]
            found += value * (family.shrink[size - 1] - family.log_rate[size])
    return found


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    shape, rate, dim = family.hyper[_SHAPE], family.hyper[_RATE], family.totals.shape[1]
    if len(family.there):
        found = 0.0
        for d in range(dim):
            count, total = sums[d], sums[dim + 2 * d]
            found += log_rising(shape, total) - sums[dim + 2 * d + 1]
            found -= shape * math.log1p(count / rate) + total * math.log(rate + count)
        return found
    found, grand_total = -sums[dim], 0.0
    for d in range(dim):
        found += log_rising(shape, sums[d])
        grand_total += sums[d]
    return found - dim * shape * math.log1p(size / rate) - grand_total * math.log(rate + size)


implement(Poisson, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
implement_columns(Poisson, _log_predictives_by_column)
