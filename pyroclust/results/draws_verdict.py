"""Whether one source's draws can be used, in a sentence."""

import math

from pyroclust.diagnostics import Trust, Verdict
from pyroclust.diagnostics.verdict import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS
from pyroclust.results.draws_summary import DrawsSummary

__all__ = ["judge_draws"]


def judge_draws(summary: DrawsSummary) -> Verdict:
    """Say whether draws have converged, and what they are worth.

    * ``TRUST``: several chains, R-hat at most 1.05 for every functional and every distance to a reference,
      and at least 100 effective draws. Above 1.01 or below 400 the sentence warns.
    * ``AVERAGE``: the same of a single chain, whose halves agree: a mode that it never visits does not show.
    * ``UNKNOWN``: too few effective draws to tell.
    * ``DISTRUST``: chains, or the halves of one, differ.

    Args:
        summary: from :func:`~pyroclust.results.draws_summary.summarise_draws`.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221
    """
    rhat, ess, chains = summary.max_rhat, summary.min_ess, summary.shape[0]
    if math.isinf(ess):
        return _constant(summary)
    figures = f"largest R-hat {rhat:.3f}, fewest effective draws {ess:.0f}"
    parts = "The chains differ" if chains > 1 else "The two halves of the chain differ"
    if rhat > MAX_RHAT:
        return Verdict(
            Trust.DISTRUST,
            f"{parts}: {summary.name} has not converged ({figures}); run longer, or with other moves.",
        )
    if not ess >= MIN_ESS:
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict on {summary.name}: too few effective draws ({figures}); keep more draws.",
        )
    rough = "" if rhat <= GOOD_RHAT and ess >= GOOD_ESS else " It is only roughly converged."
    if chains == 1:
        return Verdict(
            Trust.AVERAGE,
            f"The halves of the one chain of {summary.name} agree ({figures}); whether it has missed a mode "
            f"only further chains, started elsewhere, can tell.{rough}",
        )
    return Verdict(
        Trust.TRUST, f"The {chains} chains of {summary.name} agree and can be used ({figures}).{rough}"
    )


def _constant(summary: DrawsSummary) -> Verdict:
    """Judge draws that are all the same partition, or too few to vary."""
    draws = math.prod(summary.shape[:2])
    if draws < MIN_ESS:
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict on {summary.name}: all its {draws} draws are alike; keep at least {MIN_ESS:.0f}.",
        )
    return Verdict(
        Trust.AVERAGE,
        f"Every functional of {summary.name} is constant over {draws} draws: the posterior is that sure, or "
        "the sampler is stuck; convergence cannot be judged from draws alone.",
    )
