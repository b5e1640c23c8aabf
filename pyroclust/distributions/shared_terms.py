"""The terms of sums over the number of components, and which of them matter."""

from typing import NamedTuple, Self

import numpy as np
from numba import njit
from scipy.special import gammaln

__all__ = ["BLOCK", "LOW", "SharedTerms", "lower_bound", "next_block", "row_of"]

# Terms are looked at in blocks, and blocks in groups.
BLOCK = 32
_GROUP = 2048
# A product of ratios may start this low without underflow.
LOW = -600.0


class SharedTerms(NamedTuple):
    """What the sums of a row share, or of all rows with one more dimension.

    Attributes:
        log: g(0), ..., g(T).
        log_factorial: log 0!, ..., log T!, the same for all rows.
        ratio: exp(g(M + 1) - g(M)); nan where that is no ordinary number.
        inverse: 1 / n, infinite for 0, the same for all rows.
        highest: where each block of g has its highest entry.
        top: the highest entry of g in each block.
        top_less: the highest entry of g(M) - log M! in each block.
        group_top: the highest entry of g in each group.
        group_top_less: the highest entry of g(M) - log M! in each group.
    """

    log: np.ndarray
    log_factorial: np.ndarray
    ratio: np.ndarray
    inverse: np.ndarray
    highest: np.ndarray
    top: np.ndarray
    top_less: np.ndarray
    group_top: np.ndarray
    group_top_less: np.ndarray

    @classmethod
    def of(cls, log_terms: np.ndarray) -> Self:
        """Prepare the sums of rows ``(R, T + 1)``."""
        rows, end = log_terms.shape
        count = np.arange(end, dtype=np.float64)
        log_factorial = gammaln(count + 1)
        blocks, groups = (np.arange(0, end, width) for width in (BLOCK, _GROUP))
        less = log_terms - log_factorial
        tops = [np.maximum.reduceat(one, at, axis=1) for at in (blocks, groups) for one in (log_terms, less)]
        padded = np.pad(log_terms, ((0, 0), (0, -end % BLOCK)), constant_values=-np.inf)
        highest = padded.reshape(rows, -1, BLOCK).argmax(-1) + blocks
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            step = np.diff(log_terms, append=np.nan)
            ratio = np.where(np.abs(step) < -LOW, np.exp(step), np.nan)
            inverse = 1 / count
        return cls(log_terms, log_factorial, ratio, inverse, highest, *tops)


@njit(cache=True, nogil=True)
def row_of(terms: SharedTerms, row: int) -> SharedTerms:
    """Select one row of many."""
    return SharedTerms(
        terms.log[row],
        terms.log_factorial,
        terms.ratio[row],
        terms.inverse,
        terms.highest[row],
        terms.top[row],
        terms.top_less[row],
        terms.group_top[row],
        terms.group_top_less[row],
    )


@njit(cache=True, nogil=True)
def next_block(terms: SharedTerms, k: int, block: int, least: float) -> int:
    """Return the next block whose terms may exceed a bound, -1 if there is none."""
    while block < len(terms.top):
        start, group = block * BLOCK, block * BLOCK // _GROUP
        if start % _GROUP == 0 and least >= _bound(
            terms, k, start, start + _GROUP, terms.group_top[group], terms.group_top_less[group]
        ):
            block += _GROUP // BLOCK
            continue
        if least < _bound(terms, k, start, start + BLOCK, terms.top[block], terms.top_less[block]):
            return block
        block += 1
    return -1


@njit(cache=True, nogil=True)
def _bound(terms: SharedTerms, k: int, start: int, stop: int, top: float, top_less: float) -> float:
    """Return an upper bound of the terms of a range: 1 / (M - K)! falls with M, and M! / (M - K)! rises."""
    last = min(stop, len(terms.log)) - 1
    falling = top - terms.log_factorial[max(start - k, 0)]
    rising = top_less + (terms.log_factorial[last] - terms.log_factorial[last - k])
    return min(falling, rising)


@njit(cache=True, nogil=True)
def lower_bound(terms: SharedTerms, k: int) -> float:
    """Return a lower bound of the largest term: all of the first block, and the highest of each other."""
    first, found = k // BLOCK, -np.inf
    for m in range(k, min((first + 1) * BLOCK, len(terms.log))):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    for m in range((k // _GROUP + 1) * _GROUP, len(terms.log), _GROUP):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    b = next_block(terms, k, first + 1, found)
    while b >= 0:
        found = max(found, terms.log[terms.highest[b]] - terms.log_factorial[terms.highest[b] - k])
        b = next_block(terms, k, b + 1, found)
    return found
