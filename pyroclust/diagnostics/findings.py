"""Single questions with their answers: every comparison of a figure with a limit is made here."""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from pyroclust.diagnostics.chains import functional_name
from pyroclust.diagnostics.differences import Agreement
from pyroclust.diagnostics.importance import OrderSpread
from pyroclust.diagnostics.likeness import Familiarity, WeightQuality
from pyroclust.diagnostics.limits import (
    CERTAIN,
    CLEAR,
    CLOSE_TO_LABELS,
    DOUBTFUL,
    GOOD_ESS,
    GOOD_RHAT,
    MAX_CHANCE,
    MAX_DIFFERENCE,
    MAX_GAIN,
    MAX_PARETO_K,
    MAX_RHAT,
    MIN_CALIBRATION,
    MIN_ESS,
    MIN_FAMILIARITY,
    MIN_SETTLED,
    MIN_WEIGHT_QUALITY,
    PARTLY_CLEAR,
    PARTLY_LABELS,
    written,
    written_p,
)
from pyroclust.diagnostics.short_chains import CheckedRound
from pyroclust.diagnostics.split_clusters import HEAVY, OVERDISPERSED, SplitClusters
from pyroclust.diagnostics.verdict import Finding, Mark, Trust, Verdict

# Groups of clusters that a sentence names.
_MOST_SPLIT = 3


class Question(StrEnum):
    """Questions that have no answer where the part that they ask about failed."""

    CLEAR = "Is the point estimate clear?"
    LABELS = "Are the clusters the known labels?"
    FAMILIAR = "Are summary statistics of the rows like those of the model's simulations?"
    WEIGHT_QUALITY = "Does the guide do as well here as on simulations of its model?"
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
    SPLIT = "Is no cluster split because it is skewed or heavy-tailed?"


def unavailable(question: Question, reason: str | None = None) -> Finding:
    """Answer a question with "cannot tell", since the part that it asks about failed, for a reason."""
    return Finding(question, None, None, None, "could not be computed" + (f": {reason}" if reason else ""))


def measured(findings: Sequence[Finding]) -> str:
    """Return what was measured, in the words of several findings."""
    return ", ".join(one.sentence for one in findings)


def convergence_findings(name: str, *, max_rhat: float, min_ess: float) -> tuple[Finding, Finding]:
    """Ask whether chains agree, and are worth enough: nan is unknown, infinite where nothing varies."""
    agree, worth = f"Did {name} converge?", f"Are there enough effective draws in {name}?"
    of_rhat = f"at most {MAX_RHAT:g}, better {GOOD_RHAT:g}"
    of_ess = f"at least {MIN_ESS:.0f}, better {GOOD_ESS:.0f}"
    rhat, ess = f"largest R-hat {written(max_rhat, '.3f', MAX_RHAT, GOOD_RHAT)}", "nothing varies"
    if not math.isinf(min_ess):
        ess = f"fewest effective draws {written(min_ess, '.0f', MIN_ESS, GOOD_ESS)}"
    chains = Finding(agree, max_rhat, MAX_RHAT, max_rhat <= MAX_RHAT, rhat, of_rhat)
    draws = Finding(worth, min_ess, MIN_ESS, min_ess >= MIN_ESS, ess, of_ess)
    return (
        _graded(chains, good=max_rhat <= GOOD_RHAT, unknown="R-hat could not be computed"),
        _graded(draws, good=min_ess >= GOOD_ESS, unknown="effective draws could not be computed"),
    )


def _graded(found: Finding, *, good: bool, unknown: str) -> Finding:
    question, value, limit, wanted = found.question, found.value, found.limit, found.wanted
    if value is None or math.isnan(value):
        return Finding(question, value, limit, None, unknown, wanted)
    if found.passed and not good:
        return Finding(question, value, limit, True, found.sentence, wanted, "Roughly", Mark.CAUTION)
    return found


def agreement_finding(
    question: str, value: float, sentence: str, *, noise: float, limit: float = MAX_DIFFERENCE
) -> Finding:
    """Ask whether a distance to a reference is small; one whose own halves differ as much cannot tell."""
    passed = True if value <= limit else None if noise > limit else False
    if passed is None:
        sentence += f", two halves of the reference by {written(noise, '.2f', limit)}"
    return Finding(question, value, limit, passed, sentence, f"at most {limit:g}")


def agreement_findings(found: Agreement | None, tolerance: float) -> tuple[Finding, Finding]:
    """Ask whether a guide's draws agree with MCMC on the number of clusters, and on pairs of rows."""
    if found is None:
        return unavailable(Question.COUNTS), unavailable(Question.PAIRS)
    noise, counts, pairs = found.noise_largest_difference, found.total_variation, found.largest_difference
    of_counts = f"total variation of the number of clusters {written(counts, '.2f', MAX_DIFFERENCE)}"
    of_pairs = f"co-assignment probabilities differ by at most {written(pairs, '.2f', tolerance)}"
    return (
        agreement_finding(Question.COUNTS, counts, of_counts, noise=noise),
        agreement_finding(Question.PAIRS, pairs, of_pairs, noise=noise, limit=tolerance),
    )


