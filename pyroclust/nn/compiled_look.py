"""Kernel counts, shifts and second moments around many places, compiled, in the first cache."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from pyroclust.compiling import compiled, lean
from pyroclust.threads import num_threads

__all__ = ["kernel_sums"]

# Points at once: their offsets and weights take 3 kB in two dimensions.
_BLOCK = 256
# Fewer kernels than this are not worth a thread.
_KERNELS_A_THREAD = 1 << 17
_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts, the first with few digits, so that n times it is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LOWEST = np.float32(-80.0)


@lean
def _exponentials(values: np.ndarray, powers: np.ndarray, as_floats: np.ndarray) -> None:
    """Replace values, none above 0, by their exponentials, to the last digit but one.

    Numba calls the C library for every single exponential, which no vector unit takes part in; the polynomial
    is that of expf in https://www.netlib.org/cephes/.
    """
    for j in range(_BLOCK):
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
    for j in range(_BLOCK):
        values[j] = values[j] * as_floats[j]


@lean
def _add_sums(offset: np.ndarray, weight: np.ndarray, columns: np.ndarray, sums: np.ndarray) -> None:
    dim = len(offset)
    total = np.float32(0.0)
    for j in range(_BLOCK):
        total += weight[j]
    sums[0] += total
    for d in range(dim):
        total = np.float32(0.0)
        for j in range(_BLOCK):
            total += weight[j] * offset[d, j]
        sums[1 + d] += total
    for k in range(columns.shape[1]):
        left, right = offset[columns[0, k]], offset[columns[1, k]]
        total = np.float32(0.0)
        for j in range(_BLOCK):
            total += weight[j] * (left[j] * right[j])
        sums[1 + dim + k] += total


@compiled
def _sum_kernels(
    points: np.ndarray,
    places: np.ndarray,
    whiten: np.ndarray,
    precision: np.ndarray,
    columns: np.ndarray,
    sums: np.ndarray,
) -> None:
    dim, number = points.shape
    offset = np.empty((dim, _BLOCK), np.float32)
    squared, weight = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32)
    powers = np.empty(_BLOCK, np.int32)
    as_floats = powers.view(np.float32)
    for row in range(len(places)):
        for first in range(0, number, _BLOCK):
            here = min(_BLOCK, number - first)
            for j in range(_BLOCK):
                squared[j] = 0.0
            for d in range(dim):
                for j in range(_BLOCK):
                    offset[d, j] = 0.0
                for e in range(dim):
                    factor, place = whiten[row, d, e], places[row, e]
                    for j in range(here):
                        offset[d, j] += factor * (points[e, first + j] - place)
                for j in range(here):
                    squared[j] += offset[d, j] * offset[d, j]
            for h in range(len(precision)):
                half = np.float32(-0.5) * precision[h]
                for j in range(_BLOCK):
                    weight[j] = max(half * squared[j], _LOWEST)
                _exponentials(weight, powers, as_floats)
                for j in range(here, _BLOCK):
                    weight[j] = 0.0
                _add_sums(offset, weight, columns, sums[row, h])


def kernel_sums(
    points: np.ndarray, places: np.ndarray, whiten: np.ndarray, *, precision: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    r"""Return what kernels of several bandwidths count around places, in threads.

    .. math:: \sum_j w_{hj} \, (1, \; y_j, \; y_j^{(a)} y_j^{(b)}), \qquad y_j = W (x_j - q), \qquad
        w_{hj} = \exp(-p_h |y_j|^2 / 2)

    Cost: O(R M H (D + D^2)) in vector units, about 1 ns a kernel in two dimensions; memory the output.

    Args:
        points: the points x, ``(M, D)`` float32, the same for all places.
        places: the places q, ``(R, D)`` float32.
        whiten: the matrices W, ``(R, D, D)`` float32.
        precision: p, ``(H,)`` float32.
        columns: a and b of the second moments, ``(2, C)`` int64; C may be 0.

    Shape:
        output: ``(R, H, 1 + D + C)`` float32.

    Example:
        >>> one = np.ones((1, 2), np.float32)
        >>> found = kernel_sums(
        ...     one, one, np.eye(2, dtype=np.float32)[None], precision=one[0], columns=np.zeros((2, 0), int)
        ... )
        >>> found.tolist()
        [[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]]
    """
    number, dim = points.shape
    sums = np.zeros((len(places), len(precision), 1 + dim + columns.shape[1]), np.float32)
    turned = np.ascontiguousarray(points.T)
    places, whiten = np.ascontiguousarray(places), np.ascontiguousarray(whiten)
    threads = min(num_threads(), max(1, len(places) * number * len(precision) // _KERNELS_A_THREAD))
    if threads == 1:
        _sum_kernels(turned, places, whiten, precision, columns, sums)
        return sums
    cuts = np.linspace(0, len(places), threads + 1).astype(int)
    parts = [slice(one, other) for one, other in pairwise(cuts)]
    with ThreadPoolExecutor(threads) as pool:
        list(
            pool.map(
                lambda part: _sum_kernels(turned, places[part], whiten[part], precision, columns, sums[part]),
                parts,
            )
        )
    return sums
