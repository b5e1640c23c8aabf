"""Two sources of draws: agree, differ, or cannot tell."""

import dataclasses

import numpy as np
import pytest
from chain_cases import restaurant_draws, sticky

from pyroclust.diagnostics import (
    Agreement,
    Trust,
    TwoSampleTest,
    agreement,
    co_assignment,
    compare_sources,
    variation_of_information,
)
from pyroclust.diagnostics.differences import Marginals, Mixing, Noise, marginals_and_noise
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.sources import (
    Effect,
    VariationBlocks,
    judge_sources,
    largest_pair,
    pair_p_value,
    separation_effect,
    variation_blocks,
)

NUM_POINTS = 20


def draws_of(seed: int, shape: tuple[int, ...], concentration: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return restaurant_draws(rng, shape, num_points=NUM_POINTS, concentration=concentration)


def chains_of(seed: int, concentration: float = 1.0, length: int = 2000) -> np.ndarray:
    # Other random numbers than those of the draws: else a state would know how long it is held.
    return sticky(np.random.default_rng([seed, 1]), draws_of(seed, (4, length), concentration), hold=0.8)


def compare(a: np.ndarray, b: np.ndarray, **settings: object):
    return compare_sources(a, b, seed=0, num_permutations=999, **settings)


@pytest.mark.parametrize("seed", range(3))
def test_equal_sources_agree(seed):
    found = compare(draws_of(seed, (2000,)), chains_of(seed + 100))
    assert found.verdict.level is Trust.AGREE
    assert "A and B agree" in found.verdict.sentence
    assert max(effect.value for effect in found.effects) < 0.15


@pytest.mark.parametrize("concentration", [1.5, 0.5])
def test_another_concentration_differs(concentration):
    found = compare(draws_of(0, (2000,)), chains_of(1, concentration), names=("guide", "Gibbs"))
    assert found.verdict.level is Trust.DIFFER
    assert "Beyond noise guide and Gibbs differ" in found.verdict.sentence
    assert "number of clusters 0." in found.verdict.sentence
    assert found.mmd.p_value == 0.001


def test_a_certain_but_small_difference_is_said_to_be_small():
    found = compare(draws_of(0, (5000,)), draws_of(1, (5000,), 1.2))
    assert found.verdict.level is Trust.AGREE
    assert "A small difference is certain" in found.verdict.sentence


def ignoring(seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Three clusters with some noise, and the same where the third has been joined to the second."""
    rng = np.random.default_rng(seed)
    truth = np.arange(NUM_POINTS) % 3
    wrong = rng.random((2, size, NUM_POINTS)) < 0.08
    draws = np.where(wrong, rng.integers(3, size=wrong.shape), truth)
    return draws[0], np.minimum(draws[1], 1)


def test_an_ignored_cluster_differs():
    found = compare(*ignoring(0, 1000))
    assert found.verdict.level is Trust.DIFFER
    assert "separation by a classifier" in found.verdict.sentence
    assert "co-assignment" in found.verdict.sentence
    i, j = found.largest_pair
    assert {i % 3, j % 3} == {1, 2}
    assert found.classifier.statistic > 0.95
    assert found.vi_between > 1.3 * max(found.vi_within_a, found.vi_within_b)


@pytest.mark.parametrize("seed", range(2))
def test_halves_of_one_chain_agree(seed):
    chain = sticky(np.random.default_rng([seed, 1]), draws_of(seed, (1, 12000)), hold=0.7)
    assert compare(chain[:, :6000], chain[:, 6000:]).verdict.level is Trust.AGREE


def test_stuck_chains_cannot_be_compared():
    chains = chains_of(0)
    chains[:2, :, :10] = 0
    chains[2:, :, 10:] = 0
    found = compare(draws_of(1, (2000,)), chains)
    assert found.verdict.level is Trust.UNKNOWN
    assert "agree: largest R-hat " in found.verdict.sentence
    assert found.max_rhat_b > 1.05 > found.max_rhat_a


def test_too_few_draws_cannot_be_compared():
    found = compare(chains_of(0, length=100), draws_of(1, (2000,), 2.0))
    assert found.verdict.level is Trust.UNKNOWN
    assert " in A, wanted" in found.verdict.sentence
    assert found.effective_a < 100


def test_chains_too_short_for_figures_cannot_be_compared():
    found = compare(draws_of(0, (4, 3)), draws_of(1, (2000,)))
    assert found.verdict.level is Trust.UNKNOWN
    assert (found.effective_a, found.max_rhat_a) == (0, np.inf)


def test_a_source_agrees_with_itself():
    draws = draws_of(0, (1500,))
    found = compare(draws, draws[::-1])
    assert found.verdict.level is Trust.AGREE
    assert [effect.value for effect in found.effects] == [0, 0, pytest.approx(0, abs=0.01), 0]


def test_constant_sources():
    one, other = np.zeros((200, 6), dtype=int), np.tile([0, 0, 0, 1, 1, 1], (4, 100, 1))
    found = compare(one, other)
    assert found.verdict.level is Trust.DIFFER
    assert found.verdict.sentence.count("or the sampler is stuck") == 2
    assert compare(one, one).verdict.level is Trust.AGREE


def test_weights_correct_a_source():
    a, b = draws_of(0, (4000,), 1.6), chains_of(1)
    weights = (1.0 / 1.6) ** count_clusters(a)
    assert compare(a, b).verdict.level is Trust.DIFFER
    found = compare(a, b, weights=weights)
    assert found.verdict.level is Trust.AGREE
    assert found.effective_a == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.agreement.total_variation == agreement(a, b, weights=weights).total_variation
    assert found.agreement.total_variation < 0.1 < agreement(a, b).total_variation
    assert min(found.mmd.p_value, found.counts.p_value) > 0.01
    uneven = compare(a, b, weights=np.arange(4000) < 50)
    assert uneven.verdict.level is Trust.UNKNOWN
    assert "fewest effective draws 50 in A, wanted at least 100" in uneven.verdict.sentence


def test_figures_are_what_they_say():
    a, b = draws_of(0, (900,)), chains_of(1, 1.5)
    found = compare(a, b, names=("x", "y"))
    assert found.names == ("x", "y")
    assert found.agreement == agreement(a, b)
    assert found.noise_a == marginals_and_noise(a)[1]
    i, j = found.largest_pair
    gap = np.abs(co_assignment(a) - co_assignment(b))
    assert gap[i, j] == pytest.approx(gap.max())
    assert gap.max() == pytest.approx(found.agreement.largest_difference)
    rng = np.random.default_rng(0)
    flat = b.reshape(-1, NUM_POINTS)
    some = [source[rng.integers(len(source), size=(2, 20000))] for source in (a, flat)]
    for ours, pairs in ((found.vi_within_a, some[0]), (found.vi_within_b, some[1])):
        assert ours == pytest.approx(variation_of_information(*pairs).mean(), abs=0.1)
    between = variation_of_information(some[0][0], some[1][1]).mean()
    assert found.vi_between == pytest.approx(between, abs=0.1)
    assert found.effective_a <= 900
    assert found.effective_b < 2000
    assert len(found.effects) == 4
    noise = found.noise_a, found.agreement
    assert found.effects[0].noise == max(noise[0].total_variation, noise[1].noise_total_variation)
    assert found.effects[1].noise == max(noise[0].largest_difference, noise[1].noise_largest_difference)
    assert found.effects[0].p_value == found.counts.p_value
    assert found.effects[2].p_value == found.mmd.p_value
    assert found.effects[3].value == pytest.approx(2 * found.classifier.statistic - 1)


def test_the_same_seed_gives_the_same_figures():
    a, b = draws_of(0, (300,)), draws_of(1, (300,))
    first, again = (compare_sources(a, b, seed=3, num_permutations=99) for _ in range(2))
    assert (first.mmd.null == again.mmd.null).all()
    assert first.verdict == again.verdict
    assert first.effects[2].p_value == first.mmd.p_value != first.counts.p_value
    other = compare_sources(a, b, seed=4, num_permutations=99)
    assert (first.mmd.null != other.mmd.null).any()


def test_noise_floor():
    rng = np.random.default_rng(0)
    chains = rng.integers(3, size=(4, 50, 6))
    floor = marginals_and_noise(chains)[1]
    gap = np.abs(co_assignment(chains[:2]) - co_assignment(chains[2:]))
    assert floor.largest_difference == pytest.approx(gap.max())
    assert floor.mean_difference == pytest.approx(gap.sum() / 30)
    found = agreement(chains[0], chains)
    assert isinstance(found, Agreement)
    assert found.noise_largest_difference == floor.largest_difference
    assert marginals_and_noise(chains[:1])[1] != floor
    alone = marginals_and_noise(chains[0, :1])[1]
    assert alone == Noise(0.0, 0.0, 0.0)
    # Draws without weight do not count.
    weights = np.ones((4, 50))
    weights[:, 25:] = 0
    halved, short = marginals_and_noise(chains, weights=weights)[1], marginals_and_noise(chains[:, :25])[1]
    assert dataclasses.astuple(halved) == pytest.approx(dataclasses.astuple(short))
    weights[:2] = 0
    assert marginals_and_noise(chains, weights=weights)[1] == Noise(1.0, 1.0, 1.0)


def test_variation_blocks():
    losses = np.array([[0.0, 2, 3, 5], [2, 0, 4, 6], [3, 4, 0, 1], [5, 6, 1, 0]])
    found = variation_blocks(losses, 2)
    assert (found.between, found.within_a, found.within_b) == (4.5, 2.0, 1.0)
    assert found.excess == pytest.approx(2.0)
    # The second source's halves: 2 bits between, 1 and 2 within.
    halves = np.array([[0.0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]])
    wide = np.full((8, 8), 3.0)
    wide[:4, :4], wide[4:, 4:] = 1 - np.eye(4), halves
    assert variation_blocks(wide, 4).noise == pytest.approx(2 / 1.5 - 1)
    assert VariationBlocks(0.5, 1.0, 1.0, 0.0).excess == 0
    assert VariationBlocks(0.5, 0.0, 0.0, 0.0).excess == np.inf
    assert VariationBlocks(0.0, 0.0, 0.0, 0.0).excess == 0


def test_largest_pair_and_its_p_value():
    a, b = np.eye(3), np.eye(3)
    a[0, 2] = a[2, 0] = 0.5
    b[0, 2] = b[2, 0] = 0.2
    first, second = (Marginals(np.ones(1), matrix) for matrix in (a, b))
    assert set(largest_pair(first, second)) == {0, 2}
    # z = 0.3 / sqrt(0.35 0.65 0.02) = 4.447, two-sided 8.7e-6, three pairs.
    found = pair_p_value(first, second, effective_a=100.0, effective_b=100.0)
    assert found == pytest.approx(3 * 8.7e-6, rel=0.02)
    assert pair_p_value(first, first, effective_a=100.0, effective_b=100.0) == 1
    assert pair_p_value(first, second, effective_a=2.0, effective_b=2.0) == 1


def test_separation_against_its_null():
    null = np.linspace(0.4, 0.6, 101)
    found = separation_effect(TwoSampleTest(0.8, 0.01, null, 50, 50), limit=0.3)
    assert (found.value, found.noise) == (pytest.approx(0.6), pytest.approx(0.18))
    assert (found.limit, found.p_value, found.large) == (0.3, 0.01, True)
    assert separation_effect(TwoSampleTest(0.45, 0.9, null - 0.2, 50, 50), limit=0.3).value == 0


SAME = Effect("number of clusters", 0.05, 0.04, 0.15, 0.4)
BIG = Effect("co-assignment", 0.40, 0.05, 0.15, 0.001)
UNSURE = dataclasses.replace(BIG, p_value=0.006)
NOISY = dataclasses.replace(BIG, noise=0.41)
CERTAIN = dataclasses.replace(BIG, value=0.14)
WELL = Mixing(900.0, 1.002, constant=False)
BLOCKS = VariationBlocks(1.5, 1.0, 2.0, 0.01)


def mixed(**changes):
    return dataclasses.replace(WELL, **changes)


@pytest.mark.parametrize(
    ("effects", "first", "second", "level", "words"),
    [
        ([SAME, SAME], WELL, WELL, Trust.AGREE, "Gibbs and SALSO agree: number of clusters 0.05 (noise 0.0"),
        ([SAME, BIG], WELL, WELL, Trust.DIFFER, "Gibbs and SALSO differ: co-assignment 0.40 (noise 0.05)."),
        ([SAME, BIG], WELL, WELL, Trust.DIFFER, "are 1.50 bits apart on average; two of Gibbs 1.00"),
        ([SAME, UNSURE], WELL, WELL, Trust.UNKNOWN, "by chance"),
        ([SAME, NOISY], WELL, WELL, Trust.UNKNOWN, "co-assignment 0.40"),
        ([SAME, CERTAIN], WELL, WELL, Trust.AGREE, "small difference is certain"),
        ([BIG], mixed(max_rhat=1.06), WELL, Trust.UNKNOWN, "R-hat 1.060 in Gibbs, wanted at most 1.05"),
        ([BIG], WELL, mixed(max_rhat=np.inf), Trust.UNKNOWN, "largest R-hat inf"),
        ([BIG], WELL, mixed(max_rhat=np.nan), Trust.UNKNOWN, "R-hat could not be computed in SALSO"),
        ([BIG], WELL, mixed(effective=99.0), Trust.UNKNOWN, "fewest effective draws 99"),
        ([BIG], WELL, mixed(effective=101.0), Trust.DIFFER, "Only roughly known: SALSO"),
        ([SAME], mixed(max_rhat=1.03), WELL, Trust.AGREE, "Only roughly known: Gibbs"),
        ([SAME], mixed(constant=True), WELL, Trust.AGREE, "Every draw of Gibbs is"),
    ],
)
def test_verdicts(effects, first, second, level, words):
    found = judge_sources(effects, (first, second), names=("Gibbs", "SALSO"), variation=BLOCKS)
    assert found.level is level
    assert words in found.sentence
    assert ("roughly" in found.sentence) == ("roughly" in words)
    finding, last = found.findings[-1], effects[-1]
    assert (finding.value, finding.limit) == (last.value, last.limit)
    if first is second is WELL:
        assert {True: Trust.AGREE, False: Trust.DIFFER, None: Trust.UNKNOWN}[finding.passed] is level
