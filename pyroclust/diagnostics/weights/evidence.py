"""Log-evidence from posterior draws, and from posterior draws and a guide's draws together."""

import math
from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats
from scipy.optimize import brentq
from scipy.special import log_expit, logsumexp

from pyroclust.arrays import as_finite
from pyroclust.diagnostics.weights.importance import importance_log_evidence, pareto_k

__all__ = ["LogEvidence", "bridge_log_evidence", "log_evidences", "reciprocal_log_evidence"]

# Nats beyond the extreme log-weights between which the root of the bridge is looked for.
_MARGIN = 50.0
# Beyond it the differences of two densities are made of rounding alone.
_LARGEST = 1e15


@dataclass(frozen=True)
class LogEvidence:
    """One estimate of log p(x).

    Attributes:
        method: what made it, for people.
        estimate: in nats.
        error: its standard error, in nats, by the delta method.
        pareto_k: shape of the tail of the weights whose mean it is: from 0.7 on neither the estimate nor its
            error can be relied on; nan where it cannot be fitted, -inf where the weights are bounded.
    """

    method: str
    estimate: float
    error: float
    pareto_k: float


def reciprocal_log_evidence(log_joint: np.ndarray, log_prob: np.ndarray) -> tuple[float, float]:
    r"""Return log p(x) in nats by reciprocal importance sampling of posterior draws, and its standard error.

    .. math:: \frac{1}{p(x)} = E_{c \sim p(c|x)} \Bigl[ \frac{q(c)}{p(c, x)} \Bigr]

    for any normalised q, such as a guide, that is positive only where the posterior is. The error is the
    delta method's with the effective sample size of the ratios; it means something while ``pareto_k(log_prob
    - log_joint)`` is below 0.7, which needs a q with lighter tails than the posterior. Cost: O(S log S).

    Shape:
        log_joint, log_prob: ``(chains, draws)`` or ``(S,)``.

    Args:
        log_joint: log p(c, x) of posterior draws, in nats.
        log_prob: log q(c) of the same draws, in nats.

    Raises:
        ValueError: if the shapes differ or a number is not finite.

    References:
        Gelfand and Dey (1994), Bayesian model choice: asymptotics and exact calculations.
        https://doi.org/10.1111/j.2517-6161.1994.tb01996.x

    Example:
        >>> log_posterior = np.log(np.full((4, 100), 0.5))
        >>> estimate, error = reciprocal_log_evidence(log_posterior - 3.0, log_posterior)
        >>> round(estimate, 6), round(error, 6)
        (-3.0, 0.0)
    """
    ratios = _log_ratios(log_joint, log_prob)
    log_mean = float(logsumexp(-ratios) - np.log(ratios.size))
    return -log_mean, _relative_error(np.exp(-ratios - log_mean))


def bridge_log_evidence(
    log_joint: np.ndarray,
    log_prob: np.ndarray,
    *,
    guide_log_joint: np.ndarray,
    guide_log_prob: np.ndarray,
) -> tuple[float, float]:
    r"""Return log p(x) in nats by bridge sampling of posterior and guide draws, and its standard error.

    The optimal bridge: the r = p(x) at which

    .. math::
        \frac{s_1}{S_1} \sum_{c \sim p(c|x)} \frac{s_2 q(c) r}{s_1 p(c, x) + s_2 q(c) r}
        = \frac{s_2}{S_2} \sum_{c \sim q} \frac{s_1 p(c, x)}{s_1 p(c, x) + s_2 q(c) r}

    with :math:`s_1 : s_2` the effective numbers of draws. Both sides are averages of numbers in [0, 1]: that
    is why this works where either source alone has heavy-tailed weights: it needs overlap, not lighter tails.
    The fixed point of the usual iteration is found as the root of a monotone function. The error is the
    relative mean squared error with the effective sample size of the posterior draws. Cost: O(S log S).

    Shape:
        log_joint, log_prob: ``(chains, draws)`` or ``(S,)``; guide_log_joint, guide_log_prob: the same.

    Args:
        log_joint: log p(c, x) of posterior draws, in nats.
        log_prob: log q(c) of the same draws, in nats.
        guide_log_joint: log p(c, x) of independent draws of the guide.
        guide_log_prob: log q(c) of the same draws.

    Raises:
        ValueError: if shapes differ or a number is not finite.

    References:
        Meng and Wong (1996), Simulating ratios of normalizing constants via a simple identity.
        https://www3.stat.sinica.edu.tw/statistica/j6n4/j6n43/j6n43.htm
        Fruehwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
        using bridge sampling techniques. https://doi.org/10.1111/j.1368-423X.2004.00125.x

    Example:
        >>> log_q = np.log(np.full((4, 100), 0.5))
        >>> ours = {"guide_log_joint": log_q - 3.0, "guide_log_prob": log_q}
        >>> estimate, error = bridge_log_evidence(log_q - 3.0, log_q, **ours)
        >>> round(estimate, 6), round(error, 6)
        (-3.0, 0.0)
    """
    log_r, *terms = _bridge(log_joint, log_prob, guide_log_joint, guide_log_prob)
    errors = [_relative_error(np.exp(part - logsumexp(part))) for part in terms]
    return log_r, math.hypot(*errors)


