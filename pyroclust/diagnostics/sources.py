"""Everything that two sources of draws can be compared in, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from pyroclust.diagnostics.differences import (
    Agreement,
    Marginals,
    Mixing,
    Noise,
    TwoSampleTest,
    accuracies,
    against_null,
    distances,
    exchangeable,
    independent_draws,
    marginals_and_noise,
    mixing,
    squared_mmds,
    total_variations,
)
from pyroclust.diagnostics.findings import Question, convergence_findings, measured, unavailable
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.labels import as_chains, checked_row_weights, labels_and_weights
from pyroclust.diagnostics.limits import (
    MAX_CHANCE,
    MAX_DIFFERENCE,
    MAX_EXCESS,
    MAX_SEPARATION,
    written,
    written_p,
    written_pair,
)
from pyroclust.diagnostics.losses import Binder, check_same_points, losses_within
from pyroclust.diagnostics.verdict import Finding, Mark, Trust, Verdict
from pyroclust.partitions.raw_labels import DrawsLike

_COUNTS = "total variation of the number of clusters"
_PAIRS = "largest difference of co-assignment probabilities"
_EXCESS = "excess of the variation of information between the sources"


@dataclass(frozen=True)
class Effect:
    """One way in which two sources differ."""

    name: str
    value: float
    noise: float
    limit: float
    p_value: float

    @property
    def large(self) -> bool:
        """Whether the difference matters, if it is real."""
        return self.value > self.limit

    @property
    def beyond_noise(self) -> bool:
        """Whether it matters, and is larger than that of the halves of a source."""
        return self.large and self.value > self.noise


@dataclass(frozen=True)
class VariationBlocks:
    """Expected variation of information of two random draws, in bits."""

    between: float
    within_a: float
    within_b: float
    noise: float

    @property
    def excess(self) -> float:
        """Share by which draws lie further apart between the sources than within; 0 where they do not."""
        return _excess(self.between, self.within_a, self.within_b)


def variation_blocks(losses: np.ndarray, num_a: int) -> VariationBlocks:
    """Average a matrix of variations of information over its blocks."""
    parts = [losses[:num_a, :num_a], losses[num_a:, num_a:]]
    noise = max(_excess(*_blocks(part, len(part) // 2)) for part in parts)
    return VariationBlocks(*_blocks(losses, num_a), noise)


def largest_pair(a: Marginals, b: Marginals) -> tuple[int, int]:
    """Return the two points whose co-assignment probabilities differ most."""
    first, second = _largest(a, b)
    return (first, second) if a.points is None else (int(a.points[first]), int(a.points[second]))


def pair_p_value(a: Marginals, b: Marginals, *, effective_a: float, effective_b: float) -> float:
    """Return the p-value of the largest difference of co-assignment probabilities."""
    pair = _largest(a, b)
    first, second, points = a.together[pair], b.together[pair], len(a.together)
    if first == second:
        return 1.0
    effective_a, effective_b = max(1.0, effective_a), max(1.0, effective_b)
    pooled = (effective_a * first + effective_b * second) / (effective_a + effective_b)
    error = math.sqrt(pooled * (1 - pooled) * (1 / effective_a + 1 / effective_b))
    return float(min(1.0, points * (points - 1) * ndtr(-abs(first - second) / error)))


def separation_effect(test: TwoSampleTest, *, limit: float) -> Effect:
    """Return how well a classifier separates the sources: 0 for not better than chance, 1 for always."""
    noise, value = (max(0.0, 2 * x - 1) for x in (float(np.quantile(test.null, 0.95)), test.statistic))
    return Effect("separation by a classifier", value, noise, limit, test.p_value)


def _largest(a: Marginals, b: Marginals) -> tuple[int, int]:
    """Return where in the matrices the pair is that differs most."""
    gap = np.abs(a.together - b.together)
    first, second = np.unravel_index(gap.argmax(), gap.shape)
    return int(first), int(second)


def _blocks(losses: np.ndarray, num_a: int) -> tuple[float, float, float]:
    return (
        float(losses[:num_a, num_a:].mean()),
        _mean_of_pairs(losses[:num_a, :num_a]),
        _mean_of_pairs(losses[num_a:, num_a:]),
    )


def _mean_of_pairs(losses: np.ndarray) -> float:
    return float(losses.sum() / max(1, len(losses) * (len(losses) - 1)))


def _excess(between: float, within_a: float, within_b: float) -> float:
    within = (within_a + within_b) / 2
    if within == 0:
        return 0.0 if between == 0 else math.inf
    return max(0.0, between / within - 1)


@dataclass(frozen=True)
class SourceComparison:
    """How far two sources of draws agree.

    Attributes:
        names: of the sources.
        agreement: of their marginals, with the noise floor of the second.
        noise_a: the noise floor of the first source.
        vi_between: expected variation of information of a draw of each, in bits.
        vi_within_a: of two draws of the first source, in bits.
        vi_within_b: of two draws of the second source, in bits.
        mmd: kernel test of the whole distributions.
        classifier: nearest-neighbour test of the same.
        counts: test of the posteriors of the number of clusters.
        effective_a: independent draws that the first source is worth; the tests use at most half as many.
        effective_b: independent draws that the second source is worth.
        max_rhat_a: largest R-hat of the first source; 1 where it is weighted.
        max_rhat_b: largest R-hat of the second source.
        largest_pair: the points whose co-assignment probabilities differ most, counted from 0.
        effects: the differences that the verdict rests on.
        verdict: whether they agree, in a sentence.
    """

    names: tuple[str, str]
    agreement: Agreement
    noise_a: Noise
    vi_between: float
    vi_within_a: float
    vi_within_b: float
    mmd: TwoSampleTest
    classifier: TwoSampleTest
    counts: TwoSampleTest
    effective_a: float
    effective_b: float
    max_rhat_a: float
    max_rhat_b: float
    largest_pair: tuple[int, int]
    effects: tuple[Effect, ...]
    verdict: Verdict

    @property
    def tolerance(self) -> float:
        """From which difference of two co-assignment probabilities on the verdict calls it large."""
        return next(one.limit for one in self.effects if one.name == _PAIRS)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without the null distributions of the tests; they may not be finite."""
        figures = asdict(replace(self, verdict=Verdict(self.verdict.level, "")))
        figures["verdict"] = self.verdict.to_dict()
        for test in ("mmd", "classifier", "counts"):
            figures[test].pop("null")
        return figures

    def __repr__(self) -> str:
        names = f"{self.names[0]} and {self.names[1]}"
        return f"SourceComparison({names}: {self.verdict.level.value}, {self.vi_between:.2f} bits apart)"


