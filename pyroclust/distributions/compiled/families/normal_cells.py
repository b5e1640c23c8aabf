"""Compiled functions of normal columns with missing cells: as few logarithms as may be."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import NormalInverseGamma
from pyroclust.distributions.compiled.families.inverse_gamma import LARGE
from pyroclust.distributions.compiled.families.partly_observed import Cells, cells_of
from pyroclust.distributions.compiled.protocol import (
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["NormalCells"]


class NormalCells(NamedTuple):
    r"""Cells of normal columns, and what clusters cache of them.

    A cell whose column has :math:`n_d` cells in the cluster has the log predictive density
    :math:`h_d - (a_{n_d} + \frac12) \log (1 + r_{n_d} q_d)`, with :math:`h_d = C_{n_d} - \frac12 \log b_d`.
    Columns of which the cluster has every cell share the power, and so one logarithm of a product.

    Attributes:
        hyper: that of the family.
        cells: of the family.
        height: :math:`h_d` of every cluster, ``(S, D)``.
        stretch: :math:`r_{n_d} / 2 b_d`, ``(S, D)``.
    """

    hyper: np.ndarray
    cells: Cells
    height: np.ndarray
    stretch: np.ndarray


@cells_of.register
def _(part: NormalInverseGamma, cells: Cells) -> NamedTuple:
    if part.dim > 1:
        return cells
    slots, columns = cells.counts.shape
    return NormalCells(
        hyper=cells.hyper,
        cells=cells,
        height=np.zeros((slots, columns)),
        stretch=np.zeros((slots, columns)),
    )


@implements(tabulate, NormalCells)
def _tabulate(family: Any) -> None:
    tabulate(family.cells)


@implements(refresh, NormalCells)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    cells, part, columns = family.cells, family.cells.part, family.height.shape[1]
    refresh(cells, sums, slot, size)
    for d in range(columns):
        own, count = slot * columns + d, cells.counts[slot, d]
        family.height[slot, d] = part.constant[count] - 0.5 * part.log_rates[own]
        family.stretch[slot, d] = part.with_point[count] * part.half_precision[own, 0]


@implements(log_predictive, NormalCells)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    cells, part, columns = family.cells, family.cells.part, family.height.shape[1]
    total, product, power = 0.0, 1.0, part.power[size + 1]
    for d in range(columns):
        if not cells.there[point, d]:
            continue
        count = cells.counts[slot, d]
        difference = part.data[point * columns + d, 0] - part.mean[slot * columns + d, 0]
        factor = 1.0 + family.stretch[slot, d] * difference * difference
        total += family.height[slot, d]
        if count != size:
            total -= part.power[count + 1] * math.log(factor)
            continue
        product *= factor
        if product > LARGE:
            total -= power * math.log(product)
            product = 1.0
    return total - power * math.log(product)


@implements(log_predictive_without, NormalCells)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    cells, part, columns = family.cells, family.cells.part, family.height.shape[1]
    total, product, power = 0.0, 1.0, part.power[size - 1]
    for d in range(columns):
        if not cells.there[point, d]:
            continue
        cell, own, count = point * columns + d, slot * columns + d, cells.counts[slot, d]
        if count < 2:
            total += log_predictive(part, cell, len(cells.sums) - 1, 0)
            continue
        difference = part.data[cell, 0] - part.mean[own, 0]
        stretch = part.without_point[count] * part.half_precision[own, 0]
        factor = max(1.0 - stretch * difference * difference, 1e-16)
        total += part.constant[count - 1] - 0.5 * part.log_rates[own]
        if count != size:
            total += part.power[count - 1] * math.log(factor)
            continue
        product *= factor
        if product < 1.0 / LARGE:
            total += power * math.log(product)
            product = 1.0
    return total + power * math.log(product)


@implements(log_marginal, NormalCells)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    return log_marginal(family.cells, sums, slot, size)
