"""Everything that two sources of draws can be compared in, and a verdict."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pyroclust.diagnostics.chains.thinning import Mixing, independent_draws, mixing
from pyroclust.diagnostics.differences.agreement import (
    Agreement,
    Marginals,
    Noise,
    distances,
    marginals_and_noise,
)
from pyroclust.diagnostics.differences.effects import (
    Effect,
    VariationBlocks,
    largest_pair,
    pair_p_value,
    separation_effect,
    variation_blocks,
)
from pyroclust.diagnostics.differences.two_sample import (
    TwoSampleTest,
    accuracies,
    against_null,
    permuted_memberships,
    squared_mmds,
    total_variations,
)
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.diagnostics.draws.labels import as_chains, checked_row_weights, labels_and_weights
from pyroclust.diagnostics.draws.losses import (
    Binder,
    VariationOfInformation,
    check_same_points,
    losses_within,
)
from pyroclust.diagnostics.limits import MAX_DIFFERENCE, MAX_EXCESS, MAX_SEPARATION
from pyroclust.diagnostics.verdicts.sources import judge_sources
from pyroclust.diagnostics.verdicts.verdict import Verdict
from pyroclust.partitions.raw_labels import DrawsLike

_PAIRS = "largest difference of co-assignment probabilities"


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


@dataclass(frozen=True)
class _Tests:
    variation: VariationBlocks
    mmd: TwoSampleTest
    classifier: TwoSampleTest
    counts: TwoSampleTest


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
    draws of each that can be taken as independent, see
    :func:`~pyroclust.diagnostics.chains.thinning.independent_draws`. The verdict's rules are those of
    :func:`~pyroclust.diagnostics.verdicts.sources.judge_sources`; what counts as large: 0.15 in total
    variation, ``tolerance`` in a co-assignment probability, draws 15 % further apart between the sources than
    within them, and a classifier that is right on 65 % of the draws (a separation of 0.3).

    Cost: two co-assignment matrices, O(M^2 N) for M draws of both in the tests and three products of a
    (P, M) with an (M, M) matrix: two seconds for 4000 draws of 100 points, with 999 permutations.

    Shape:
        draws_a, draws_b: ``(chains, draws, N)`` or ``(S, N)``; weights: one entry a draw of ``draws_a``;
        row_weights: ``(N,)``.

    Args:
        draws_a: draws of the first source.
        draws_b: draws of the second source, the reference.
        seed: of pairs, references, resampling and permutations.
        weights: importance weights of ``draws_a``, which are then taken as independent; equal by default.
        names: of the sources, for the verdict.
        tolerance: from which difference of two co-assignment probabilities on it is large.
        num_permutations: how many permutations a test.
        row_weights: how many equal rows each point stands for, whole numbers; one by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, the numbers of points differ, the weights
            do not fit, or a source has fewer than two draws.

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
    mixings = (
        mixing(draws_a, seed=seed, weights=weights, row_weights=times),
        mixing(draws_b, seed=seed, row_weights=times),
    )
    tests = _run_tests(draws_a, draws_b, mixings, weights, seed, num_permutations, times)
    (a, noise_a), (b, noise_b) = marginals_and_noise(draws_a, weights=weights), marginals_and_noise(draws_b)
    found = Agreement(
        *distances(a, b), noise_b.total_variation, noise_b.largest_difference, noise_b.mean_difference
    )
    effects = _effects(found, noise_a, tests, _pair_p_value(a, b, mixings), tolerance)
    return SourceComparison(
        names=names,
        agreement=found,
        noise_a=noise_a,
        vi_between=tests.variation.between,
        vi_within_a=tests.variation.within_a,
        vi_within_b=tests.variation.within_b,
        mmd=tests.mmd,
        classifier=tests.classifier,
        counts=tests.counts,
        effective_a=mixings[0].effective,
        effective_b=mixings[1].effective,
        max_rhat_a=mixings[0].max_rhat,
        max_rhat_b=mixings[1].max_rhat,
        largest_pair=largest_pair(a, b),
        effects=effects,
        verdict=judge_sources(effects, mixings, names=names, variation=tests.variation),
    )


def _run_tests(
    draws_a: np.ndarray,
    draws_b: np.ndarray,
    mixings: tuple[Mixing, Mixing],
    weights: np.ndarray | None,
    seed: int,
    num_permutations: int,
    row_weights: np.ndarray | None,
) -> _Tests:
    first = independent_draws(draws_a, seed=seed, effective=mixings[0].effective, weights=weights)
    second = independent_draws(draws_b, seed=seed, effective=mixings[1].effective)
    sizes = {"num_a": len(first), "num_b": len(second)}
    members = permuted_memberships(*sizes.values(), num_permutations=num_permutations, seed=seed)
    pooled = np.concatenate([first, second])
    losses, apart = (
        losses_within(pooled, loss=loss, row_weights=row_weights)
        for loss in (VariationOfInformation(), Binder())
    )
    return _Tests(
        variation=variation_blocks(losses, len(first)),
        mmd=against_null(squared_mmds(apart, members), **sizes),
        classifier=against_null(accuracies(losses, members), **sizes),
        counts=against_null(total_variations(count_clusters(pooled), members), **sizes),
    )


def _pair_p_value(a: Marginals, b: Marginals, mixings: tuple[Mixing, Mixing]) -> float:
    return pair_p_value(a, b, effective_a=mixings[0].effective, effective_b=mixings[1].effective)


def _effects(
    found: Agreement, noise: Noise, tests: _Tests, pair: float, tolerance: float
) -> tuple[Effect, ...]:
    variation = tests.variation
    return (
        Effect(
            "total variation of the number of clusters",
            found.total_variation,
            max(noise.total_variation, found.noise_total_variation),
            MAX_DIFFERENCE,
            tests.counts.p_value,
        ),
        Effect(
            _PAIRS,
            found.largest_difference,
            max(noise.largest_difference, found.noise_largest_difference),
            tolerance,
            pair,
        ),
        Effect(
            "excess of the variation of information between the sources",
            variation.excess,
            variation.noise,
            MAX_EXCESS,
            tests.mmd.p_value,
        ),
        separation_effect(tests.classifier, limit=MAX_SEPARATION),
    )
