"""Compiled functions of products of families over different columns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.compiling import lean
from pyroclust.distributions import Product
from pyroclust.distributions.compiled.pointers import (
    Addresses,
    address_of,
    call_number_of_one,
    call_step_of_one,
)
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

__all__ = ["Parts", "by_address"]


class Parts(NamedTuple):
    """Independent families, each called by its address: a new combination of them needs no new machine code.

    Attributes:
        hyper: hyperparameters of the first, then of the others, which see parts of this array.
        families: where they lie, ``(P,)``.
        functions: where their functions begin, ``(P, 5)``.
        begin: place of the first moment of each, and of one after the last, ``(P + 1,)``.
        most: bound of the log predictives of all families after each: 0 where their columns are discrete,
            else infinity, ``(P,)``.
    """

    hyper: np.ndarray
    families: np.ndarray
    functions: np.ndarray
    begin: np.ndarray
    most: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies lie elsewhere."""
        return _parts, (self.hyper, _contents(self), self.begin, self.most)


@compile_family.register
def _(component: Product, data: np.ndarray, num_slots: int) -> Parts:
    columns = np.split(data, np.cumsum([part.dim for part in component.parts])[:-1], axis=1)
    compiled: list[Any] = [
        compile_family(part, np.ascontiguousarray(own), num_slots)
        for part, own in zip(component.parts, columns, strict=True)
    ]
    discrete = [part.support.is_discrete for part in component.parts]
    return _parts(
        np.concatenate([part.hyper for part in compiled]),
        compiled,
        np.cumsum([0, *(part.num_moments for part in component.parts)]),
        np.array([0.0 if all(discrete[place + 1 :]) else np.inf for place in range(len(discrete))]),
    )


def by_address(family: Any, num_moments: int) -> Parts:
    """Return a family that is called by its address: code that takes it is compiled once for all families.

    A call costs some nanoseconds more.

    Args:
        family: of any kind.
        num_moments: numbers that a cluster of it keeps.
    """
    if isinstance(family, Parts):
        return family
    return _parts(family.hyper, [family], np.array([0, num_moments]), np.zeros(1))


def _parts(hyper: np.ndarray, contents: Sequence[Any], begin: np.ndarray, most: np.ndarray) -> Parts:
    """Let all families look at their part of one array of hyperparameters, and find their functions."""
    own = np.split(hyper, np.cumsum([len(one.hyper) for one in contents])[:-1])
    held = Addresses([_with_hyper(one, part) for one, part in zip(contents, own, strict=True)])
    functions = [
        [address_of(function, one.type, *rest) for function, *rest in _FUNCTIONS] for one in held.each
    ]
    return Parts(hyper, np.asarray(held), np.array(functions, np.intp), begin, most)


def _contents(family: Parts) -> tuple[Any, ...]:
    held: Any = family.families.base
    return tuple(one.content for one in held.each)


def _with_hyper(family: Any, hyper: np.ndarray) -> Any:
    """Return a family that looks at its hyperparameters elsewhere, and all that it is made of with it."""
    if isinstance(family, Parts):
        return _parts(hyper, _contents(family), family.begin, family.most)
    within = {name: one for name, one in family._asdict().items() if hasattr(one, "hyper")}
    return family._replace(hyper=hyper, **{name: _with_hyper(one, hyper) for name, one in within.items()})


@lean
def _tabulate_part(family: Any) -> None:
    tabulate(family)


@lean
def _refresh_part(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    refresh(family, sums, slot, size)


@lean
def _predictive_of_part(family: Any, point: int, slot: int, size: int) -> float:
    return log_predictive(family, point, slot, size)


@lean
def _predictive_without_of_part(family: Any, point: int, slot: int, size: int) -> float:
    return log_predictive_without(family, point, slot, size)


@lean
def _marginal_of_part(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    return log_marginal(family, sums, slot, size)


_TABULATE, _REFRESH, _PREDICTIVE, _WITHOUT, _MARGINAL = range(5)
_SUMS, _INDEX = types.Array(types.float64, 2, "A"), types.int64
_FUNCTIONS: Sequence[tuple[Any, ...]] = (
    (_tabulate_part,),
    (_refresh_part, _SUMS, _INDEX, _INDEX),
    (_predictive_of_part, _INDEX, _INDEX, _INDEX),
    (_predictive_without_of_part, _INDEX, _INDEX, _INDEX),
    (_marginal_of_part, _SUMS, _INDEX, _INDEX),
)


@implements(tabulate, Parts)
def _tabulate(family: Any) -> None:
    for p in range(len(family.families)):
        call_step_of_one(family.functions[p, _TABULATE], (family.families[p],))


@implements(refresh, Parts)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    for p in range(len(family.families)):
        own = sums[:, family.begin[p] : family.begin[p + 1]]
        call_step_of_one(family.functions[p, _REFRESH], (family.families[p], own, slot, size))


@implements(log_predictive, Parts)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    return log_predictive_above(family, point, slot, size, -np.inf)


@implements(log_predictive_above, Parts)
def _log_predictive_above(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    total = 0.0
    for p in range(len(family.families)):
        total += call_number_of_one(family.functions[p, _PREDICTIVE], (family.families[p], point, slot, size))
        if total + family.most[p] < floor:
            return total + family.most[p]
    return total


@implements(log_predictive_without, Parts)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    total = 0.0
    for p in range(len(family.families)):
        total += call_number_of_one(family.functions[p, _WITHOUT], (family.families[p], point, slot, size))
    return total


@implements(log_marginal, Parts)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    total = 0.0
    for p in range(len(family.families)):
        own = sums[:, family.begin[p] : family.begin[p + 1]]
        total += call_number_of_one(family.functions[p, _MARGINAL], (family.families[p], own, slot, size))
    return total
