"""Importance weights: how good they are, how to use them, and whether visiting orders change them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_finite, as_numbers, overflow_scale
from pyroclust.diagnostics.limits import MIN_TELLING_SHARE

# Two draws of one partition may differ by the rounding of a float32 guide, in nats.
_TIE = 1e-4
_SHORTEST_TAIL = 5
# Beyond it, in nats, the sum of weights could be off by more than 1e-9: rounding of their logarithms.
_LARGE = 1e6


def smooth_log_weights(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Smooth the tail of log weights by a generalised Pareto; return them normalised, and its shape k."""
    from arviz_stats.base import array_stats

    plain, _ = _checked(log_weights)
    plain = plain - _log_sum(plain)
    ranked = np.sort(plain)
    longest = int(3 * len(plain) ** 0.5) if len(plain) > 225 else len(plain) // 5
    tail = int((ranked > ranked[-longest - 1] + _TIE).sum())
    largest = int((ranked >= ranked[-1] - _TIE).sum())
    if largest == len(plain) or largest >= max(tail, _SHORTEST_TAIL):
        return plain, -math.inf
    if tail < _SHORTEST_TAIL:
        return plain, math.nan
    # psislw takes negated log weights, and r_eff is its only handle on the length of the tail.
    r_eff = 1.0 if tail == longest else 9 * len(plain) / (tail + 0.5) ** 2
    with np.errstate(all="ignore"):
        smoothed, k = array_stats.psislw(-plain, r_eff=r_eff)
    return (plain if np.isnan(smoothed).any() else smoothed), float(k)


def importance_weights(log_weights: np.ndarray) -> np.ndarray:
    """Return normalised, Pareto-smoothed weights ``(S,)`` from log p(c, x) - log q(c), any shape.

    Where no tail can be fitted they are the plain normalised weights; see :func:`pareto_k`.

    Example:
        >>> importance_weights(np.zeros(4)).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return np.exp(smooth_log_weights(log_weights)[0])


def pareto_k(log_weights: np.ndarray) -> float:
    """Return the shape of the generalised Pareto tail of importance weights, from log p(c, x) - log q(c).

    Below 0.7 the smoothed weights can be relied on; -inf where weights are bounded, nan where no tail can be
    fitted.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html

    Example:
        >>> pareto_k(np.zeros(100))
        -inf
    """
    return smooth_log_weights(log_weights)[1]


def importance_efficiency(log_weights: np.ndarray) -> float:
    r"""Return the effective share of the draws, from log weights before smoothing.

    .. math:: \frac{(\sum_s w_s)^2}{S \sum_s w_s^2}

    References:
        Kong, Liu and Wong (1994). https://doi.org/10.1080/01621459.1994.10476469

    Example:
        >>> importance_efficiency(np.log([1.0, 1.0, 2.0])) == 16 / 18
        True
    """
    shifted, _ = _checked(log_weights)
    with np.errstate(over="ignore"):
        return min(1.0, math.exp(2 * _log_sum(shifted) - _log_sum(2 * shifted)) / len(shifted))


def effective_draws(weights: np.ndarray) -> float:
    """Return the effective number of draws of normalised weights ``(S,)``, one over the sum of their squares.

    Raises:
        ValueError: if a weight is negative or not finite, or they do not sum to 1.

    Example:
        >>> effective_draws(np.array([0.5, 0.5]))
        2.0
    """
    shares = as_numbers("weights", weights)
    with np.errstate(over="ignore", invalid="ignore"):
        fit = shares.size and (shares >= 0).all() and np.isclose(shares.sum(), 1.0)
        total = shares.sum()
    if not fit:
        raise ValueError(
            f"weights has {shares.size} numbers that sum to {total:g}, expected finite ones, none "
            "negative, that sum to 1: divide them by their sum"
        )
    return float(1 / (shares**2).sum())


def can_tell(effective_share: float) -> bool:
    """Whether draws that are weighted to another prior say what it finds, by how many of them count."""
    return effective_share >= MIN_TELLING_SHARE


def stratified_draws(weights: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Return which draws to take so that they have equal weights, by stratified resampling."""
    edges = np.cumsum(weights)
    places = edges[-1] * ((np.arange(len(uniform)) + uniform) / len(uniform))
    # Rounding must not push the last place beyond the end.
    return np.searchsorted(edges, np.minimum(places, np.nextafter(edges[-1], 0.0)), side="right")


def importance_log_evidence(log_weights: np.ndarray) -> tuple[float, float]:
    """Return the importance-sampling estimate of log p(x) in nats, and its standard error."""
    shifted, largest = _checked(log_weights)
    estimate = _log_sum(shifted) - math.log(len(shifted))
    relative = np.exp(shifted - estimate)
    error = relative.std(ddof=1) / np.sqrt(len(relative)) if len(relative) > 1 else np.nan
    return largest + estimate, float(error)