def compare_sources(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    seed: int,
    weights: np.ndarray | None = None,
    names: tuple[str, str] = ("A", "B"),
    tolerance: float = MAX_DIFFERENCE,
    num_permutations: int = 999,
    row_weights: np.ndarray | None = None,
) -> SourceComparison:
    """Compare two sources of draws of one partition, against the noise of their own chains.

    Marginals (numbers of clusters, co-assignment probabilities) are compared on all draws; whole partitions
    (variation of information between the sources against within, kernel test, classifier test) on at most 500
    draws of each that can be taken as independent. Each source must have converged first: R-hat at most 1.05
    (above 1.01 the sentence warns) and worth at least 100 independent draws (below 400 it warns). Then

    * ``DIFFER``: some difference is larger than its limit and than the noise floor, and its p-value, times
      the number of differences looked at, is below 0.01.
    * ``UNKNOWN``: a source has not converged, or a difference is larger than its limit but may be chance.
    * ``AGREE``: no difference is larger than its limit; those that are certain all the same are named.

    Large is 0.15 in total variation, ``tolerance`` in a co-assignment probability, draws 15 % further apart
    between the sources than within them, and a classifier that is right on 65 % of the draws. Cost: two
    seconds for 4000 draws of 100 points, with 999 permutations.

    Args:
        draws_a: draws of the first source, ``(chains, draws, N)`` or ``(S, N)``.
        draws_b: draws of the second source, the reference.
        seed: of pairs, references, resampling and permutations.
        weights: of ``draws_a``, ``(S,)``, which are then taken as independent; equal by default.
        names: of the sources, for the verdict.
        tolerance: from which difference of two co-assignment probabilities on it is large.
        num_permutations: how many permutations a test.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.integers(3, size=(1500, 6)), rng.integers(2, size=(4, 400, 6))
        >>> compare_sources(a, a[::-1], seed=0).verdict.level.value
        'agree'
        >>> compare_sources(a, b, seed=0).verdict.level.value
        'differ'
    """
    draws_a, weights = labels_and_weights("draws_a", draws_a, weights)
    draws_a, draws_b = as_chains(draws_a, name="draws_a"), as_chains(draws_b, name="draws_b")
    check_same_points(draws_a, draws_b)
    times = checked_row_weights(row_weights, draws_a.shape[-1])
    mix_a = mixing(draws_a, seed=seed, weights=weights, row_weights=times)
    mix_b = mixing(draws_b, seed=seed, row_weights=times)
    pooled, members = exchangeable(
        independent_draws(draws_a, seed=seed, effective=mix_a.effective, weights=weights),
        independent_draws(draws_b, seed=seed, effective=mix_b.effective),
        num_permutations=num_permutations,
        seed=seed,
    )
    losses = losses_within(pooled, row_weights=times)
    variation = variation_blocks(losses, int(members[0].sum()))
    of_pairs = losses_within(pooled, loss=Binder(), row_weights=times)
    mmd = against_null(squared_mmds(of_pairs, members), members)
    classifier = against_null(accuracies(losses, members), members)
    counts = against_null(total_variations(count_clusters(pooled), members), members)
    (a, noise_a), (b, noise_b) = marginals_and_noise(draws_a, weights=weights), marginals_and_noise(draws_b)
    found = Agreement(*distances(a, b), *vars(noise_b).values())
    noise_of_counts = max(noise_a.total_variation, noise_b.total_variation)
    noise_of_pairs = max(noise_a.largest_difference, noise_b.largest_difference)
    pair = pair_p_value(a, b, effective_a=mix_a.effective, effective_b=mix_b.effective)
    effects = (
        Effect(_COUNTS, found.total_variation, noise_of_counts, MAX_DIFFERENCE, counts.p_value),
        Effect(_PAIRS, found.largest_difference, noise_of_pairs, tolerance, pair),
        Effect(_EXCESS, variation.excess, variation.noise, MAX_EXCESS, mmd.p_value),
        separation_effect(classifier, limit=MAX_SEPARATION),
    )
    return SourceComparison(
        names=names,
        agreement=found,
        noise_a=noise_a,
        vi_between=variation.between,
        vi_within_a=variation.within_a,
        vi_within_b=variation.within_b,
        mmd=mmd,
        classifier=classifier,
        counts=counts,
        effective_a=mix_a.effective,
        effective_b=mix_b.effective,
        max_rhat_a=mix_a.max_rhat,
        max_rhat_b=mix_b.max_rhat,
        largest_pair=largest_pair(a, b),
        effects=effects,
        verdict=judge_sources(effects, (mix_a, mix_b), names=names, variation=variation),
    )


