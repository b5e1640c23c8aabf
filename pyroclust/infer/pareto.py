"""Pareto smoothing of the log weights of partitions, which tie."""

import math

import numpy as np
from arviz_stats.base import array_stats
from scipy.special import logsumexp

__all__ = ["smooth_log_weights"]

# Two draws of one partition may differ by the rounding of a float32 guide, in nats.
_TIE = 1e-4
_SHORTEST_TAIL = 5


def smooth_log_weights(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Smooth the tail of log weights by a generalised Pareto; return them normalised, and its shape k.

    The tail is that of :func:`arviz_stats.base.array_stats.psislw`, shortened where the smallest of its draws
    tie with the cutoff. Where it is one tied value the weights are bounded, k = -inf; with fewer than five
    draws it cannot be fitted, k = nan; both return the plain weights. Smoothing needs finite weights: draws
    of weight zero keep it.

    Shape:
        log_weights: ``(S,)``, in nats; output: ``(S,)`` and a number.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html

    Example:
        >>> smoothed, k = smooth_log_weights(np.log(np.random.default_rng(0).pareto(2.0, 1000)))
        >>> 0.3 < k < 0.7, round(float(np.exp(smoothed).sum()), 9)
        (True, 1.0)
    """
    plain = log_weights - logsumexp(log_weights)
    longest = _longest_tail(len(plain))
    if longest < _SHORTEST_TAIL:
        return plain, math.nan
    ranked = np.sort(plain)
    tail = int((ranked > ranked[-longest - 1] + _TIE).sum())
    if tail == 0 or ranked[-1] - ranked[-tail] <= _TIE:
        return plain, -math.inf
    if tail < _SHORTEST_TAIL:
        return plain, math.nan
    smoothed, k = _fit(plain, tail)
    return (smoothed if np.isfinite(k) else plain), k


def _longest_tail(num_draws: int) -> int:
    return int(3 * num_draws**0.5) if num_draws > 225 else num_draws // 5


def _fit(log_weights: np.ndarray, tail: int) -> tuple[np.ndarray, float]:
    num_draws = len(log_weights)
    # psislw negates its argument, and r_eff is its only handle on the length of the tail.
    r_eff = 1.0 if tail == _longest_tail(num_draws) else 9 * num_draws / (tail + 0.5) ** 2
    with np.errstate(all="ignore"):
        smoothed, k = array_stats.psislw(-log_weights, r_eff=r_eff)
    return smoothed, float(k)
