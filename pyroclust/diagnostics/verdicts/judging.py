"""The verdict on an analysis: a short function of its checks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyroclust.diagnostics.verdicts.findings import Question, said, untold
from pyroclust.diagnostics.verdicts.verdict import Answer, Finding, Mark, Trust, Verdict, all_passed

Checks = Mapping[str, Sequence[Finding]]
_Judged = tuple[Trust, str, Answer | None]


def judge(checks: Checks, *, chains: Verdict | None = None, prefers_guide: bool = False) -> Verdict:
    """Say which draws can be trusted here, and why; the answer is that of MCMC where it has converged.

    MCMC must have converged first: R-hat at most 1.05 (above 1.01 the sentence warns) and at least 100
    effective draws (below 400 it warns). Draws *agree* with it when the total variation of the number of
    clusters is at most 0.15 and co-assignment probabilities differ by no more than the tolerance.
    Importance weights are *usable* when Pareto k is below 0.7, or could not be fitted, and they are worth
    at least 100 draws.

    * ``TRUST``: MCMC has converged, and draws of the guide, refined or as drawn, agree where there is a
      guide.
    * ``CORRECT``: the guide's draws agree only with their importance weights, which are usable.
    * ``MCMC``: MCMC has converged, and none of the guide's draws agree with it.
    * ``UNCONFIRMED``: refined draws have settled, and there is no MCMC that has converged.
    * ``AVERAGE``: a guide alone, whose certificate passed, on data like its simulations.
    * ``UNKNOWN``: what the verdict rests on could not be computed, or is open.
    * ``DISTRUST``: chains differ from one another, or a guide alone is far from what it was trained on.

    Args:
        checks: by the name of what was asked: ``"agreement"`` (number of clusters, pairs), ``"weights"``
            (tail, worth), ``"weighted"``, ``"settled"``, ``"refined"``, ``"familiarity"``,
            ``"certificate"`` and ``"calibration"``; what was not asked for is not there.
        chains: the verdict on MCMC by itself; ``None`` without MCMC.
        prefers_guide: whether the guide was asked for, so that its draws are the answer where they agree.

    References:
        Schmitt et al. (2024), Amortized Bayesian workflow. https://arxiv.org/abs/2409.04332
    """
    if chains is not None and not {"agreement", "settled"} & checks.keys():
        alone = Answer.MCMC if chains.level is Trust.TRUST else None
        return replace(chains, sentence=f"{chains.sentence} {_written(alone)}", answer=alone)
    every = (
        *(() if chains is None else chains.findings),
        *(one for group in checks.values() for one in group),
    )
    if chains is None:
        level, sentence, answer = _alone(checks)
    elif not all_passed(chains.findings):
        level, sentence, answer = _not_converged(checks, chains.findings)
    else:
        level, sentence, answer = _beside_mcmc(checks)
        if not prefers_guide and answer is not None:
            answer = Answer.MCMC
        if Mark.CAUTION in {one.mark for one in chains.findings}:
            sentence += f" MCMC itself is only roughly converged ({said(chains.findings)})."
    about = _about_refined(checks) if answer is not Answer.REFINED and level is not Trust.TRUST else ""
    return Verdict(level, " ".join(one for one in (sentence, about, _written(answer)) if one), every, answer)


def with_untold(verdict: Verdict, questions: Sequence[Finding]) -> Verdict:
    """Name in the sentence of a verdict the questions that parts which failed leave open."""
    if not questions:
        return verdict
    named = " ".join(dict.fromkeys(one.question for one in questions))
    return replace(
        verdict, sentence=f"{verdict.sentence} Because a part failed, there is no answer to: {named}"
    )


def _written(answer: Answer | None) -> str:
    return "There is no answer to write." if answer is None else f"The answer is that of {answer.draws}."


def _not_converged(checks: Checks, chains: Sequence[Finding]) -> _Judged:
    unknown = any(one.passed is None for one in chains)
    why = "whether MCMC has converged cannot be told" if unknown else "MCMC has not converged"
    if all_passed(settled := checks.get("settled", ())) and settled:
        return _unconfirmed(settled, f"{why} ({said(chains)})")
    return Trust.UNKNOWN, f"No verdict: {why} ({said(chains)}).", None


def _unconfirmed(settled: Sequence[Finding], why: str) -> _Judged:
    return (
        Trust.UNCONFIRMED,
        f"Use the refined draws with care: they have settled ({said(settled)}), but nothing confirms them: "
        f"{why}.",
        Answer.REFINED,
    )


def _beside_mcmc(checks: Checks) -> _Judged:
    """Judge a guide's draws beside MCMC that has converged."""
    settled, refined = checks.get("settled", ()), checks.get("refined", ())
    drawn, weights, weighted = (checks.get(name, ()) for name in ("agreement", "weights", "weighted"))
    if settled and refined and all_passed((*settled, *refined)):
        why = f"they agree with MCMC ({said(refined)}) and have settled ({said(settled)})"
        return Trust.TRUST, f"The refined draws can be trusted here: {why}.", Answer.REFINED
    corrects = bool(weights and weighted) and all_passed((*weights, *weighted))
    if drawn and all_passed(drawn):
        answer = Answer.WEIGHTED if corrects else Answer.GUIDE
        return Trust.TRUST, f"The guide can be trusted here: it agrees with MCMC ({said(drawn)}).", answer
    differs = f"it differs from MCMC ({said(drawn)})"
    level, answer = Trust.UNKNOWN, Answer.MCMC
    if not drawn or any(one.value is None for one in drawn):
        why = "No verdict on the guide: how far it agrees with MCMC could not be computed."
    elif corrects:
        level, answer = Trust.CORRECT, Answer.WEIGHTED
        why = (
            "Use the guide's draws with their importance weights: as drawn they differ from MCMC "
            f"({said(drawn)}), weighted they agree ({said(weighted)}; {said(weights)})."
        )
    elif any(one.value is None for one in (*weights, *weighted)):
        why = (
            f"No verdict on the guide: as drawn {differs}, and what its importance weights make of that "
            "could not be computed."
        )
    elif any(one.passed is None for one in (*drawn, *weighted, *refined)):
        why = f"No verdict on the guide: {differs}, but so do two halves of MCMC; run MCMC longer."
    else:
        level = Trust.MCMC
        why = (
            f"Use MCMC here, and not the guide: its draws differ from MCMC ({said(drawn)}), and "
            f"{_why_uncorrected(weights, weighted)}."
        )
    return level, why, answer


