"""Verdicts on draws: whether a guide can be trusted on a data set."""

import math
from dataclasses import dataclass

from pyroclust.diagnostics.agreement import Agreement
from pyroclust.diagnostics.verdict import (
    GOOD_ESS,
    GOOD_RHAT,
    MAX_DIFFERENCE,
    MAX_PARETO_K,
    MAX_RHAT,
    MIN_ESS,
    Trust,
    Verdict,
)

__all__ = ["GuideFigures", "judge"]


@dataclass(frozen=True)
class GuideFigures:
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


def judge(figures: GuideFigures) -> Verdict:
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
        figures: what was measured.

    References:
        Schmitt et al. (2024), Amortized Bayesian workflow. https://arxiv.org/abs/2409.04332
    """
    gaps, noise = _gaps(figures.guide), figures.guide.noise_largest_difference
    if not _converged(figures):
        return Verdict(Trust.UNKNOWN, f"No verdict: MCMC has not converged ({_chains(figures)}).")
    caveat = _caveat(figures)
    if _agrees(figures.guide):
        return Verdict(Trust.TRUST, f"The guide can be trusted here: it agrees with MCMC ({gaps}).{caveat}")
    if _usable(figures) and _agrees(figures.corrected):
        return Verdict(
            Trust.CORRECT,
            f"Use the guide's draws with their importance weights: as drawn they differ from MCMC ({gaps}), "
            f"weighted they agree ({_gaps(figures.corrected)}; {_weights(figures)}).{caveat}",
        )
    if noise > MAX_DIFFERENCE:
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict: the guide differs from MCMC ({gaps}), but the two halves of MCMC differ from each "
            f"other too (co-assignment probabilities by up to {noise:.2f}); run MCMC longer.",
        )
    remedy = (
        "weighting them does not help" if _usable(figures) else "the weights are too uneven to correct them"
    )
    return Verdict(
        Trust.DISTRUST,
        f"Do not trust the guide here: its draws differ from MCMC ({gaps}), and {remedy} "
        f"({_weights(figures)}).{caveat}",
    )


def _converged(figures: GuideFigures) -> bool:
    return figures.max_rhat <= MAX_RHAT and figures.min_ess >= MIN_ESS


def _usable(figures: GuideFigures) -> bool:
    # Written so that nan, a tail that could not be fitted, passes.
    return not figures.pareto_k >= MAX_PARETO_K and figures.effective_draws >= MIN_ESS


def _agrees(found: Agreement) -> bool:
    return max(found.total_variation, found.largest_difference) <= MAX_DIFFERENCE


def _gaps(found: Agreement) -> str:
    return (
        f"total variation of the number of clusters {found.total_variation:.2f}, "
        f"co-assignment probabilities differ by at most {found.largest_difference:.2f}"
    )


def _weights(figures: GuideFigures) -> str:
    shape = "cannot be fitted" if math.isnan(figures.pareto_k) else f"{figures.pareto_k:.2f}"
    bounded = figures.pareto_k == -math.inf
    tail = "bounded weights" if bounded else f"Pareto k {shape}"
    return f"{tail}, worth {figures.effective_draws:.0f} draws"


def _chains(figures: GuideFigures) -> str:
    return f"largest R-hat {figures.max_rhat:.3f}, fewest effective draws {figures.min_ess:.0f}"


def _caveat(figures: GuideFigures) -> str:
    if figures.max_rhat <= GOOD_RHAT and figures.min_ess >= GOOD_ESS:
        return ""
    return f" MCMC itself is only roughly converged ({_chains(figures)})."
