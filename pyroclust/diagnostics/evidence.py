"""Log-evidence from posterior draws, and from posterior draws and a guide's draws together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import scipy
from scipy.special import log_expit, logsumexp

from pyroclust.core.numbers import as_finite
from pyroclust.diagnostics.importance import importance_log_evidence, pareto_k
from pyroclust.diagnostics.limits import (
    MAX_BRIDGE_ERROR,
    MAX_EVIDENCE_ERROR,
    MAX_EVIDENCE_ERRORS_APART,
    MAX_EVIDENCE_SPREAD,
    MAX_PARETO_K,
    written,
)

# Nats beyond the extreme log-weights between which the root of the bridge is looked for.
_MARGIN = 50.0
# Beyond it the differences of two densities are made of rounding alone.
_LARGEST = 1e15


class EvidenceMethod(StrEnum):
    """What an estimate of log p(x) is made of: draws of a guide, of the posterior, or populations."""

    IMPORTANCE = "importance sampling"
    RECIPROCAL = "reciprocal importance sampling"
    BRIDGE = "bridge sampling"
    ANNEALED = "annealing over the points"
    TEMPERED = "tempering"
    PARTICLES = "sequential Monte Carlo"


@dataclass(frozen=True)
class LogEvidence:
    """One estimate of log p(x).

    Attributes:
        method: what made it.
        estimate: in nats.
        error: its standard error, in nats; by the delta method, or by independent repetitions.
        pareto_k: shape of the tail of the weights whose mean it is; nan where it cannot be fitted or was not,
            -inf where the weights are bounded.
        spread: standard deviation of independent repetitions of the estimate, in nats; nan without any.
    """

    method: EvidenceMethod
    estimate: float
    error: float
    pareto_k: float
    spread: float = math.nan

    @property
    def is_reliable(self) -> bool:
        """Whether it and its error can be relied on.

        Importance sampling needs a Pareto k below 0.7. Bridge sampling averages numbers between 0 and 1, so
        that its standard error can be believed up to 0.3 nats, whatever Pareto k. Repetitions must not spread
        more than 2 nats. Any standard error must be at most 1.5 nats. Reciprocal importance sampling never
        counts.
        """
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why it cannot be relied on, without a full stop; empty where it can."""
        method, error = self.method, written(self.error, ".2f", MAX_EVIDENCE_ERROR, MAX_BRIDGE_ERROR)
        if method is EvidenceMethod.RECIPROCAL:
            return f"{method} never counts"
        if math.isnan(self.error):
            return f"{method} has no standard error"
        if self.spread > MAX_EVIDENCE_SPREAD:
            spread = written(self.spread, ".1f", MAX_EVIDENCE_SPREAD)
            return f"repetitions of {method} spread {spread} nats, more than {MAX_EVIDENCE_SPREAD:g}"
        most = MAX_BRIDGE_ERROR if method is EvidenceMethod.BRIDGE else MAX_EVIDENCE_ERROR
        if self.error > most:
            return f"{method} has a standard error of {error} nats, more than {most:g}"
        if method is EvidenceMethod.IMPORTANCE and math.isnan(self.pareto_k):
            return f"{method} has too few draws for a Pareto k"
        if method is EvidenceMethod.IMPORTANCE and self.pareto_k >= MAX_PARETO_K:
            shown = written(self.pareto_k, ".2f", MAX_PARETO_K)
            return f"{method} has Pareto k {shown}, not below {MAX_PARETO_K:g}"
        return ""


def importance_evidence(log_weights: np.ndarray) -> LogEvidence:
    """Return the estimate of log p(x) by importance sampling from log p(c, x) - log q(c), any shape.

    Example:
        >>> importance_evidence(np.zeros(100)).estimate
        0.0
    """
    return LogEvidence(
        EvidenceMethod.IMPORTANCE, *importance_log_evidence(log_weights), pareto_k(log_weights)
    )


