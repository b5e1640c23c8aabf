"""Verdicts on one source of draws: a guide beside MCMC, a guide alone, chains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyroclust.diagnostics.chains.short_chains import Round
from pyroclust.diagnostics.differences.agreement import Agreement
from pyroclust.diagnostics.limits import MAX_DIFFERENCE, tolerance_of, written
from pyroclust.diagnostics.simulations.familiarity import Familiarity
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    agreement_finding,
    certificate_finding,
    convergence_findings,
    familiarity_findings,
    said,
    settled_finding,
    untold,
    weighted_finding,
    weights_findings,
)
from pyroclust.diagnostics.verdicts.verdict import Answer, Finding, Mark, Trust, Verdict, all_passed

__all__ = ["GuideFigures", "RefinedFigures", "as_answer", "judge", "judge_alone", "with_untold"]


@dataclass(frozen=True)
class RefinedFigures:
    """The figures that a verdict on refined draws rests on.

    Attributes:
        agreement: of the refined draws with MCMC; ``None`` where it failed, or there is no MCMC.
        last: what was seen of them at the last look; ``None`` where there was none.
    """

    agreement: Agreement | None
    last: Round | None

    @property
    def settled(self) -> bool:
        """Whether nothing moves any more, and no start is remembered."""
        return self.last is not None and self.last.has_settled

    @property
    def finding(self) -> Finding:
        """Whether the draws have settled."""
        return settled_finding(self.last)


@dataclass(frozen=True)
class GuideFigures:
    """The figures that a verdict on a guide rests on.

    Attributes:
        guide: agreement of the guide's draws with MCMC.
        corrected: agreement of the guide's importance-weighted draws with MCMC.
        max_rhat: of the MCMC functionals that are not constant; 1 when all are.
        min_ess: bulk effective draws of the same; infinity when all are constant.
        pareto_k: of the guide's importance weights; nan where it could not be fitted.
        effective_draws: of the smoothed importance weights.
        refined: the same draws after resampling and sweeps; ``None`` without them.
        tolerance: limit on the difference of two co-assignment probabilities; ``None`` for 0.1 with refined
            draws and 0.15 with others.
        has_weights: whether the guide's draws have importance weights; without them ``corrected``,
            ``pareto_k`` and ``effective_draws`` are ``None``, and nothing is asked about them.

    What failed is ``None``, and nan for R-hat and effective draws of MCMC.
    """

    guide: Agreement | None
    corrected: Agreement | None
    max_rhat: float
    min_ess: float
    pareto_k: float | None
    effective_draws: float | None
    refined: RefinedFigures | None = None
    tolerance: float | None = None
    has_weights: bool = True

    @property
    def limit(self) -> float:
        """Limit on a co-assignment difference of the guide's draws, as drawn or weighted."""
        return tolerance_of(self.tolerance, refined=False)

    @property
    def refined_limit(self) -> float:
        """Limit on a co-assignment difference of the refined draws."""
        return tolerance_of(self.tolerance, refined=True)


def judge(figures: GuideFigures) -> Verdict:
    """Say which draws can be trusted here, and why; the answer is the best that passed.

    MCMC must have converged first: R-hat at most 1.05 (above 1.01 the sentence warns) and at least 100
    effective draws (below 400 it warns). Draws *agree* with MCMC when the total variation of the number of
    clusters is at most 0.15, and the largest co-assignment difference at most ``tolerance``. Importance
    weights are *usable* when Pareto k is below 0.7, or could not be fitted, and they are worth at least 100
    draws.

    * ``TRUST``: the refined draws have settled and agree, or the guide's draws agree.
    * ``CORRECT``: neither, but the weights are usable and the weighted draws agree.
    * ``MCMC``: MCMC has converged, and none of the guide's draws agree with it.
    * ``UNCONFIRMED``: the refined draws have settled, but MCMC cannot confirm them: it did not converge, or
      co-assignment probabilities of its own halves differ by more than the tolerance.
    * ``UNKNOWN``: the same without refined draws that have settled, or what the verdict rests on could not
      be computed.

    The answer is that of the refined draws where they have settled and agree, or nothing can confirm them;
    else of the guide's draws, weighted or as drawn, where these agree; else of MCMC where it has converged.

    Args:
        figures: what was measured.

    References:
        Schmitt et al. (2024), Amortized Bayesian workflow. https://arxiv.org/abs/2409.04332
    """
    noise = math.nan if figures.guide is None else figures.guide.noise_largest_difference
    chains = convergence_findings("MCMC", max_rhat=figures.max_rhat, min_ess=figures.min_ess)
    drawn = _agreement(figures.guide, figures.limit)
    weights, weighted = _weights(figures), _weighted(figures, noise)
    refined = _refined(figures)
    findings = (*chains, *drawn, *weights, *weighted, *refined)
    if not all_passed(chains):
        level, sentence, answer = _not_converged(chains, refined)
        return Verdict(level, f"{sentence} {_written(answer)}", findings, answer)
    level, sentence, answer = _refined_agree(refined) or _by_guide(figures, drawn, weights, weighted, refined)
    said = [sentence, _about_refined(refined, answer), _caveat(chains), _written(answer), _tolerance(figures)]
    return Verdict(level, " ".join(one for one in said if one), findings, answer)


