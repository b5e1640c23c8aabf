"""How many independent draws chains are worth, and whether they agree with one another."""

import numpy as np
import pytest

from pyroclust.diagnostics import compare_sources
from pyroclust.diagnostics.chains.thinning import mixing


def test_chains_that_stand_still_apart_have_not_converged():
    draws = np.zeros((2, 50, 4), dtype=int)
    draws[1, :, 2:] = 1
    found = mixing(draws, seed=0)
    assert found.max_rhat == np.inf
    assert not found.constant


def test_one_functional_that_stands_still_in_each_chain_is_enough():
    # Distances between draws hardly see it: three clusters always in the one chain, four in the other.
    draws = np.random.default_rng(0).integers(3, size=(2, 200, 20))
    draws[:, :, :3] = [0, 1, 2]
    draws[1, :, 3] = 3
    found = mixing(draws, seed=0)
    assert found.max_rhat == np.inf
    assert found.effective < 3


def test_one_partition_everywhere_is_constant():
    found = mixing(np.zeros((2, 50, 4), dtype=int), seed=0)
    assert (found.max_rhat, found.effective, found.constant) == (1.0, 100.0, True)


def test_weights_are_worth_their_effective_number():
    draws = np.random.default_rng(0).integers(2, size=(40, 4))
    weights = np.repeat([1.0, 0.0], [10, 30])
    assert mixing(draws, seed=0, weights=weights).effective == pytest.approx(10)


def test_the_seed_decides_the_permutations():
    rng = np.random.default_rng(0)
    # So many that the tests take 500 of each whatever the seed.
    first, second = rng.integers(3, size=(2, 3000, 6))
    found = [compare_sources(first, second, seed=seed, num_permutations=99) for seed in (1, 1, 2)]
    assert (found[0].mmd.null == found[1].mmd.null).all()
    assert (found[0].counts.null != found[2].counts.null).any()
