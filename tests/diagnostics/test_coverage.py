"""Credible balls and pair probabilities of exact draws are calibrated, for any number of draws."""

from itertools import combinations

import numpy as np
import pytest
from exchangeable_partitions import drawn
from scipy import stats

from pyroclust.diagnostics import ball_coverage, pair_reliability, variation_of_information
from pyroclust.diagnostics.coverage import _medoid_distances
from pyroclust.diagnostics.ranks import threshold_band


@pytest.mark.parametrize(("num_draws", "num_candidates"), [(1, 100), (2, 1), (4, 3), (30, 100)])
def test_ranks_of_exact_draws_are_uniform(num_draws: int, num_candidates: int) -> None:
    """Few draws and few partitions: most distances tie, and a centre that knew the truth would show."""
    rng = np.random.default_rng(num_draws)
    truth, draws = drawn(rng, num_datasets=3000, num_draws=num_draws)
    found = ball_coverage(truth, draws, seed=1, num_candidates=num_candidates)
    counts = np.bincount(found.ranks, minlength=num_draws + 1)
    assert len(counts) == num_draws + 1
    assert stats.chisquare(counts).pvalue > 0.001
    assert found.p_value > 0.001


def test_the_level_is_kept() -> None:
    p, inside = [], []
    for seed in range(150):
        truth, draws = drawn(np.random.default_rng(seed), num_datasets=80, num_draws=19)
        found = ball_coverage(truth, draws, seed=seed, band_level=0.8)
        p.append(found.p_value)
        inside.append(((found.low <= found.observed) & (found.observed <= found.high)).all())
    for level in (0.01, 0.1, 0.5):
        assert (np.array(p) < level).sum() <= stats.binom.ppf(0.999, len(p), level)
    assert np.quantile(p, 0.1) < 0.4
    assert stats.binom.ppf(0.001, len(p), 0.8) <= sum(inside) < len(p)


def around(rng: np.random.Generator, base: np.ndarray, number: int, share: float) -> np.ndarray:
    """Move a share of the points of each base partition to another place, ``(number, B, N)``."""
    moved = rng.random((number, *base.shape)) < share
    return np.where(moved, rng.integers(3, size=moved.shape), base)