def log_evidences(
    log_joint: np.ndarray,
    log_prob: np.ndarray,
    *,
    guide_log_joint: np.ndarray,
    guide_log_prob: np.ndarray,
) -> tuple[LogEvidence, ...]:
    """Return log p(x) by every method that two sources of draws allow.

    Importance sampling from the guide's draws, reciprocal importance sampling from posterior draws, and
    bridge sampling from both, whose k is the larger of its two averages'. A guide that leaves out part of the
    posterior shows as an estimate from its own draws that lies below the one from posterior draws. All log q
    must be of one distribution: from one ``guide.posterior(data)``, as each may visit the points in another
    order.

    Shape:
        log_joint, log_prob: ``(chains, draws)`` or ``(S,)``; guide_log_joint, guide_log_prob: the same.

    Args:
        log_joint: log p(c, x) of posterior draws, in nats.
        log_prob: log q(c) of the same draws, in nats.
        guide_log_joint: log p(c, x) of independent draws of the guide.
        guide_log_prob: log q(c) of the same draws.

    Raises:
        ValueError: if shapes differ or a number is not finite.

    References:
        Micaletto and Vehtari (2025), Bridge sampling diagnostics. https://arxiv.org/abs/2508.14487

    Example:
        >>> log_q = np.log(np.full((4, 100), 0.5))
        >>> found = log_evidences(log_q - 3, log_q, guide_log_joint=log_q - 3, guide_log_prob=log_q)
        >>> [round(row.estimate, 6) for row in found]
        [-3.0, -3.0, -3.0]
    """
    guide = _log_ratios(guide_log_joint, guide_log_prob)
    posterior = _log_ratios(log_joint, log_prob)
    _, *terms = _bridge(log_joint, log_prob, guide_log_joint, guide_log_prob)
    ours = {"guide_log_joint": guide_log_joint, "guide_log_prob": guide_log_prob}
    bridged = bridge_log_evidence(log_joint, log_prob, **ours)
    tail = float(np.fmax.reduce([pareto_k(part) for part in terms]))
    return (
        LogEvidence("importance sampling", *importance_log_evidence(guide), pareto_k(guide)),
        LogEvidence(
            "reciprocal importance sampling",
            *reciprocal_log_evidence(log_joint, log_prob),
            pareto_k(-posterior),
        ),
        LogEvidence("bridge sampling", *bridged, tail),
    )


def _bridge(
    log_joint: np.ndarray, log_prob: np.ndarray, guide_log_joint: np.ndarray, guide_log_prob: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log r, and the logarithms of the two averages' terms."""
    posterior = _log_ratios(log_joint, log_prob)
    guide = _log_ratios(guide_log_joint, guide_log_prob).reshape(-1, 1)
    odds = np.log(_effective(posterior) / guide.size)

    def terms(log_r: float) -> tuple[np.ndarray, np.ndarray]:
        return log_expit(log_r - odds - posterior), log_expit(guide + odds - log_r)

    def imbalance(log_r: float) -> float:
        from_posterior, from_guide = (logsumexp(part) - np.log(part.size) for part in terms(log_r))
        return float(odds + from_posterior - from_guide)

    low = min(posterior.min(), guide.min()) - abs(odds) - _MARGIN
    high = max(posterior.max(), guide.max()) + abs(odds) + _MARGIN
    log_r = float(brentq(imbalance, low, high, xtol=1e-12))
    return log_r, *terms(log_r)


def _relative_error(values: np.ndarray) -> float:
    if values.size < 2:
        return float("nan")
    return float(values.std(ddof=1) / values.mean() / np.sqrt(_effective(values)))


def _effective(x: np.ndarray) -> float:
    """Effective draws for the mean of chains ``(chains, draws)``; one draw a chain is independent."""
    if x.shape[1] < 4 or (x == x.flat[0]).all():
        return float(x.size)
    with np.errstate(all="ignore"):
        found = float(array_stats.ess(x, method="mean"))
    return found if found > 0 else float(x.size)


def _log_ratios(log_joint: np.ndarray, log_prob: np.ndarray) -> np.ndarray:
    joint, prob = as_finite("log_joint", log_joint), as_finite("log_prob", log_prob)
    if joint.shape != prob.shape or joint.ndim not in (1, 2) or joint.size == 0:
        raise ValueError(
            f"log_joint and log_prob have shapes {joint.shape} and {prob.shape}, expected equal ones, "
            "(chains, draws) or (draws,)"
        )
    largest = max(np.abs(joint).max(), np.abs(prob).max())
    if largest > _LARGEST:
        raise ValueError(f"log_joint and log_prob reach {largest:.3g} nats, expected at most {_LARGEST:g}")
    return (joint - prob).reshape(1 if joint.ndim == 1 else len(joint), -1)
