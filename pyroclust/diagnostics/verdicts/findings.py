"""Single questions with their answers: every comparison of a figure with a limit is made here."""

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np

from pyroclust.diagnostics.chains.functionals import functional_name
from pyroclust.diagnostics.chains.short_chains import Round
from pyroclust.diagnostics.differences.agreement import Agreement
from pyroclust.diagnostics.limits import (
    CERTAIN,
    CLEAR,
    CLOSE_TO_LABELS,
    DOUBTFUL,
    GOOD_ESS,
    GOOD_RHAT,
    MAX_CHANCE,
    MAX_DIFFERENCE,
    MAX_PARETO_K,
    MAX_RHAT,
    MIN_CALIBRATION,
    MIN_ESS,
    MIN_FAMILIARITY,
    MIN_SETTLED,
    MIN_WITNESSED,
    PARTLY_CLEAR,
    PARTLY_LABELS,
    written,
    written_p,
)
from pyroclust.diagnostics.simulations.familiarity import Familiarity
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.diagnostics.verdicts.verdict import Finding, Mark, Trust, Verdict
from pyroclust.diagnostics.weights.orders import OrderSpread

__all__ = [
    "Question",
    "agreement_finding",
    "agreement_findings",
    "certificate_finding",
    "clarity_finding",
    "convergence_findings",
    "familiarity_findings",
    "labels_finding",
    "near_finding",
    "num_doubtful",
    "orders_finding",
    "said",
    "settled_finding",
    "untold",
    "weighted_finding",
    "weights_findings",
    "witnesses_finding",
]


class Question(Enum):
    """Questions that have no answer where the part that they ask about failed."""

    CLEAR = "Is the point estimate clear?"
    LABELS = "Are the clusters the known labels?"
    FAMILIAR = "Are summary statistics of the rows like those of the model's simulations?"
    WITNESSED = "Does the guide do as well here as on simulations of its model?"
    NEAR = "Is the guide calibrated on simulations near these data?"
    CERTIFIED = "Is the guide calibrated on simulated data?"
    COUNTS = "Does the guide agree with MCMC on the number of clusters?"
    PAIRS = "Does the guide agree with MCMC on which rows belong together?"
    TAIL = "Is the tail of the guide's importance weights short?"
    WORTH = "Are the guide's weighted draws worth enough?"
    WEIGHTED = "Do the guide's weighted draws agree with MCMC?"
    SOURCES = "Do whole partitions of the sources agree?"
    SETTLED = "Have the refined draws settled?"
    REFINED = "Do the refined draws agree with MCMC?"
    ORDERS = "Does the guide say the same whatever order it visits the rows in?"
    REFINED_SOURCES = "Do whole partitions of the refined draws and MCMC agree?"
    KNOWN = "Do the data speak for the constraints?"
    FREE = "Can the draws without constraints be relied on?"
    BESIDE = "Does the guide agree with MCMC here?"


def untold(question: Question, reason: str | None = None) -> Finding:
    """Answer a question with "cannot tell", since the part that it asks about failed.

    Args:
        question: which one.
        reason: why the part failed, without a full stop.

    Example:
        >>> untold(Question.CLEAR, "division by zero")
        Finding(Is the point estimate clear? Cannot tell: could not be computed: division by zero)
    """
    said = "could not be computed"
    return Finding(question.value, None, None, None, f"{said}: {reason}" if reason else said)


def convergence_findings(name: str, *, max_rhat: float, min_ess: float) -> tuple[Finding, Finding]:
    """Ask whether chains agree with one another, and whether their draws are worth enough.

    Args:
        name: of the source.
        max_rhat: the largest R-hat; nan where it could not be computed.
        min_ess: the fewest effective draws; infinity where nothing varies, nan where they could not be
            computed.

    Example:
        >>> [one.answer for one in convergence_findings("MCMC", max_rhat=1.02, min_ess=50.0)]
        ['Roughly', 'No']
    """
    return (
        _graded(
            f"Did {name} converge?",
            max_rhat,
            MAX_RHAT,
            None if math.isnan(max_rhat) else max_rhat <= MAX_RHAT,
            "R-hat could not be computed"
            if math.isnan(max_rhat)
            else f"largest R-hat {written(max_rhat, '.3f', MAX_RHAT, GOOD_RHAT)}",
            f"at most {MAX_RHAT:g}, better {GOOD_RHAT:g}",
            good=max_rhat <= GOOD_RHAT,
        ),
        _graded(
            f"Are there enough effective draws in {name}?",
            min_ess,
            MIN_ESS,
            None if math.isnan(min_ess) else min_ess >= MIN_ESS,
            "effective draws could not be computed"
            if math.isnan(min_ess)
            else "nothing varies"
            if math.isinf(min_ess)
            else f"fewest effective draws {written(min_ess, '.0f', MIN_ESS, GOOD_ESS)}",
            f"at least {MIN_ESS:.0f}, better {GOOD_ESS:.0f}",
            good=min_ess >= GOOD_ESS,
        ),
    )


