"""The verdict on draws alone: of chains, whether they have converged; of spanning forests, what they are."""

import math

import numpy as np

from pyroclust.core.counts import check_count
from pyroclust.diagnostics.limits import CLEAR, MIN_ESS
from pyroclust.diagnostics.verdicts.findings import convergence_findings, said
from pyroclust.diagnostics.verdicts.verdict import Finding, Mark, Trust, Verdict, all_passed


def judge_draws(name: str, *, num_chains: int, num_draws: int, max_rhat: float, min_ess: float) -> Verdict:
    """Say whether draws have converged, and what they are worth.

    * ``TRUST``: several chains, R-hat at most 1.05 for every functional and every distance to a reference,
      and at least 100 effective draws. Above 1.01 or below 400 the sentence warns.
    * ``AVERAGE``: the same of a single chain, whose halves agree: a mode that it never visits does not show.
    * ``UNKNOWN``: too few effective draws to tell, or a figure could not be computed.
    * ``DISTRUST``: chains, or the halves of one, differ.

    Args:
        name: of the source.
        num_chains: chains.
        num_draws: draws of all chains together.
        max_rhat: largest R-hat; 1 where nothing varies, nan where it could not be computed.
        min_ess: fewest effective draws; infinity where nothing varies, nan where they could not be computed.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> judge_draws("Gibbs", num_chains=4, num_draws=4000, max_rhat=1.2, min_ess=50.0).level.value
        'do not trust'
    """
    num_chains, num_draws = check_count("num_chains", num_chains), check_count("num_draws", num_draws)
    worth = min(min_ess, float(num_draws))
    findings = convergence_findings(name, max_rhat=max_rhat, min_ess=worth)
    chains, draws = findings
    figures = said(findings)
    if any(one.passed is None for one in findings):
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict on {name}: whether it has converged cannot be told ({figures}).",
            findings,
        )
    if math.isinf(min_ess):
        return _constant(name, num_draws, findings)
    if chains.passed is False:
        parts = f"{num_chains} chains" if num_chains > 1 else "two halves of the one chain"
        return Verdict(
            Trust.DISTRUST,
            f"No convergence: the {parts} of {name} differ ({figures}); run longer, or with other moves.",
            findings,
        )
    if not all_passed((chains, draws)):
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict on {name}: too few effective draws ({figures}); keep more draws.",
            findings,
        )
    rough = " This is rough convergence only." if Mark.CAUTION in {one.mark for one in findings} else ""
    if num_chains == 1:
        return Verdict(
            Trust.AVERAGE,
            f"The halves of the one chain of {name} agree ({figures}); whether it has missed a mode only "
            f"further chains, started elsewhere, can tell.{rough}",
            findings,
        )
    return Verdict(
        Trust.TRUST, f"The {num_chains} chains of {name} agree and can be used ({figures}).{rough}", findings
    )


def _constant(name: str, num_draws: int, findings: tuple[Finding, ...]) -> Verdict:
    """Judge draws that are all the same partition, or too few to vary."""
    if not all_passed(findings):
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict on {name}: all {num_draws} draws are alike; keep at least {MIN_ESS:.0f}.",
            findings,
        )
    return Verdict(
        Trust.AVERAGE,
        f"Every functional of {name} is constant over {num_draws} draws: the posterior is that sure, or the "
        "sampler is stuck; convergence cannot be judged from draws alone.",
        findings,
    )


def judge_forest(*, num_draws: int, uncertainty: np.ndarray | None, excess: float) -> Verdict:
    """Say what draws of spanning forests are, which are independent and no posterior."""
    asked: tuple[Finding, ...] = ()
    if excess > 0:
        said = f"{excess:.1%} of the draws have more: rows that must be apart leave no fewer"
        question = "Does every draw have as many clusters as were asked for?"
        asked = (Finding(question, excess, 0.0, False, said, "all draws", mark=Mark.CAUTION),)
    if num_draws < MIN_ESS:
        why = f"No verdict: {num_draws} draws are too few; take at least {MIN_ESS:.0f}."
        return Verdict(Trust.UNKNOWN, why, asked)
    sure = ""
    if uncertainty is not None:
        mean = float(uncertainty.mean())
        sure = f" Under this noise the clusters are {'clear' if mean <= CLEAR else 'not clear'}."
    return Verdict(
        Trust.UNCONFIRMED,
        f"These are {num_draws:,} independent draws of spanning forests and no posterior: how sure they are "
        f"hangs on the noise, which no model sets.{sure} pyroclust compare has a model.",
        asked,
    )