def repeated_log_evidence(estimates: np.ndarray) -> tuple[float, float, float]:
    r"""Join independent estimates :math:`\hat Z_r` of p(x), each right on average."""
    logs = as_finite("estimates", estimates)
    estimate = float(logsumexp(logs) - np.log(logs.size))
    if logs.size < 2:
        return estimate, math.nan, math.nan
    spread = float(logs.std(ddof=1))
    relative = float(np.exp(logs - estimate).std(ddof=1))
    return estimate, max(spread, relative) / math.sqrt(logs.size), spread


def population_evidence(log_weights: np.ndarray, *, method: EvidenceMethod) -> LogEvidence:
    """Estimate log p(x) by populations ``(P, particles)``, the mean weight of each right on average."""
    found = logsumexp(log_weights, axis=1) - math.log(log_weights.shape[1])
    if not np.isfinite(found).all():
        return LogEvidence(method, float(logsumexp(found) - math.log(len(found))), math.nan, math.nan)
    estimate, error, spread = repeated_log_evidence(found)
    return LogEvidence(method, estimate, error, math.nan, spread)


def _reciprocal(ratios: np.ndarray) -> LogEvidence:
    log_mean = float(logsumexp(-ratios) - np.log(ratios.size))
    error = _relative_error(np.exp(-ratios - log_mean))
    return LogEvidence(EvidenceMethod.RECIPROCAL, -log_mean, error, pareto_k(-ratios))


def log_evidences(
    log_joint: np.ndarray, log_prob: np.ndarray, *, guide_log_joint: np.ndarray, guide_log_prob: np.ndarray
) -> tuple[LogEvidence, ...]:
    """Return log p(x) by every method that two sources of draws allow.

    Bridge sampling from both, whose k is the larger of its two averages', importance sampling from the
    guide's draws, and reciprocal importance sampling from posterior draws. All log q must be of one
    distribution: from one ``guide.posterior(data)``.

    Args:
        log_joint: log p(c, x) of posterior draws, in nats, ``(chains, draws)`` or ``(S,)``.
        log_prob: log q(c) of the same draws, in nats.
        guide_log_joint: log p(c, x) of independent draws of the guide.
        guide_log_prob: log q(c) of the same draws.

    References:
        Meng and Wong (1996), Simulating ratios of normalizing constants via a simple identity.
        https://www3.stat.sinica.edu.tw/statistica/j6n4/j6n43/j6n43.htm
        Fruehwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
        using bridge sampling techniques. https://doi.org/10.1111/j.1368-423X.2004.00125.x
        Gelfand and Dey (1994), Bayesian model choice: asymptotics and exact calculations.
        https://doi.org/10.1111/j.2517-6161.1994.tb01996.x
        Micaletto and Vehtari (2025), Bridge sampling diagnostics. https://arxiv.org/abs/2508.14487

    Example:
        >>> log_q = np.log(np.full((4, 100), 0.5))
        >>> found = log_evidences(log_q - 3, log_q, guide_log_joint=log_q - 3, guide_log_prob=log_q)
        >>> [round(row.estimate, 6) for row in found]
        [-3.0, -3.0, -3.0]
    """
    guide = _log_ratios(guide_log_joint, guide_log_prob)
    posterior = _log_ratios(log_joint, log_prob)
    return _bridge(posterior, guide), importance_evidence(guide), _reciprocal(posterior)


