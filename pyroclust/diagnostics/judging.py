"""Verdicts: on an analysis, which is a short function of its checks, on draws, forests and calibration."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy

from pyroclust.core.numbers import check_count
from pyroclust.diagnostics.findings import Question, convergence_findings, measured, unavailable
from pyroclust.diagnostics.limits import (
    CLEAR,
    MAX_DIFFERENCE,
    MAX_ERRORS_BEHIND,
    MAX_HIGH_K_SHARE,
    MAX_PARETO_K,
    MIN_CALIBRATION,
    MIN_CERTIFIED,
    MIN_CHANCE,
    MIN_ESS,
    MIN_SET_ESS,
    written,
    written_pair,
)
from pyroclust.diagnostics.verdict import Answer, Finding, Mark, SetVerdict, Trust, Verdict, all_passed

Checks = Mapping[str, Sequence[Finding]]
_Judged = tuple[Trust, str, Answer | None]


def judge(checks: Checks, *, chains: Verdict | None = None, prefers_guide: bool = False) -> Verdict:
    """Say which draws can be trusted here, and why; the answer is that of MCMC where it has converged.

    MCMC must have converged first. Draws *agree* with it when the total variation of the number of
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
    every = [one for group in checks.values() for one in group]
    if chains is None:
        level, sentence, answer = _alone(checks)
    elif not all_passed(chains.findings):
        level, sentence, answer = _not_converged(checks, chains.findings)
    else:
        level, sentence, answer = _beside_mcmc(checks)
        if not prefers_guide and answer is not None:
            answer = Answer.MCMC
        if _is_rough(chains.findings):
            sentence += f" MCMC itself is only roughly converged ({measured(chains.findings)})."
    about = _about_refined(checks) if answer is not Answer.REFINED and level is not Trust.TRUST else ""
    findings = (*(() if chains is None else chains.findings), *every)
    return Verdict(level, " ".join(filter(None, (sentence, about, _written(answer)))), findings, answer)


def with_unanswered(verdict: Verdict, questions: Sequence[Finding]) -> Verdict:
    """Name in the sentence of a verdict the questions that parts which failed leave open."""
    if not questions:
        return verdict
    named = " ".join(dict.fromkeys(one.question for one in questions))
    sentence = f"{verdict.sentence} Because a part failed, there is no answer to: {named}"
    return replace(verdict, sentence=sentence)


def _written(answer: Answer | None) -> str:
    return "There is no answer to write." if answer is None else f"The answer is that of {answer.draws}."


def _unknown(findings: Sequence[Finding]) -> bool:
    return any(one.passed is None for one in findings)


def _is_rough(findings: Sequence[Finding]) -> bool:
    return Mark.CAUTION in {one.mark for one in findings}


def _not_converged(checks: Checks, chains: Sequence[Finding]) -> _Judged:
    why = "whether MCMC has converged cannot be told" if _unknown(chains) else "MCMC has not converged"
    if all_passed(settled := checks.get("settled", ())) and settled:
        return _unconfirmed(settled, f"{why} ({measured(chains)})")
    return Trust.UNKNOWN, f"No verdict: {why} ({measured(chains)}).", None


def _unconfirmed(settled: Sequence[Finding], why: str) -> _Judged:
    settled_as = f"they have settled ({measured(settled)}), but nothing confirms them: {why}."
    return Trust.UNCONFIRMED, f"Use the refined draws with care: {settled_as}", Answer.REFINED


