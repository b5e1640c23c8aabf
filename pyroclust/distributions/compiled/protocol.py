"""Compiled families: functions of a component family that numba resolves by the type of its tables.

A *family* is a named tuple of arrays, tables and caches of the components. Its functions below are stubs;
numba finds their machine code by the type of the named tuple (:func:`numba.extending.overload`), so that a
loop over points and clusters is written once for all families.

A new family registers :func:`compile_family` and overloads five stubs by :func:`implements`; nothing else
changes. It may have its own function of a stub that has one for all others (:func:`otherwise`). Machine code
stays on disk until a file beside this one or the caller's changes, or the file of a family of one's own: its
functions lie beside its named tuple.
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from pyroclust.compiling import LEAN_OPTIONS
from pyroclust.distributions import Component, ConjugateComponent
from pyroclust.distributions.compiled.pointers import PointerType

__all__ = [
    "compile_family",
    "hyper_array",
    "implements",
    "is_tuple_of",
    "log_marginal",
    "log_predictive",
    "log_predictive_above",
    "log_predictive_without",
    "otherwise",
    "refresh",
    "tabulate",
]

# Passing a family of twenty arrays to a function takes longer than many a predictive.
_INLINE_OPTIONS: Any = {**LEAN_OPTIONS, "forceinline": True}


@singledispatch
def compile_family(component: Any, data: np.ndarray, num_slots: int) -> NamedTuple:
    """Return the tables and work arrays of a family for one chain, its hyperparameters being numbers.

    The named tuple has a field ``hyper``, the values of ``component.hyper_names`` in their order, and may
    have any others. :func:`tabulate` is called on it before anything else.

    Args:
        component: the component family.
        data: points, ``(N, D)`` float64.
        num_slots: how many clusters the work arrays must hold.

    Raises:
        ValueError: if no compiled functions are registered for the family.
    """
    known = sorted(one.__name__ for one in compile_family.registry if issubclass(one, ConjugateComponent))
    raise ValueError(
        f"model.component is a {type(component).__name__}, expected a family with compiled functions "
        f"({', '.join(known)}): use AuxiliaryGibbs for other components"
    )


def hyper_array(component: Component) -> np.ndarray:
    """Return the hyperparameters of a family as one array, in the order of ``hyper_names``."""
    return np.array([float(component.value(name)) for name in component.hyper_names])


def tabulate(family: Any) -> None:
    """Recompute the tables by cluster size from ``family.hyper`` (a stub that numba resolves)."""
    raise NotImplementedError


def refresh(family: Any, sums: Any, slot: Any, size: Any) -> None:
    """Recompute the cache of a cluster, possibly empty, from its size and summed moments (a stub)."""
    raise NotImplementedError


def log_predictive(family: Any, point: Any, slot: Any, size: Any) -> float:
    """Return log p(x_point | cluster) for a point outside the cluster, from caches and tables (a stub)."""
    raise NotImplementedError


def log_predictive_without(family: Any, point: Any, slot: Any, size: Any) -> float:
    """Return log p(x_point | cluster without it) for a point in a cluster of two or more (a stub)."""
    raise NotImplementedError


def log_predictive_above(family: Any, point: Any, slot: Any, size: Any, floor: Any) -> float:
    """Return the log predictive where it is at least ``floor``, else any number below that (a stub)."""
    raise NotImplementedError


def log_marginal(family: Any, sums: Any, slot: Any, size: Any) -> float:
    """Return the log marginal likelihood of a cluster from ``family.hyper`` and its sums alone (a stub)."""
    raise NotImplementedError


def is_tuple_of(numba_type: types.Type, kind: type) -> bool:
    """Say at compile time whether a numba type stands for a certain named tuple, or a pointer to one."""
    found = numba_type.content if isinstance(numba_type, PointerType) else numba_type
    return isinstance(found, types.BaseNamedTuple) and getattr(found, "instance_class", None) is kind


def implements(
    stub: Callable[..., Any], kind: type, *, place: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the machine code of a stub for one kind of named tuple among its arguments.

    It must not allocate arrays: it is compiled without reference counts.

    Args:
        stub: one of the stubs above.
        kind: the named tuple.
        place: of it among the arguments.

    Example:
        >>> class Flat(NamedTuple):
        ...     hyper: np.ndarray
        >>> @implements(log_marginal, Flat)
        ... def _log_marginal(family, sums, slot, size):
        ...     return 0.0
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*arguments: Any) -> Callable[..., Any] | None:
            return function if is_tuple_of(arguments[place], kind) else None

        _OWN.setdefault(stub, set()).add(kind)
        overload(stub, strict=False, jit_options=_options_of(stub))(choose)
        return function

    return register


def otherwise(stub: Callable[..., Any], *, place: int = 0) -> Callable[..., Any]:
    """Register a function as the machine code of a stub for all kinds that :func:`implements` names none for.

    Args:
        stub: of a family or a move.
        place: of the kind among its arguments.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*arguments: Any) -> Callable[..., Any] | None:
            own = any(is_tuple_of(arguments[place], kind) for kind in _OWN.get(stub, ()))
            return None if own else function

        overload(stub, strict=False, jit_options=_options_of(stub))(choose)
        return function

    return register


def _options_of(stub: Callable[..., Any]) -> Any:
    return _INLINE_OPTIONS if stub in _INLINE else LEAN_OPTIONS


_OWN: dict[Callable[..., Any], set[type]] = {}
_INLINE = (log_predictive, log_predictive_above, log_predictive_without, refresh)


@otherwise(log_predictive_above)
def _whole_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    return log_predictive(family, point, slot, size)
