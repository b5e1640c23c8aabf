"""Densities of points in clusters, 16 side by side: what vector units make of the exact filter."""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.compiling import inner
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.distributions.compiled.protocol import refresh

__all__ = [
    "CONSTANT",
    "LANES",
    "NOWHERE",
    "Families",
    "Lanes",
    "Shape",
    "exponentials",
    "logarithms",
    "refresh_lanes",
    "refresh_others",
    "refresh_row",
    "repeat_cluster",
    "scatter",
    "weigh_lanes",
]

LANES = 16
"""Clusters, or points, whose densities are computed together."""
NOWHERE = -1e30
"""Log-weight of a cluster that there is not."""
CONSTANT = 0
"""Where the state of a cluster holds its log-weight that does not depend on the point."""
_LOWEST = -690.0
_LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with few digits, so that n times it is exact.
_LN2_HIGH, _LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
_ROOT_2 = 1.4142135623730951


class Families(NamedTuple):
    """Independent families over different columns, whose densities multiply.

    Attributes:
        tables: where their tables lie, ``(P,)``.
        functions: where those that make clusters anew, and weigh points, begin, ``(P, 2)``.
        first: of each, the first of its moments, its rows of points, and its rows of states, ``(P, 3)``.
    """

    tables: np.ndarray
    functions: np.ndarray
    first: np.ndarray


class Shape(NamedTuple):
    r"""What a family is in vector units, as tables by cluster size n.

    With the posterior mean m, a whitening matrix W and :math:`q = |W (x - m)|^2`, a point has the log-weight
    :math:`C_n - r_n q` of a normal of known variance, or
    :math:`C_n - \frac12 \log|\Lambda| - p_n \log(1 + r_n q)` of a normal-inverse-Wishart. Of columns of any
    kinds, of which cells may be missing, it is the sum of those of the columns.

    Attributes:
        is_other: whether it is none of these, and its own functions are called.
        refresh: address of the function that makes clusters anew.
        weigh: address of the function that weighs points.
        dim: D, rows that a point takes.
        num_rows: rows that a state takes.
        families: of columns of any kinds.
        pull: what the prior mean is worth, in points, times itself.
        square: the same, times the square of the prior mean.
        scale: prior scale.
        points: ``(B N, D)``.
        kappa: ``(N + 1,)``.
        constant: C, with the prior's weight of joining, ``(N + 1,)``.
        ratio: r, ``(N + 1,)``.
        power: p, ``(N + 1,)``.
    """

    is_other: int
    refresh: int
    weigh: int
    dim: int
    num_rows: int
    families: Families
    pull: float
    square: float
    scale: float
    points: np.ndarray
    kappa: np.ndarray
    constant: np.ndarray
    ratio: np.ndarray
    power: np.ndarray


