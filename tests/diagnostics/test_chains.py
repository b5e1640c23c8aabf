"""Functionals, R-hat and effective draws: of numbers, of distances to references, of pairs."""

import itertools
import math

import numpy as np
import pytest
from chain_cases import restaurant_draws, sticky

from pyroclust.diagnostics import (
    agreement,
    co_assignment,
    co_membership_ess,
    convergence,
    dendrogram_order,
    distance_rhat,
    ess,
    functionals,
    max_rhat,
    min_ess,
    rhat,
    variation_of_information,
)
from pyroclust.diagnostics.chains import convergence_with_log_joint, least_rows, num_large_clusters
from pyroclust.partitions import Draws
from pyroclust.results.answer import AnswerInWords
from pyroclust.results.summaries import DrawsSummary


def test_good_and_bad_chains():
    rng = np.random.default_rng(0)
    good = rng.standard_normal((4, 1000))
    assert rhat(good) < 1.01
    assert 3000 < ess(good) < 5500
    assert rhat(good + 3 * np.arange(4)[:, None]) > 1.5
    assert ess(good + 3 * np.arange(4)[:, None]) < 20
    drifting = good + np.linspace(0, 5, 1000)
    assert rhat(drifting) > 1.3


def test_autocorrelation_costs_draws():
    rng = np.random.default_rng(1)
    x, noise = np.zeros((4, 4000)), rng.standard_normal((4, 4000))
    for t in range(1, 4000):
        x[:, t] = 0.9 * x[:, t - 1] + noise[:, t]
    # ESS of AR(1) is n (1 - a) / (1 + a) = 842.
    assert 500 < ess(x) < 1300


def test_constant_is_said_to_be_constant():
    row, moving = convergence({"K": np.full((4, 50), 3.0), "L": np.random.default_rng(0).random((4, 50))})
    assert row.constant
    assert (row.mean, row.sd) == (3, 0)
    assert math.isnan(row.rhat)
    assert math.isnan(row.ess_bulk)
    assert not moving.constant
    assert max_rhat([row, moving]) == moving.rhat
    assert min_ess([row, moving]) == moving.ess_bulk
    assert (max_rhat([row]), min_ess([row])) == (1, math.inf)


def test_chains_that_stand_still_apart():
    x = np.repeat([[1.0], [1.0], [2.0], [2.0]], 100, axis=1)
    assert rhat(x) == math.inf
    (row,) = convergence({"K": x})
    assert not row.constant
    assert max_rhat([row]) == math.inf
    halves = np.repeat([[0.0, 1.0]], 10, axis=1)
    assert np.isnan(rhat(halves))
    assert max_rhat(convergence({"num_clusters": halves})) == np.inf


def test_a_fair_coin_has_an_rhat():
    coin = np.random.default_rng(0).integers(2, size=(4, 400)).astype(float)
    assert rhat(coin) < 1.02
    assert ess(coin) > 1000


NUM_POINTS = 12


def two_modes() -> np.ndarray:
    """Four chains in two modes: always three clusters of four points, one of four points moves."""
    first = np.repeat([0, 1, 2], 4)
    second = np.tile([0, 1, 2], 4)
    rng = np.random.default_rng(0)
    draws = np.stack([first, first, second, second])[:, None].repeat(300, axis=1)
    # Two points of different clusters change places: the sizes stay, the partition does not.
    swaps = rng.integers(1, NUM_POINTS, size=(4, 300))
    rows = np.arange(4)[:, None], np.arange(300)
    other = (swaps + 1) % NUM_POINTS
    here, there = draws[(*rows, swaps)].copy(), draws[(*rows, other)].copy()
    draws[(*rows, swaps)], draws[(*rows, other)] = there, here
    return draws


def test_modes_with_equal_sizes_are_told_apart():
    draws = two_modes()
    values = functionals(draws, reference=np.zeros(NUM_POINTS, dtype=int), num_pairs=0)
    plain = convergence({name: values[name] for name in ("num_clusters", "entropy", "largest_share")})
    assert all(row.constant for row in plain)
    assert max_rhat(plain) == 1
    found = distance_rhat(draws, seed=0)
    assert found.rhat > 1.5
    assert found.min_ess < 20
    one_mode = distance_rhat(draws[:2], seed=0)
    assert one_mode.rhat < 1.02
    assert one_mode.min_ess > 200


@pytest.mark.parametrize("seed", range(5))
def test_one_chain_in_another_mode_is_always_seen(seed):
    draws = two_modes()[[0, 1, 0, 2]]
    assert distance_rhat(draws, seed=seed, num_references=4).rhat > 1.3