def _beside_mcmc(checks: Checks) -> _Judged:
    """Judge a guide's draws beside MCMC that has converged."""
    names = ("settled", "refined", "agreement", "weights", "weighted")
    settled, refined, drawn, weights, weighted = (checks.get(name, ()) for name in names)
    if settled and refined and all_passed((*settled, *refined)):
        why = f"they agree with MCMC ({measured(refined)}) and have settled ({measured(settled)})"
        return Trust.TRUST, f"The refined draws can be trusted here: {why}.", Answer.REFINED
    corrects = bool(weights and weighted) and all_passed((*weights, *weighted))
    if drawn and all_passed(drawn):
        why = f"The guide can be trusted here: it agrees with MCMC ({measured(drawn)})."
        return Trust.TRUST, why, Answer.WEIGHTED if corrects else Answer.GUIDE
    differs = f"it differs from MCMC ({measured(drawn)})"
    level, answer = Trust.UNKNOWN, Answer.MCMC
    if not drawn or any(one.value is None for one in drawn):
        why = "No verdict on the guide: how far it agrees with MCMC could not be computed."
    elif corrects:
        level, answer = Trust.CORRECT, Answer.WEIGHTED
        why = (
            "Use the guide's draws with their importance weights: as drawn they differ from MCMC "
            f"({measured(drawn)}), weighted they agree ({measured(weighted)}; {measured(weights)})."
        )
    elif any(one.value is None for one in (*weights, *weighted)):
        why = (
            f"No verdict on the guide: as drawn {differs}, and what its importance weights make of that "
            "could not be computed."
        )
    elif _unknown((*drawn, *weighted, *refined)):
        why = f"No verdict on the guide: {differs}, but so do two halves of MCMC; run MCMC longer."
    else:
        level = Trust.MCMC
        why = (
            f"Use MCMC here, and not the guide: its draws differ from MCMC ({measured(drawn)}), and "
            f"{_why_uncorrected(weights, weighted)}."
        )
    return level, why, answer


def _why_uncorrected(weights: Sequence[Finding], weighted: Sequence[Finding]) -> str:
    if not weights:
        return "there are no importance weights to correct them"
    if all_passed(weights):
        return f"weighting them does not help ({measured(weighted)})"
    failed = ", ".join(f"{one.sentence}, wanted {one.wanted}" for one in weights if not one.passed)
    return f"their importance weights cannot correct them ({failed})"


def _about_refined(checks: Checks) -> str:
    """Say why refined draws are not the answer."""
    settled, refined = checks.get("settled", ()), checks.get("refined", ())
    if settled and not all_passed(settled):
        return f"The refined draws have not settled ({measured(settled)})."
    if not settled or not refined:
        return ""
    if _unknown(refined):
        return f"Whether the refined draws agree with MCMC cannot be told ({measured(refined)})."
    return f"The refined draws have settled, but do not agree with MCMC ({measured(refined)})."