def _graded(
    question: str,
    value: float,
    limit: float,
    passed: bool | None,  # noqa: FBT001  (yes, no or cannot tell)
    sentence: str,
    wanted: str,
    *,
    good: bool,
) -> Finding:
    if passed and not good:
        return Finding(question, value, limit, passed, sentence, wanted, "Roughly", Mark.CAUTION)
    return Finding(question, value, limit, passed, sentence, wanted)


def agreement_finding(
    question: str, value: float, sentence: str, *, noise: float, limit: float = MAX_DIFFERENCE
) -> Finding:
    """Ask whether a distance to a reference is small; where the reference differs from itself, who knows.

    Args:
        question: names the two.
        value: the distance.
        sentence: the distance in words.
        noise: largest difference of a pair between the halves of the reference.
        limit: of the distance.

    Example:
        >>> agreement_finding("Same?", 0.2, "0.20 apart", noise=0.3).answer
        'Cannot tell'
    """
    passed = True if value <= limit else None if noise > limit else False
    if passed is None:
        sentence += f", two halves of the reference by {written(noise, '.2f', limit)}"
    return Finding(question, value, limit, passed, sentence, f"at most {limit:g}")


def agreement_findings(found: Agreement | None, tolerance: float) -> tuple[Finding, Finding]:
    """Ask whether a guide's draws agree with MCMC on the number of clusters, and on pairs of rows."""
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


def weights_findings(pareto_k: float, effective_draws: float) -> tuple[Finding, Finding]:
    """Ask whether importance weights have a short tail, and are worth enough draws.

    A tail that could not be fitted passes: few large weights are then seen in the effective draws.

    Args:
        pareto_k: shape of the tail; nan where it could not be fitted, -inf for bounded weights.
        effective_draws: of the smoothed weights.

    Example:
        >>> [one.passed for one in weights_findings(0.52, 89.0)]
        [True, False]
    """
    shape = "cannot be fitted" if math.isnan(pareto_k) else written(pareto_k, ".2f", MAX_PARETO_K)
    tail = "the weights are bounded" if pareto_k == -math.inf else f"Pareto k {shape}"
    return (
        Finding(
            Question.TAIL.value,
            pareto_k,
            MAX_PARETO_K,
            not pareto_k >= MAX_PARETO_K,
            tail,
            f"below {MAX_PARETO_K:g}",
        ),
        Finding(
            Question.WORTH.value,
            effective_draws,
            MIN_ESS,
            effective_draws >= MIN_ESS,
            f"worth {written(effective_draws, '.0f', MIN_ESS)} draws",
            f"at least {MIN_ESS:.0f}",
        ),
    )


def weighted_finding(
    total_variation: float,
    largest_difference: float,
    *,
    noise: float,
    tolerance: float = MAX_DIFFERENCE,
    question: Question = Question.WEIGHTED,
) -> Finding:
    """Ask whether draws agree with the reference in number of clusters and in pairs at once.

    The value and the limit are those of whichever of the two comes nearer to its limit, or farther beyond.

    Args:
        total_variation: of the number of clusters, at most 0.15.
        largest_difference: of the co-assignment probabilities.
        noise: largest difference of a pair between the halves of the reference.
        tolerance: limit on the difference of a pair.
        question: of weighted draws, or of refined ones.

    Example:
        >>> weighted_finding(0.12, 0.11, noise=0.02, tolerance=0.1).wanted
        'at most 0.15 and 0.1'
    """
    counts = total_variation / MAX_DIFFERENCE > largest_difference / tolerance
    value, limit = (total_variation, MAX_DIFFERENCE) if counts else (largest_difference, tolerance)
    passed = total_variation <= MAX_DIFFERENCE and largest_difference <= tolerance
    return Finding(
        question.value,
        value,
        limit,
        True if passed else None if noise > tolerance else False,
        f"total variation {written(total_variation, '.2f', MAX_DIFFERENCE)}, "
        f"largest difference of a pair {written(largest_difference, '.2f', tolerance)}",
        f"at most {MAX_DIFFERENCE:g}" + (f" and {tolerance:g}" if tolerance != MAX_DIFFERENCE else ""),
    )


