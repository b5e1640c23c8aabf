"""Compiled functions of products of families over different columns."""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import Product
from pyroclust.distributions.compiled.families.partly_observed import Cells
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["Pair"]


class Pair(NamedTuple):
    """Two independent families, the second possibly a pair again: numba resolves the nesting by types.

    Attributes:
        hyper: hyperparameters of the first, then of the second, which see parts of this array.
        first: a family.
        second: a family.
        split: how many moments the first has.
    """

    hyper: np.ndarray
    first: Any
    second: Any
    split: int


@compile_family.register
def _(component: Product, data: np.ndarray, num_slots: int) -> NamedTuple:
    compiled: list[Any] = []
    widths, begin = [], 0
    for part in component.parts:
        columns = np.ascontiguousarray(data[:, begin : begin + part.dim])
        compiled.append(compile_family(part, columns, num_slots))
        widths.append(part.num_moments)
        begin += part.dim
    return _with_hyper(_paired(compiled, widths), np.concatenate([part.hyper for part in compiled]))


def _paired(parts: list[Any], widths: list[int]) -> Any:
    """Nest families from the right: (a, (b, c))."""
    if len(parts) == 1:
        return parts[0]
    return Pair(np.zeros(0), parts[0], _paired(parts[1:], widths[1:]), widths[0])


def _with_hyper(family: Any, hyper: np.ndarray) -> Any:
    """Let all families in a nesting look at their part of one array."""
    if not isinstance(family, Pair):
        of_cells = {"part": _with_hyper(family.part, hyper)} if isinstance(family, Cells) else {}
        return family._replace(hyper=hyper, **of_cells)
    split = _num_hyper(family.first)
    first, second = _with_hyper(family.first, hyper[:split]), _with_hyper(family.second, hyper[split:])
    return Pair(hyper, first, second, family.split)


def _num_hyper(family: Any) -> int:
    if isinstance(family, Pair):
        return _num_hyper(family.first) + _num_hyper(family.second)
    return len(family.hyper)


@implements(tabulate, Pair)
def _tabulate(family: Any) -> None:
    tabulate(family.first)
    tabulate(family.second)


@implements(refresh, Pair)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    refresh(family.first, sums[:, : family.split], slot, size)
    refresh(family.second, sums[:, family.split :], slot, size)


@implements(log_predictive, Pair)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    return log_predictive(family.first, point, slot, size) + log_predictive(family.second, point, slot, size)


@implements(log_predictive_without, Pair)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    first = log_predictive_without(family.first, point, slot, size)
    return first + log_predictive_without(family.second, point, slot, size)


@implements(log_marginal, Pair)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    first = log_marginal(family.first, sums[:, : family.split], slot, size)
    return first + log_marginal(family.second, sums[:, family.split :], slot, size)
