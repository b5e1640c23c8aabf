"""Families in vector units: normal clusters, and columns of several kinds, of which cells may be missing."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from scipy.special import gammaln

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.distributions.compiled.protocol import Family, look_up
from pyroclust.distributions.families.bernoulli_beta import BernoulliTables
from pyroclust.distributions.families.categories import CategoryTables
from pyroclust.distributions.families.normal_inverse_gamma import InverseGammaTables, mean_and_rate
from pyroclust.distributions.families.normal_inverse_wishart import InverseWishartTables
from pyroclust.distributions.families.normal_known_variance import KnownVarianceTables
from pyroclust.distributions.families.poisson_gamma import PoissonTables
from pyroclust.nn.compiled.lanes import (
    CONSTANT,
    Families,
    Lanes,
    Shape,
    logarithms,
    logarithms_of_more,
    refresh_others,
    scatter,
)

_RATIO, _POWER, _MEAN = 1, 2, 3
_ONE = np.float32(1.0)


@inner
def _gather(shape: Any, work: Any, needed: int) -> None:
    """Look up tables for the clusters in ``where``, turn so many of their sums, and make their means."""
    kappa = work.kappa
    for a in range(len(work.values)):
        size = work.sizes[work.where[a]]
        work.made[CONSTANT, a] = shape.constant[size]
        work.made[_RATIO, a] = shape.ratio[size]
        work.made[_POWER, a] = shape.power[size]
        kappa[a] = shape.kappa[size]
    for f in range(needed):
        turned = work.turned[f]
        for a in range(len(work.values)):
            turned[a] = work.sums[work.where[a], f]
    for d in range(shape.dim):
        mean, sums = work.made[_MEAN + d], work.turned[d]
        for a in range(len(work.values)):
            mean[a] = (sums[a] + shape.pull) / kappa[a]


@inner
def _refresh_normal(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, shape.dim)
    scatter(work, count)


@inner
def _refresh_wishart(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, len(work.turned))
    _factorise(shape, work)
    scatter(work, count)


@inner
def _factorise(shape: Any, work: Any) -> None:
    """Make the inverse Cholesky factors of scales, and take their determinants off the constants."""
    dim, kappa, constant = shape.dim, work.kappa, work.made[CONSTANT]
    for d in range(dim):
        one = work.made[_MEAN + d]
        for e in range(d + 1):
            sums, other = work.turned[dim + d * dim + e], work.made[_MEAN + e]
            entry = work.factor[d * (d + 1) // 2 + e]
            for a in range(len(work.values)):
                entry[a] = sums[a] + shape.square - kappa[a] * one[a] * other[a]
    for d in range(dim):
        diagonal = work.factor[d * (d + 1) // 2 + d]
        for a in range(len(work.values)):
            diagonal[a] = max(diagonal[a], 0.0) + shape.scale
        for e in range(d):
            entry, inverse = work.factor[d * (d + 1) // 2 + e], work.inverse[e]
            for c in range(e):
                left, right = work.factor[d * (d + 1) // 2 + c], work.factor[e * (e + 1) // 2 + c]
                for a in range(len(work.values)):
                    entry[a] -= left[a] * right[a]
            for a in range(len(work.values)):
                entry[a] *= inverse[a]
                diagonal[a] -= entry[a] * entry[a]
        inverse = work.inverse[d]
        for a in range(len(work.values)):
            pivot = max(diagonal[a], 1e-16 * shape.scale)
            work.spare[a] = np.float32(pivot) * (work.spare[a] if d % 2 else _ONE)
            inverse[a] = 1.0 / np.sqrt(pivot)
        # Of more than two a float32 might be too small for the product.
        if d % 2 or d + 1 == dim:
            for a in range(len(work.values)):
                work.values[a] = work.spare[a]
            logarithms(work)
            for a in range(len(work.values)):
                constant[a] -= 0.5 * np.float64(work.values[a])
    for d in range(dim):
        inverse, last = work.inverse[d], _MEAN + dim + d * (d + 1) // 2
        diagonal = work.made[last + d]
        for a in range(len(work.values)):
            diagonal[a] = inverse[a]
        for e in range(d):
            entry = work.made[last + e]
            for a in range(len(work.values)):
                entry[a] = 0.0
            for c in range(e, d):
                left, right = work.factor[d * (d + 1) // 2 + c], work.made[_MEAN + dim + c * (c + 1) // 2 + e]
                for a in range(len(work.values)):
                    entry[a] -= left[a] * right[a]
            for a in range(len(work.values)):
                entry[a] *= inverse[a]


@inner
def _weigh_normal(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    constant, ratio = work.state[CONSTANT], work.state[_RATIO]
    for a in range(len(work.values)):
        found[a] = 0.0
    for d in range(shape.dim):
        mean, place = work.state[_MEAN + d], points[d]
        for a in range(len(work.values)):
            offset = place[a] - mean[at + a]
            found[a] += offset * offset
    for a in range(len(work.values)):
        found[a] = constant[at + a] - ratio[at + a] * found[a]


@inner
def _weigh_wishart(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    dim, offset = shape.dim, work.others
    constant, ratio, power = work.state[CONSTANT], work.state[_RATIO], work.state[_POWER]
    for a in range(len(work.values)):
        found[a] = 0.0
    for d in range(dim):
        last = _MEAN + dim + d * (d + 1) // 2
        for a in range(len(work.values)):
            offset[a] = 0.0
        for e in range(d + 1):
            mean, whiten, place = work.state[_MEAN + e], work.state[last + e], points[e]
            for a in range(len(work.values)):
                offset[a] += whiten[at + a] * (place[a] - mean[at + a])
        for a in range(len(work.values)):
            found[a] += offset[a] * offset[a]
    for a in range(len(work.values)):
        work.values[a] = ratio[at + a] * found[a]
    logarithms_of_more(work)
    for a in range(len(work.values)):
        found[a] = constant[at + a] - power[at + a] * work.values[a]


_TUPLE, _INDEX = types.voidptr, types.int64
_ROW, _BLOCK = ViewType(types.float32, 1), ViewType(types.float32, 2)
_call_refresh = caller(types.void(_TUPLE, _TUPLE, _INDEX, _INDEX, _INDEX))
_call_weigh = caller(types.void(_TUPLE, _TUPLE, _INDEX, _INDEX, _BLOCK, _INDEX, _ROW))
_MOMENT, _POINT, _STATE = range(3)


class _Kind(NamedTuple):
    """What vector units need of a kind of family."""

    refresh: Any  # makes so many clusters anew, from their first moment on, into their first row
    weigh: Any  # adds what 32 points, from their first row on, weigh in a row of clusters
    lay_out: Callable[[Any], tuple[list[np.ndarray], int]]  # rows of points, and how many rows a state takes


@inner
def _refresh_gamma(family: Any, work: Any, moment: int, row: int, count: int) -> None:
    dim = family.data.shape[1]
    for d in range(dim):
        place, at = moment + dim + 2 * d, row + 4 * d
        cells, sums, squares = work.turned[moment + d], work.turned[place], work.turned[place + 1]
        mean, stretch, height, power = work.made[at], work.made[at + 1], work.made[at + 2], work.made[at + 3]
        for a in range(count):
            number = int(cells[a] + 0.5)
            # What is left of a sum that was taken apart again is rounding.
            there = 1.0 if number else 0.0
            middle, rate = mean_and_rate(family, number, there * sums[a], there * squares[a])
            mean[a], stretch[a] = middle, 0.5 / rate * family.with_point[number]
            height[a], power[a] = family.constant[number], family.power[number + 1]
            work.values[a] = np.float32(rate)
        logarithms(work)
        for a in range(count):
            height[a] -= 0.5 * np.float64(work.values[a])


@inner
def _weigh_gamma(family: Any, work: Any, at: int, row: int, points: Any, first: int, found: Any) -> None:
    for d in range(family.data.shape[1]):
        value, there, place = points[first + 2 * d], points[first + 2 * d + 1], row + 4 * d
        mean, stretch = work.state[place], work.state[place + 1]
        height, power = work.state[place + 2], work.state[place + 3]
        for a in range(len(work.values)):
            shift = value[a] - mean[at + a]
            work.values[a] = stretch[at + a] * (shift * shift)
        logarithms_of_more(work)
        for a in range(len(work.values)):
            found[a] += there[a] * (height[at + a] - power[at + a] * work.values[a])


def _lay_out_cells(family: Any) -> tuple[list[np.ndarray], int]:
    columns = zip(family.data.T, family.there.T, strict=True)
    return [row for pair in columns for row in pair], 4 * family.data.shape[1]


@inner
def _refresh_poisson(family: Any, work: Any, moment: int, row: int, count: int) -> None:
    dim = family.totals.shape[1]
    for d in range(dim):
        cells, sums = work.turned[moment + d], work.turned[moment + dim + 2 * d]
        counts, totals = work.made[row + 2 * d], work.made[row + 2 * d + 1]
        for a in range(count):
            counts[a], totals[a] = cells[a], sums[a]


@inner
def _weigh_poisson(family: Any, work: Any, at: int, row: int, points: Any, first: int, found: Any) -> None:
    shape, rising = family.hyper[0], family.rising
    for d in range(family.totals.shape[1]):
        value, there = points[first + 4 * d], points[first + 4 * d + 1]
        high, low = points[first + 4 * d + 2], points[first + 4 * d + 3]
        counts, totals = work.state[row + 2 * d], work.state[row + 2 * d + 1]
        # Of large counts these are differences of numbers that have more digits than a float32.
        for a in range(len(work.values)):
            count, total, events = int(counts[at + a]), int(totals[at + a]), int(value[a])
            weight = look_up(rising, shape, total + events) - look_up(rising, shape, total)
            weight -= there[a] * (shape + total) * family.shrink[count]
            weight -= events * family.log_rate[count + 1]
            found[a] += np.float32(weight + (np.float64(high[a]) + np.float64(low[a])))


def _lay_out_counts(family: Any) -> tuple[list[np.ndarray], int]:
    points, dim = family.there.shape
    values = np.zeros((points, dim))
    values[np.repeat(np.arange(points), np.diff(family.counts.begin)), family.counts.column] = (
        family.counts.value
    )
    base = -gammaln(values + 1.0)
    high = base.astype(np.float32)
    columns = zip(values.T, family.there.T, high.T, (base - high).T, strict=True)
    return [row for column in columns for row in column], 2 * dim


@inner
def _refresh_bernoulli(family: Any, work: Any, moment: int, row: int, count: int) -> None:
    dim = family.data.shape[1]
    for d in range(dim):
        cells, sums = work.turned[moment + d], work.turned[moment + dim + d]
        zero, odds = work.made[row + 2 * d], work.made[row + 2 * d + 1]
        for a in range(count):
            number, ones = int(cells[a] + 0.5), int(sums[a] + 0.5)
            log_zero = family.log_zeros[number - ones]
            zero[a], odds[a] = log_zero - family.log_total[number], family.log_ones[ones] - log_zero


@inner
def _weigh_bernoulli(family: Any, work: Any, at: int, row: int, points: Any, first: int, found: Any) -> None:
    for d in range(family.data.shape[1]):
        value, there = points[first + 2 * d], points[first + 2 * d + 1]
        zero, odds = work.state[row + 2 * d], work.state[row + 2 * d + 1]
        for a in range(len(work.values)):
            found[a] += there[a] * zero[at + a] + value[a] * odds[at + a]


def _lay_out_ones(family: Any) -> tuple[list[np.ndarray], int]:
    rows, _ = _lay_out_cells(family)
    return rows, len(rows)


@inner
def _refresh_categories(family: Any, work: Any, moment: int, row: int, count: int) -> None:
    for d in range(family.code.shape[1]):
        begin, end = family.first[d], family.first[d + 1]
        total = work.kappa
        for a in range(count):
            total[a] = (end - begin) * family.hyper[0]
        for place in range(begin, end):
            seen = work.turned[moment + place]
            for a in range(count):
                total[a] += seen[a]
        for a in range(count):
            work.values[a] = np.float32(total[a])
        logarithms(work)
        for place in range(begin, end):
            seen, found = work.turned[moment + place], work.made[row + place]
            for a in range(count):
                found[a] = family.log_seen[int(seen[a] + 0.5)] - np.float64(work.values[a])


@inner
def _weigh_categories(family: Any, work: Any, at: int, row: int, points: Any, first: int, found: Any) -> None:
    for d in range(family.code.shape[1]):
        code = points[first + d]
        for a in range(len(work.values)):
            if code[a] >= 0.0:
                found[a] += work.state[row + int(code[a]), at + a]


def _lay_out_codes(family: Any) -> tuple[list[np.ndarray], int]:
    return list(family.code.T.astype(float)), int(family.first[-1])


_KINDS: dict[type, _Kind] = {
    InverseGammaTables: _Kind(_refresh_gamma, _weigh_gamma, _lay_out_cells),
    PoissonTables: _Kind(_refresh_poisson, _weigh_poisson, _lay_out_counts),
    BernoulliTables: _Kind(_refresh_bernoulli, _weigh_bernoulli, _lay_out_ones),
    CategoryTables: _Kind(_refresh_categories, _weigh_categories, _lay_out_codes),
}


@inner
def _refresh_columns(family: Any, shape: Any, work: Any, count: int) -> None:
    """Make the clusters in ``where`` anew, column by column."""
    for a in range(count):
        cluster = work.where[a]
        work.made[CONSTANT, a] = shape.constant[work.sizes[cluster]]
        sums = work.sums[cluster]
        for f in range(len(work.turned)):
            work.turned[f, a] = sums[f]
    families = shape.families
    for p in range(len(families.tables)):
        _call_refresh(
            families.functions[p, 0],
            (families.tables[p], work, families.first[p, _MOMENT], families.first[p, _STATE], count),
        )
    scatter(work, count)


@inner
def _weigh_columns(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    """Add up what the columns weigh."""
    families, constant = shape.families, work.state[CONSTANT]
    for a in range(len(work.values)):
        found[a] = constant[at + a]
    for p in range(len(families.tables)):
        row, first = families.first[p, _STATE], families.first[p, _POINT]
        _call_weigh(families.functions[p, 1], (families.tables[p], work, at, row, points, first, found))


def shape_of(family: Any, log_join: np.ndarray) -> Shape:
    """Return what vector units need of a family, where the prior has these log-weights of joining."""
    zeros, none = np.zeros(len(log_join)), np.zeros((0, 3), np.int64)
    families = Families(np.zeros(0, np.intp), np.zeros((0, 2), np.intp), none)
    point = np.zeros((1, 1), np.float32)
    shape = Shape(1, 0, 0, 1, 1, families, 0.0, 0.0, 1.0, point, zeros, log_join, zeros, zeros)
    refresh, weigh = refresh_others, _weigh_normal
    contents = family.contents if isinstance(family, Family) else ()
    if contents and all(type(one) in _KINDS and len(getattr(one, "there", "?")) for one in contents):
        shape, refresh, weigh = _of_columns(shape, family), _refresh_columns, _weigh_columns
    elif len(contents) == 1:
        shape, refresh, weigh = _of_normals(shape, contents[0])
    kinds = Address(family).type, Address(shape).type, Address(Lanes.empty(1, shape, 1)).type
    return shape._replace(
        refresh=address_of(refresh, *kinds, _INDEX), weigh=address_of(weigh, *kinds[1:], _INDEX, _BLOCK, _ROW)
    )


def _of_normals(shape: Shape, normal: Any) -> tuple[Shape, Any, Any]:
    """Complete a shape for normal clusters, with their functions; as it is where these are others."""
    join, power = shape.constant, shape.power
    refresh, weigh = _refresh_wishart, _weigh_wishart
    if isinstance(normal, KnownVarianceTables):
        refresh, weigh = _refresh_normal, _weigh_normal
        shape = shape._replace(pull=float(normal.kappa[0] * normal.hyper[0]), kappa=normal.kappa)
    elif isinstance(normal, InverseWishartTables):
        prior, kappa, _, scale = normal.hyper.tolist()
        power = normal.power[1:].copy()
        shape = shape._replace(pull=kappa * prior, square=kappa * prior**2, scale=scale, kappa=normal.kappa)
    elif isinstance(normal, InverseGammaTables) and normal.data.shape[1] == 1 and not len(normal.there):
        # In one dimension this is that, of twice the rate.
        prior, kappa, _, rate = normal.hyper.tolist()
        power = normal.power[1:].copy()
        join = join + 0.5 * math.log(2.0)
        shape = shape._replace(
            pull=kappa * prior, square=kappa * prior**2, scale=2.0 * rate, kappa=kappa + np.arange(len(join))
        )
    else:
        return shape, refresh_others, _weigh_normal
    dim = normal.data.shape[1]
    shape = shape._replace(
        is_other=0,
        dim=dim,
        num_rows=_MEAN + dim + dim * (dim + 1) // 2,
        points=normal.data.astype(np.float32),
        # Tables of the family go up to the points of all data sets.
        constant=normal.constant[: len(join)] + join,
        ratio=normal.with_point,
        power=power,
    )
    return shape, refresh, weigh


def _of_columns(shape: Shape, family: Family) -> Shape:
    """Complete a shape for columns of several kinds."""
    kinds = [_KINDS[type(one)] for one in family.contents]
    rows, states = zip(
        *(kind.lay_out(one) for kind, one in zip(kinds, family.contents, strict=True)), strict=True
    )
    first = np.cumsum(
        [[0, 0, 1], *([0, len(own), state] for own, state in zip(rows, states, strict=True))], 0
    )
    first[:, _MOMENT] = family.begin
    points = np.stack([row for own in rows for row in own], -1).astype(np.float32)
    shape = shape._replace(is_other=0, dim=points.shape[1], num_rows=int(first[-1, _STATE]), points=points)
    held: Any = family.tables.base
    work = Address(Lanes.empty(1, shape, 1)).type
    functions = [
        (
            address_of(kind.refresh, one.type, work, _INDEX, _INDEX, _INDEX),
            address_of(kind.weigh, one.type, work, _INDEX, _INDEX, _BLOCK, _INDEX, _ROW),
        )
        for kind, one in zip(kinds, held.each, strict=True)
    ]
    return shape._replace(families=Families(family.tables, np.array(functions, np.intp), first[:-1].copy()))
