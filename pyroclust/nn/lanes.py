"""Densities of points in clusters, 32 side by side in float32: the exact filter for vector units."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.compiling import inner
from pyroclust.distributions.compiled.families.inverse_gamma import InverseGamma
from pyroclust.distributions.compiled.families.inverse_wishart import InverseWishart
from pyroclust.distributions.compiled.families.known_variance import KnownVariance
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.distributions.compiled.protocol import refresh
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.nn.compiled_look import raise_floats
from pyroclust.nn.filter_tables import DataSets, compiled_family

__all__ = [
    "CONSTANT",
    "LANES",
    "NOWHERE",
    "Lanes",
    "Shape",
    "exponentials",
    "logarithms",
    "refresh_lanes",
    "refresh_row",
    "repeat_cluster",
    "shape_of",
    "weigh_lanes",
]

LANES = 32
"""Clusters, or points, whose densities are computed together."""
NOWHERE = -1e30
"""Log-weight of a cluster that there is not."""
CONSTANT, _RATIO, _POWER, _MEAN = range(4)
_RANGE, _LN2 = np.float32(80.0), np.float32(0.6931471805599453)
_ONE, _TWO = np.float32(1.0), np.float32(2.0)
# The bits of the root of a half.
_ROOT_BITS = 0x3F3504F3


class Shape(NamedTuple):
    r"""What a family is in vector units, as tables by cluster size n.

    With the posterior mean m, a whitening matrix W and :math:`q = |W (x - m)|^2`, a point has the log-weight
    :math:`C_n - r_n q` of a normal of known variance, or
    :math:`C_n - \frac12 \log|\Lambda| - p_n \log(1 + r_n q)` of a normal-inverse-Wishart.

    Attributes:
        is_other: whether it is neither, and its own functions are called.
        refresh: address of the function that makes clusters anew.
        weigh: address of the function that weighs points.
        dim: D.
        pull: what the prior mean is worth, in points, times itself.
        square: the same, times the square of the prior mean.
        scale: prior scale.
        points: ``(B N, D)`` float32.
        kappa: ``(N + 1,)``.
        constant: C, with the prior's weight of joining, ``(N + 1,)``.
        ratio: r, ``(N + 1,)``.
        power: p, ``(N + 1,)``.
    """

    is_other: int
    refresh: int
    weigh: int
    dim: int
    pull: float
    square: float
    scale: float
    points: np.ndarray
    kappa: np.ndarray
    constant: np.ndarray
    ratio: np.ndarray
    power: np.ndarray


class Lanes(NamedTuple):
    """Clusters in rows of 32, G in all, and scratch space for the row at hand.

    Attributes:
        exponentials: address of a function.
        logarithms: address of another.
        logarithms_of_more: address of another.
        sizes: points of each, ``(G,)``.
        sums: their summed moments, ``(G, F)`` float64.
        state: constant, ratio and power of each, its mean, and the lower triangle of its W, ``(S, G)``
            float32.
        where: the clusters that are made anew, ``(32,)``.
        made: their states, ``(S, 32)`` float64.
        turned: their sums, ``(F, 32)`` float64.
        factor: of their scales, ``(D (D + 1) / 2, 32)`` float64.
        inverse: of the diagonals of their factors, ``(D, 32)`` float64.
        kappa: of theirs, ``(32,)`` float64.
        values: ``(32,)`` float32.
        bits: the same memory as int32.
        others: ``(32,)`` float32.
        other_bits: the same memory as int32.
        spare: ``(32,)`` float32.
    """

    exponentials: int
    logarithms: int
    logarithms_of_more: int
    sizes: np.ndarray
    sums: np.ndarray
    state: np.ndarray
    where: np.ndarray
    made: np.ndarray
    turned: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    kappa: np.ndarray
    values: np.ndarray
    bits: np.ndarray
    others: np.ndarray
    other_bits: np.ndarray
    spare: np.ndarray

    @classmethod
    def empty(cls, rows: int, dim: int, num_moments: int) -> "Lanes":
        """Make room for so many rows of clusters."""
        many, half = rows * LANES, dim * (dim + 1) // 2
        values, others, spare = np.ones((3, LANES), np.float32)
        state = np.zeros((_MEAN + dim + half, many), np.float32)
        state[CONSTANT] = NOWHERE
        found = cls(
            0,
            0,
            0,
            np.zeros(many, np.int64),
            np.zeros((many, num_moments)),
            state,
            np.zeros(LANES, np.int64),
            np.zeros((len(state), LANES)),
            np.zeros((num_moments, LANES)),
            np.ones((half, LANES)),
            np.ones((dim, LANES)),
            np.ones(LANES),
            values,
            values.view(np.int32),
            others,
            others.view(np.int32),
            spare,
        )
        kind = Address(found).type
        return found._replace(
            exponentials=address_of(_exponentials, kind),
            logarithms=address_of(_logarithms, kind),
            logarithms_of_more=address_of(_logarithms_of_more, kind),
        )


_VOID, _INDEX = types.voidptr, types.int64
_call_refresh = caller(types.void(_VOID, _VOID, _VOID, _INDEX))
_call_one = caller(types.void(_VOID))
_call_weigh = caller(types.void(_VOID, _VOID, _INDEX, ViewType(types.float32, 2), ViewType(types.float32, 1)))


@inner
def exponentials(work: Any) -> None:
    """Replace ``values`` by their exponentials; beyond -80 and 80 it is that of -80 and 80."""
    _call_one(work.exponentials, (work,))


@inner
def logarithms(work: Any) -> None:
    """Replace ``values``, all positive, by their logarithms."""
    _call_one(work.logarithms, (work,))


@inner
def logarithms_of_more(work: Any) -> None:
    """Replace ``values``, none negative, by the logarithms of one more; of small ones to all digits."""
    _call_one(work.logarithms_of_more, (work,))


@inner
def _exponentials(work: Any) -> None:
    for a in range(len(work.values)):
        work.values[a] = min(max(work.values[a], -_RANGE), _RANGE)
    raise_floats(work.values, work.other_bits, work.others, len(work.values))


# Numba calls the C library for every single logarithm, which no vector unit takes part in. No loop writes to
# memory that it reads under another name, and none has a length that the compiler knows: it would not use
# vector units either.
@inner
def _logarithms(work: Any) -> None:
    _take_powers(work)
    for a in range(len(work.values)):
        part = work.values[a]
        work.values[a] = (part - _ONE) / (part + _ONE)
    _finish_logarithms(work)


@inner
def _logarithms_of_more(work: Any) -> None:
    small = work.spare
    for a in range(len(work.values)):
        small[a] = work.values[a]
        work.values[a] += _ONE
    _take_powers(work)
    for a in range(len(work.values)):
        # What is added to one loses its last digits: below a root of two the value itself is used.
        part, is_small = work.values[a], work.other_bits[a] == 0
        above = small[a] if is_small else part - _ONE
        work.values[a] = above / (_TWO + small[a] if is_small else part + _ONE)
    _finish_logarithms(work)


@inner
def _take_powers(work: Any) -> None:
    """Take powers of two out of ``values``, into ``other_bits``, down to between the roots of 1/2 and 2."""
    for a in range(len(work.values)):
        work.other_bits[a] = (work.bits[a] - np.int32(_ROOT_BITS)) >> np.int32(23)
    for a in range(len(work.values)):
        work.bits[a] -= work.other_bits[a] << np.int32(23)


@inner
def _finish_logarithms(work: Any) -> None:
    """Replace :math:`(u - 1) / (u + 1)` by the logarithm of u, and add those of powers of two."""
    for a in range(len(work.values)):
        ratio = work.values[a]
        square = ratio * ratio
        total = np.float32(2.0 / 9.0)
        total = total * square + np.float32(2.0 / 7.0)
        total = total * square + np.float32(2.0 / 5.0)
        total = total * square + np.float32(2.0 / 3.0)
        total = total * square + _TWO
        work.values[a] = np.float32(work.other_bits[a]) * _LN2 + total * ratio


@inner
def repeat_cluster(work: Any, cluster: int, at: int) -> None:
    """Fill a row with one cluster."""
    for s in range(len(work.state)):
        row = work.state[s]
        value = row[cluster]
        for a in range(len(work.values)):
            row[at + a] = value


@inner
def refresh_row(family: Any, shape: Any, work: Any, at: int, count: int) -> None:
    """Make the clusters of a row anew, of which the first ``count`` matter."""
    for a in range(len(work.where)):
        work.where[a] = at + a
    refresh_lanes(family, shape, work, count)


@inner
def refresh_lanes(family: Any, shape: Any, work: Any, count: int) -> None:
    """Make the clusters in ``where`` anew from their sizes and sums, of which the first ``count`` matter."""
    _call_refresh(shape.refresh, (family, shape, work, count))


@inner
def weigh_lanes(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    """Write the log-weights of 32 points, ``(D, 32)``, each in its own cluster of a row."""
    _call_weigh(shape.weigh, (shape, work, at, points, found))


@inner
def _refresh_others(family: Any, shape: Any, work: Any, count: int) -> None:
    for a in range(count):
        refresh(family, work.sums, work.where[a], work.sizes[work.where[a]])


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
def _scatter(work: Any) -> None:
    """Bring what was made to the clusters in ``where``."""
    for s in range(len(work.state)):
        row, made = work.state[s], work.made[s]
        for a in range(len(work.values)):
            row[work.where[a]] = np.float32(made[a])


@inner
def _refresh_normal(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, shape.dim)
    _scatter(work)


@inner
def _refresh_wishart(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, len(work.turned))
    _factorise(shape, work)
    _scatter(work)


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


def shape_of(encoding: FilterEncoding, data: DataSets) -> Shape:
    """Return what vector units need of the family of a filter."""
    family = compiled_family(encoding, 1)
    contents: Any = getattr(family.content, "contents", ())
    one: Any = contents[0] if len(contents) == 1 else None
    nothing, join = np.zeros(len(data.log_join)), data.log_join
    # Tables of the family go up to the points of all data sets.
    upto = slice(len(join))
    found = Shape(1, 0, 0, 1, 0.0, 0.0, 1.0, np.zeros((1, 1), np.float32), nothing, join, nothing, nothing)
    functions = _refresh_others, _weigh_normal
    if isinstance(one, KnownVariance):
        pull, functions = float(one.kappa[0] * one.hyper[0]), (_refresh_normal, _weigh_normal)
        found = found._replace(pull=pull, kappa=one.kappa)
    elif isinstance(one, InverseWishart):
        prior, kappa, _, scale = one.hyper.tolist()
        functions = _refresh_wishart, _weigh_wishart
        found = found._replace(pull=kappa * prior, square=kappa * prior**2, scale=scale, kappa=one.kappa)
    elif isinstance(one, InverseGamma) and one.data.shape[1] == 1 and not len(one.there):
        # In one dimension this is that, of twice the rate.
        prior, kappa, _, rate = one.hyper.tolist()
        functions, join = (_refresh_wishart, _weigh_wishart), join + 0.5 * math.log(2.0)
        found = found._replace(
            pull=kappa * prior, square=kappa * prior**2, scale=2.0 * rate, kappa=kappa + np.arange(len(join))
        )
    if functions[0] is not _refresh_others:
        power = one.power[1:].copy() if functions[0] is _refresh_wishart else nothing
        found = found._replace(
            is_other=0,
            dim=one.data.shape[1],
            points=one.data.astype(np.float32),
            constant=one.constant[upto] + join,
            ratio=one.with_point,
            power=power,
        )
    kinds = (family.type, Address(found).type, Address(Lanes.empty(1, 1, 1)).type)
    row, block = ViewType(types.float32, 1), ViewType(types.float32, 2)
    return found._replace(
        refresh=address_of(functions[0], *kinds, types.int64),
        weigh=address_of(functions[1], *kinds[1:], types.int64, block, row),
    )