def test_figures_are_those_of_each_distance():
    rng = np.random.default_rng(1)
    draws = sticky(rng, restaurant_draws(rng, (3, 200), num_points=8, concentration=1.0), hold=0.5)
    found = distance_rhat(draws, seed=0, num_references=5)
    assert found.references.shape == (5, 8)
    for reference, ours, size in zip(found.references, found.rhats, found.ess, strict=True):
        distances = variation_of_information(draws, reference).round(9)
        assert ours == pytest.approx(rhat(distances))
        assert size == pytest.approx(ess(distances))
    assert found.rhat == found.rhats.max()
    assert found.min_ess == found.ess.min()


def test_references_come_from_every_chain():
    draws = np.arange(4)[:, None, None] * np.array([0, 0, 1, 1, 1]) + np.zeros((4, 30, 5), dtype=int)
    draws[2:, :, 0] = 4
    found = distance_rhat(draws, seed=0, num_references=4)
    assert (found.references == draws[:, 0]).all()
    assert found.rhat == math.inf


def test_rounding_of_sums_is_no_difference_between_chains():
    """Each chain adds up the density of the partition that nearly all draws have in another order."""
    rng = np.random.default_rng(0)
    draws = (rng.random((4, 500, 1)) < 0.05) * np.array([0, 0, 1])
    log_joint = -3000.0 - 2.5 * draws[..., 2] + 5e-13 * np.arange(4)[:, None]
    assert rhat(log_joint) > 1.2
    rows = {row.name: row for row in convergence_with_log_joint(draws, log_joint)}
    assert rows["log_joint"].rhat < 1.01
    assert (
        max_rhat(DrawsSummary(Draws(assignments=draws, log_joint=log_joint), name="MCMC", seed=0).convergence)
        < 1.01
    )


def test_equal_sums_in_another_order_are_equal():
    """Clusters of 1, 2, 3, 5 and 7 rows, and distances to one partition, whatever comes first."""
    sizes = np.array(list(itertools.permutations([1, 2, 3, 5, 7])))
    draws = np.stack([np.repeat(np.arange(5), one) for one in sizes])
    values = functionals(draws[None], reference=np.zeros(18, dtype=int))
    assert np.unique(values["entropy"]).size == np.unique(values["distance_to_reference"]).size == 1


def test_one_chain_is_split():
    rng = np.random.default_rng(3)
    first = restaurant_draws(rng, (1, 300), num_points=10, concentration=0.3)
    second = restaurant_draws(rng, (1, 300), num_points=10, concentration=5.0)
    assert distance_rhat(np.concatenate([first, second], axis=1), seed=0).rhat > 1.3
    assert distance_rhat(first[0], seed=0).rhat < 1.05


def test_a_single_partition_is_constant_and_too_few_draws_are_not_good():
    found = distance_rhat(np.zeros((2, 20, 4), dtype=int), seed=0)
    assert np.isnan(found.rhats).all()
    assert (found.rhat, found.min_ess) == (1.0, math.inf)
    draws = restaurant_draws(np.random.default_rng(5), (4, 3), num_points=8, concentration=2.0)
    assert distance_rhat(draws, seed=0).rhat == math.inf


def test_every_pair_is_as_it_is_alone():
    draws = restaurant_draws(np.random.default_rng(0), (3, 200), num_points=7, concentration=1.5)
    found = co_membership_ess(draws, num_pairs=12, seed=1)
    assert found.pairs.shape == (12, 2)
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    for (i, j), value in zip(found.pairs, found.ess, strict=True):
        assert value == pytest.approx(ess((draws[..., i] == draws[..., j]).astype(float)))
    assert found.min == found.ess.min()
    assert found.median == np.median(found.ess)
    assert found.num_constant == 0


def test_pairs_of_many_points():
    draws = np.zeros((1, 4, 3000), dtype=int)
    draws[..., 1500:] = 1
    found = co_membership_ess(draws, num_pairs=4000, seed=2)
    assert len(np.unique(found.pairs, axis=0)) == 4000
    assert found.pairs.min() >= 0
    assert found.pairs.max() < 3000
    # Uniform over the pairs: the mean of the smaller index is N / 3, of the larger 2 N / 3.
    assert found.pairs.mean(0) == pytest.approx([1000, 2000], abs=50)
    other = co_membership_ess(draws, num_pairs=4000, seed=3)
    assert (found.pairs != other.pairs).any()


def test_constant_pairs_are_counted_and_left_out():
    draws = np.zeros((4, 100, 4), dtype=int)
    draws[..., 1] = 1
    draws[..., 3] = np.random.default_rng(0).integers(2, size=(4, 100))
    found = co_membership_ess(draws, seed=0)
    # 0 and 2 are always together, 1 is always apart from both.
    assert found.num_constant == 3
    constant = {(0, 1), (0, 2), (1, 2)}
    for pair, value in zip(found.pairs.tolist(), found.ess, strict=True):
        assert math.isnan(value) == (tuple(pair) in constant)
    assert 200 < found.min <= found.median < 600


