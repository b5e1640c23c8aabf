"""Generalised Stirling numbers: how many ways, by weight, to split N points into K clusters."""

import math
from functools import lru_cache

import numpy as np
import torch
from numba import njit
from torch import Tensor

__all__ = ["log_stirling_numbers"]

# exp(-40) is below half a unit in the last place of one.
_NEGLIGIBLE = 40.0


@lru_cache(maxsize=256)
def log_stirling_numbers(discount: float, num_points: int, width: int) -> Tensor:
    r"""Sum the block weights of all partitions of N points into K clusters.

    .. math::
        S_d(N, K) = \sum_{c: K(c) = K} \prod_k \frac{\Gamma(n_k - d)}{\Gamma(1 - d)}, \qquad
        S_d(n + 1, K) = (n - d K) \, S_d(n, K) + S_d(n, K - 1)

    All terms are positive, and the recursion runs on logs of :math:`S_d(n, K) / \Gamma(n)`. Cost O(N width),
    about 10 ns an entry; memory O(width). Cached.

    Args:
        discount: d, below 1.
        num_points: N.
        width: the largest number of clusters wanted.

    Shape:
        output: ``(width,)`` float64 for K = 1, ..., width; shared with other callers, not to be changed.

    Example:
        >>> log_stirling_numbers(0.0, 4, 4).exp().round().tolist()  # unsigned, of the first kind
        [6.0, 11.0, 6.0, 1.0]

    References:
        Gnedin & Pitman (2006), Exchangeable Gibbs partitions. https://doi.org/10.1007/s10958-006-0335-z
    """
    return torch.from_numpy(_recursion(discount, num_points, width))


@njit(cache=True, nogil=True)
def _recursion(discount: float, num_points: int, width: int) -> np.ndarray:
    found = np.full(width, -np.inf)
    found[0] = 0.0
    for n in range(1, num_points):
        log_n = np.log(n)
        for k in range(min(n, width - 1), 0, -1):
            opened = found[k - 1] - log_n
            found[k] = _log_add(found[k] + _log_stay(n, discount, k + 1), opened) if k < n else opened
        found[0] += _log_stay(n, discount, 1)
    return found + math.lgamma(num_points)


@njit(cache=True, nogil=True)
def _log_stay(n: int, discount: float, clusters: int) -> float:
    """Return log(1 - d K / n)."""
    return np.log1p(-discount * clusters / n) if discount != 0 else 0.0


@njit(cache=True, nogil=True)
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if high - low > _NEGLIGIBLE else high + np.log1p(np.exp(low - high))
