"""Two-sample tests of partitions: level on independent draws and on slow chains, and power."""

import numpy as np
import pytest
from cases import short_and_long
from chain_cases import gibbs_chains, restaurant_draws, sticky
from scipy.stats import binom

from pyroclust.diagnostics import classifier_test, mmd_test, pairwise_loss, variation_of_information
from pyroclust.diagnostics.differences import (
    accuracies,
    against_null,
    count_test,
    independent_draws,
    mixing,
    permuted_memberships,
    squared_mmds,
    total_variations,
)
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.losses import Binder
from pyroclust.partitions import enumerate_partitions

TESTS = {"mmd": mmd_test, "classifier": classifier_test, "counts": count_test}


def draws_of(seed: int, shape: tuple[int, ...], concentration: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return restaurant_draws(rng, shape, num_points=12, concentration=concentration)


def chains_of(
    seed: int, concentration: float = 1.0, *, chains: int = 4, length: int = 1000, hold: float = 0.8
):
    rng = np.random.default_rng(seed)
    fresh = restaurant_draws(rng, (4, length), num_points=12, concentration=concentration)
    return sticky(rng, fresh, hold=hold)


def p_values(first: np.ndarray, second: np.ndarray, seed: int) -> list[float]:
    """All three tests of draws taken as they are."""
    pooled = np.concatenate([first, second])
    members = permuted_memberships(len(first), len(second), num_permutations=99, seed=seed)
    statistics = (
        squared_mmds(pairwise_loss(pooled, pooled, loss=Binder()), members),
        accuracies(pairwise_loss(pooled, pooled), members),
        total_variations(count_clusters(pooled), members),
    )
    return [against_null(found, members).p_value for found in statistics]


def check_level(found: np.ndarray) -> None:
    """The tests reject at 5 % and 50 % about as often as they say: no more, and not much less."""
    repeats = len(found)
    for level in (0.05, 0.5):
        rejected = (found <= level).sum(0)
        assert (rejected <= binom.ppf(0.999, repeats, level)).all(), (level, rejected)
        # The number of clusters has ties, which make its test reject less often than it might.
        assert (rejected[:2] >= binom.ppf(0.001, repeats, level)).all(), (level, rejected)


def test_level_on_independent_draws():
    sizes, found = (40, 90), []
    for repeat in range(200):
        draws = draws_of(repeat, (sum(sizes),))
        found.append(p_values(draws[: sizes[0]], draws[sizes[0] :], repeat))
    check_level(np.array(found))


@short_and_long("repeats", 50, 100)
def test_level_on_chains_that_repeat_themselves(repeats):
    found = []
    for repeat in range(repeats):
        first, second = (chains_of(seed, length=500, hold=0.7) for seed in (repeat, 1000 + repeat))
        sizes = [mixing(draws, seed=repeat).effective for draws in (first, second)]
        kept = [
            independent_draws(draws, seed=repeat, effective=size)
            for draws, size in zip((first, second), sizes, strict=True)
        ]
        found.append(p_values(*kept, repeat))
    check_level(np.array(found))


@short_and_long("repeats", 50, 100)
def test_level_on_weighted_draws(repeats):
    found = []
    for repeat in range(repeats):
        first, second = draws_of(repeat, (1000,), 1.5), draws_of(1000 + repeat, (200,))
        # Weights from a Chinese restaurant of concentration 1.5 to one of 1.0.
        weights = (1.0 / 1.5) ** count_clusters(first)
        size = mixing(first, seed=repeat, weights=weights).effective
        kept = independent_draws(first, seed=repeat, effective=size, weights=weights)[:200]
        found.append(p_values(kept, second, repeat))
    check_level(np.array(found))


@pytest.mark.parametrize("name", TESTS)
def test_power_against_another_concentration(name):
    assert TESTS[name](draws_of(0, (1500,)), chains_of(1, 3.0), seed=0).p_value <= 0.01


@pytest.mark.parametrize("name", TESTS)
def test_halves_of_one_chain_pass(name):
    start = draws_of(3, (1,))
    chain = gibbs_chains(np.random.default_rng(3), start, length=4000, concentration=1.0, moves=4)[0]
    found = TESTS[name](chain[:2000], chain[2000:], seed=0, num_permutations=199)
    assert found.p_value > 0.05
    assert found.null.shape == (199,)
    # Slow draws are thinned.
    assert max(found.num_a, found.num_b) < 500


def test_the_kernel_sees_a_difference_in_the_shape_alone():
    rng = np.random.default_rng(0)
    # Points 0-3 and 4-7 change sides together in one source, independently in the other.
    sides = rng.integers(2, size=(2, 1000, 1))
    base = np.zeros((1000, 12), dtype=int)
    base[:, 10:] = 1
    linked, free = base.copy(), base.copy()
    linked[:, :8] = sides[0]
    free[:, :4], free[:, 4:8] = sides[0], sides[1]
    assert mmd_test(linked, free, seed=0).p_value == 0.001
    assert mmd_test(linked, linked[::-1], seed=0).p_value > 0.05


def test_mmd_equals_its_definition():
    draws = draws_of(0, (30,))
    losses = pairwise_loss(draws, draws, loss=Binder())
    members = permuted_memberships(12, 18, num_permutations=5, seed=0)
    kernel = np.exp(-losses / np.median(losses[losses > 0]))
    for row, ours in zip(members.astype(bool), squared_mmds(losses, members), strict=True):
        a, b = kernel[np.ix_(row, row)], kernel[np.ix_(~row, ~row)]
        apart = [part[~np.eye(len(part), dtype=bool)].mean() for part in (a, b)]
        assert ours == pytest.approx(sum(apart) - 2 * kernel[np.ix_(row, ~row)].mean())


def test_only_the_binder_kernel_is_positive_definite():
    partitions = np.asarray(enumerate_partitions(6))
    for bandwidth in (0.05, 0.3, 2.0):
        kernel = np.exp(-pairwise_loss(partitions, partitions, loss=Binder()) / bandwidth)
        assert np.linalg.eigvalsh(kernel).min() > 0
    variation = variation_of_information(partitions[:, None], partitions)
    assert np.linalg.eigvalsh(np.exp(-variation / np.median(variation))).min() < -0.01


def test_a_classifier_with_unequal_sources_can_be_right_always():
    a, b = np.zeros((300, 6), dtype=int), np.arange(6) + np.zeros((1000, 6), dtype=int)
    found = classifier_test(a, b, seed=0, num_permutations=99)
    assert found.statistic == 1
    assert found.p_value == 0.01


def test_a_classifier_is_not_fooled_by_the_less_spread_out_source():
    members = permuted_memberships(400, 400, num_permutations=1, seed=0)[:1]
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        sources = [restaurant_draws(rng, (400,), num_points=30, concentration=c) for c in (1.0, 2.0)]
        pooled = np.concatenate(sources)
        found.append(accuracies(pairwise_loss(pooled, pooled), members)[0])
    # By a fixed majority 0.525.
    assert np.mean(found) > 0.58


def test_p_value_counts_ties_and_the_data_themselves():
    members = permuted_memberships(3, 4, num_permutations=4, seed=0)
    found = against_null(np.array([0.3, 0.1, 0.3 + 1e-12, 0.5, 0.2]), members)
    assert found.p_value == pytest.approx(3 / 5)
    assert (found.statistic, len(found.null), found.num_a, found.num_b) == (0.3, 4, 3, 4)


def test_mixing_and_thinning():
    fast, slow = draws_of(0, (4, 500)), chains_of(0, length=2000, hold=0.9)
    good, sticky_one = mixing(fast, seed=0), mixing(slow, seed=0)
    assert 1200 < good.effective <= 2000
    # Holding with probability 0.9 costs a factor of 19.
    assert 200 < sticky_one.effective < 600
    assert sticky_one.max_rhat < 1.05
    assert len(independent_draws(slow, seed=0, effective=400.0)) == 200
    assert len(independent_draws(slow, seed=0, effective=1e6)) == 500
    assert len(independent_draws(slow, seed=0, effective=3.0)) == 20
    assert len(independent_draws(slow[0, :5], seed=0, effective=3.0)) == 5
    still = mixing(np.zeros((2, 60, 4), dtype=int), seed=0)
    assert (still.effective, still.max_rhat, still.constant) == (120.0, 1.0, True)
    assert mixing(draws_of(0, (4, 3)), seed=0).effective == 0
    stuck = np.stack([np.zeros((50, 4), dtype=int), np.tile([0, 0, 1, 1], (50, 1))])
    assert mixing(stuck, seed=0).max_rhat == np.inf


def test_thinned_draws_are_spread_over_all_chains():
    draws = np.arange(400).reshape(4, 100, 1) + np.zeros((1, 1, 400), dtype=int)
    kept = independent_draws(draws, seed=0, effective=80.0)[:, 0]
    assert (np.diff(kept) == 10).all()
    assert (kept[0], kept[-1]) == (5, 395)


def test_resampling_keeps_to_the_weights_and_takes_nothing_twice():
    rng = np.random.default_rng(0)
    draws = np.arange(1000)[:, None] + np.zeros((1, 1000), dtype=int)
    weights = rng.exponential(size=1000)
    effective = mixing(draws[:, :1000], seed=0, weights=weights).effective
    assert effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    counts = np.zeros(1000)
    for seed in range(300):
        kept = independent_draws(draws, seed=seed, effective=effective, weights=weights)[:, 0]
        assert len(np.unique(kept)) == len(kept)
        assert 100 < len(kept) <= min(effective, 500)
        counts[kept] += 1
    share, found = weights / weights.sum(), counts / counts.sum()
    assert np.abs(share - found).sum() / 2 < 0.06
    # One draw with nearly all the weight is one draw, not many copies.
    weights[17] = 1e9
    assert independent_draws(draws, seed=0, effective=400.0, weights=weights)[:, 0].tolist() == [17]


def test_bad_arguments():
    good = draws_of(0, (50,))
    with pytest.raises(ValueError, match="12 and 5 points"):
        mmd_test(good, good[:, :5] % 5, seed=0)
    with pytest.raises(ValueError, match="num_permutations is 0"):
        classifier_test(good, good, seed=0, num_permutations=0)
    with pytest.raises(ValueError, match="1 and 20 independent draws"):
        count_test(good[:1], good, seed=0)
    with pytest.raises(ValueError, match="weights has 3 entries"):
        mmd_test(good, good, seed=0, weights=np.ones(3))


def neighbour_weights(losses: np.ndarray, draw: int) -> np.ndarray:
    """The nearest others count one each; those that are equally far at the edge share what is left."""
    number = max(1, round(len(losses) ** 0.5))
    others = [other for other in range(len(losses)) if other != draw]
    edge = sorted(losses[draw, others])[number - 1]
    nearer = [other for other in others if losses[draw, other] < edge]
    tied = [other for other in others if losses[draw, other] == edge]
    weights = np.zeros(len(losses))
    weights[nearer] = 1.0
    weights[tied] = (number - len(nearer)) / len(tied)
    return weights


def accuracy(losses: np.ndarray, in_a: np.ndarray) -> float:
    """A draw is called one of A if A, without it, has the larger share near it; as many draws as A has."""
    size = {True: in_a.sum(), False: (~in_a).sum()}
    score = []
    for draw, own in enumerate(in_a):
        near = neighbour_weights(losses, draw)
        share = {side: near[in_a == side].sum() / (size[side] - (own == side)) for side in (True, False)}
        score.append(round(share[True] - share[False], 9))
    ranked = np.array(score)
    edge = np.sort(ranked)[::-1][size[True] - 1]
    above, tied = ranked > edge, ranked == edge
    says_a = above + tied * (size[True] - above.sum()) / tied.sum()
    return (says_a[in_a].mean() + (1 - says_a[~in_a]).mean()) / 2


@pytest.mark.parametrize("sizes", [(7, 13), (13, 7), (2, 9)])
@pytest.mark.parametrize("points", [3, 12])
def test_accuracy_equals_its_definition(sizes, points):
    # Three points have few partitions: nearly all distances are tied.
    rng = np.random.default_rng(points)
    draws = np.concatenate(
        [rng.integers(2, size=(sizes[0], points)), rng.integers(3, size=(sizes[1], points))]
    )
    losses = pairwise_loss(draws, draws).round(9)
    members = permuted_memberships(*sizes, num_permutations=20, seed=0)
    expected = [accuracy(losses, row.astype(bool)) for row in members]
    np.testing.assert_allclose(accuracies(losses, members), expected, atol=1e-9)


def test_one_functional_that_stands_still_in_each_chain_is_enough():
    # Distances between draws hardly see it: three clusters always in the one chain, four in the other.
    draws = np.random.default_rng(0).integers(3, size=(2, 200, 20))
    draws[:, :, :3] = [0, 1, 2]
    draws[1, :, 3] = 3
    found = mixing(draws, seed=0)
    assert found.max_rhat == np.inf
    assert found.effective < 3