def _why_uncorrected(weights: Sequence[Finding], weighted: Sequence[Finding]) -> str:
    if not weights:
        return "there are no importance weights to correct them"
    if all_passed(weights):
        return f"weighting them does not help ({said(weighted)})"
    failed = ", ".join(f"{one.sentence}, wanted {one.wanted}" for one in weights if not one.passed)
    return f"their importance weights cannot correct them ({failed})"


def _about_refined(checks: Checks) -> str:
    """Say why refined draws are not the answer."""
    settled, refined = checks.get("settled", ()), checks.get("refined", ())
    if not settled:
        return ""
    if not all_passed(settled):
        return f"The refined draws have not settled ({said(settled)})."
    if any(one.passed is None for one in refined):
        return f"Whether the refined draws agree with MCMC cannot be told ({said(refined)})."
    return f"The refined draws have settled, but do not agree with MCMC ({said(refined)})." if refined else ""


def _alone(checks: Checks) -> _Judged:
    """Judge a guide that nothing can be put beside."""
    settled = checks.get("settled", ())
    beside = next(one for one in checks["agreement"] if one.question == Question.BESIDE)
    if settled and all_passed(settled):
        return _unconfirmed(settled, beside.sentence.replace("no MCMC", "there is no MCMC", 1))
    # A part that failed left no answer.
    familiar, *sizes = checks.get("familiarity") or (untold(Question.FAMILIAR),)
    certified, near = checks.get("certificate", ()), checks.get("calibration", ())
    level, answer = Trust.UNKNOWN, None
    if familiar.passed is False:
        level = Trust.DISTRUST
        why = (
            "Do not trust the guide here: the data are unlike those it was trained on "
            f"({familiar.sentence}), and it cannot be checked by MCMC; see whether the scale of the data is "
            "the model's (for tables: --raw)."
        )
    elif any(one.passed is False for one in near):
        level = Trust.DISTRUST
        why = (
            "Do not trust the guide here: on simulations near this table it is not calibrated "
            f"({said(near)}). MCMC cannot check it here."
        )
    elif certified and not all_passed(certified):
        why = (
            f"No verdict: the guide has not passed its certificate ({said(certified)}), and it cannot be "
            "checked by MCMC; run pyroclust check."
        )
    elif not certified or any(one.passed is None for one in (familiar, *near)):
        why = "No verdict: what it would rest on could not be computed, and MCMC cannot check the guide here."
    elif not all_passed(sizes):
        why = (
            f"No verdict: the guide was trained on data sets of other sizes ({said(sizes)}, trained on "
            f"{sizes[0].wanted}), and it cannot be checked by MCMC."
        )
    else:
        level, answer = Trust.AVERAGE, Answer.GUIDE
        why = (
            "The guide can be trusted on average over data like these: they look like its model's "
            f"({familiar.sentence}), on which its certificate passed ({said(certified)}); on this very "
            "table nothing can check it."
        )
    return level, why, answer