@pytest.mark.parametrize(("share", "sign"), [(0.1, -1), (0.25, 0), (0.45, 1)])
def test_wrong_widths_are_rejected(share: float, sign: int) -> None:
    """Draws that vary too little have balls that are too small."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        base = rng.integers(3, size=(300, 12))
        truth, draws = around(rng, base, 1, 0.25)[0], around(rng, base, 49, share)
        found = ball_coverage(truth, draws, seed=seed)
        outside = (found.observed < found.low) | (found.observed > found.high)
        assert (found.p_value < 0.01) == outside.any() == (sign != 0)
        assert sign == 0 or np.sign((found.observed - found.levels).mean()) == sign


def test_distances_to_the_medoid_by_brute_force() -> None:
    sequence = np.random.default_rng(0).integers(5, size=(7, 9, 6))
    for num_candidates in (1, 4, 9):
        found = _medoid_distances(sequence, num_candidates)
        for own, rows in zip(found, sequence, strict=True):
            apart = np.array([variation_of_information(one, rows) for one in rows[:num_candidates]])
            best = apart.sum(1).argmin()
            np.testing.assert_allclose(own, apart[best], atol=1e-12)


def test_a_truth_far_from_all_draws_is_never_covered() -> None:
    truth, draws = np.arange(6) * np.ones((50, 1), dtype=int), np.zeros((9, 50, 6), dtype=int)
    found = ball_coverage(truth, draws, seed=0, levels=[0.3, 0.89])
    assert (found.ranks == 9).all()
    assert found.observed.tolist() == [0, 0]
    assert found.p_value < 1e-10
    # The truth may be in the ball that holds all of the ten.
    assert ball_coverage(truth, draws, seed=0, levels=[0.9, 0.99]).observed[1] > 0.5


def test_observed_coverage_follows_from_the_ranks() -> None:
    truth, draws = drawn(np.random.default_rng(0), num_datasets=300, num_draws=9)
    found = ball_coverage(truth, draws, seed=0, levels=[0.1, 0.35, 0.8])
    # Where (S + 1) times a level is whole, no random number within the rank plays a part.
    assert found.observed[0] == (found.ranks < 1).mean()
    assert found.observed[2] == (found.ranks < 8).mean()
    assert (found.ranks < 3).mean() <= found.observed[1] <= (found.ranks < 4).mean()
    assert (found.num_datasets, found.num_draws, found.band_level) == (300, 9, 0.95)
    assert found.levels.tolist() == [0.1, 0.35, 0.8]
    np.testing.assert_array_equal((found.low, found.high), threshold_band(300, found.levels))
    narrow = ball_coverage(truth, draws, seed=0, levels=[0.1, 0.35, 0.8], band_level=0.5)
    assert (narrow.high - narrow.low < found.high - found.low).all()


def test_refusals() -> None:
    truth, draws = np.zeros((3, 4), dtype=int), np.zeros((5, 3, 4), dtype=int)
    with pytest.raises(ValueError, match="rising numbers between 0 and 1"):
        ball_coverage(truth, draws, seed=0, levels=[0.5, 0.5])
    with pytest.raises(ValueError, match="rising numbers between 0 and 1"):
        ball_coverage(truth, draws, seed=0, levels=[0.5, 1.0])
    with pytest.raises(ValueError, match="num_candidates is 0"):
        ball_coverage(truth, draws, seed=0, num_candidates=0)
    with pytest.raises(ValueError, match="level is 1"):
        ball_coverage(truth, draws, seed=0, band_level=1)


@pytest.mark.parametrize("num_draws", [1, 5, 40])
def test_the_level_of_pairs_is_kept(num_draws: int) -> None:
    p, inside = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth, draws = drawn(rng, num_datasets=60, num_draws=num_draws)
        # Every point five times: pairs depend on each other as much as they can.
        found = pair_reliability(
            truth.repeat(5, -1), draws.repeat(5, -1), seed=seed, num_shuffles=199, num_bins=5, band_level=0.8
        )
        p.append(found.p_value)
        inside.append(((found.low <= found.observed) & (found.observed <= found.high)).all())
    for level in (0.02, 0.1, 0.5):
        share, count = np.mean(np.array(p) <= level), len(p)
        assert abs(share - level) < 3.3 * (level * (1 - level) / count) ** 0.5 + 0.01
    assert abs(np.mean(inside) - 0.8) < 0.1


@pytest.mark.parametrize("power", [0.4, 2.5])
def test_tempered_draws_are_rejected(power: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth, draws = drawn(rng, num_datasets=1600, num_draws=49, num_points=5, power=power)
        found = pair_reliability(truth, draws, seed=seed)
        assert found.p_value < 0.005
        assert ((found.observed < found.low) | (found.observed > found.high)).any()
        assert found.ece > 1.5 * found.ece_noise
        # Draws that are too sure: observed shares are nearer to the middle than predicted ones.
        slope = np.polyfit(found.predicted, found.observed, 1, w=found.counts**0.5)[0]
        assert (slope < 1) == (power > 1)


def test_a_slope_needs_few_data_sets() -> None:
    """No bin is far out by itself; all of them together are, in one direction."""
    p = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth, draws = drawn(rng, num_datasets=400, num_draws=49, num_points=5, power=0.4)
        p.append(pair_reliability(truth, draws, seed=seed).p_value)
    assert np.less_equal(p, 0.005).sum() >= 6


def test_every_figure_by_hand() -> None:
    truth, draws = drawn(np.random.default_rng(5), num_datasets=12, num_draws=7)
    every, bins = np.concatenate([truth[None], draws]), 4
    residual, mass, counts, outcomes, brier = np.zeros((12, 8, bins)), np.zeros(bins), np.zeros(bins), [], 0.0
    for b in range(12):
        for i, j in combinations(range(4), 2):
            same = (every[:, b, i] == every[:, b, j]).astype(float)
            share = same.mean()
            place = min(bins - 1, int(share * bins))
            residual[b, :, place] += same - share
            mass[place] += share
            counts[place] += 1
            outcomes.append(same[0])
            brier += (same[0] - same[1:].mean()) ** 2
    found = pair_reliability(truth, draws, num_bins=bins)
    sums, variances = residual[:, 0].sum(0), (residual**2).mean(1).sum(0)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_allclose(found.predicted, mass / counts)
    np.testing.assert_allclose(found.observed, (mass + sums) / counts)
    np.testing.assert_allclose(found.z_scores, sums / np.sqrt(variances))
    assert found.brier == pytest.approx(brier / len(outcomes))
    assert found.brier_prior == pytest.approx(np.var(outcomes))
    assert found.ece == pytest.approx(
        (counts * np.abs(found.observed - found.predicted)).sum() / counts.sum()
    )
    assert (found.num_datasets, found.num_draws, found.band_level) == (12, 7, 0.95)
    widths = (found.high - found.predicted) / (np.sqrt(variances) / counts)
    free = found.high < 1
    np.testing.assert_allclose(widths[free], widths[free][0])


def test_the_p_value_is_a_rank_in_the_metric_of_the_covariance() -> None:
    """Two data sets of one pair: the law of the statistic by enumeration."""
    truth = np.array([[0, 0], [0, 0]])
    draws = np.array([[[0, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 1], [0, 1]]])
    found = pair_reliability(truth, draws, num_bins=1, num_shuffles=9999)
    deviations = [((first < 1) - 0.25) + ((second < 3) - 0.75) for first in range(4) for second in range(4)]
    own = abs(0.75 + 0.25)
    expected = np.mean([abs(one) >= own - 1e-12 for one in deviations])
    assert found.p_value == pytest.approx(expected, abs=0.02)


def test_certain_pairs_are_reliable_where_they_are_right() -> None:
    truth = np.zeros((30, 6), dtype=int)
    right = pair_reliability(truth, np.zeros((9, 30, 6), dtype=int))
    assert (right.p_value, right.brier, right.ece, right.counts.tolist()) == (1.0, 0.0, 0.0, [450])
    assert right.low.tolist() == right.high.tolist() == right.predicted.tolist() == [1.0]
    assert right.z_scores.tolist() == [0.0]
    wrong = pair_reliability(truth, np.arange(6) * np.ones((9, 30, 1), dtype=int))
    assert wrong.p_value == pytest.approx(1 / 1000)
    assert wrong.brier == 1.0
    assert wrong.predicted.tolist() == pytest.approx([0.1])