_Judged = tuple[Trust, str, Answer | None]


def _not_converged(chains: Sequence[Finding], refined: Sequence[Finding]) -> _Judged:
    """Judge where MCMC cannot confirm anything."""
    unknown = any(one.passed is None for one in chains)
    if refined and refined[0].passed:
        why = "whether MCMC has converged cannot be told" if unknown else "MCMC has not converged"
        return _unconfirmed(refined[0], f"{why} ({said(chains)})")
    if unknown:
        why = f"No verdict: whether MCMC has converged cannot be told ({said(chains)})."
    else:
        why = f"No verdict: MCMC has not converged ({said(chains)})."
    return Trust.UNKNOWN, " ".join(one for one in (why, _about_refined(refined, None)) if one), None


def _unconfirmed(settled: Finding, why: str) -> _Judged:
    return (
        Trust.UNCONFIRMED,
        f"Use the refined draws with care: they have settled ({settled.sentence}), but nothing confirms "
        f"them: {why}.",
        Answer.REFINED,
    )


def _refined_agree(refined: Sequence[Finding]) -> _Judged | None:
    if not refined or not all_passed(refined):
        return None
    settled, agrees = refined
    return (
        Trust.TRUST,
        f"The refined draws can be trusted here: they agree with MCMC ({agrees.sentence}) and have settled "
        f"({settled.sentence}).",
        Answer.REFINED,
    )


def _by_guide(
    figures: GuideFigures,
    drawn: Sequence[Finding],
    weights: Sequence[Finding],
    weighted: Sequence[Finding],
    refined: Sequence[Finding],
) -> _Judged:
    """Judge the guide's draws beside MCMC that has converged, where refined draws have not passed."""
    gaps, corrects = said(drawn), figures.has_weights and all_passed((*weights, *weighted))
    if figures.guide is not None and all_passed(drawn):
        return (
            Trust.TRUST,
            f"The guide can be trusted here: it agrees with MCMC ({gaps}).",
            Answer.WEIGHTED if corrects else Answer.GUIDE,
        )
    if figures.guide is not None and corrects:
        return (
            Trust.CORRECT,
            f"Use the guide's draws with their importance weights: as drawn they differ from MCMC ({gaps}), "
            f"weighted they agree ({said(weighted)}; {said(weights)}).",
            Answer.WEIGHTED,
        )
    if refined and refined[0].passed and refined[1].passed is None:
        noise = "" if figures.guide is None else f" ({_halves(figures.guide, figures.refined_limit)})"
        return _unconfirmed(refined[0], f"how far they agree with MCMC cannot be told{noise}")
    if figures.guide is None:
        return (
            Trust.UNKNOWN,
            "No verdict: how far the guide agrees with MCMC could not be computed.",
            Answer.MCMC,
        )
    if figures.has_weights and (figures.corrected is None or any(one.passed is None for one in weights)):
        return (
            Trust.UNKNOWN,
            f"No verdict: as drawn the guide differs from MCMC ({gaps}), and what its importance weights "
            "make of that could not be computed.",
            Answer.MCMC,
        )
    if any(one.passed is None for one in (*drawn, *weighted)):
        return (
            Trust.UNKNOWN,
            f"No verdict: the guide differs from MCMC ({gaps}), but "
            f"{_halves(figures.guide, figures.limit)}; run MCMC longer.",
            None,
        )
    return (
        Trust.MCMC,
        f"Use MCMC here, and not the guide: its draws differ from MCMC ({gaps}), and "
        f"{_why_uncorrected(figures, weights, weighted)}.",
        Answer.MCMC,
    )


