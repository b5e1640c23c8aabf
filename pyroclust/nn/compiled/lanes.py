"""Densities of points in clusters, 32 side by side in float32: the exact filter for vector units."""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.distributions.compiled.protocol import refresh

LANES = 32
"""Clusters, or points, whose densities are computed together."""
NOWHERE = -1e30
"""Log-weight of a cluster that there is not."""
CONSTANT = 0
"""Where the state of a cluster holds its log-weight that does not depend on the point."""
_RANGE, _LN2 = np.float32(80.0), np.float32(0.6931471805599453)
_ONE, _TWO = np.float32(1.0), np.float32(2.0)
_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, the first with few digits, so that n times it is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# The bits of the root of a half.
_ROOT_BITS = 0x3F3504F3


class Families(NamedTuple):
    """Independent families over different columns, whose densities multiply."""

    tables: np.ndarray  # (P,), where their tables lie
    functions: np.ndarray  # (P, 2), where those that make clusters anew, and weigh points, begin
    first: np.ndarray  # (P, 3), the first of the moments, the rows of points and the rows of states of each


class Shape(NamedTuple):
    r"""What a family is in vector units, as tables by cluster size n.

    With the posterior mean m, a whitening matrix W and :math:`q = |W (x - m)|^2`, a point has the log-weight
    :math:`C_n - r_n q` of a normal of known variance, or
    :math:`C_n - \frac12 \log|\Lambda| - p_n \log(1 + r_n q)` of a normal-inverse-Wishart. Of columns of any
    kinds, of which cells may be missing, it is the sum of those of the columns.
    """

    is_other: int  # whether it is none of these, and its own functions are called
    refresh: int  # address of the function that makes clusters anew
    weigh: int  # address of the function that weighs points
    dim: int  # D, rows that a point takes
    num_rows: int  # rows that a state takes
    families: Families  # of columns of any kinds
    pull: float  # what the prior mean is worth, in points, times itself
    square: float  # the same, times the square of the prior mean
    scale: float  # prior scale
    points: np.ndarray  # (B N, D) float32
    kappa: np.ndarray  # (N + 1,)
    constant: np.ndarray  # (N + 1,), C, with the prior's weight of joining
    ratio: np.ndarray  # (N + 1,), r
    power: np.ndarray  # (N + 1,), p


class Lanes(NamedTuple):
    """Clusters in rows of 32, G in all, and scratch space for the row at hand."""

    exponentials: int  # addresses of functions
    logarithms: int
    logarithms_of_more: int
    sizes: np.ndarray  # (G,)
    sums: np.ndarray  # (G, F), summed moments
    state: np.ndarray  # (S, G) float32: constant, ratio, power, mean and triangle of W, or what columns keep
    where: np.ndarray  # (32,), the clusters that are made anew
    made: np.ndarray  # (S, 32), their states
    turned: np.ndarray  # (F, 32), their sums
    factor: np.ndarray  # (D (D + 1) / 2, 32), of their scales
    inverse: np.ndarray  # (D, 32), of the diagonals of their factors
    kappa: np.ndarray  # (32,), theirs
    values: np.ndarray  # (32,) float32
    bits: np.ndarray  # the same memory as int32
    others: np.ndarray  # (32,) float32
    other_bits: np.ndarray  # the same memory as int32
    spare: np.ndarray  # (32,) float32

    @classmethod
    def empty(cls, rows: int, shape: Shape, num_moments: int) -> "Lanes":
        """Make room for so many rows of clusters."""
        many, dim = rows * LANES, 0 if len(shape.families.tables) else shape.dim
        values, others, spare = np.ones((3, LANES), np.float32)
        state = np.zeros((shape.num_rows, many), np.float32)
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
            np.ones((dim * (dim + 1) // 2, LANES)),
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
def raise_floats(values: Any, powers: Any, as_floats: Any, count: int) -> None:
    """Replace values, none above 80, by their exponentials, to the last digit but one.

    Numba calls the C library for every single exponential, which no vector unit takes part in; the polynomial
    is that of expf in https://www.netlib.org/cephes/.
    """
    for j in range(count):
        power = np.floor(values[j] * _LOG2_E + np.float32(0.5))
        rest = values[j] - power * _LN2_HIGH - power * _LN2_LOW
        total = np.float32(1.9875691500e-4)
        total = total * rest + np.float32(1.3981999507e-3)
        total = total * rest + np.float32(8.3334519073e-3)
        total = total * rest + np.float32(4.1665795894e-2)
        total = total * rest + np.float32(1.6666665459e-1)
        total = total * rest + np.float32(5.0000001201e-1)
        values[j] = total * rest * rest + rest + np.float32(1.0)
        # The bits of a float32 that is this power of two.
        powers[j] = (np.int32(power) + np.int32(127)) << 23
    for j in range(count):
        values[j] = values[j] * as_floats[j]


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
def refresh_others(family: Any, shape: Any, work: Any, count: int) -> None:
    """Make clusters anew by the family's own function."""
    for a in range(count):
        refresh(family, work.sums, work.where[a], work.sizes[work.where[a]])


@inner
def scatter(work: Any, count: int) -> None:
    """Bring what was made to the first ``count`` clusters in ``where``."""
    for s in range(len(work.state)):
        row, made = work.state[s], work.made[s]
        for a in range(count):
            row[work.where[a]] = np.float32(made[a])