def test_draws_that_never_change_or_are_too_few():
    still = co_membership_ess(np.zeros((2, 50, 5), dtype=int), seed=0)
    assert (still.num_constant, still.min, still.median) == (10, math.inf, math.inf)
    few = co_membership_ess(np.array([[0, 0, 1], [0, 1, 1]]), seed=0)
    assert np.isnan(few.ess).all()
    assert few.min == 0
    alone = co_membership_ess(np.zeros((10, 1), dtype=int), seed=0)
    assert len(alone.pairs) == 0


@pytest.mark.parametrize("num_points", [1, 2, 7, 199, 200, 201, 1000])
def test_clusters_are_counted_by_their_rows(num_points):
    draws = np.random.default_rng(num_points).geometric(0.05, size=(4, 30, num_points)) % num_points
    least = max(2, -(-num_points // 100))
    assert least_rows(num_points) == least
    expected = [[(np.bincount(draw) >= least).sum() for draw in chain] for chain in draws]
    np.testing.assert_array_equal(num_large_clusters(draws), expected)


def summary_of(draws: np.ndarray) -> DrawsSummary:
    return DrawsSummary(Draws(name="made up", assignments=draws), name="MCMC", seed=0)


def test_the_first_screen_says_it_where_single_rows_are_counted():
    # Of 20 rows one is alone in nine draws of ten, and another one in three of them.
    draws = np.zeros((1, 10, 20), dtype=np.int64)
    draws[..., 10:] = 1
    draws[:, 1:, -1] = 2
    draws[:, 7:, -2] = 3
    summary = summary_of(draws)
    found = AnswerInWords.of(summary, rely="Yes", following="", given="")
    assert (found.num_clusters, found.interval) == (3, (2, 4))
    large = found.large_clusters
    assert (large.least_rows, large.num_clusters, large.probability, large.interval) == (2, 2, 1.0, (2, 2))
    assert dict(found.lines)["Large ones"] == (
        "2 clusters of at least 2 rows (probability 1.00; 90 % interval 2)"
    )
    figures = summary.short_figures()["num_large_clusters"]
    assert figures["least_rows"] == 2
    assert dict(zip(figures["values"].tolist(), figures["probabilities"], strict=True))[2] == 1.0


def test_the_first_screen_says_it_once_where_both_are_the_same():
    draws = np.tile(np.repeat([0, 1], 10), (1, 10, 1))
    assert "Large ones" not in dict(
        AnswerInWords.of(summary_of(draws), rely="Yes", following="", given="").lines
    )


def test_dendrogram_order_puts_blocks_together():
    labels = np.array([0, 1, 0, 1, 2, 0, 2])
    order = dendrogram_order(co_assignment(labels[None]))
    assert sorted(order) == list(range(7))
    assert (np.diff(labels[order]) != 0).sum() == 2


def test_functionals_by_hand():
    draws = np.array([[[0, 0, 1, 1], [0, 1, 2, 3]], [[0, 0, 0, 1], [0, 0, 0, 0]]])
    values = functionals(draws, reference=np.array([0, 0, 1, 1]))
    assert values["num_clusters"].tolist() == [[2, 4], [2, 1]]
    np.testing.assert_allclose(values["entropy"], [[1, 2], [0.8112781244591328, 0]])
    assert values["largest_share"].tolist() == [[0.5, 0.25], [0.75, 1.0]]
    np.testing.assert_allclose(values["distance_to_reference"][0], [0, 1])
    pairs = [name for name in values if name.startswith("together")]
    assert len(pairs) == len(set(pairs)) == 5
    first, second = (int(point) for point in pairs[0].split("_")[1:])
    np.testing.assert_array_equal(values[pairs[0]], draws[..., first] == draws[..., second])
    assert list(functionals(draws, seed=0)) == list(functionals(draws[:1], seed=0))


def test_agreement_of_known_sources():
    together, apart = np.zeros((2, 50, 4), dtype=int), np.tile(np.arange(4), (2, 50, 1))
    found = agreement(together, apart)
    assert (found.total_variation, found.largest_difference, found.mean_difference) == (1, 1, 1)
    assert (found.noise_total_variation, found.noise_largest_difference) == (0, 0)
    split = np.concatenate([together[:1], apart[:1]])
    assert agreement(split, split).largest_difference == 0
    assert agreement(split, split).noise_mean_difference == 1
    weights = np.repeat([0.0, 1.0], 50)
    assert agreement(split, apart, weights=weights).largest_difference == 0
    halves = np.concatenate([together[0], apart[0]])
    assert agreement(halves, halves).noise_largest_difference == 1