def _why_uncorrected(figures: GuideFigures, weights: Sequence[Finding], weighted: Sequence[Finding]) -> str:
    if not figures.has_weights:
        return "there are no importance weights to correct them"
    if all_passed(weights):
        return f"weighting them does not help ({said(weighted)})"
    return f"their importance weights cannot correct them ({_failed(weights)})"


def _halves(guide: Agreement, limit: float) -> str:
    gap = written(guide.noise_largest_difference, ".2f", limit)
    return f"the two halves of MCMC differ from each other too (co-assignment probabilities by up to {gap})"


def _about_refined(refined: Sequence[Finding], answer: Answer | None) -> str:
    """Say why refined draws are not the answer."""
    if not refined or answer is Answer.REFINED:
        return ""
    settled = refined[0]
    if not settled.passed:
        return f"The refined draws have not settled ({settled.sentence})."
    if refined[1].passed is None:
        return f"Whether the refined draws agree with MCMC cannot be told ({refined[1].sentence})."
    return f"The refined draws have settled, but do not agree with MCMC ({refined[1].sentence})."


def _written(answer: Answer | None) -> str:
    return "There is no answer to write." if answer is None else f"The answer is that of {answer.draws}."


def _tolerance(figures: GuideFigures) -> str:
    limits = f"{figures.limit:g}"
    if figures.refined is not None and figures.refined_limit != figures.limit:
        limits = f"{figures.refined_limit:g} for refined draws, {limits} for others"
    return f"Co-assignment probabilities may differ by {limits}."


def as_answer(verdict: Verdict, answer: Answer) -> Verdict:
    """Make draws that were judged alone the answer where they can be trusted, and say so.

    Args:
        verdict: on these draws alone.
        answer: whose they are.

    Example:
        >>> from pyroclust.diagnostics import judge_draws
        >>> alone = judge_draws("MCMC", num_chains=4, num_draws=4000, max_rhat=1.0, min_ess=900.0)
        >>> as_answer(alone, Answer.MCMC).sentence.split(". ")[-1]
        'The answer is that of the draws of MCMC.'
    """
    chosen = answer if verdict.level is Trust.TRUST else None
    return replace(verdict, sentence=f"{verdict.sentence} {_written(chosen)}", answer=chosen)


def with_untold(verdict: Verdict, questions: Sequence[Finding]) -> Verdict:
    """Name in the sentence of a verdict the questions that parts which failed leave open.

    Args:
        verdict: its level and its findings stay.
        questions: made by :func:`~pyroclust.diagnostics.verdicts.findings.untold`.

    Example:
        >>> with_untold(Verdict(Trust.AGREE, "They agree."), [untold(Question.CLEAR)]).sentence
        'They agree. Because a part failed, there is no answer to: Is the point estimate clear?'
    """
    if not questions:
        return verdict
    named = " ".join(one.question for one in questions)
    return replace(
        verdict, sentence=f"{verdict.sentence} Because a part failed, there is no answer to: {named}"
    )


def _weights(figures: GuideFigures) -> tuple[Finding, ...]:
    if not figures.has_weights:
        return ()
    if figures.pareto_k is None or figures.effective_draws is None:
        return untold(Question.TAIL), untold(Question.WORTH)
    return weights_findings(figures.pareto_k, figures.effective_draws)


def _weighted(figures: GuideFigures, noise: float) -> tuple[Finding, ...]:
    if not figures.has_weights:
        return ()
    found = figures.corrected
    if found is None:
        return (untold(Question.WEIGHTED),)
    return (
        weighted_finding(
            found.total_variation, found.largest_difference, noise=noise, tolerance=figures.limit
        ),
    )


def _refined(figures: GuideFigures) -> tuple[Finding, ...]:
    """Ask whether refined draws have settled, and whether they agree with MCMC."""
    if figures.refined is None:
        return ()
    found = figures.refined.agreement
    if found is None:
        return figures.refined.finding, untold(Question.REFINED)
    agrees = weighted_finding(
        found.total_variation,
        found.largest_difference,
        noise=found.noise_largest_difference,
        tolerance=figures.refined_limit,
        question=Question.REFINED,
    )
    return figures.refined.finding, agrees


def _agreement(found: Agreement | None, tolerance: float) -> tuple[Finding, Finding]:
    if found is None:
        return untold(Question.COUNTS), untold(Question.PAIRS)
    noise = found.noise_largest_difference
    counts = written(found.total_variation, ".2f", MAX_DIFFERENCE)
    pairs = written(found.largest_difference, ".2f", tolerance)
    return (
        agreement_finding(
            Question.COUNTS.value,
            found.total_variation,
            f"total variation of the number of clusters {counts}",
            noise=noise,
        ),
        agreement_finding(
            Question.PAIRS.value,
            found.largest_difference,
            f"co-assignment probabilities differ by at most {pairs}",
            noise=noise,
            limit=tolerance,
        ),
    )


