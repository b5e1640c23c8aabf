"""Compiled functions of normal columns with missing cells: one logarithm for all columns that are whole."""

import math
from typing import Any

from pyroclust.distributions import NormalInverseGamma
from pyroclust.distributions.compiled.families.inverse_gamma import LARGE
from pyroclust.distributions.compiled.families.partly_observed import (
    Cells,
    cells_of,
    marginal_of_cells,
    refresh_cells,
    tabulate_cells,
)
from pyroclust.distributions.compiled.protocol import (
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["NormalCells"]


class NormalCells(Cells):
    r"""Cells of normal columns.

    A cell whose column has :math:`n_d` cells in the cluster has the log predictive density
    :math:`C_{n_d} - \frac12 \log b_d - (a_{n_d} + \frac12) \log (1 + r_{n_d} q_d)`. Columns of which the
    cluster has every cell share the power, and so one logarithm of a product.
    """

    __slots__ = ()


@cells_of.register
def _(part: NormalInverseGamma) -> type[Cells]:
    return NormalCells if part.dim == 1 else Cells


implements(tabulate, NormalCells)(tabulate_cells)
implements(refresh, NormalCells)(refresh_cells)
implements(log_marginal, NormalCells)(marginal_of_cells)


@implements(log_predictive, NormalCells)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    part, groups = family.part, family.there.shape[1]
    total, product, power = 0.0, 1.0, part.power[size + 1]
    for g in range(groups):
        if not family.there[point, g]:
            continue
        own, count = slot * groups + g, family.counts[slot, g]
        difference = part.data[point * groups + g, 0] - part.mean[own, 0]
        factor = 1.0 + part.with_point[count] * part.half_precision[own, 0] * difference * difference
        total += part.constant[count] - 0.5 * part.log_rates[own]
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
    part, groups = family.part, family.there.shape[1]
    total, product, power = 0.0, 1.0, part.power[size - 1]
    for g in range(groups):
        if not family.there[point, g]:
            continue
        cell, own, count = point * groups + g, slot * groups + g, family.counts[slot, g]
        if count < 2:
            total += log_predictive(part, cell, len(family.sums) - 1, 0)
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
