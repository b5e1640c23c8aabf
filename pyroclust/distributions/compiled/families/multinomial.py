"""Compiled functions of the multinomial-Dirichlet family."""

from typing import Any, NamedTuple

import numpy as np
import torch

from pyroclust.distributions import MultinomialDirichlet
from pyroclust.distributions.compiled.log_rising import log_rising, look_up, table_of, tabulate_rising
from pyroclust.distributions.compiled.non_zero import NonZero, non_zero
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["Multinomial"]

_CONCENTRATION = 0


class Multinomial(NamedTuple):
    r"""Log rising factorials of the concentration and of its sum, and what clusters cache of them.

    With category totals s and :math:`r_a(m) = \log \Gamma(a + m) / \Gamma(a)` a point has the log predictive
    :math:`\sum_d [r_a(s_d + x_d) - r_a(s_d)] - r_{Da}(S + X) + r_{Da}(S)`, S and X the sums of s and x, plus
    the multinomial coefficient: a candidate costs one look-up for each count that is not zero.
    """

    hyper: np.ndarray
    counts: NonZero
    log_base: np.ndarray
    rising: np.ndarray
    rising_sum: np.ndarray
    totals: np.ndarray
    heights: np.ndarray
    grand_total: np.ndarray
    grand_height: np.ndarray


@compile_family.register
def _(component: MultinomialDirichlet, data: np.ndarray, num_slots: int, num_points: int) -> Multinomial:
    dim = data.shape[1]
    base = component.moments(torch.from_numpy(data))[:, dim]
    return Multinomial(
        hyper=hyper_array(component),
        counts=non_zero(data),
        log_base=np.ascontiguousarray(base.numpy()),
        rising=table_of(data.sum(0), num_points),
        rising_sum=table_of(data.sum(keepdims=True), num_points),
        totals=np.zeros((num_slots, dim), dtype=np.int64),
        heights=np.zeros((num_slots, dim)),
        grand_total=np.zeros(num_slots, dtype=np.int64),
        grand_height=np.zeros(num_slots),
    )


def _tabulate(family: Any) -> None:
    tabulate_rising(family.rising, family.hyper[_CONCENTRATION])
    tabulate_rising(family.rising_sum, family.hyper[_CONCENTRATION] * family.totals.shape[1])


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    concentration, dim = family.hyper[_CONCENTRATION], family.totals.shape[1]
    grand_total = 0
    for d in range(dim):
        total = int(sums[d] + 0.5)
        family.totals[slot, d] = total
        family.heights[slot, d] = look_up(family.rising, concentration, total)
        grand_total += total
    family.grand_total[slot] = grand_total
    family.grand_height[slot] = look_up(family.rising_sum, concentration * dim, grand_total)


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    counts, concentration = family.counts, family.hyper[_CONCENTRATION]
    grand_total = family.grand_total[slot] + counts.total[point]
    found = family.log_base[point] + family.grand_height[slot]
    found -= look_up(family.rising_sum, concentration * family.totals.shape[1], grand_total)
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d = counts.column[i]
        with_point = family.totals[slot, d] + counts.value[i]
        found += look_up(family.rising, concentration, with_point) - family.heights[slot, d]
    return found


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    counts, concentration = family.counts, family.hyper[_CONCENTRATION]
    grand_total = family.grand_total[slot] - counts.total[point]
    found = family.log_base[point] - family.grand_height[slot]
    found += look_up(family.rising_sum, concentration * family.totals.shape[1], grand_total)
    for i in range(counts.begin[point], counts.begin[point + 1]):
        d = counts.column[i]
        without_point = family.totals[slot, d] - counts.value[i]
        found += family.heights[slot, d] - look_up(family.rising, concentration, without_point)
    return found


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    concentration, dim = family.hyper[_CONCENTRATION], family.totals.shape[1]
    found, grand_total = sums[dim], 0.0
    for d in range(dim):
        found += log_rising(concentration, sums[d])
        grand_total += sums[d]
    return found - log_rising(concentration * dim, grand_total)


implement(Multinomial, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