def _bridge(posterior: np.ndarray, guide: np.ndarray) -> LogEvidence:
    guide = guide.reshape(-1, 1)
    odds = np.log(_effective(posterior) / guide.size)

    def terms(log_r: float) -> tuple[np.ndarray, np.ndarray]:
        return log_expit(log_r - odds - posterior), log_expit(guide + odds - log_r)

    def imbalance(log_r: float) -> float:
        from_posterior, from_guide = (logsumexp(part) - np.log(part.size) for part in terms(log_r))
        return float(odds + from_posterior - from_guide)

    low = min(posterior.min(), guide.min()) - abs(odds) - _MARGIN
    high = max(posterior.max(), guide.max()) + abs(odds) + _MARGIN
    log_r = float(scipy.optimize.brentq(imbalance, low, high, xtol=1e-12))
    averaged = terms(log_r)
    error = math.hypot(*(_relative_error(np.exp(part - logsumexp(part))) for part in averaged))
    tail = float(np.fmax.reduce([pareto_k(part) for part in averaged]))
    return LogEvidence(EvidenceMethod.BRIDGE, log_r, error, tail)


def _relative_error(values: np.ndarray) -> float:
    if values.size < 2:
        return float("nan")
    return float(values.std(ddof=1) / values.mean() / np.sqrt(_effective(values)))


def _effective(x: np.ndarray) -> float:
    """Effective draws for the mean of chains ``(chains, draws)``; one draw a chain is independent."""
    from arviz_stats.base import array_stats

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


# Rounding of a guide in float32, in nats: estimates without chance differ by as much.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class EvidenceHeadline:
    """The log evidence that a result states, or why it states none.

    Attributes:
        best: the estimate to rely on; ``None`` where there is none.
        reason: why there is none; empty where there is one.
    """

    best: LogEvidence | None
    reason: str = ""

    def __repr__(self) -> str:
        if self.best is None:
            return f"EvidenceHeadline(unknown: {self.reason})"
        return f"EvidenceHeadline({self.best.estimate:.2f} +- {self.best.error:.2f} by {self.best.method})"

    @property
    def estimate(self) -> float:
        """Log p(data) in nats; nan where it is unknown."""
        return math.nan if self.best is None else self.best.estimate

    @property
    def error(self) -> float:
        """Standard error in nats; nan where it is unknown."""
        return math.nan if self.best is None else self.best.error

    def figures(self) -> dict[str, Any]:
        """Return what a JSON file says of it; numbers may be nan."""
        return {
            "estimate": self.estimate,
            "error": self.error,
            "method": None if self.best is None else self.best.method.value,
            "reason": self.reason or None,
        }


def evidence_headline(evidences: Sequence[LogEvidence]) -> EvidenceHeadline:
    """Choose among estimates of log p(x), from the same data and model, the one to state.

    Those count that can be relied on, see :attr:`LogEvidence.is_reliable`. The one with the smallest standard
    error is stated; none where another of them differs from it by more than 4 standard errors of the
    difference, as at least one must be wrong.

    Example:
        >>> sure = LogEvidence(EvidenceMethod.BRIDGE, -100.4, 0.02, 0.1)
        >>> rough = LogEvidence(EvidenceMethod.IMPORTANCE, -101.9, 0.5, 2.1)
        >>> evidence_headline([rough, sure])
        EvidenceHeadline(-100.40 +- 0.02 by bridge sampling)
        >>> evidence_headline([rough]).reason
        'no estimate can be relied on: importance sampling has Pareto k 2.10, not below 0.7'
    """
    if not evidences:
        return EvidenceHeadline(None, "nothing estimates it")
    reliable = sorted((one for one in evidences if one.is_reliable), key=lambda one: one.error)
    if not reliable:
        said = "; ".join(one.why_not for one in evidences if one.method is not EvidenceMethod.RECIPROCAL)
        return EvidenceHeadline(None, f"no estimate can be relied on: {said}")
    best = reliable[0]
    for other in reliable[1:]:
        apart = abs(other.estimate - best.estimate)
        if apart > MAX_EVIDENCE_ERRORS_APART * math.hypot(best.error, other.error, _ROUNDING):
            said = f"{_said(best)} and {_said(other)}"
            return EvidenceHeadline(None, f"{said}: they differ by more than chance")
    return EvidenceHeadline(best)


def _said(one: LogEvidence) -> str:
    return f"{one.method} says {one.estimate:.2f} with standard error {one.error:.2f}"
