"""Gibbs-type priors: weights of blocks, the addition rule, and the law of the number of clusters."""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.partitions import most_clusters

# Up to here log-gamma functions may be subtracted: they lose fewer than three digits.
_MODERATE = -100.0


def block_sizes(assignments: Tensor, weights: Tensor | None = None) -> Tensor:
    """Count the points of every cluster, each as often as its weight says."""
    width = most_clusters(assignments)
    zeros = torch.zeros(*assignments.shape[:-1], width, dtype=torch.int64, device=assignments.device)
    labels = assignments.long()
    each = torch.ones_like(labels) if weights is None else weights.expand_as(labels)
    return zeros.scatter_add_(-1, labels, each)


def log_block_weights(sizes: Tensor, discount: Tensor) -> Tensor:
    """Return log w(n) = log Gamma(n - d) - log Gamma(1 - d) of blocks, ``(..., K)``, 0 for empty ones."""
    more = (sizes.double() - 1).clamp(min=0)
    start = 1 - discount.to(more)
    start = start.unsqueeze(-1) if discount.dim() else start
    if bool((discount > _MODERATE).all()):
        return (start + more).lgamma() - start.lgamma()
    return log_rising(start, more)


def log_v_of_fewer(log_v: Tensor, discount: float, *, num_points: int, steps: int) -> Tensor:
    """Continue a table of log V_N(K), K = 0, 1, ..., to fewer points, one row and one column less a step.

    V_n(K) = (n - d K) V_{n+1}(K) + V_{n+1}(K + 1), compiled, about 20 ns an entry.
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


def log_v_of_fewer_batched(log_v: Tensor, discount: Tensor, ends: Tensor, width: int) -> Tensor:
    """Continue log V_n(K) of a batch from every stride-th n, ``ends``, to all n that are fewer.

    Shape:
        log_v: ``(B, E, width + stride - 1)``; discount: ``()`` or ``(B,)``; output: ``(B, E stride, width)``.
    """
    clusters, discount = torch.arange(log_v.shape[-1], device=log_v.device), discount.reshape(-1, 1, 1)
    found = [log_v[..., :width]]
    for fewer in range(1, log_v.shape[-1] - width + 1):
        points = (ends - fewer).unsqueeze(-1)
        kept = clusters[: log_v.shape[-1] - 1]
        stay = (points - discount * kept).clamp(min=1e-300).log() + log_v[..., :-1]
        together = torch.logaddexp(stay, log_v[..., 1:])
        log_v = torch.where((kept >= 1) & (kept <= points), together, -torch.inf)
        found.append(log_v[..., :width])
    return torch.stack(found[::-1], 2).flatten(1, 2)


# exp(-40) is below half a unit in the last place of one.
_NEGLIGIBLE = 40.0


@lru_cache(maxsize=256)
def log_stirling_numbers(discount: float, num_points: int, width: int) -> Tensor:
    r"""Sum the block weights of all partitions of N points into K = 1, ..., width clusters, cached.

    .. math:: S_d(n + 1, K) = (n - d K) \, S_d(n, K) + S_d(n, K - 1)

    All terms are positive, and the recursion runs on logs of :math:`S_d(n, K) / \Gamma(n)`. Cost O(N width),
    about 10 ns an entry.
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