class Lanes(NamedTuple):
    """Clusters in rows of 16, G in all, and scratch space for the row at hand.

    Attributes:
        exponentials: address of a function.
        logarithms: address of another.
        sizes: points of each, ``(G,)``.
        sums: their summed moments, ``(G, F)``.
        state: constant, ratio and power of each, its mean, and the lower triangle of its W, or what its
            columns keep, ``(S, G)``.
        where: the clusters that are made anew, ``(16,)``.
        made: their states, ``(S, 16)``.
        turned: their sums, ``(F, 16)``.
        factor: of their scales, ``(D (D + 1) / 2, 16)``.
        inverse: of the diagonals of their factors, ``(D, 16)``.
        values: ``(16,)``.
        bits: the same memory as integers.
        others: ``(16,)``.
        other_bits: the same memory as integers.
    """

    exponentials: int
    logarithms: int
    sizes: np.ndarray
    sums: np.ndarray
    state: np.ndarray
    where: np.ndarray
    made: np.ndarray
    turned: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    values: np.ndarray
    bits: np.ndarray
    others: np.ndarray
    other_bits: np.ndarray

    @classmethod
    def empty(cls, rows: int, shape: Shape, num_moments: int) -> "Lanes":
        """Make room for so many rows of clusters."""
        many, dim = rows * LANES, 0 if len(shape.families.tables) else shape.dim
        values, others = np.ones(LANES), np.ones(LANES)
        state = np.zeros((shape.num_rows, many))
        state[CONSTANT] = NOWHERE
        found = cls(
            0,
            0,
            np.zeros(many, np.int64),
            np.zeros((many, num_moments)),
            state,
            np.zeros(LANES, np.int64),
            np.zeros((len(state), LANES)),
            np.zeros((num_moments, LANES)),
            np.ones((dim * (dim + 1) // 2, LANES)),
            np.ones((dim, LANES)),
            values,
            values.view(np.int64),
            others,
            others.view(np.int64),
        )
        kind = Address(found).type
        return found._replace(
            exponentials=address_of(_exponentials, kind), logarithms=address_of(_logarithms, kind)
        )


_VOID, _INDEX = types.voidptr, types.int64
_call_refresh = caller(types.void(_VOID, _VOID, _VOID, _INDEX))
_call_one = caller(types.void(_VOID))
_call_weigh = caller(types.void(_VOID, _VOID, _INDEX, ViewType(types.float64, 2), ViewType(types.float64, 1)))


@inner
def exponentials(work: Any) -> None:
    """Replace ``values`` by their exponentials, to eleven digits; below -690 it is that of -690."""
    _call_one(work.exponentials, (work,))


@inner
def logarithms(work: Any) -> None:
    """Write the logarithms of ``values``, all positive, into ``others``, to eleven digits."""
    _call_one(work.logarithms, (work,))


@inner
def _exponentials(work: Any) -> None:
    # Numba calls the C library for every single exponential, which no vector unit takes part in. Loops have a
    # length that the compiler does not know: it would write them out rather than use vector units.
    for a in range(len(work.values)):
        value = max(work.values[a], _LOWEST)
        power = np.floor(value * _LOG2_E + 0.5)
        rest = value - power * _LN2_HIGH - power * _LN2_LOW
        total = 1.0 / 362880.0
        total = total * rest + 1.0 / 40320.0
        total = total * rest + 1.0 / 5040.0
        total = total * rest + 1.0 / 720.0
        total = total * rest + 1.0 / 120.0
        total = total * rest + 1.0 / 24.0
        total = total * rest + 1.0 / 6.0
        total = total * rest + 0.5
        total = total * rest + 1.0
        work.values[a] = total * rest + 1.0
        # The bits of a float64 that is this power of two.
        work.other_bits[a] = (np.int64(power) + 1023) << 52
    for a in range(len(work.values)):
        work.values[a] *= work.others[a]


@inner
def _logarithms(work: Any) -> None:
    for a in range(len(work.values)):
        work.other_bits[a] = (work.bits[a] & 0xFFFFFFFFFFFFF) | (1023 << 52)
    for a in range(len(work.values)):
        power, part = np.float64((work.bits[a] >> 52) - 1023), work.others[a]
        power = power + 1.0 if part > _ROOT_2 else power
        part = 0.5 * part if part > _ROOT_2 else part
        ratio = (part - 1.0) / (part + 1.0)
        square = ratio * ratio
        total = 2.0 / 13.0
        total = total * square + 2.0 / 11.0
        total = total * square + 2.0 / 9.0
        total = total * square + 2.0 / 7.0
        total = total * square + 2.0 / 5.0
        total = total * square + 2.0 / 3.0
        total = total * square + 2.0
        work.others[a] = power * _LN2_HIGH + (power * _LN2_LOW + total * ratio)


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
    """Write the log-weights of 16 points, ``(D, 16)``, each in its own cluster of a row."""
    _call_weigh(shape.weigh, (shape, work, at, points, found))


@inner
def refresh_others(family: Any, shape: Any, work: Any, count: int) -> None:
    """Make clusters anew by the family's own function."""
    for a in range(count):
        refresh(family, work.sums, work.where[a], work.sizes[work.where[a]])


@inner
def scatter(work: Any) -> None:
    """Bring what was made to the clusters in ``where``."""
    for s in range(len(work.state)):
        row, made = work.state[s], work.made[s]
        for a in range(len(work.values)):
            row[work.where[a]] = made[a]
