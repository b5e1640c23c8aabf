"""Compiled sums over the number of components; in one file, as compiled code is cached by file."""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from pyroclust.core.compiling import compiled, inner

__all__ = ["SharedTerms", "fill_log_sums", "pull_back"]

# Terms are looked at in blocks, and blocks in groups.
_BLOCK = 32
_GROUP = 2048
# A product of ratios may start this low without underflow.
_LOW = -600.0
# Terms this far below the largest do not reach its last digit, however many they are.
_NEGLIGIBLE = -60.0
_TAIL = 1e-15


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
        blocks, groups = (np.arange(0, end, width) for width in (_BLOCK, _GROUP))
        less = log_terms - log_factorial
        tops = [np.maximum.reduceat(one, at, axis=1) for at in (blocks, groups) for one in (log_terms, less)]
        padded = np.pad(log_terms, ((0, 0), (0, -end % _BLOCK)), constant_values=-np.inf)
        highest = padded.reshape(rows, -1, _BLOCK).argmax(-1) + blocks
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            step = np.diff(log_terms, append=np.nan)
            ratio = np.where(np.abs(step) < -_LOW, np.exp(step), np.nan)
            inverse = 1 / count
        return cls(log_terms, log_factorial, ratio, inverse, highest, *tops)


@compiled(fastmath=False)
def _row(terms: SharedTerms, row: int) -> SharedTerms:
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


@inner(fastmath=False)
def _next_block(terms: SharedTerms, k: int, block: int, least: float) -> int:
    """Return the next block whose terms may exceed a bound, -1 if there is none."""
    while block < len(terms.top):
        start, group = block * _BLOCK, block * _BLOCK // _GROUP
        if start % _GROUP == 0 and least >= _bound(
            terms, k, start, start + _GROUP, terms.group_top[group], terms.group_top_less[group]
        ):
            block += _GROUP // _BLOCK
            continue
        if least < _bound(terms, k, start, start + _BLOCK, terms.top[block], terms.top_less[block]):
            return block
        block += 1
    return -1


@inner(fastmath=False)
def _bound(terms: SharedTerms, k: int, start: int, stop: int, top: float, top_less: float) -> float:
    """Return an upper bound of the terms of a range: 1 / (M - K)! falls with M, and M! / (M - K)! rises."""
    last = min(stop, len(terms.log)) - 1
    falling = top - terms.log_factorial[max(start - k, 0)]
    rising = top_less + (terms.log_factorial[last] - terms.log_factorial[last - k])
    return min(falling, rising)


@inner(fastmath=False)
def _lower_bound(terms: SharedTerms, k: int) -> float:
    """Return a lower bound of the largest term: all of the first block, and the highest of each other."""
    first, found = k // _BLOCK, -np.inf
    for m in range(k, min((first + 1) * _BLOCK, len(terms.log))):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    for m in range((k // _GROUP + 1) * _GROUP, len(terms.log), _GROUP):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    b = _next_block(terms, k, first + 1, found)
    while b >= 0:
        found = max(found, terms.log[terms.highest[b]] - terms.log_factorial[terms.highest[b] - k])
        b = _next_block(terms, k, b + 1, found)
    return found


@compiled(fastmath=False)
def fill_log_sums(
    every: SharedTerms, clusters: np.ndarray, first: int, step: int, found: np.ndarray, converged: np.ndarray
) -> None:
    """Fill every step-th entry of the results."""
    end = every.log.shape[1]
    for job in range(first, found.size, step):
        row, i = divmod(job, len(clusters))
        terms, k = _row(every, row), clusters[i]
        best = _lower_bound(terms, k) if k < end else -np.inf
        found[row, i], converged[row, i] = best, 1.0
        if best == -np.inf:
            continue
        total, quarter, half = 0.0, 0.0, 0.0
        b = _next_block(terms, k, k // _BLOCK, best + _NEGLIGIBLE)
        while b >= 0:
            start = max(b * _BLOCK, k)
            part = _block_sum(terms, k, start, min((b + 1) * _BLOCK, end), best)
            total += part
            half += part if 2 * start >= end else 0.0
            quarter += part if 2 * start < end <= 4 * start else 0.0
            b = _next_block(terms, k, b + 1, best + _NEGLIGIBLE)
        found[row, i] += np.log(total)
        settled = half == 0 or (half < quarter and half * half < _TAIL * total * (quarter - half))
        converged[row, i] = 1.0 if settled else 0.0


@inner(fastmath=False)
def _block_sum(terms: SharedTerms, k: int, start: int, stop: int, best: float) -> float:
    """Return the sum of terms relative to the best."""
    first = terms.log[start] - terms.log_factorial[start - k] - best
    total = 0.0
    if first > _LOW:
        term = np.exp(first)
        total = term
        for m in range(start + 1, stop):
            term *= terms.ratio[m - 1] * terms.inverse[m - k]
            total += term
        if not np.isnan(total):
            return total
        total = 0.0
    for m in range(start, stop):
        total += np.exp(terms.log[m] - terms.log_factorial[m - k] - best)
    return total


@compiled(fastmath=False)
def pull_back(
    every: SharedTerms, clusters: np.ndarray, found: np.ndarray, upstream: np.ndarray
) -> np.ndarray:
    """Return the gradient of the sums with respect to g, times that of a result with respect to them."""
    pulled = np.zeros_like(every.log)
    for row in range(found.shape[0]):
        terms = _row(every, row)
        for i in range(len(clusters)):
            k, log_sum, weight = clusters[i], found[row, i], upstream[row, i]
            b = _next_block(terms, k, k // _BLOCK, log_sum + _NEGLIGIBLE)
            while b >= 0 and weight != 0 and log_sum > -np.inf:
                for m in range(max(b * _BLOCK, k), min((b + 1) * _BLOCK, len(terms.log))):
                    pulled[row, m] += weight * np.exp(terms.log[m] - terms.log_factorial[m - k] - log_sum)
                b = _next_block(terms, k, b + 1, log_sum + _NEGLIGIBLE)
    return pulled
