"""How often pairs of points have equal labels: the compiled part of the co-assignment matrix."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from pyroclust.threads import num_threads

__all__ = ["add_equal_labels"]

_TILE = 256
_DRAWS = 128


@njit(cache=True, nogil=True)
def _add_tile(labels: np.ndarray, gains: np.ndarray, first: int, second: int, total: np.ndarray) -> None:
    points = labels.shape[1]
    height, width = min(_TILE, points - first), min(_TILE, points - second)
    left, right = np.zeros((_TILE, _DRAWS), labels.dtype), np.zeros((_DRAWS, _TILE), labels.dtype)
    counts = np.empty(_TILE, gains.dtype)
    for begin in range(0, labels.shape[0], _DRAWS):
        draws = min(_DRAWS, labels.shape[0] - begin)
        for s in range(draws):
            for i in range(height):
                left[i, s] = labels[begin + s, first + i]
            for j in range(width):
                right[s, j] = labels[begin + s, second + j]
        for i in range(height):
            counts[:] = 0
            for s in range(draws):
                label, gain = left[i, s], gains[begin + s]
                for j in range(_TILE):
                    counts[j] += gain if right[s, j] == label else 0
            for j in range(width):
                total[first + i, second + j] += counts[j]
    for j in range(width):
        for i in range(height):
            total[second + j, first + i] = total[first + i, second + j]


def add_equal_labels(labels: np.ndarray, gains: np.ndarray, total: np.ndarray) -> None:
    """Add ``gains`` of the draws in which two points have equal labels to a symmetric ``total``.

    Tiles of 256 by 256 points: 128 draws of a tile and their counts in bytes stay in the first caches.
    Cost: S N^2 / 2 comparisons of one byte, 32 or more an instruction, in threads.

    Shape:
        labels: ``(S, N)``, an unsigned type; gains: ``(S,)``, uint8 ones or float32;
        total: ``(N, N)`` float64.

    Example:
        >>> total = np.zeros((2, 2))
        >>> add_equal_labels(np.array([[0, 0], [0, 1]], np.uint8), np.ones(2, np.uint8), total)
        >>> total.tolist()
        [[2.0, 1.0], [1.0, 2.0]]
    """
    starts = range(0, labels.shape[1], _TILE)
    tiles = [(first, second) for first in starts for second in starts if second >= first]
    with ThreadPoolExecutor(num_threads()) as pool:
        list(pool.map(lambda tile: _add_tile(labels, gains, tile[0], tile[1], total), tiles))