def weighted_expectation(values: np.ndarray, log_weights: np.ndarray) -> tuple[float, float, float]:
    r"""Return a posterior expectation from importance samples, its standard error and its Pareto k.

    .. math:: \mu = \sum_s w_s h_s, \qquad se^2 = \sum_s w_s^2 (h_s - \mu)^2

    with Pareto-smoothed weights that sum to 1, from log p(c, x) - log q(c). The k is the larger of that of
    the weights and that of their products with :math:`|h - \mu|`: below 0.7 the estimate can be relied on.

    Raises:
        ValueError: if the numbers of entries differ, a value is not finite, or the log weights do not fit.

    Example:
        >>> round(weighted_expectation(np.array([1.0, 3.0]), np.log([3.0, 1.0]))[0], 6)
        1.5
    """
    flat, (shifted, _) = as_finite("values", values).reshape(-1), _checked(log_weights)
    if len(flat) != len(shifted):
        raise ValueError(f"values has {len(flat)} entries, expected {len(shifted)}, one a log weight")
    smoothed, k = smooth_log_weights(shifted)
    weights, unit = np.exp(smoothed), overflow_scale(flat)
    flat = flat / unit
    estimate = float(weights @ flat)
    apart = np.abs(flat - estimate)
    error = float(np.sqrt((weights**2) @ apart**2))
    if np.ptp(flat) == 0:
        return unit * estimate, unit * error, k
    # A value at the mean would have log-product -inf: it goes below all others, where no tail begins.
    products = shifted + np.log(np.maximum(apart, max(apart.max() * 1e-12, 5e-324)))
    return unit * estimate, unit * error, float(np.fmax(k, smooth_log_weights(products)[1]))


def _log_sum(log_weights: np.ndarray) -> float:
    """Return the logarithm of a sum of weights, one of which is not zero: scipy's takes ten times as long."""
    largest = float(log_weights.max())
    return largest + math.log(np.exp(log_weights - largest).sum())


def _checked(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return log weights less a number, and the number: 0 unless they are so large that digits get lost."""
    flat = as_numbers("log_weights", log_weights).reshape(-1)
    if not np.isfinite(flat).any() or np.isnan(flat).any() or np.isposinf(flat).any():
        raise ValueError(
            f"log_weights has {flat.size} numbers, {int(np.isfinite(flat).sum())} of them finite; expected "
            "at least one finite number, and no nan or plus infinity (minus infinity is weight zero)"
        )
    largest = float(flat.max())
    if np.abs(flat[np.isfinite(flat)]).max() < _LARGE:
        return flat, 0.0
    # What lies further below than numbers reach has the weight zero.
    with np.errstate(over="ignore"):
        return flat - largest, largest


# Below the smallest normal number a sum of weights is none.
_VANISHED = np.finfo(np.float64).tiny
# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OrderSpread:
    """How far a figure of equal shares of a guide's draws lies apart, one share an order."""

    by_order: np.ndarray
    spread: float
    by_chance: float
    p_value: float

    def __repr__(self) -> str:
        return f"OrderSpread({self.spread:.2f} over {len(self.by_order)} orders, p = {self.p_value:.3f})"


def evidence_by_order(
    log_weights: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    """Compare the evidence by each visiting order with what chance makes of the same weights."""
    return _spread(*_log_means(log_weights), num_orders, seed, num_permutations)


def evidences_of_orders(log_weights: np.ndarray, *, num_orders: int) -> np.ndarray:
    """Return the log evidence by each visiting order alone, ``(M,)`` in nats, as above."""
    return _of_orders(*_log_means(log_weights), num_orders)


def mean_by_order(
    values: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    """Compare the mean of a functional by each visiting order with what chance makes of the same draws."""
    return _spread(as_numbers("values", values), lambda means: means, num_orders, seed, num_permutations)


_Figure = Callable[[np.ndarray], np.ndarray]


def _log_means(log_weights: np.ndarray) -> tuple[np.ndarray, _Figure]:
    """Return weights beside the largest of all, and what makes log evidences of their means."""
    weights = as_numbers("log_weights", log_weights)
    largest = weights.max(initial=-np.inf)
    return np.exp(weights - largest), lambda means: np.log(np.maximum(means, _VANISHED)) + largest


def _of_orders(values: np.ndarray, figure: _Figure, num_orders: int) -> np.ndarray:
    sizes = np.array([len(part) for part in np.array_split(np.arange(len(values)), num_orders)])
    return figure(np.add.reduceat(values, np.cumsum(sizes) - sizes) / sizes)


def _spread(
    values: np.ndarray, figure: _Figure, num_orders: int, seed: int, num_permutations: int
) -> OrderSpread | None:
    if num_orders < 2 or len(values) < 2 * num_orders:
        return None
    rng = np.random.default_rng(seed)
    found = _of_orders(values, figure, num_orders)
    null = np.array(
        [_of_orders(rng.permutation(values), figure, num_orders).std() for _ in range(num_permutations)]
    )
    spread = float(found.std())
    p_value = (1 + int((null >= spread - _ROUNDING).sum())) / (1 + num_permutations)
    return OrderSpread(found, spread, float(np.median(null)), p_value)
