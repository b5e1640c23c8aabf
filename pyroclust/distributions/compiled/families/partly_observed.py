"""Compiled functions of columns of which some cells are missing: those of one family, cell by cell."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import Component, PartlyObserved
from pyroclust.distributions.compiled.columns import implement_columns
from pyroclust.distributions.compiled.protocol import (
    Family,
    compile_family,
    family_of,
    implement,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["Cells", "compile_columns"]


@singledispatch
def compile_columns(part: Component, data: np.ndarray, num_slots: int, num_points: int) -> Any:
    """Return the tables of a family that knows of missing cells itself, where that is faster.

    Args:
        part: the family of one column.
        data: columns, ``(N, G)``, with nan where a cell is missing.
        num_slots: how many clusters the work arrays must hold.
        num_points: the largest size of a cluster.
    """
    return None


class Cells(NamedTuple):
    """The family of one group of columns, with a point for every cell and a cluster for every group of one.

    Attributes:
        hyper: that of the family.
        part: the family, on the N G cells as points; cluster k of group g is its slot k G + g, and the last
            slot is always empty.
        there: which cells are there, ``(N, G)``.
        counts: cells that are there in every group of every cluster, ``(S, G)``.
        sums: moments of the part's clusters, ``(S G + 1, F)``.
    """

    hyper: np.ndarray
    part: Family
    there: np.ndarray
    counts: np.ndarray
    sums: np.ndarray


@compile_family.register
def _(component: PartlyObserved, data: np.ndarray, num_slots: int, num_points: int) -> NamedTuple:
    groups, width = component.num_groups, component.part.dim
    own = compile_columns(component.part, data, num_slots, num_points) if width == 1 else None
    if own is not None:
        return own
    values = np.ascontiguousarray(data.reshape(-1, width))
    there = ~np.isnan(values).any(-1)
    cells = np.where(there[:, None], values, 0.0)
    part = family_of(component.part, cells, num_slots * groups + 1, num_points)
    return Cells(
        hyper=part.hyper,
        part=part,
        there=there.reshape(-1, groups),
        counts=np.zeros((num_slots, groups), np.int64),
        sums=np.zeros((num_slots * groups + 1, component.part.num_moments)),
    )


def _tabulate(family: Any) -> None:
    tabulate(family.part)
    empty = len(family.sums) - 1
    refresh(family.part, family.sums, empty, 0)


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    groups, width = family.there.shape[1], family.sums.shape[1]
    for g in range(groups):
        count, own = int(sums[g] + 0.5), slot * groups + g
        family.counts[slot, g] = count
        for f in range(width):
            # What is left of a sum that was taken apart again is rounding.
            family.sums[own, f] = sums[groups + g * width + f] if count else 0.0
        refresh(family.part, family.sums, own, count)


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    groups, total = family.there.shape[1], 0.0
    for g in range(groups):
        if family.there[point, g]:
            count = family.counts[slot, g]
            total += log_predictive(family.part, point * groups + g, slot * groups + g, count)
    return total


def _log_predictives_by_column(family: Any, point: int, slot: int, found: Any) -> int:
    groups: int = family.there.shape[1]
    for g in range(groups):
        found[g] = 0.0
        if family.there[point, g]:
            count = family.counts[slot, g]
            found[g] = log_predictive(family.part, point * groups + g, slot * groups + g, count)
    return groups


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    groups, total = family.there.shape[1], 0.0
    for g in range(groups):
        if not family.there[point, g]:
            continue
        cell, count = point * groups + g, family.counts[slot, g]
        if count > 1:
            total += log_predictive_without(family.part, cell, slot * groups + g, count)
        else:
            total += log_predictive(family.part, cell, len(family.sums) - 1, 0)
    return total


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    groups, width, total = family.there.shape[1], family.sums.shape[1], 0.0
    for g in range(groups):
        count = int(sums[g] + 0.5)
        if count:
            own = slot * groups + g
            for f in range(width):
                family.sums[own, f] = sums[groups + g * width + f]
            total += log_marginal(family.part, family.sums, own, count)
    return total


implement(Cells, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
implement_columns(Cells, _log_predictives_by_column)
