"""Gibbs weights of fewer points from those of more."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

__all__ = ["log_v_of_fewer"]


def log_v_of_fewer(log_v: Tensor, discount: float, *, num_points: int, steps: int) -> Tensor:
    r"""Continue a table of Gibbs weights to fewer points.

    .. math:: V_{n}(K) = (n - d K) \, V_{n+1}(K) + V_{n+1}(K + 1)

    All terms are positive. Every step takes the last column away, which would need one more. Compiled, about
    20 ns an entry.

    Args:
        log_v: log V_N(K) for K = 0, ..., C.
        discount: d.
        num_points: N.
        steps: how many rows to add, below C.

    Shape:
        log_v: ``(C + 1,)``; output: ``(steps + 1, C + 1 - steps)`` float64 for N, N - 1, ... points.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> prior, clusters = ChineseRestaurantPrior(0.7), torch.arange(5)
        >>> found = log_v_of_fewer(prior.log_v(9, clusters), 0.0, num_points=9, steps=2)
        >>> torch.allclose(found[2], prior.log_v(7, clusters[:3]))
        True
    """
    rows = _downwards(log_v.detach().double().cpu().numpy(), discount, num_points, steps)
    return torch.from_numpy(rows[:, : len(log_v) - steps])


@njit(cache=True, nogil=True)
def _downwards(log_v: np.ndarray, discount: float, num_points: int, steps: int) -> np.ndarray:
    found = np.full((steps + 1, len(log_v)), -np.inf)
    found[0] = log_v
    for j in range(1, steps + 1):
        n = num_points - j
        for k in range(1, min(n + 1, len(log_v) - j)):
            stay, opened = found[j - 1, k] + np.log(n - discount * k), found[j - 1, k + 1]
            high, low = max(stay, opened), min(stay, opened)
            found[j, k] = high + np.log1p(np.exp(low - high)) if high > -np.inf else high
    return found
