"""Effective draws of co-memberships of random pairs."""

import math

import numpy as np
import pytest
from chain_cases import restaurant_draws, sticky

from pyroclust.diagnostics import co_membership_ess, ess


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


def test_all_pairs_where_there_are_few_and_each_once():
    draws = restaurant_draws(np.random.default_rng(0), (2, 50), num_points=6, concentration=1.0)
    found = co_membership_ess(draws, num_pairs=100, seed=0)
    assert sorted(map(tuple, found.pairs.tolist())) == [(i, j) for i in range(6) for j in range(i + 1, 6)]


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


def test_slow_points_are_seen_where_the_number_of_clusters_mixes():
    rng = np.random.default_rng(4)
    draws = np.zeros((4, 1000, 10), dtype=int)
    draws[..., 5:8] = 1
    # Point 9 makes a cluster of its own now and then; points 3 and 4 change sides together, and rarely.
    draws[..., 9] = 2 * rng.integers(2, size=(4, 1000))
    slow = sticky(rng, rng.integers(2, size=(4, 1000, 1)), hold=0.98)
    draws[..., 3:5] = slow
    found = co_membership_ess(draws, seed=0)
    count = ess(2.0 + (draws[..., 9] == 2))
    assert count > 3000
    assert found.min < 150


def test_bad_arguments():
    with pytest.raises(ValueError, match="num_pairs is 0"):
        co_membership_ess(np.zeros((4, 5), dtype=int), num_pairs=0, seed=0)
    with pytest.raises(ValueError, match="labels from"):
        co_membership_ess(np.full((4, 5), 7), seed=0)
