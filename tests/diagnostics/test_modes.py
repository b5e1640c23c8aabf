import itertools

import numpy as np
import pytest

from pyroclust.diagnostics import Binder, pairwise_loss, partition_modes, variation_of_information
from pyroclust.diagnostics.point_estimates import medoids, silhouette

FIRST, SECOND = np.repeat(np.arange(3), 20), np.tile(np.arange(2), 30)


def around(partition, rng, num_draws, noise):
    wrong = rng.random((num_draws, len(partition))) < noise
    return np.where(wrong, rng.integers(partition.max() + 1, size=wrong.shape), partition)


@pytest.mark.parametrize("seed", range(5))
def test_two_modes_are_found_with_their_weights(seed):
    rng = np.random.default_rng(seed)
    draws = np.concatenate([around(FIRST, rng, 140, 0.05), around(SECOND, rng, 60, 0.05)])
    found = partition_modes(draws.reshape(2, 100, 60), seed=seed)
    assert found.weights == pytest.approx([0.7, 0.3])
    np.testing.assert_array_equal(found.members, np.repeat([0, 1], [140, 60]))
    for mode, truth in zip(found.partitions, (FIRST, SECOND), strict=True):
        assert variation_of_information(mode, truth) < 0.5
    for k, mode in enumerate(found.partitions):
        away = variation_of_information(mode, draws[found.members == k])
        assert found.spread[k] == pytest.approx(away.mean())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3, 1.0])
def test_one_mode_is_enough(seed, noise):
    rng = np.random.default_rng(seed)
    draws = around(FIRST, rng, 200, noise)
    found = partition_modes(draws, seed=seed)
    assert found.weights.tolist() == [1.0]
    assert (found.members == 0).all()


def test_one_undecided_point_and_rare_outliers_are_no_modes():
    rng = np.random.default_rng(0)
    large = np.repeat(np.arange(4), 50)
    draws = np.repeat(large[None], 200, axis=0)
    draws[rng.random(200) < 0.5, 0] = 1
    assert len(partition_modes(draws, seed=0).weights) == 1
    outliers = np.concatenate([around(FIRST, rng, 195, 0.02), around(SECOND, rng, 5, 0.02)])
    assert len(partition_modes(outliers, seed=0).weights) == 1
    assert partition_modes(outliers, seed=0, num_modes=2).weights == pytest.approx([0.975, 0.025])


def test_two_clouds_that_run_into_each_other_are_one_mode():
    rng = np.random.default_rng(4)
    draws = np.concatenate([around(FIRST, rng, 100, 0.4), around(SECOND, rng, 100, 0.4)])
    assert len(partition_modes(draws, seed=0).weights) == 1


def test_more_distinct_draws_than_are_searched(monkeypatch):
    monkeypatch.setattr("pyroclust.diagnostics.point_estimates.paired_draws", lambda _: 60)
    rng = np.random.default_rng(3)
    draws = np.concatenate([around(FIRST, rng, 140, 0.05), around(SECOND, rng, 60, 0.05)])
    found = partition_modes(draws, seed=0)
    assert found.weights == pytest.approx([0.7, 0.3])
    assert len(found.members) == 200
    again = partition_modes(draws, seed=0)
    np.testing.assert_array_equal(found.partitions, again.partitions)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_medoids_are_the_best_of_all_subsets(number):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(14, 2)) + 3 * rng.integers(3, size=(14, 1))
        losses = np.linalg.norm(places[:, None] - places, axis=-1) * rng.uniform(0.9, 1.1, size=(14, 14))
        np.fill_diagonal(losses, 0)
        mass = rng.dirichlet(np.ones(14))
        subsets = itertools.combinations(range(14), number)
        best = min(losses[list(subset)].min(0) @ mass for subset in subsets)
        chosen = medoids(losses, mass, number, rng)
        assert losses[chosen].min(0) @ mass == pytest.approx(best, rel=1e-9)


def test_silhouette_by_hand():
    places = np.array([0.0, 1.0, 4.0])
    losses, mass = np.abs(places[:, None] - places), np.array([0.2, 0.2, 0.6])
    # a = (1/2, 1/2, 0), b = (4, 3, 3.5)
    expected = 0.2 * 3.5 / 4 + 0.2 * 2.5 / 3 + 0.6
    assert silhouette(losses, mass, np.array([0, 0, 1])) == pytest.approx(expected)


def test_a_given_number_and_loss():
    draws = np.array([[0, 0, 1, 1]] * 3 + [[0, 0, 0, 1]] * 2 + [[0, 1, 2, 3]])
    found = partition_modes(draws, seed=0, num_modes=3, loss=Binder())
    assert found.partitions.tolist() == [[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 3]]
    assert found.members.tolist() == [0, 0, 0, 1, 1, 2]
    assert found.spread.tolist() == [0, 0, 0]
    two = partition_modes(draws, seed=0, num_modes=2, loss=Binder())
    losses = pairwise_loss(two.partitions, draws, loss=Binder())
    np.testing.assert_array_equal(losses.argmin(0), two.members)
    with pytest.raises(ValueError, match="num_modes is 4, expected at most 3"):
        partition_modes(draws, seed=0, num_modes=4)
    with pytest.raises(ValueError, match="num_modes is 0"):
        partition_modes(draws, seed=0, num_modes=0)
