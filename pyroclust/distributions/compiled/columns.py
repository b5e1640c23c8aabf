"""Compiled densities of single cells: what each column of a point says of a cluster."""

from functools import cache, singledispatch
from typing import Any

import numpy as np
from numba import types

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.pointers import ViewType, address_of, caller, from_place
from pyroclust.distributions.compiled.protocol import Family

_ARGUMENTS = types.int64, types.int64, ViewType(types.float64, 1)
_call = caller(types.int64(types.voidptr, *_ARGUMENTS))


@singledispatch
def compile_columns(
    component: Any, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> Any:
    """Return the tables of a family of one column for many, where it knows of missing cells itself.

    Missing cells of ``data`` are 0; ``there`` is 1 for cells that are there, 0 for others, without rows where
    none is missing.
    """
    return None


@cache
def _function_of(kind: Any) -> Any:
    return inner(kind.log_predictives_by_column)


def column_functions(family: Family) -> np.ndarray | None:
    """Return where the functions of its parts begin, ``(P,)``; None where one has none."""
    held: Any = family.tables.base
    # What clusters cache of columns without missing cells is no longer column by column.
    if not all(
        hasattr(one, "log_predictives_by_column") and len(getattr(one, "there", "?"))
        for one in family.contents
    ):
        return None
    return np.array([address_of(_function_of(one.type.kind), one.type, *_ARGUMENTS) for one in held.each])


@inner
def log_predictives_by_column(family: Any, functions: Any, point: int, slot: int, found: Any) -> None:
    """Write the log predictive density of each column of a point in a slot, 0 where it is missing."""
    first = 0
    for p in range(len(functions)):
        first += _call(functions[p], (family.tables[p], point, slot, from_place(found, first)))
