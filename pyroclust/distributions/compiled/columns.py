"""Compiled densities of single cells: what each column of a point says of a cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.pointers import ViewType, address_of, caller, from_place
from pyroclust.distributions.compiled.protocol import Family

_ARGUMENTS = types.int64, types.int64, ViewType(types.float64, 1)
_call = caller(types.int64(types.voidptr, *_ARGUMENTS))
_FUNCTIONS: dict[type, Any] = {}


def implement_columns(kind: type, function: Callable[..., Any]) -> None:
    """Register the function of a kind of family that :func:`log_predictives_by_column` calls."""
    _FUNCTIONS[kind] = inner(function)


def column_functions(family: Family) -> np.ndarray | None:
    """Return where the functions of its parts begin, ``(P,)``; None where one has none."""
    held: Any = family.tables.base
    # What clusters cache of columns without missing cells is no longer column by column.
    if not all(type(one) in _FUNCTIONS and len(getattr(one, "there", "?")) for one in family.contents):
        return None
    return np.array([address_of(_FUNCTIONS[one.type.kind], one.type, *_ARGUMENTS) for one in held.each])


@inner
def log_predictives_by_column(family: Any, functions: Any, point: int, slot: int, found: Any) -> None:
    """Write the log predictive density of each column of a point in a slot, 0 where it is missing."""
    first = 0
    for p in range(len(functions)):
        first += _call(functions[p], (family.tables[p], point, slot, from_place(found, first)))
