"""Sums over the number of components, for many numbers of clusters, in compiled code."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from pyroclust.distributions.shared_terms import BLOCK, LOW, SharedTerms, lower_bound, next_block, row_of

__all__ = ["ShiftedSums", "shifted_log_sums"]

# Terms this far below the largest do not reach its last digit, however many they are.
_NEGLIGIBLE = -60.0
_TAIL = 1e-15
_SUMS_A_TASK = 512


def shifted_log_sums(log_terms: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the log of sums that share their terms but for a factorial.

    .. math:: f(K) = \log \sum_{M = K}^{T} \frac{e^{g(M)}}{(M - K)!}

    Blocks of terms that a bound shows to be negligible are skipped; in the others each term follows from the
    one before by two products, about 2 ns. Memory O(T) a row; many sums are split over the processor's cores.

    Args:
        log_terms: g(0), ..., g(T) in rows, ``(R, T + 1)``.
        clusters: the wanted K, ``(C,)``.

    Returns:
        f(K) of each, ``(R, C)``, minus infinity for an empty sum; and whether it had converged: extrapolated
        from the last two doublings of the number of terms, what lies beyond T is below 1e-15 of the sum.

    Example:
        >>> found, _ = shifted_log_sums(np.array([[-np.inf, 0.0, np.log(2.0)]]), np.array([1, 2]))
        >>> np.exp(found).round(12)
        array([[3., 2.]])
    """
    terms = SharedTerms.of(np.ascontiguousarray(log_terms))
    found, converged = np.empty((2, len(log_terms), len(clusters)))
    tasks = -(-found.size // _SUMS_A_TASK)

    def add(task: int) -> None:
        # Sums grow with K: every task gets its share of long ones.
        _sum(terms, clusters.astype(np.int64), task, tasks, found, converged)

    if tasks == 1:
        add(0)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(add, range(tasks)))
    return found, converged > 0


class ShiftedSums(torch.autograd.Function):
    """:func:`shifted_log_sums` of a tensor, with its gradient: each sum's weights of its terms."""

    @staticmethod
    def forward(ctx: Any, log_terms: Tensor, clusters: np.ndarray) -> Tensor:  # type: ignore[override]
        """Return f(K) of each."""
        ctx.terms, ctx.clusters = log_terms.detach().cpu().numpy(), clusters.astype(np.int64)
        ctx.found = shifted_log_sums(ctx.terms, clusters)[0]
        return torch.from_numpy(ctx.found.copy()).to(log_terms.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        """Return the gradient with respect to g."""
        terms, weights = SharedTerms.of(np.ascontiguousarray(ctx.terms)), upstream.detach().cpu().numpy()
        pulled = _pull_back(terms, ctx.clusters, ctx.found, np.ascontiguousarray(weights))
        return torch.from_numpy(pulled).to(upstream.device), None


@njit(cache=True, nogil=True)
def _sum(
    every: SharedTerms, clusters: np.ndarray, first: int, step: int, found: np.ndarray, converged: np.ndarray
) -> None:
    """Fill every step-th entry of the results."""
    end = every.log.shape[1]
    for job in range(first, found.size, step):
        row, i = divmod(job, len(clusters))
        terms, k = row_of(every, row), clusters[i]
        best = lower_bound(terms, k) if k < end else -np.inf
        found[row, i], converged[row, i] = best, 1.0
        if best == -np.inf:
            continue
        total, quarter, half = 0.0, 0.0, 0.0
        b = next_block(terms, k, k // BLOCK, best + _NEGLIGIBLE)
        while b >= 0:
            start = max(b * BLOCK, k)
            part = _block_sum(terms, k, start, min((b + 1) * BLOCK, end), best)
            total += part
            half += part if 2 * start >= end else 0.0
            quarter += part if 2 * start < end <= 4 * start else 0.0
            b = next_block(terms, k, b + 1, best + _NEGLIGIBLE)
        found[row, i] += np.log(total)
        settled = half == 0 or (half < quarter and half * half < _TAIL * total * (quarter - half))
        converged[row, i] = 1.0 if settled else 0.0


@njit(cache=True, nogil=True)
def _block_sum(terms: SharedTerms, k: int, start: int, stop: int, best: float) -> float:
    """Return the sum of terms relative to the best."""
    first = terms.log[start] - terms.log_factorial[start - k] - best
    total = 0.0
    if first > LOW:
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


@njit(cache=True, nogil=True)
def _pull_back(
    every: SharedTerms, clusters: np.ndarray, found: np.ndarray, upstream: np.ndarray
) -> np.ndarray:
    pulled = np.zeros_like(every.log)
    for row in range(found.shape[0]):
        terms = row_of(every, row)
        for i in range(len(clusters)):
            k, log_sum, weight = clusters[i], found[row, i], upstream[row, i]
            b = next_block(terms, k, k // BLOCK, log_sum + _NEGLIGIBLE)
            while b >= 0 and weight != 0 and log_sum > -np.inf:
                for m in range(max(b * BLOCK, k), min((b + 1) * BLOCK, len(terms.log))):
                    pulled[row, m] += weight * np.exp(terms.log[m] - terms.log_factorial[m - k] - log_sum)
                b = next_block(terms, k, b + 1, log_sum + _NEGLIGIBLE)
    return pulled