def _alone(checks: Checks) -> _Judged:
    """Judge a guide that nothing can be put beside."""
    settled = checks.get("settled", ())
    beside = next(one for one in checks["agreement"] if one.question == Question.BESIDE)
    if settled and all_passed(settled):
        return _unconfirmed(settled, beside.sentence.replace("no MCMC", "there is no MCMC", 1))
    # A part that failed left no answer.
    familiar, *sizes = checks.get("familiarity") or (unavailable(Question.FAMILIAR),)
    certified, near = checks.get("certificate", ()), checks.get("calibration", ())
    if familiar.passed is False:
        why = (
            "Do not trust the guide here: the data are unlike those it was trained on "
            f"({familiar.sentence}), and it cannot be checked by MCMC; see whether the scale of the data is "
            "the model's (for tables: --raw)."
        )
        return Trust.DISTRUST, why, None
    if any(one.passed is False for one in near):
        why = f"on simulations near this table it is not calibrated ({measured(near)})"
        return Trust.DISTRUST, f"Do not trust the guide here: {why}. MCMC cannot check it here.", None
    if certified and not all_passed(certified):
        why = (
            f"No verdict: the guide has not passed its certificate ({measured(certified)}), and it cannot be "
            "checked by MCMC; run pyroclust check."
        )
    elif not certified or _unknown((familiar, *near)):
        why = "No verdict: what it would rest on could not be computed, and MCMC cannot check the guide here."
    elif not all_passed(sizes):
        why = (
            f"No verdict: the guide was trained on data sets of other sizes ({measured(sizes)}, trained on "
            f"{sizes[0].wanted}), and it cannot be checked by MCMC."
        )
    else:
        why = (
            "The guide can be trusted on average over data like these: they look like its model's "
            f"({familiar.sentence}), on which its certificate passed ({measured(certified)}); on this very "
            "table nothing can check it."
        )
        return Trust.AVERAGE, why, Answer.GUIDE
    return Trust.UNKNOWN, why, None


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

    Example:
        >>> judge_draws("Gibbs", num_chains=4, num_draws=4000, max_rhat=1.2, min_ess=50.0).level.value
        'do not trust'
    """
    num_chains, num_draws = check_count("num_chains", num_chains), check_count("num_draws", num_draws)
    findings = convergence_findings(name, max_rhat=max_rhat, min_ess=min(min_ess, float(num_draws)))
    figures, constant = measured(findings), math.isinf(min_ess)
    rough = " This is rough convergence only." if _is_rough(findings) else ""
    level = Trust.UNKNOWN
    if _unknown(findings):
        why = f"No verdict on {name}: whether it has converged cannot be told ({figures})."
    elif constant and not all_passed(findings):
        why = f"No verdict on {name}: all {num_draws} draws are alike; keep at least {MIN_ESS:.0f}."
    elif constant:
        level = Trust.AVERAGE
        why = (
            f"Every functional of {name} is constant over {num_draws} draws: the posterior is that sure, or "
            "the sampler is stuck; convergence cannot be judged from draws alone."
        )
    elif findings[0].passed is False:
        level, parts = (
            Trust.DISTRUST,
            f"{num_chains} chains" if num_chains > 1 else "two halves of the one chain",
        )
        why = f"No convergence: the {parts} of {name} differ ({figures}); run longer, or with other moves."
    elif not all_passed(findings):
        why = f"No verdict on {name}: too few effective draws ({figures}); keep more draws."
    elif num_chains == 1:
        level = Trust.AVERAGE
        why = (
            f"The halves of the one chain of {name} agree ({figures}); whether it has missed a mode only "
            f"further chains, started elsewhere, can tell.{rough}"
        )
    else:
        level = Trust.TRUST
        why = f"The {num_chains} chains of {name} agree and can be used ({figures}).{rough}"
    return Verdict(level, why, findings)


def verdict_of_set(efficiency: float, pareto_k: float, *, num_draws: int) -> SetVerdict:
    r"""Say what a guide's draws of one data set among many are worth, by their importance weights.

    Before weighting no probability is off by more than
    :math:`\tfrac12 \sqrt{\chi^2} = \tfrac12 \sqrt{1 / \text{efficiency} - 1}`, by Cauchy and Schwarz.
    """
    if pareto_k >= MAX_PARETO_K or efficiency * num_draws < MIN_SET_ESS:
        return SetVerdict.CHAINS
    is_near = math.sqrt(1 / efficiency - 1) / 2 <= MAX_DIFFERENCE
    return SetVerdict.SURE if is_near else SetVerdict.WEIGHTED


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


def calibrated_finding(what: str, p_value: float, *, num_points: int) -> Finding:
    """Answer one question of a certificate on calibration by the p-value that the guide is the posterior."""
    said, wanted = f"p = {written(p_value, '.2g', MIN_CERTIFIED)}", f"at least {MIN_CERTIFIED:g}"
    question = f"{what} at N = {num_points}, p"
    return Finding(question, p_value, MIN_CERTIFIED, p_value >= MIN_CERTIFIED, said, wanted)


def tail_summary(pareto_k: np.ndarray) -> tuple[float | None, float | None]:
    """Return the median Pareto k of data sets, and the share of the data sets whose k is above 0.7."""
    known = pareto_k[~np.isnan(pareto_k)]
    if not len(known):
        return None, None
    median = float(np.quantile(known, 0.5, method="lower"))
    return median if np.isfinite(median) else None, float((pareto_k > MAX_PARETO_K).mean())


def weights_finding(share_high: float, *, num_points: int, num_datasets: int) -> Finding:
    """Say whether weights can be relied on in most data sets: Pareto k above 0.7 in at most a quarter."""
    high = round(share_high * num_datasets)
    chance = scipy.stats.binom.sf(high - 1, num_datasets, MAX_HIGH_K_SHARE)
    question = f"share of Pareto k above {MAX_PARETO_K:g} at N = {num_points}"
    said = f"{written(share_high, '.0%', MAX_HIGH_K_SHARE)} of {num_datasets} sets"
    wanted = f"at most {MAX_HIGH_K_SHARE:.0%}"
    return Finding(question, share_high, MAX_HIGH_K_SHARE, chance >= MIN_CHANCE, said, wanted)


def baseline_finding(difference: float, error: float, *, num_points: int) -> Finding:
    """Say whether log q of the truth is at most 2.6 standard errors below a baseline's, in nats."""
    question = f"log q of the truth above the baseline's at N = {num_points}, nats"
    return _not_behind(question, difference, error)


def likelihood_finding(difference: float, error: float, *, num_points: int) -> Finding:
    """Say whether the likelihood of a mixture is at most 2.6 standard errors below that of the truth."""
    question = f"log-likelihood a point above that of the true parameters at N = {num_points}, nats"
    return _not_behind(question, difference, error)