def said(findings: Sequence[Finding]) -> str:
    """Return what was measured, in the words of several findings.

    Example:
        >>> said(convergence_findings("MCMC", max_rhat=1.002, min_ess=900.0))
        'largest R-hat 1.002, fewest effective draws 900'
    """
    return ", ".join(one.sentence for one in findings)


def settled_finding(last: Round | None) -> Finding:
    """Ask whether refined draws have settled: nothing moves any more, and no start is remembered.

    Args:
        last: what was seen at the last look; ``None`` where the draws took no sweeps.

    Example:
        >>> settled_finding(Round(20, 0.4, "entropy", 0.1, 1.01, 0.3, 900.0, 1000)).sentence
        '20 sweeps, nothing moved in the last half of them: p = 0.400, largest nested R-hat 1.010'
        >>> settled_finding(Round(20, 0.4, "entropy", 0.1, 1.02, 0.005, 120.0, 1000)).sentence[-57:]
        'largest nested R-hat 1.020, worth 120 draws of 400 wanted'
        >>> settled_finding(Round(20, 0.4, "entropy", 0.1, 1.02, 0.3, 120.0, 1000)).sentence[-54:]
        'worth 120 draws of 400 wanted, as by chance: p = 0.300'
        >>> settled_finding(Round(20, 0.001, "entropy", 0.1, 1.08, 0.3, 900.0, 1000)).sentence
        '20 sweeps, entropy still moved: p = 0.001, largest nested R-hat 1.080, as by chance: p = 0.300'
    """
    enough = "half of the draws" if last is None else f"{last.wanted_draws:.0f}"
    expected = (
        f"p above {MIN_SETTLED:g}; nested R-hat at most {MAX_RHAT:g} and {enough} effective, or as by chance"
    )
    if last is None:
        return Finding(Question.SETTLED.value, None, None, False, "no sweeps", expected)
    stands = last.p_value > MIN_SETTLED
    moved = (
        "nothing moved in the last half of them" if stands else f"{functional_name(last.moved)} still moved"
    )
    said = f"{last.sweeps:,} sweeps, {moved}: {written_p(last.p_value, MIN_SETTLED)}"
    rhat = last.nested_rhat
    if not math.isnan(rhat):
        said += f", largest nested R-hat {written(rhat, '.3f', MAX_RHAT)}"
        if last.effective_draws < last.wanted_draws:
            said += f", worth {last.effective_draws:.0f} draws of {last.wanted_draws:.0f} wanted"
        if last.looks_alike and not last.remembers:
            said += f", as by chance: {written_p(last.start_p_value, MIN_SETTLED)}"
    return Finding(Question.SETTLED.value, rhat, None, last.has_settled, said, expected)


def orders_finding(found: OrderSpread) -> Finding:
    """Ask whether the evidence by each visiting order differs by no more than chance makes of it.

    Args:
        found: the evidence by order.

    Example:
        >>> orders_finding(OrderSpread(np.array([0.0, 4.0]), 2.0, 0.3, 0.001)).answer
        'No'
    """
    return Finding(
        Question.ORDERS.value,
        found.p_value,
        MAX_CHANCE,
        found.p_value >= MAX_CHANCE,
        f"log evidence by order spreads {found.spread:.2f} nats, by chance {found.by_chance:.2f}; "
        f"{written_p(found.p_value, MAX_CHANCE)}",
        f"p at least {MAX_CHANCE:g}",
    )


def clarity_finding(uncertainty: np.ndarray) -> Finding:
    """Ask whether one partition can stand for the posterior.

    Args:
        uncertainty: of each point in the point estimate, ``(N,)``.

    Example:
        >>> clarity_finding(np.array([0.0, 0.6])).answer
        'Partly'
    """
    mean, doubtful = float(uncertainty.mean()), num_doubtful(uncertainty)
    answers = ("Yes", Mark.GOOD) if mean <= CLEAR else ("No", Mark.CAUTION)
    if CLEAR < mean <= PARTLY_CLEAR:
        answers = "Partly", Mark.CAUTION
    return Finding(
        Question.CLEAR.value,
        mean,
        CLEAR,
        mean <= CLEAR,
        f"mean uncertainty of a row {written(mean, '.2f', CLEAR, PARTLY_CLEAR)}; "
        f"{doubtful:,} of {len(uncertainty):,} rows above {DOUBTFUL:g}",
        f"at most {CLEAR:g}, partly {PARTLY_CLEAR:g}",
        *answers,
    )


def num_doubtful(uncertainty: np.ndarray) -> int:
    """Count points that are apart from their companions in the estimate more often than with them.

    Example:
        >>> num_doubtful(np.array([0.2, 0.5, 0.6]))
        1
    """
    return int((uncertainty > DOUBTFUL).sum())


