"""Convergence of the distances to reference partitions."""

import math

import numpy as np
import pytest
from chain_cases import restaurant_draws, sticky

from pyroclust.diagnostics import (
    convergence,
    distance_rhat,
    ess,
    functionals,
    max_rhat,
    rhat,
    variation_of_information,
)
from pyroclust.diagnostics.draws.losses import Binder

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
    plain = convergence(
        {name: values[name].round(9) for name in ("num_clusters", "entropy", "largest_share")}
    )
    assert all(row.constant for row in plain)
    assert max_rhat(plain) == 1
    found = distance_rhat(draws, seed=0)
    assert found.rhat > 1.5
    assert found.min_ess < 20
    one_mode = distance_rhat(draws[:2], seed=0)
    assert one_mode.rhat < 1.02
    assert one_mode.min_ess > 200


@pytest.mark.parametrize("seed", range(20))
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


def test_another_loss():
    draws = restaurant_draws(np.random.default_rng(2), (2, 100), num_points=6, concentration=1.0)
    found = distance_rhat(draws, seed=0, loss=Binder())
    assert (found.rhats != distance_rhat(draws, seed=0).rhats).any()
    assert found.rhats[0] == pytest.approx(rhat(Binder()(found.references[0], draws).round(9)))


def test_one_chain_is_split():
    rng = np.random.default_rng(3)
    first = restaurant_draws(rng, (1, 300), num_points=10, concentration=0.3)
    second = restaurant_draws(rng, (1, 300), num_points=10, concentration=5.0)
    assert distance_rhat(np.concatenate([first, second], axis=1), seed=0).rhat > 1.3
    assert distance_rhat(first[0], seed=0).rhat < 1.05


def test_a_single_partition_is_constant():
    found = distance_rhat(np.zeros((2, 20, 4), dtype=int), seed=0)
    assert np.isnan(found.rhats).all()
    assert (found.rhat, found.min_ess) == (1.0, math.inf)


def test_too_few_draws_are_undefined_not_good():
    draws = restaurant_draws(np.random.default_rng(5), (4, 3), num_points=8, concentration=2.0)
    assert distance_rhat(draws, seed=0).rhat == math.inf


def test_bad_arguments():
    with pytest.raises(ValueError, match="num_references is 0"):
        distance_rhat(np.zeros((4, 5), dtype=int), num_references=0, seed=0)
