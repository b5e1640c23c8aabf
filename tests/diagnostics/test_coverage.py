"""Credible balls of exact draws cover as they say, for any number of draws; others do not."""

import numpy as np
import pytest
from exchangeable_partitions import drawn
from scipy import stats

from pyroclust.diagnostics import ball_coverage, variation_of_information
from pyroclust.diagnostics.coverage import _medoid_distances
from pyroclust.diagnostics.ranks import threshold_band


@pytest.mark.parametrize("num_draws", [1, 2, 4, 30])
@pytest.mark.parametrize("num_candidates", [1, 3, 100])
def test_ranks_of_exact_draws_are_uniform(num_draws: int, num_candidates: int) -> None:
    """Few draws and few partitions: most distances tie, and a centre that knew the truth would show."""
    rng = np.random.default_rng(num_draws)
    truth, draws = drawn(rng, num_datasets=6000, num_draws=num_draws)
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


def test_names_of_clusters_play_no_part() -> None:
    truth, draws = drawn(np.random.default_rng(0), num_datasets=50, num_draws=19)
    first = ball_coverage(truth, draws, seed=3)
    again = ball_coverage(3 - truth, 3 - draws, seed=3)
    np.testing.assert_array_equal(first.ranks, again.ranks)
    mixed = ball_coverage(3 - truth, draws, seed=3)
    np.testing.assert_array_equal(first.ranks, mixed.ranks)
    assert (ball_coverage(truth, draws, seed=4).ranks != first.ranks).any()


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
