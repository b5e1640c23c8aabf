"""Compiled functions of products of families over different columns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import ConjugateComponent, Product
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    implements,
    log_marginal,
    log_predictive,
    log_predictive_above,
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
        most: bound of log predictives of the second: 0 where its columns are discrete, else infinity.
    """

    hyper: np.ndarray
    first: Any
    second: Any
    split: int
    most: float


@compile_family.register
def _(component: Product, data: np.ndarray, num_slots: int) -> NamedTuple:
    compiled: list[Any] = []
    begin = 0
    for part in component.parts:
        columns = np.ascontiguousarray(data[:, begin : begin + part.dim])
        compiled.append(compile_family(part, columns, num_slots))
        begin += part.dim
    return _with_hyper(_paired(compiled, component.parts), np.concatenate([part.hyper for part in compiled]))


def _paired(compiled: Sequence[Any], parts: Sequence[ConjugateComponent]) -> Any:
    """Nest families from the right: (a, (b, c))."""
    if len(parts) == 1:
        return compiled[0]
    most = 0.0 if all(part.support.is_discrete for part in parts[1:]) else np.inf
    second = _paired(compiled[1:], parts[1:])
    return Pair(np.zeros(0), compiled[0], second, split=parts[0].num_moments, most=most)


def _with_hyper(family: Any, hyper: np.ndarray) -> Any:
    """Let all families in a nesting look at their part of one array."""
    if not isinstance(family, Pair):
        within = {name: one for name, one in family._asdict().items() if hasattr(one, "hyper")}
        return family._replace(hyper=hyper, **{name: _with_hyper(one, hyper) for name, one in within.items()})
    split = _num_hyper(family.first)
    first, second = _with_hyper(family.first, hyper[:split]), _with_hyper(family.second, hyper[split:])
    return family._replace(hyper=hyper, first=first, second=second)


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


@implements(log_predictive_above, Pair)
def _log_predictive_above(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    first = log_predictive(family.first, point, slot, size)
    if first + family.most < floor:
        return first + family.most
    return first + log_predictive_above(family.second, point, slot, size, floor - first)


@implements(log_predictive_without, Pair)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    first = log_predictive_without(family.first, point, slot, size)
    return first + log_predictive_without(family.second, point, slot, size)


@implements(log_marginal, Pair)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    first = log_marginal(family.first, sums[:, : family.split], slot, size)
    return first + log_marginal(family.second, sums[:, family.split :], slot, size)
