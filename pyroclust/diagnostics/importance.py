"""Importance sampling with Pareto-smoothed weights: how good, and how to use it."""

import numpy as np
from arviz_stats.base import array_stats
from scipy.special import logsumexp

__all__ = [
    "effective_draws",
    "importance_efficiency",
    "importance_log_evidence",
    "importance_weights",
    "pareto_k",
    "weighted_expectation",
]

_TIE = 1e-4  # nats: two draws of one partition may differ by float32 rounding
_MIN_TAIL = 5


def importance_weights(log_weights: np.ndarray) -> np.ndarray:
    """Return normalised, Pareto-smoothed importance weights.

    Where the tail cannot be fitted (see :func:`pareto_k`) the plain normalised weights are returned.

    Shape:
        log_weights: S entries of log p(c, x) - log q(c), any shape; output: ``(S,)``, sums to 1.

    Raises:
        ValueError: if a log-weight is nan or infinite.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html

    Example:
        >>> importance_weights(np.zeros(4)).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return _smoothed(_checked(log_weights))[0]


def pareto_k(log_weights: np.ndarray) -> float:
    """Return the shape of the generalised Pareto tail of the importance weights.

    Below 0.7 the smoothed weights can be relied on. Partitions are discrete, so weights can tie: the tail
    then starts strictly above the tied value. Weights whose largest value is shared by the whole tail are
    bounded, k = -inf; fewer than five draws above the cutoff cannot be fitted, k = nan.

    Shape:
        log_weights: S entries of log p(c, x) - log q(c), any shape; output: a number.

    Raises:
        ValueError: if a log-weight is nan or infinite.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html

    Example:
        >>> pareto_k(np.zeros(100))
        -inf
    """
    return _smoothed(_checked(log_weights))[1]


def importance_efficiency(log_weights: np.ndarray) -> float:
    r"""Return the effective share of the draws, from the weights before smoothing.

    .. math:: \frac{(\sum_s w_s)^2}{S \sum_s w_s^2}

    Shape:
        log_weights: S entries, any shape; output: a number in (0, 1].

    Raises:
        ValueError: if a log-weight is nan or infinite.

    References:
        Kong, Liu and Wong (1994). https://doi.org/10.1080/01621459.1994.10476469

    Example:
        >>> importance_efficiency(np.log([1.0, 1.0, 2.0])) == 16 / 18
        True
    """
    log_weights = _checked(log_weights)
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)) / len(log_weights))


def effective_draws(weights: np.ndarray) -> float:
    """Return the effective number of draws of normalised weights, one over the sum of their squares.

    Shape:
        weights: ``(S,)``, sums to 1; output: a number in [1, S].

    Example:
        >>> effective_draws(np.array([0.5, 0.5]))
        2.0
    """
    return float(1 / (np.asarray(weights) ** 2).sum())


def importance_log_evidence(log_weights: np.ndarray) -> tuple[float, float]:
    r"""Return the importance-sampling estimate of log p(x) in nats, and its standard error.

    .. math:: \log \tfrac1S \sum_s w_s, \qquad se = \frac{\mathrm{sd}(w)}{\sqrt S \, \bar w}

    The error is the delta method's: take it seriously only while the Pareto k is below 0.7.

    Shape:
        log_weights: S entries of log p(c, x) - log q(c), any shape.

    Raises:
        ValueError: if a log-weight is nan or infinite.

    Example:
        >>> importance_log_evidence(np.zeros(10))
        (0.0, 0.0)
    """
    log_weights = _checked(log_weights)
    estimate = float(logsumexp(log_weights) - np.log(len(log_weights)))
    relative = np.exp(log_weights - estimate)
    error = relative.std(ddof=1) / np.sqrt(len(relative)) if len(relative) > 1 else np.nan
    return estimate, float(error)


def weighted_expectation(values: np.ndarray, log_weights: np.ndarray) -> tuple[float, float, float]:
    r"""Return a posterior expectation from importance samples, its standard error and its Pareto k.

    .. math:: \mu = \sum_s w_s h_s, \qquad se^2 = \sum_s w_s^2 (h_s - \mu)^2

    with Pareto-smoothed weights that sum to 1. The k is the larger of that of the weights and that of their
    products with :math:`|h - \mu|`, whose tail decides on the variance: below 0.7 the estimate can be relied
    on. Where h is constant only the weights count; a k that cannot be fitted is left out.

    Shape:
        values: S entries; log_weights: S entries of log p(c, x) - log q(c), any shapes.

    Raises:
        ValueError: if the numbers of entries differ, or one is nan or infinite.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html

    Example:
        >>> round(weighted_expectation(np.array([1.0, 3.0]), np.log([3.0, 1.0]))[0], 6)
        1.5
    """
    flat, log_weights = np.asarray(values, dtype=np.float64).reshape(-1), _checked(log_weights)
    if len(flat) != len(log_weights):
        raise ValueError(f"values has {len(flat)} entries, expected {len(log_weights)}, one a log-weight")
    if not np.isfinite(flat).all():
        raise ValueError("values has numbers that are not finite, expected finite ones")
    weights, k = _smoothed(log_weights)
    estimate = float(weights @ flat)
    apart = np.abs(flat - estimate)
    error = float(np.sqrt((weights**2) @ apart**2))
    if np.ptp(flat) == 0:
        return estimate, error, k
    # A value at the mean would have log-product -inf: it goes below all others, where no tail begins.
    products = log_weights + np.log(np.maximum(apart, apart.max() * 1e-12))
    return estimate, error, float(np.fmax(k, _smoothed(products)[1]))


def _smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    plain = np.exp(log_weights - logsumexp(log_weights))
    num_draws = len(log_weights)
    ranked = np.sort(log_weights)
    usual = int(3 * num_draws**0.5 if num_draws > 225 else num_draws / 5)
    tail = int((ranked > ranked[num_draws - usual - 1] + _TIE).sum())
    if (tail == 0 and num_draws >= 2 * _MIN_TAIL) or ranked[-1] - ranked[0] <= _TIE:
        return plain, float("-inf")
    if tail < _MIN_TAIL:
        return plain, float("nan")
    if ranked[-1] - ranked[num_draws - tail] <= _TIE:
        return plain, float("-inf")
    # psislw takes negated log-weights, and r_eff is its only handle on the length of the tail.
    r_eff = 1.0 if tail == usual else 9 * num_draws / (tail + 0.5) ** 2
    with np.errstate(all="ignore"):
        smoothed, k = array_stats.psislw(-log_weights, r_eff=r_eff)
    return (np.exp(smoothed), float(k)) if np.isfinite(smoothed).all() else (plain, float(k))


def _checked(log_weights: np.ndarray) -> np.ndarray:
    flat = np.asarray(log_weights, dtype=np.float64).reshape(-1)
    if flat.size == 0 or not np.isfinite(flat).all():
        raise ValueError("log_weights must be finite numbers, at least one")
    return flat