def weighted_finding(
    total_variation: float,
    largest_difference: float,
    *,
    noise: float,
    tolerance: float = MAX_DIFFERENCE,
    question: Question = Question.WEIGHTED,
) -> Finding:
    """Ask whether draws agree with the reference in number of clusters and in pairs at once."""
    counts = total_variation / MAX_DIFFERENCE > largest_difference / tolerance
    value, limit = (total_variation, MAX_DIFFERENCE) if counts else (largest_difference, tolerance)
    passed = total_variation <= MAX_DIFFERENCE and largest_difference <= tolerance
    return Finding(
        question,
        value,
        limit,
        True if passed else None if noise > tolerance else False,
        f"total variation {written(total_variation, '.2f', MAX_DIFFERENCE)}, "
        f"largest difference of a pair {written(largest_difference, '.2f', tolerance)}",
        f"at most {MAX_DIFFERENCE:g}" + (f" and {tolerance:g}" if tolerance != MAX_DIFFERENCE else ""),
    )


def weights_findings(pareto_k: float, effective_draws: float) -> tuple[Finding, Finding]:
    """Ask whether importance weights have a short tail, and are worth enough draws."""
    shape = "cannot be fitted" if math.isnan(pareto_k) else written(pareto_k, ".2f", MAX_PARETO_K)
    tail = "the weights are bounded" if pareto_k == -math.inf else f"Pareto k {shape}"
    short, worth = not pareto_k >= MAX_PARETO_K, f"worth {written(effective_draws, '.0f', MIN_ESS)} draws"
    enough, least = effective_draws >= MIN_ESS, f"at least {MIN_ESS:.0f}"
    return (
        Finding(Question.TAIL, pareto_k, MAX_PARETO_K, short, tail, f"below {MAX_PARETO_K:g}"),
        Finding(Question.WORTH, effective_draws, MIN_ESS, enough, worth, least),
    )


def settled_finding(last: CheckedRound | None) -> Finding:
    """Ask whether refined draws have settled at the last look: nothing moves, and no start is remembered."""
    enough = "half of the draws" if last is None else f"{last.wanted_draws:.0f}"
    wanted = (
        f"p above {MIN_SETTLED:g}; nested R-hat at most {MAX_RHAT:g} and {enough} effective, or as by chance"
    )
    if last is None:
        return Finding(Question.SETTLED, None, None, False, "no sweeps", wanted)
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
    return Finding(Question.SETTLED, rhat, None, last.has_settled, said, wanted)


def orders_finding(found: OrderSpread) -> Finding:
    """Ask whether the evidence by each visiting order differs by no more than chance makes of it."""
    spread = f"log evidence by order spreads {found.spread:.2f} nats, by chance {found.by_chance:.2f}"
    return _by_p_value(Question.ORDERS, found.p_value, MAX_CHANCE, spread + "; {}")


def _by_p_value(
    question: str, p_value: float, limit: float, sentence: str, *, above: bool = False
) -> Finding:
    """Ask whether a p-value is at least its limit, or above it; the sentence has a place for it."""
    passed = p_value > limit if above else p_value >= limit
    said, wanted = (
        sentence.format(written_p(p_value, limit)),
        f"p {'above' if above else 'at least'} {limit:g}",
    )
    return Finding(question, p_value, limit, passed, said, wanted)


def clarity_finding(uncertainty: np.ndarray, *, row_weights: np.ndarray | None = None) -> Finding:
    """Ask whether one partition can stand for the posterior, by the uncertainty of each point in it."""
    mean = float(np.average(uncertainty, weights=row_weights))
    rows = len(uncertainty) if row_weights is None else row_weights.sum()
    clear, partly = mean <= CLEAR, mean <= PARTLY_CLEAR
    return Finding(
        Question.CLEAR,
        mean,
        CLEAR,
        clear,
        f"mean uncertainty of a row {written(mean, '.2f', CLEAR, PARTLY_CLEAR)}; "
        f"{num_doubtful(uncertainty, row_weights=row_weights):,} of {rows:,} rows above {DOUBTFUL:g}",
        f"at most {CLEAR:g}, partly {PARTLY_CLEAR:g}",
        "Yes" if clear else "Partly" if partly else "No",
        Mark.GOOD if clear else Mark.CAUTION,
    )


def num_doubtful(uncertainty: np.ndarray, *, row_weights: np.ndarray | None = None) -> int:
    """Count rows that are apart from their companions in the estimate more often than with them."""
    doubtful = uncertainty > DOUBTFUL
    return int(doubtful.sum() if row_weights is None else doubtful @ row_weights)


