"""Gibbs-type priors: weights of blocks, the addition rule, and the law of the number of clusters."""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.partitions import most_clusters

__all__ = ["block_sizes", "log_block_weights", "log_stirling_numbers", "log_v_of_fewer"]

# Up to here log-gamma functions may be subtracted: they lose fewer than three digits.
_MODERATE = -100.0


def block_sizes(assignments: Tensor, weights: Tensor | None = None) -> Tensor:
    """Count the points of every cluster, each as often as its weight says.

    Shape:
        assignments: ``(..., N)`` canonical; weights: ``(N,)`` int64; output: ``(..., K)`` int64 with K
        the largest number of clusters among the label vectors, zeros where a vector has fewer. Cost O(N) a
        vector.

    Example:
        >>> block_sizes(torch.tensor([[0, 0, 1], [0, 0, 0]])).tolist()
        [[2, 1], [3, 0]]
    """
    width = most_clusters(assignments)
    zeros = torch.zeros(*assignments.shape[:-1], width, dtype=torch.int64, device=assignments.device)
    labels = assignments.long()
    each = torch.ones_like(labels) if weights is None else weights.expand_as(labels)
    return zeros.scatter_add_(-1, labels, each)


def log_block_weights(sizes: Tensor, discount: Tensor) -> Tensor:
    r"""Return the log-weights of blocks in nats, 0 for empty ones.

    .. math:: \log w(n) = \log\Gamma(n - d) - \log\Gamma(1 - d)

    Shape:
        sizes: ``(..., K)``; discount: ``(*batch)``, below 1, broadcast against the dimensions before K;
        output: float64.

    Example:
        >>> log_block_weights(torch.tensor([3, 0]), torch.tensor(0.0)).exp().tolist()
        [2.0, 1.0]
    """
    more = (sizes.double() - 1).clamp(min=0)
    start = 1 - discount.to(more)
    start = start.unsqueeze(-1) if discount.dim() else start
    if bool((discount > _MODERATE).all()):
        return (start + more).lgamma() - start.lgamma()
    return log_rising(start, more)


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
    rows = np.full((steps + 1, len(log_v)), -np.inf)
    rows[0] = log_v.detach().double().cpu().numpy()
    _downwards(rows, discount, num_points)
    return torch.from_numpy(rows[:, : len(log_v) - steps])


@compiled(allocates=False, fastmath=False)
def _downwards(found: np.ndarray, discount: float, num_points: int) -> None:
    for j in range(1, len(found)):
        n = num_points - j
        for k in range(1, min(n + 1, found.shape[1] - j)):
            stay, opened = found[j - 1, k] + np.log(n - discount * k), found[j - 1, k + 1]
            high, low = max(stay, opened), min(stay, opened)
            found[j, k] = high + np.log1p(np.exp(low - high)) if high > -np.inf else high


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


@compiled(fastmath=False)
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


@inner(fastmath=False)
def _log_stay(n: int, discount: float, clusters: int) -> float:
    """Return log(1 - d K / n)."""
    return np.log1p(-discount * clusters / n) if discount != 0 else 0.0


@inner(fastmath=False)
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if high - low > _NEGLIGIBLE else high + np.log1p(np.exp(low - high))
