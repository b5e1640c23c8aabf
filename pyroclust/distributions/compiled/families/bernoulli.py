"""Compiled functions of the Bernoulli-beta family, of whose columns cells may be missing."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import BernoulliBeta
from pyroclust.distributions.compiled.columns import implement_columns
from pyroclust.distributions.compiled.families.partly_observed import compile_columns
from pyroclust.distributions.compiled.log_rising import log_rising
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["Bernoulli"]

_ONES, _ZEROS = range(2)


class Bernoulli(NamedTuple):
    r"""Logarithms of posterior pseudo-counts, and what clusters cache of them.

    With s ones among n points a dimension has the log odds :math:`\log(a + s) - \log(b + n - s)`; a cluster
    keeps them and its log density of a point of zeros, so that a candidate costs one product a dimension.

    Attributes:
        data: 0 where a cell is missing.
        there: 1 where a cell is there, else 0, ``(N, D)``; no rows where all are.
        counts: cells that are there, ``(S, D)``.
        log_zero: log density of a zero in each column, where cells are missing, ``(S, D)``.
    """

    hyper: np.ndarray
    data: np.ndarray
    there: np.ndarray
    log_ones: np.ndarray
    log_zeros: np.ndarray
    log_total: np.ndarray
    ones: np.ndarray
    counts: np.ndarray
    log_odds: np.ndarray
    log_zero: np.ndarray
    all_zeros: np.ndarray


@compile_family.register
def _(component: BernoulliBeta, data: np.ndarray, num_slots: int, num_points: int) -> Bernoulli:
    return _tables(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(part: BernoulliBeta, data: np.ndarray, num_slots: int, num_points: int) -> Bernoulli:
    there = ~np.isnan(data)
    return _tables(part, np.where(there, data, 0.0), there.astype(float), num_slots, num_points)


def _tables(
    component: BernoulliBeta, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> Bernoulli:
    dim = data.shape[1]
    return Bernoulli(
        hyper=hyper_array(component),
        data=data,
        there=there,
        log_ones=np.zeros(num_points + 1),
        log_zeros=np.zeros(num_points + 1),
        log_total=np.zeros(num_points + 1),
        ones=np.zeros((num_slots, dim), dtype=np.int64),
        counts=np.zeros((num_slots, dim), dtype=np.int64),
        log_odds=np.zeros((num_slots, dim)),
        log_zero=np.zeros((num_slots, dim)),
        all_zeros=np.zeros(num_slots),
    )


def _tabulate(family: Any) -> None:
    ones, zeros = family.hyper[_ONES], family.hyper[_ZEROS]
    for size in range(len(family.log_ones)):
        family.log_ones[size] = math.log(ones + size)
        family.log_zeros[size] = math.log(zeros + size)
        family.log_total[size] = math.log(ones + zeros + size)


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, with_gaps = family.data.shape[1], len(family.there) > 0
    total = 0.0
    for d in range(dim):
        count = int(sums[d] + 0.5) if with_gaps else size
        ones = int(sums[dim + d if with_gaps else d] + 0.5)
        log_zero = family.log_zeros[count - ones]
        family.counts[slot, d], family.ones[slot, d] = count, ones
        family.log_odds[slot, d] = family.log_ones[ones] - log_zero
        family.log_zero[slot, d] = log_zero - family.log_total[count]
        total += log_zero
    family.all_zeros[slot] = total - dim * family.log_total[size]


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    total, dim = 0.0, family.data.shape[1]
    if len(family.there):
        for d in range(dim):
            total += family.there[point, d] * family.log_zero[slot, d]
    else:
        total = family.all_zeros[slot]
    for d in range(dim):
        total += family.data[point, d] * family.log_odds[slot, d]
    return total


def _log_predictives_by_column(family: Any, point: int, slot: int, found: Any) -> int:
    dim: int = family.data.shape[1]
    for d in range(dim):
        found[d] = family.there[point, d] * family.log_zero[slot, d]
        found[d] += family.data[point, d] * family.log_odds[slot, d]
    return dim


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    total, with_gaps = 0.0, len(family.there) > 0
    for d in range(family.data.shape[1]):
        if with_gaps and family.there[point, d] == 0.0:
            continue
        ones, count = family.ones[slot, d], family.counts[slot, d]
        total -= family.log_total[count - 1]
        if family.data[point, d] > 0.5:
            total += family.log_ones[ones - 1]
        else:
            total += family.log_zeros[count - 1 - ones]
    return total


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    ones, zeros, dim = family.hyper[_ONES], family.hyper[_ZEROS], family.data.shape[1]
    total, with_gaps = 0.0, len(family.there) > 0
    if not with_gaps:
        total = -dim * log_rising(ones + zeros, size)
    for d in range(dim):
        count, of_ones = float(size), sums[dim + d if with_gaps else d]
        if with_gaps:
            count = sums[d]
            total -= log_rising(ones + zeros, count)
        total += log_rising(ones, of_ones) + log_rising(zeros, count - of_ones)
    return total


implement(Bernoulli, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
implement_columns(Bernoulli, _log_predictives_by_column)