def share_together(probabilities: np.ndarray, *, row_weights: np.ndarray | None = None) -> float:
    """Return the share of rows whose probabilities of being together are as good as certain."""
    return float(np.average(probabilities >= CERTAIN, weights=row_weights))


def share_of_sure_pairs(together: np.ndarray, *, row_weights: np.ndarray | None = None) -> float:
    """Return the share of pairs of rows, ``(M, M)``, that are as good as certain to be together, or apart."""
    times = np.ones(len(together), np.int64) if row_weights is None else row_weights
    rows = int(times.sum())
    # Equal rows are together, and in no doubt, as a row is with itself.
    unsure = (together < CERTAIN) & (1 - together < CERTAIN)
    return 1 - float(times @ (unsure @ times)) / 2 / max(1, rows * (rows - 1) // 2)


def split_finding(found: SplitClusters) -> Finding:
    """Ask whether one cluster of another shape explains rows better than normal clusters do."""
    best, joined = found.groups[0].gain, found.joined
    said = f"another shape gains at most {written(best, '.1f', MAX_GAIN)} nats"
    if joined and joined[0][1] == OVERDISPERSED:
        said = "counts vary more than Poisson counts within a cluster; give --kinds NAME=overdispersed"
    elif joined:
        said = "; ".join(_of_other_shape(*one) for one in joined[:_MOST_SPLIT])
    if joined:
        if found.num_left < found.num_clusters:
            said += f"; then {found.num_left} of {found.num_clusters} clusters are left"
        # Clusters of that family have independent columns: of several columns they make more, not fewer.
        if found.num_columns == 1 and any(shape == HEAVY for _, shape in joined):
            said += "; compare with --family student-t"
    mark = Mark.CAUTION if joined else Mark.GOOD
    wanted = f"a gain of at most {MAX_GAIN:g} nats"
    return Finding(Question.SPLIT, best, MAX_GAIN, not joined, said, wanted, mark=mark)


def _of_other_shape(clusters: Sequence[int], shape: str) -> str:
    *some, last = (str(k + 1) for k in clusters)
    if not some:
        return f"cluster {last} is {shape}, and most draws split it"
    return f"clusters {', '.join(some)} and {last} may be one {shape} cluster that is split"


def labels_finding(adjusted_rand: float) -> Finding:
    """Ask whether the point estimate is the known labels, which no posterior has to find."""
    close, partly = adjusted_rand >= CLOSE_TO_LABELS, adjusted_rand >= PARTLY_LABELS
    return Finding(
        Question.LABELS,
        adjusted_rand,
        CLOSE_TO_LABELS,
        close,
        f"adjusted Rand index {written(adjusted_rand, '.2f', CLOSE_TO_LABELS, PARTLY_LABELS)}",
        "1 equal, 0 chance",
        "Closely" if close else "Partly" if partly else "Hardly",
        Mark.PLAIN,
    )


def familiarity_findings(found: Familiarity) -> tuple[Finding, ...]:
    """Ask whether data look like the simulations of a guide's model, and whether their size was trained."""
    alike = Finding(
        Question.FAMILIAR,
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
    trained = Finding(
        "Was the guide trained on so many points?",
        float(found.num_points),
        float(most),
        fewest <= found.num_points <= most,
        f"{found.num_points:,} points",
        f"{fewest:,} to {most:,}",
    )
    return alike, trained


def weight_quality_finding(found: WeightQuality) -> Finding:
    """Ask whether a guide does as well on a data set as on simulations of its model."""
    figures = "; ".join(f"{row.name} {row.value:.2f}, on simulations {row.median:.2f}" for row in found.rows)
    said = f"{figures}; {{}} among {found.num_simulations:,}"
    return _by_p_value(Question.WEIGHT_QUALITY, found.p_value, MIN_WEIGHT_QUALITY, said, above=True)


def certificate_finding(passed: int, tests: int) -> Finding:
    """Ask whether a guide passed the calibration tests of its certificate; none are no certificate."""
    if not tests:
        return Finding(Question.CERTIFIED, None, None, None, "no certificate", "all tests")
    said = f"{passed} of {tests} tests passed"
    return Finding(Question.CERTIFIED, float(passed), float(tests), passed == tests, said, "all tests")


def near_finding(found: Verdict, p_value: float, *, num_nearest: int, num_simulations: int) -> Finding:
    """Ask whether a guide is calibrated, by the verdict on that, on the simulations nearest to the data."""
    return Finding(
        Question.NEAR,
        p_value,
        MIN_CALIBRATION,
        {Trust.AVERAGE: True, Trust.DISTRUST: False}.get(found.level),
        f"{written_p(p_value, MIN_CALIBRATION)} on the {num_nearest:,} nearest of {num_simulations:,}",
        f"p at least {MIN_CALIBRATION:g}",
    )