def share_together(probabilities: np.ndarray) -> float:
    """Return the share of probabilities of being together that are as good as certain.

    Example:
        >>> share_together(np.array([1.0, 0.9, 0.5, 0.0]))
        0.5
    """
    return float((probabilities >= CERTAIN).mean())


def labels_finding(adjusted_rand: float) -> Finding:
    """Ask whether the clusters are the known labels, which no posterior has to find.

    Args:
        adjusted_rand: adjusted Rand index of the point estimate to them.

    Example:
        >>> labels_finding(0.7).answer
        'Partly'
    """
    close, partly = adjusted_rand >= CLOSE_TO_LABELS, adjusted_rand >= PARTLY_LABELS
    return Finding(
        Question.LABELS.value,
        adjusted_rand,
        CLOSE_TO_LABELS,
        close,
        f"adjusted Rand index {written(adjusted_rand, '.2f', CLOSE_TO_LABELS, PARTLY_LABELS)}",
        "1 equal, 0 chance",
        "Closely" if close else "Partly" if partly else "Hardly",
        Mark.PLAIN,
    )


def familiarity_findings(found: Familiarity) -> tuple[Finding, ...]:
    """Ask whether data look like the simulations of a guide's model, and whether their size was trained.

    Args:
        found: where the data lie.

    Example:
        >>> found = Familiarity(0.5, 1.0, 1.0, 199, overall=0.4, num_points=50, training_points=(1, 20))
        >>> [one.answer for one in familiarity_findings(found)]
        ['Yes', 'No']
    """
    alike = Finding(
        Question.FAMILIAR.value,
        found.overall,
        MIN_FAMILIARITY,
        found.overall > MIN_FAMILIARITY,
        f"p = {written(found.overall, '.3f', MIN_FAMILIARITY)} among {found.num_simulations:,} simulations; "
        "it does not say whether the guide is right here",
        f"p above {MIN_FAMILIARITY:g}",
    )
    if found.training_points is None or found.num_points is None:
        return (alike,)
    fewest, most = found.training_points
    return (
        alike,
        Finding(
            "Was the guide trained on so many points?",
            float(found.num_points),
            float(most),
            fewest <= found.num_points <= most,
            f"{found.num_points:,} points",
            f"{fewest:,} to {most:,}",
        ),
    )


def witnesses_finding(found: Witnesses) -> Finding:
    """Ask whether a guide does as well on a data set as on simulations of its model.

    Args:
        found: what the weights of its draws witness.

    Example:
        >>> from pyroclust.diagnostics.simulations.witnesses import Witness
        >>> row = Witness("the efficiency of the weights", 0.031, 0.8, 0.1, 0, 0.005)
        >>> witnesses_finding(Witnesses((row,), 0.005, 199, 32, 50)).sentence
        'the efficiency of the weights 0.03, on simulations 0.80; p = 0.005 among 199'
    """
    figures = "; ".join(f"{row.name} {row.value:.2f}, on simulations {row.median:.2f}" for row in found.rows)
    return Finding(
        Question.WITNESSED.value,
        found.p_value,
        MIN_WITNESSED,
        found.p_value > MIN_WITNESSED,
        f"{figures}; {written_p(found.p_value, MIN_WITNESSED)} among {found.num_simulations:,}",
        f"p above {MIN_WITNESSED:g}",
    )


def certificate_finding(passed: int, tests: int) -> Finding:
    """Ask whether a guide passed the calibration tests of its certificate.

    Args:
        passed: how many it passed.
        tests: how many there are; 0 without a certificate.
    """
    return Finding(
        Question.CERTIFIED.value,
        float(passed) if tests else None,
        float(tests) if tests else None,
        passed == tests if tests else None,
        f"{passed} of {tests} tests passed" if tests else "no certificate",
        "all tests",
    )


def near_finding(found: Verdict, p_value: float, *, num_nearest: int, num_simulations: int) -> Finding:
    """Ask whether a guide is calibrated on the simulations nearest to the data.

    Args:
        found: the verdict on that calibration.
        p_value: of all its parts together.
        num_nearest: simulations that were looked at.
        num_simulations: of so many.
    """
    return Finding(
        Question.NEAR.value,
        p_value,
        MIN_CALIBRATION,
        {Trust.AVERAGE: True, Trust.DISTRUST: False}.get(found.level),
        f"{written_p(p_value, MIN_CALIBRATION)} on the {num_nearest:,} nearest of {num_simulations:,}",
        f"p at least {MIN_CALIBRATION:g}",
    )
