"""Compiled families: functions of a family, called by their address, for points, single cells and counts."""

import math
from collections.abc import Sequence
from functools import cache, singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import typeof, types

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import Addresses, ViewType, address_of, caller, from_place


@singledispatch
def compile_family(component: Any, data: np.ndarray, num_slots: int, num_points: int) -> NamedTuple:
    """Return the tables and work arrays of a family for one chain, its hyperparameters being numbers.

    The named tuple has a field ``hyper``, the values of ``component.hyper_names`` in their order, and the
    methods that :func:`compile_methods` compiles.
    """
    raise ValueError(
        f"model.component is a {type(component).__name__}, expected a family with compiled functions, as all "
        "conjugate ones of pyroclust.distributions have them: use AuxiliaryGibbs for other components"
    )


def hyper_array(component: Any) -> np.ndarray:
    """Return the hyperparameters of a family as one array, in the order of ``hyper_names``."""
    return np.array([float(component.value(name)) for name in component.hyper_names])


ROWS_AT_ONCE = 64
"""Rows whose densities are computed at once where parameters are drawn."""


class Family(NamedTuple):
    """Independent families over different columns, mostly one, each called by its address."""

    hyper: np.ndarray  # hyperparameters of the first, then of the others, which see parts of this array
    tables: np.ndarray  # where their tables lie, (P,)
    functions: np.ndarray  # where their functions begin, 0 where there is none, (P, 9)
    begin: np.ndarray  # place of the first moment of each, and of one after the last, (P + 1,)
    # bound of the log predictives of all families after each: 0 where their columns are discrete, else
    # infinity, (P,)
    most: np.ndarray
    power: np.ndarray  # that every density is raised to, which may change from step to step, (1,)

    @property
    def contents(self) -> tuple[Any, ...]:
        """The tables themselves."""
        held: Any = self.tables.base
        return tuple(one.content for one in held.each)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies lie elsewhere."""
        return _family, (self.hyper, self.contents, self.begin, self.most, self.power)


def family_of(component: Any, data: np.ndarray, num_slots: int, num_points: int) -> Any:
    """Return :func:`compile_family` as loops take it."""
    own: Any = compile_family(component, data, num_slots, num_points)
    if isinstance(own, Family) or type(own) not in _METHODS:
        return own
    begin = np.array([0, getattr(component, "num_moments", 0)])
    return _family(own.hyper, [own], begin, np.zeros(1), np.ones(1))


def join_families(families: Sequence[Family], discrete: Sequence[bool]) -> Family:
    """Return independent families over different columns as one."""
    contents = [one for family in families for one in family.contents]
    widths = [np.diff(family.begin) for family in families]
    most = [
        family.most + (0.0 if all(discrete[place + 1 :]) else np.inf) for place, family in enumerate(families)
    ]
    nothing = np.zeros(0)
    return _family(
        np.concatenate([nothing, *(family.hyper for family in families)]),
        contents,
        np.concatenate([[0], *widths]).cumsum().astype(np.int64),
        np.concatenate([nothing, *most]),
        np.ones(1),
    )


def _family(
    hyper: np.ndarray, contents: Sequence[Any], begin: np.ndarray, most: np.ndarray, power: np.ndarray
) -> Family:
    """Let all families look at their part of one array of hyperparameters, and find their functions."""
    ends = np.cumsum([len(one.hyper) for one in contents], dtype=int)
    own = [hyper[end - len(one.hyper) : end] for one, end in zip(contents, ends, strict=True)]
    held = Addresses([_with_hyper(one, part) for one, part in zip(contents, own, strict=True)])
    functions = [
        [
            address_of(methods[name], one.type, *signature.args[1:]) if name in methods else 0
            for name, signature in _SIGNATURES.items()
        ]
        for one, methods in ((one, _METHODS[one.type.kind]) for one in held.each)
    ]
    places = np.array(functions, np.intp).reshape(len(functions), len(_SIGNATURES))
    return Family(hyper, np.asarray(held), places, begin, most, power)


def _with_hyper(family: Any, hyper: np.ndarray) -> Any:
    """Return a family that looks at its hyperparameters elsewhere, and all that it is made of with it."""
    if isinstance(family, Family):
        return _family(hyper, family.contents, family.begin, family.most, family.power)
    within = {name: one for name, one in family._asdict().items() if hasattr(one, "hyper")}
    return family._replace(hyper=hyper, **{name: _with_hyper(one, hyper) for name, one in within.items()})


_TABLES, _INDEX, _NUMBER = types.voidptr, types.int64, types.float64
_SUMS, _SLOTS = ViewType(_NUMBER, 1), ViewType(_INDEX, 1)
_SIGNATURES = {
    "tabulate": types.void(_TABLES),
    "refresh": types.void(_TABLES, _SUMS, _INDEX, _INDEX),
    "log_predictive": _NUMBER(_TABLES, _INDEX, _INDEX, _INDEX, _NUMBER),
    "log_predictive_without": _NUMBER(_TABLES, _INDEX, _INDEX, _INDEX),
    "log_marginal": _NUMBER(_TABLES, _SUMS, _INDEX, _INDEX),
    "add_log_predictives": types.void(
        _TABLES, _INDEX, _SLOTS, _SLOTS, _INDEX, _INDEX, _NUMBER, _NUMBER, _SUMS
    ),
    "draw_parameters": types.void(_TABLES, _SUMS, _INDEX, _INDEX, typeof(np.random.default_rng(0))),
    "load_rows": types.void(_TABLES, _SLOTS, _INDEX),
    "add_log_densities": types.void(_TABLES, _SLOTS, _INDEX, _INDEX, _SUMS),
}
_TABULATE, _REFRESH, _ABOVE, _WITHOUT, _MARGINAL, _ALL, _DRAW, _LOAD, _DENSITIES = range(len(_SIGNATURES))
(
    _call_tabulate,
    _call_refresh,
    _call_above,
    _call_without,
    _call_marginal,
    _call_all,
    _call_draw,
    _call_load,
    _call_densities,
) = map(caller, _SIGNATURES.values())
_METHODS: dict[type, dict[str, Any]] = {}
Tables = TypeVar("Tables")


def compile_methods(kind: type[Tables]) -> type[Tables]:
    """Compile the methods of a named tuple of tables, which are what the functions below call.

    ``tabulate()`` fills the tables by cluster size from ``hyper``, ``refresh(sums, slot, size)`` the cache of
    a cluster from the sums of its moments, ``(F,)``. From these come ``log_predictive(point, slot, size,
    floor)`` of a point outside of a cluster, any number below ``floor`` where it is below that, and
    ``log_predictive_without(point, slot, size)`` of a point in a cluster of two or more.
    ``log_marginal(sums, slot, size)`` reads ``hyper`` and the sums alone. Methods must not allocate arrays.

    Two more may be there. ``add_log_predictives`` does in one call what the function of that name does for
    one family: where predictives are cheap, calls of one after the other take a fifth of a sweep.
    ``log_predictives_by_column(point, slot, found)`` writes the log predictive of each column of which cells
    may be missing, 0 where one is, and returns how many columns there are.

    Nor do all have these, for blocked sampling: ``draw_parameters(sums, slot, size, generator)`` puts
    parameters drawn given a cluster into its cache; ``add_log_densities(rows, count, slot, found)`` adds the
    log densities of so many rows under them, at most 64, less numbers that are the same in all slots. Of
    those rows ``load_rows(rows, count)``, where there is one, is called before.
    """
    _METHODS[kind] = {name: inner(getattr(kind, name)) for name in _SIGNATURES if hasattr(kind, name)}
    return kind


def draws_parameters(family: Any) -> bool:
    """Return whether a family has the compiled functions that draw parameters."""
    return isinstance(family, Family) and bool(family.functions[:, _DRAW].all())


@compiled(allocates=False)
def tabulate(family: Any) -> None:
    """Recompute the tables by cluster size from ``family.hyper``."""
    for p in range(len(family.tables)):
        _call_tabulate(family.functions[p, _TABULATE], (family.tables[p],))


@inner
def refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    """Recompute the cache of a cluster, possibly empty, from its size and summed moments, ``(S, F)``."""
    for p in range(len(family.tables)):
        part = from_place(sums[slot], family.begin[p])
        _call_refresh(family.functions[p, _REFRESH], (family.tables[p], part, slot, size))


@inner
def log_predictive_above(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    """Return log p(x_point | cluster) for a point outside of it, or any number below ``floor`` if it is."""
    power, total = family.power[0], 0.0
    if power != 1.0:
        floor /= power
    for p in range(len(family.tables)):
        above = floor - total - family.most[p]
        total += _call_above(family.functions[p, _ABOVE], (family.tables[p], point, slot, size, above))
        if total + family.most[p] < floor:
            return (total + family.most[p]) * power
    return total * power


@inner
def add_log_predictives(
    family: Any, point: int, slots: Any, sizes: Any, count: int, own: int, floor: float, weights: Any
) -> None:
    """Add the log predictives of a point in the first slots but its own, or any number below ``floor``."""
    power, rest = family.power[0], np.inf
    for p in range(len(family.tables)):
        least, above, rest = floor - rest, floor - family.most[p], family.most[p]
        tables = family.tables[p]
        if family.functions[p, _ALL] and power == 1.0:
            _call_all(
                family.functions[p, _ALL], (tables, point, slots, sizes, count, own, least, above, weights)
            )
            continue
        for j in range(count):
            if slots[j] != own and weights[j] >= least:
                left = (above - weights[j]) / power
                found = _call_above(
                    family.functions[p, _ABOVE], (tables, point, slots[j], sizes[slots[j]], left)
                )
                weights[j] += power * found


@inner
def log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    """Return the same, however small."""
    return log_predictive_above(family, point, slot, size, -np.inf)


@inner
def log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    """Return log p(x_point | cluster without it) for a point in a cluster of two or more."""
    total = 0.0
    for p in range(len(family.tables)):
        total += _call_without(family.functions[p, _WITHOUT], (family.tables[p], point, slot, size))
    return total * family.power[0]


@inner
def log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    """Return the log marginal likelihood of a cluster from ``family.hyper`` and its sums alone."""
    total = 0.0
    for p in range(len(family.tables)):
        part = from_place(sums[slot], family.begin[p])
        total += _call_marginal(family.functions[p, _MARGINAL], (family.tables[p], part, slot, size))
    return total * family.power[0]


@inner
def draw_parameters(family: Any, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
    """Put parameters drawn given a cluster into its cache, which :func:`refresh` restores."""
    for p in range(len(family.tables)):
        part = from_place(sums[slot], family.begin[p])
        _call_draw(family.functions[p, _DRAW], (family.tables[p], part, slot, size, generator))


@inner
def load_rows(family: Any, rows: np.ndarray, count: int) -> None:
    """Let a family know of which rows :func:`add_log_densities` will be asked, slot by slot."""
    for p in range(len(family.tables)):
        if family.functions[p, _LOAD]:
            _call_load(family.functions[p, _LOAD], (family.tables[p], rows, count))


@inner
def add_log_densities(family: Any, rows: np.ndarray, count: int, slot: int, found: np.ndarray) -> None:
    """Add the log densities of the loaded rows under drawn parameters; no power is taken."""
    for p in range(len(family.tables)):
        _call_densities(family.functions[p, _DENSITIES], (family.tables[p], rows, count, slot, found))


@inner
def draw_log_gamma(shape: float, generator: Any) -> float:
    """Return the logarithm of a draw of Gamma(shape, 1), however small the shape."""
    if shape >= 1.0:
        return math.log(generator.standard_gamma(shape))
    return math.log(generator.standard_gamma(shape + 1.0)) + math.log(1.0 - generator.random()) / shape


# From here on two terms of Stirling's series are exact in double precision.
_LARGE = 1000.0
# Table entries: half a megabyte at most, and never many times the cost of visiting all points.
_SHORT, _PER_POINT, _LONG = 4096, 8, 65536


class NonZero(NamedTuple):
    """The nonzero entries of N points of counts."""

    begin: np.ndarray  # where the entries of each point begin, (N + 1,)
    column: np.ndarray  # their columns
    value: np.ndarray  # their values
    total: np.ndarray  # sum of the counts of each point, (N,)


def non_zero(data: np.ndarray) -> NonZero:
    """List the nonzero counts of points, ``(N, D)``."""
    row, column = np.nonzero(data)
    return NonZero(
        begin=np.searchsorted(row, np.arange(len(data) + 1)),
        column=np.ascontiguousarray(column),
        value=np.rint(data[row, column]).astype(np.int64),
        total=np.rint(data.sum(1)).astype(np.int64),
    )


@compiled(allocates=False)
def log_rising(start: float, count: float) -> float:
    r"""Return :math:`\log \Gamma(x + n) - \log \Gamma(x)` without cancellation at large x."""
    if start < _LARGE:
        return math.lgamma(start + count) - math.lgamma(start)
    end = start + count
    series = (1.0 / end - 1.0 / start) / 12.0 - (1.0 / end**3 - 1.0 / start**3) / 360.0
    return count * math.log(start) + (end - 0.5) * math.log1p(count / start) - count + series


@inner
def log_sum(values: Any) -> float:
    """Return the logarithm of the sum of exponentials."""
    most, total = -np.inf, 0.0
    for place in range(len(values)):
        most = max(most, values[place])
    for place in range(len(values)):
        total += math.exp(values[place] - most)
    return most + math.log(total)


@inner
def tabulate_rising(table: np.ndarray, start: float) -> None:
    """Write the log rising factorials of 0, 1, 2, ... factors."""
    total = 0.0
    for count in range(len(table)):
        table[count] = total
        total += math.log(start + count)


@inner
def look_up(table: np.ndarray, start: float, count: int) -> float:
    """Return a log rising factorial from the table, or beyond its end by the formula."""
    return table[count] if count < len(table) else log_rising(start, float(count))


def table_of(totals: np.ndarray, num_points: int) -> np.ndarray:
    """Return an empty table for counts up to the largest total, or as many as pay."""
    longest = min(max(_SHORT, _PER_POINT * num_points), _LONG)
    return np.zeros(int(min(totals.max() + 1, longest)))


_ARGUMENTS = types.int64, types.int64, ViewType(types.float64, 1)
_call = caller(types.int64(types.voidptr, *_ARGUMENTS))


@singledispatch
def compile_columns(
    component: Any, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> Any:
    """Return the tables of a family of one column for many, where it knows of missing cells itself.

    Missing cells of ``data`` are 0; ``there`` is 1 for the others, and without rows where none is missing.
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