def _not_behind(question: str, difference: float, error: float) -> Finding:
    limit = -MAX_ERRORS_BEHIND * error
    found, least = written_pair(difference, limit, "+.3f")
    said = f"{found} ± {error:.3f}"
    return Finding(question, difference, limit, difference >= limit, said, f"at least {least}")


def error_finding(what: str, error: float, limit: float, *, num_points: int) -> Finding:
    """Say whether a mean error is small enough."""
    said, wanted = written(error, ".2g", limit), f"at most {limit:g}"
    return Finding(f"error of {what} at N = {num_points}", error, limit, error <= limit, said, wanted)


def unmeasured_finding(what: str, reason: str) -> Finding:
    """Say that a part of a certificate could not be measured, which is neither passed nor failed."""
    return Finding(what, None, None, None, f"could not be measured: {reason}")


def certificate_verdict(findings: Sequence[Finding]) -> Verdict:
    """Judge a guide by all findings of its certificate; nothing tested is not passed."""
    if not findings:
        return Verdict(Trust.UNKNOWN, "Nothing was tested.")
    failed = [f"{one.question} ({_figure(one)})" for one in findings if one.passed is False]
    unknown = [f"{one.question} ({one.sentence})" for one in findings if one.passed is None]
    sentences = [f"Failed: {'; '.join(failed)}."] if failed else []
    sentences += [f"Cannot tell: {'; '.join(unknown)}."] if unknown else []
    level = Trust.DISTRUST if failed else Trust.UNKNOWN if unknown else Trust.AVERAGE
    return Verdict(level, " ".join(sentences) or f"Passed all {len(findings)} tests.", tuple(findings))


def _figure(found: Finding) -> str:
    limits = () if found.limit is None else (found.limit,)
    return "nothing" if found.value is None else written(found.value, ".2g", *limits)


def combined_p_value(p_values: Mapping[str, float]) -> float:
    """Put p-values into one by Bonferroni: valid however they depend on each other."""
    return min(1.0, len(p_values) * min(p_values.values()))


def judge_calibration(
    p_values: Mapping[str, float], *, num_datasets: int, num_points: int, worst_functional: str
) -> Verdict:
    """Say whether a sampler is calibrated: all p-values together at least 0.01, by Bonferroni."""
    limit = MIN_CALIBRATION / len(p_values)
    pairs = {part: written_pair(p, limit, ".2g") for part, p in p_values.items()}
    findings = []
    for part, p in p_values.items():
        question = f"{'Are' if part.endswith('s') else 'Is'} the {part} calibrated?"
        said, wanted = f"p = {pairs[part][0]}", f"p of at least {pairs[part][1]}"
        findings.append(Finding(question, p, limit, p >= limit, said, wanted))
    size = f"{num_datasets} data sets of {num_points} points"
    if all_passed(findings):
        together = written(combined_p_value(p_values), ".2g", MIN_CALIBRATION)
        why = (
            f"Calibrated as far as {size} can tell (p = {together}): probabilities are right on average "
            "over data sets like these."
        )
        return Verdict(Trust.AVERAGE, why, tuple(findings))
    words = {"functionals": f"functionals (worst: {worst_functional})"}
    failed = [f"{words.get(part, part)}, p = {pairs[part][0]}" for part, p in p_values.items() if p < limit]
    return Verdict(Trust.DISTRUST, f"Not calibrated on {size}: {'; '.join(failed)}.", tuple(findings))


def judge_local_calibration(nearest: Verdict, *, p_value_data: float) -> Verdict:
    """Give the verdict of the simulations nearest to the data; none where it is unlike all of them."""
    said = f"p = {written(p_value_data, '.2g', MIN_CALIBRATION)}"
    question, wanted = "Are the data like the simulations?", f"p of at least {MIN_CALIBRATION:g}"
    alike = p_value_data >= MIN_CALIBRATION
    near = Finding(question, p_value_data, MIN_CALIBRATION, alike, said, wanted)
    level, why = nearest.level, nearest.sentence
    if level is Trust.AVERAGE and not alike:
        level = Trust.UNKNOWN
        why = (
            "No verdict: the sampler is calibrated on the simulated data sets nearest to this one, but "
            f"this one is unlike all of them ({said})."
        )
    return Verdict(level, why, (*nearest.findings, near))
