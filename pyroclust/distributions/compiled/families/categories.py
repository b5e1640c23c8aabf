"""Compiled functions of columns of categories."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import Categories
from pyroclust.distributions.compiled.columns import implement_columns
from pyroclust.distributions.compiled.log_rising import log_rising
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["CategoryCounts"]

_CONCENTRATION = 0
_MISSING = -1


class CategoryCounts(NamedTuple):
    r"""Categories of the points, and what clusters cache: log-probabilities of all categories.

    With category l of a column seen :math:`s_l` times among n points, it has the log predictive
    :math:`\log(a + s_l) - \log(L a + n)`: a candidate costs one look-up a column.

    Attributes:
        hyper: the concentration.
        code: place of each point's category among those of all columns, -1 where it is missing, ``(N, D)``.
        first: place of the first category of each column, and of one after the last, ``(D + 1,)``.
        log_seen: log(a + n) by n, ``(N + 1,)``.
        seen: how often each category is in a cluster, ``(S, sum of L)``.
        totals: how often any of a column is, ``(S, D)``.
        log_probs: of each category, ``(S, sum of L)``.
    """

    hyper: np.ndarray
    code: np.ndarray
    first: np.ndarray
    log_seen: np.ndarray
    seen: np.ndarray
    totals: np.ndarray
    log_probs: np.ndarray


@compile_family.register
def _(component: Categories, data: np.ndarray, num_slots: int, num_points: int) -> CategoryCounts:
    first = np.concatenate([[0], np.cumsum(component.levels)]).astype(np.int64)
    code = np.where(np.isnan(data), _MISSING, np.nan_to_num(data) + first[:-1]).astype(np.int64)
    return CategoryCounts(
        hyper=hyper_array(component),
        code=code,
        first=first,
        log_seen=np.zeros(num_points + 1),
        seen=np.zeros((num_slots, int(first[-1])), np.int64),
        totals=np.zeros((num_slots, component.dim), np.int64),
        log_probs=np.zeros((num_slots, int(first[-1]))),
    )


def _tabulate(family: Any) -> None:
    for size in range(len(family.log_seen)):
        family.log_seen[size] = math.log(family.hyper[_CONCENTRATION] + size)


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    for d in range(family.code.shape[1]):
        begin, end, total = family.first[d], family.first[d + 1], 0
        for place in range(begin, end):
            count = int(sums[place] + 0.5)
            family.seen[slot, place] = count
            total += count
        family.totals[slot, d] = total
        log_total = math.log((end - begin) * family.hyper[_CONCENTRATION] + total)
        for place in range(begin, end):
            family.log_probs[slot, place] = family.log_seen[family.seen[slot, place]] - log_total


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    total = 0.0
    for d in range(family.code.shape[1]):
        if family.code[point, d] != _MISSING:
            total += family.log_probs[slot, family.code[point, d]]
    return total


def _log_predictives_by_column(family: Any, point: int, slot: int, found: Any) -> int:
    dim: int = family.code.shape[1]
    for d in range(dim):
        place = family.code[point, d]
        found[d] = 0.0 if place == _MISSING else family.log_probs[slot, place]
    return dim


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    total, concentration = 0.0, family.hyper[_CONCENTRATION]
    for d in range(family.code.shape[1]):
        place = family.code[point, d]
        if place != _MISSING:
            number = family.first[d + 1] - family.first[d]
            total += family.log_seen[family.seen[slot, place] - 1]
            total -= math.log(number * concentration + family.totals[slot, d] - 1)
    return total


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    found, concentration = 0.0, family.hyper[_CONCENTRATION]
    for d in range(family.code.shape[1]):
        begin, end, total = family.first[d], family.first[d + 1], 0.0
        for place in range(begin, end):
            found += log_rising(concentration, sums[place])
            total += sums[place]
        found -= log_rising((end - begin) * concentration, total)
    return found


implement(CategoryCounts, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
implement_columns(CategoryCounts, _log_predictives_by_column)
