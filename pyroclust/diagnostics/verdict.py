"""One sentence on whether a guide can be trusted on a data set."""

import math
from dataclasses import dataclass
from enum import Enum

from pyroclust.diagnostics.agreement import Agreement

__all__ = ["Evidence", "Trust", "Verdict", "judge"]

MAX_RHAT, GOOD_RHAT = 1.05, 1.01
MIN_ESS, GOOD_ESS = 100.0, 400.0
MAX_DIFFERENCE = 0.15
MAX_PARETO_K = 0.7


class Trust(Enum):
    """Levels of a verdict: of one source from best to worst, then of two sources that nobody has to trust."""

    TRUST = "trust"
    AVERAGE = "trust on average"
    CORRECT = "trust after correction"
    UNKNOWN = "cannot tell"
    DISTRUST = "do not trust"
    AGREE = "agree"
    DIFFER = "differ"


@dataclass(frozen=True)
class Verdict:
    """A level, and the sentence that says why.

    Attributes:
        level: whether to use the draws, or whether two sources agree.
        sentence: the reason, for people.
    """

    level: Trust
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """The figures that a verdict rests on.

    Attributes:
        guide: agreement of the guide's draws with MCMC.
        corrected: agreement of the guide's importance-weighted draws with MCMC.
        max_rhat: of the MCMC functionals that are not constant; 1 when all are.
        min_ess: bulk effective draws of the same; infinity when all are constant.
        pareto_k: of the guide's importance weights; nan where it could not be fitted.
        effective_draws: of the importance weights.
    """

    guide: Agreement
    corrected: Agreement
    max_rhat: float
    min_ess: float
    pareto_k: float
    effective_draws: float


def judge(evidence: Evidence) -> Verdict:
    """Say whether the guide can be trusted here, and why.

    MCMC must have converged first: R-hat at most 1.05 (above 1.01 the sentence warns) and at least 100
    effective draws (below 400 it warns). Draws *agree* with MCMC when the total variation of the number of
    clusters and the largest co-assignment difference are both at most 0.15. Importance weights are *usable*
    when Pareto k is below 0.7, or could not be fitted, and they are worth at least 100 draws.

    * ``TRUST``: the guide's draws agree.
    * ``CORRECT``: they do not, but the weights are usable and the weighted draws agree.
    * ``UNKNOWN``: MCMC did not converge, or its own halves differ by more than 0.15.
    * ``DISTRUST``: all else.

    Args:
        evidence: the figures.

    References:
        Schmitt et al. (2024), Amortized Bayesian workflow. https://arxiv.org/abs/2409.04332
    """
    gaps, noise = _gaps(evidence.guide), evidence.guide.noise_largest_difference
    if not _converged(evidence):
        return Verdict(Trust.UNKNOWN, f"No verdict: MCMC has not converged ({_chains(evidence)}).")
    caveat = _caveat(evidence)
    if _agrees(evidence.guide):
        return Verdict(Trust.TRUST, f"The guide can be trusted here: it agrees with MCMC ({gaps}).{caveat}")
    if _usable(evidence) and _agrees(evidence.corrected):
        return Verdict(
            Trust.CORRECT,
            f"Use the guide's draws with their importance weights: as drawn they differ from MCMC ({gaps}), "
            f"weighted they agree ({_gaps(evidence.corrected)}; {_weights(evidence)}).{caveat}",
        )
    if noise > MAX_DIFFERENCE:
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict: the guide differs from MCMC ({gaps}), but the two halves of MCMC differ from each "
            f"other too (co-assignment probabilities by up to {noise:.2f}); run MCMC longer.",
        )
    remedy = (
        "weighting them does not help" if _usable(evidence) else "the weights are too uneven to correct them"
    )
    return Verdict(
        Trust.DISTRUST,
        f"Do not trust the guide here: its draws differ from MCMC ({gaps}), and {remedy} "
        f"({_weights(evidence)}).{caveat}",
    )


def _converged(evidence: Evidence) -> bool:
    return evidence.max_rhat <= MAX_RHAT and evidence.min_ess >= MIN_ESS


def _usable(evidence: Evidence) -> bool:
    # Written so that nan, a tail that could not be fitted, passes.
    return not evidence.pareto_k >= MAX_PARETO_K and evidence.effective_draws >= MIN_ESS


def _agrees(found: Agreement) -> bool:
    return max(found.total_variation, found.largest_difference) <= MAX_DIFFERENCE


def _gaps(found: Agreement) -> str:
    return (
        f"total variation of the number of clusters {found.total_variation:.2f}, "
        f"co-assignment probabilities differ by at most {found.largest_difference:.2f}"
    )


def _weights(evidence: Evidence) -> str:
    shape = "cannot be fitted" if math.isnan(evidence.pareto_k) else f"{evidence.pareto_k:.2f}"
    bounded = evidence.pareto_k == -math.inf
    tail = "bounded weights" if bounded else f"Pareto k {shape}"
    return f"{tail}, worth {evidence.effective_draws:.0f} draws"


def _chains(evidence: Evidence) -> str:
    return f"largest R-hat {evidence.max_rhat:.3f}, fewest effective draws {evidence.min_ess:.0f}"


def _caveat(evidence: Evidence) -> str:
    if evidence.max_rhat <= GOOD_RHAT and evidence.min_ess >= GOOD_ESS:
        return ""
    return f" MCMC itself is only roughly converged ({_chains(evidence)})."