def judge_alone(
    familiar: Familiarity | None,
    tests: Sequence[bool] | None,
    *,
    near: Verdict | None,
    near_finding: Finding | None,
    why_no_mcmc: str = "the likelihood has no formula",
    refined: RefinedFigures | None = None,
) -> Verdict:
    """Say how far to trust a guide that nothing can be put beside.

    * ``UNCONFIRMED``: refined draws have settled, and nothing can confirm them; they are the answer.
    * ``AVERAGE``: the data look like the model's simulations, and the certificate passed its calibration
      tests: over such data sets the guide's probabilities are right on average, which is no statement about
      this one.
    * ``DISTRUST``: at most one simulation in a hundred is as unusual as the data, or the guide is not
      calibrated on those near the data.
    * ``UNKNOWN``: there is no certificate, it failed, the guide was trained on other sizes, or one of these
      questions, or the calibration near the data that was asked for, could not be computed.

    Args:
        familiar: where the data lie among simulations; ``None`` where that could not be computed.
        tests: whether each calibration test of the certificate was passed; ``None`` where that could not be
            computed.
        near: verdict of a calibration near the data, or ``None``.
        near_finding: the same as an answer to a question; "cannot tell" where the calibration failed.
        why_no_mcmc: the reason, without a full stop.
        refined: the guide's draws after resampling and sweeps; ``None`` without them.
    """
    alike = (untold(Question.FAMILIAR),) if familiar is None else familiarity_findings(familiar)
    passed = untold(Question.CERTIFIED) if tests is None else certificate_finding(sum(tests), len(tests))
    beside = Finding("Does the guide agree with MCMC here?", None, None, None, f"no MCMC: {why_no_mcmc}")
    known, asked = alike[0], () if near_finding is None else (near_finding,)
    failed = (
        *(alike if familiar is None else ()),
        *((passed,) if tests is None else ()),
        *(asked if near is None else ()),
    )

    settled = () if refined is None else (refined.finding,)

    def verdict(level: Trust, sentence: str, answer: Answer | None = None) -> Verdict:
        findings = (*alike, passed, *asked, beside, *settled)
        said = " ".join(one for one in (sentence, _about_refined(settled, answer), _written(answer)) if one)
        return with_untold(Verdict(level, said, findings, answer), failed)

    if refined is not None and refined.settled:
        return verdict(*_unconfirmed(refined.finding, f"there is no MCMC ({why_no_mcmc})"))
    if known.passed is False:
        return verdict(
            Trust.DISTRUST,
            "Do not trust the guide here: the data are unlike those it was trained on "
            f"({known.sentence}), and it cannot be checked by MCMC; see whether the scale of the data is the "
            "model's (for tables: --raw).",
        )
    if near is not None and near.level is Trust.DISTRUST:
        return verdict(
            Trust.DISTRUST,
            f"Do not trust the guide here: on simulations near this table it is {_lower(near.sentence)} MCMC "
            "cannot check it here.",
        )
    if tests is not None and passed.passed is not True:
        why = f"passed {sum(tests)} of {len(tests)} calibration tests" if tests else "has no certificate"
        return verdict(
            Trust.UNKNOWN,
            f"No verdict: the guide {why}, and it cannot be checked by MCMC; run pyroclust check.",
        )
    if familiar is None or tests is None or failed:
        return verdict(
            Trust.UNKNOWN,
            "No verdict: what it would rest on could not be computed, and MCMC cannot check the guide here.",
        )
    if familiar.warning is not None:
        return verdict(Trust.UNKNOWN, f"No verdict: {familiar.warning} It cannot be checked by MCMC.")
    return verdict(
        Trust.AVERAGE,
        f"The guide can be trusted on average over data like these: they look like its model's "
        f"({known.sentence}), on which it passed all {len(tests)} calibration tests; on this very table "
        "nothing can check it.",
        Answer.GUIDE,
    )


def _failed(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{one.sentence}, wanted {one.wanted}" for one in findings if not one.passed)


def _caveat(chains: Sequence[Finding]) -> str:
    if Mark.CAUTION not in {one.mark for one in chains}:
        return ""
    return f"MCMC itself is only roughly converged ({said(chains)})."


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
