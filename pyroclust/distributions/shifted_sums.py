"""Sums over the number of components, for many numbers of clusters."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.shared_terms import SharedTerms, fill_log_sums, pull_back
from pyroclust.threads import num_threads

__all__ = ["ShiftedSums", "shifted_log_sums"]

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
        fill_log_sums(terms, clusters.astype(np.int64), task, tasks, found, converged)

    if tasks == 1:
        add(0)
    else:
        with ThreadPoolExecutor(num_threads()) as pool:
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
        pulled = pull_back(terms, ctx.clusters, ctx.found, np.ascontiguousarray(weights))
        return torch.from_numpy(pulled).to(upstream.device), None
