"""Verdicts on calibration: of a sampler over simulated data sets, and of a guide by its certificate."""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from pyroclust.diagnostics.limits import (
    MAX_ERRORS_BEHIND,
    MAX_HIGH_K_SHARE,
    MAX_PARETO_K,
    MIN_CALIBRATION,
    MIN_CERTIFIED,
    MIN_CHANCE,
    written,
    written_pair,
)
from pyroclust.diagnostics.verdicts.verdict import Finding, Trust, Verdict, all_passed


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
    limit = -MAX_ERRORS_BEHIND * error
    found, least = written_pair(difference, limit, "+.3f")
    question = f"log q of the truth above the baseline's at N = {num_points}, nats"
    said = f"{found} ± {error:.3f}"
    return Finding(question, difference, limit, difference >= limit, said, f"at least {least}")


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