def judge_sources(
    effects: Sequence[Effect],
    mixings: tuple[Mixing, Mixing],
    *,
    names: tuple[str, str],
    variation: VariationBlocks,
) -> Verdict:
    """Say whether two sources agree, differ, or cannot be compared, and why."""
    both = f"{names[0]} and {names[1]}"
    converged = [
        convergence_findings(name, max_rhat=one.max_rhat, min_ess=one.effective)
        for name, one in zip(names, mixings, strict=True)
    ]
    # All differences together, by Bonferroni.
    chance = MAX_CHANCE / max(len(effects), 1)
    findings = (*converged[0], *converged[1], *(_finding(one, chance) for one in effects))
    unfit, caveat = [], ""
    for name, mixed, found in zip(names, mixings, converged, strict=True):
        unfit += [f"{one.sentence} in {name}, wanted {one.wanted}" for one in found if one.passed is not True]
        if mixed.constant:
            caveat += (
                f" Every draw of {name} is the same partition: the posterior is that sure, or the sampler "
            )
            caveat += "is stuck."
        elif Mark.CAUTION in {one.mark for one in found}:
            caveat += f" Only roughly known: {name} ({measured(found)})."
    if unfit:
        return Verdict(Trust.UNKNOWN, f"Cannot tell whether {both} agree: {'; '.join(unfit)}.", findings)
    bits = (
        f"Two draws, one of each, are {variation.between:.2f} bits apart on average; two of {names[0]} "
        f"{variation.within_a:.2f}, two of {names[1]} {variation.within_b:.2f}."
    )
    certain = [one for one in effects if one.p_value < chance]
    if decisive := [one for one in certain if one.beyond_noise]:
        level, why = Trust.DIFFER, f"Beyond noise {both} differ: {_listed(decisive)}. {bits}"
    elif large := [one for one in effects if one.large]:
        level = Trust.UNKNOWN
        why = (
            f"Cannot tell whether {both} agree: they differ ({_listed(large)}), but so few draws may differ "
            "as much by chance; draw more."
        )
    else:
        level, small = Trust.AGREE, f" A small difference is certain ({_listed(certain)})." if certain else ""
        why = f"As far as these draws can tell, {both} agree: {_listed(effects)}. {bits}{small}"
    return Verdict(level, why + caveat, findings)


def no_verdict(names: tuple[str, str]) -> Verdict:
    """Say that two sources could not be compared, because their comparison failed."""
    why = f"Cannot tell whether {names[0]} and {names[1]} agree: that could not be computed."
    return Verdict(Trust.UNKNOWN, why, (unavailable(Question.SOURCES),))


def _finding(effect: Effect, chance: float) -> Finding:
    """Ask whether a difference is small; a large one is sure where it is beyond noise and chance."""
    differs = effect.beyond_noise and effect.p_value < chance
    value, noise = _written(effect)
    return Finding(
        f"Is the {effect.name} small?",
        effect.value,
        effect.limit,
        False if differs else None if effect.large else True,
        f"{value}, noise {noise}, {written_p(effect.p_value, chance)}",
        f"at most {effect.limit:g}, or within noise and chance (p at least {chance:g})",
    )


def _listed(effects: Sequence[Effect]) -> str:
    return ", ".join("{} {} (noise {})".format(one.name, *_written(one)) for one in effects)


def _written(effect: Effect) -> tuple[str, str]:
    """Write a difference and its noise, which a large difference is compared with."""
    if effect.large:
        return written_pair(effect.value, effect.noise, ".2f", effect.limit)
    return written(effect.value, ".2f", effect.limit), f"{effect.noise:.2f}"
