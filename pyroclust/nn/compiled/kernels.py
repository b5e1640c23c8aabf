"""Kernel counts, shifts and second moments around many places, compiled."""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of, caller
from pyroclust.nn.compiled.filter_tables import in_threads, threads_for

__all__ = ["Look", "add_kernels", "kernel_sums", "raise_floats"]

# Points at once: their offsets and weights take 3 kB in two dimensions.
_BLOCK = 256
# Fewer kernels than this are not worth a thread.
_KERNELS_A_THREAD = 1 << 17
_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, the first with few digits, so that n times it is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LOWEST = np.float32(-80.0)
_ROW, _TABLE = ViewType(types.float32, 1), ViewType(types.float32, 2)


class Look(NamedTuple):
    """Points, kernels and scratch space, float32 unless another is said."""

    add: int  # address of the function that adds up kernels
    points: np.ndarray  # (D, M)
    precision: np.ndarray  # (H,), of the kernels
    columns: np.ndarray  # (2, C) int64, those of the second moments
    offset: np.ndarray  # (D, 256)
    squared: np.ndarray  # (256,)
    weight: np.ndarray  # (256,)
    powers: np.ndarray  # (256,) int32
    as_floats: np.ndarray  # the same memory as float32

    @classmethod
    def of(cls, points: np.ndarray, precision: np.ndarray, columns: np.ndarray) -> "Look":
        """Make scratch space for points, ``(M, D)``."""
        powers = np.zeros(_BLOCK, np.int32)
        squared, weight = np.zeros((2, _BLOCK), np.float32)
        offset = np.zeros((points.shape[1], _BLOCK), np.float32)
        turned = np.ascontiguousarray(points.T)
        found = cls(0, turned, precision, columns, offset, squared, weight, powers, powers.view(np.float32))
        kinds = (Address(found).type, types.int64, types.int64, _ROW, _TABLE, _TABLE)
        return found._replace(add=address_of(_add_kernels, *kinds))


_call_add = caller(types.void(types.voidptr, types.int64, types.int64, _ROW, _TABLE, _TABLE))


@inner
def add_kernels(look: Any, first: int, end: int, place: Any, whiten: Any, sums: Any) -> None:
    """Add what kernels around a place count of points from ``first`` to ``end``, to ``(H, 1 + D + C)``."""
    _call_add(look.add, (look, first, end, place, whiten, sums))


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
def _add_sums(look: Any, count: int, sums: Any) -> None:
    weight, dim = look.weight, len(look.offset)
    total = np.float32(0.0)
    for j in range(count):
        total += weight[j]
    sums[0] += total
    for d in range(dim):
        offset = look.offset[d]
        total = np.float32(0.0)
        for j in range(count):
            total += weight[j] * offset[j]
        sums[1 + d] += total
    for k in range(look.columns.shape[1]):
        left, right = look.offset[look.columns[0, k]], look.offset[look.columns[1, k]]
        total = np.float32(0.0)
        for j in range(count):
            total += weight[j] * (left[j] * right[j])
        sums[1 + dim + k] += total


@inner
def _add_kernels(look: Any, first: int, end: int, place: Any, whiten: Any, sums: Any) -> None:
    dim = len(look.points)
    squared, weight = look.squared, look.weight
    for start in range(first, end, _BLOCK):
        here = min(_BLOCK, end - start)
        # Whole vectors: what is left over of the last has no weight.
        count = (here + 15) // 16 * 16
        for j in range(count):
            squared[j] = 0.0
        for d in range(dim):
            offset = look.offset[d]
            for j in range(count):
                offset[j] = 0.0
            for e in range(dim):
                factor, middle, points = whiten[d, e], place[e], look.points[e]
                for j in range(here):
                    offset[j] += factor * (points[start + j] - middle)
            for j in range(here):
                squared[j] += offset[j] * offset[j]
        for h in range(len(look.precision)):
            half = np.float32(-0.5) * look.precision[h]
            for j in range(count):
                weight[j] = max(half * squared[j], _LOWEST)
            raise_floats(weight, look.powers, look.as_floats, count)
            for j in range(here, count):
                weight[j] = 0.0
            _add_sums(look, count, sums[h])


class _Places(NamedTuple):
    places: np.ndarray
    whiten: np.ndarray
    sums: np.ndarray


@compiled(allocates=False)
def _sum_kernels(look: Any, asked: Any, begin: int, end: int) -> None:
    for row in range(begin, end):
        add_kernels(look, 0, look.points.shape[1], asked.places[row], asked.whiten[row], asked.sums[row])


def kernel_sums(
    points: np.ndarray, places: np.ndarray, whiten: np.ndarray, *, precision: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    r"""Return what kernels of several bandwidths count around places, in threads.

    .. math:: \sum_j w_{hj} \, (1, \; y_j, \; y_j^{(a)} y_j^{(b)}), \qquad y_j = W (x_j - q), \qquad
        w_{hj} = \exp(-p_h |y_j|^2 / 2)

    The points x ``(M, D)`` are the same for all places q ``(R, D)``, each with a matrix W ``(R, D, D)``; H
    kernels have the precision p, and columns a and b ``(2, C)``. Gives ``(R, H, 1 + D + C)`` float32, about
    1 ns a kernel in two dimensions.
    """
    number, dim = points.shape
    sums = np.zeros((len(places), len(precision), 1 + dim + columns.shape[1]), np.float32)
    asked = Address(_Places(np.ascontiguousarray(places), np.ascontiguousarray(whiten), sums))
    threads = threads_for(len(places) * number * len(precision), _KERNELS_A_THREAD, max(1, len(places)))
    looks = [Address(Look.of(points, precision, columns)) for _ in range(threads)]
    in_threads(lambda look, begin, end: _sum_kernels(look, asked, begin, end), looks, len(places))
    return sums
