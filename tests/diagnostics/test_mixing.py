"""How many independent draws chains are worth, and whether they agree with one another."""

import numpy as np
import pytest

from pyroclust.diagnostics import compare_sources
from pyroclust.diagnostics.thinning import mixing


def test_chains_that_stand_still_apart_have_not_converged():
    draws = np.zeros((2, 50, 4), dtype=int)
    draws[1, :, 2:] = 1
    found = mixing(draws, seed=0)
    assert found.max_rhat == np.inf
    assert not found.constant


def test_one_partition_everywhere_is_constant():
    found = mixing(np.zeros((2, 50, 4), dtype=int), seed=0)
    assert (found.max_rhat, found.effective, found.constant) == (1.0, 100.0, True)


def test_weights_are_worth_their_effective_number():
    draws = np.random.default_rng(0).integers(2, size=(40, 4))
    weights = np.repeat([1.0, 0.0], [10, 30])
    assert mixing(draws, seed=0, weights=weights).effective == pytest.approx(10)


def test_the_seed_decides_the_permutations():
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=(2, 300, 6))
    found = [compare_sources(first, second, seed=seed, num_permutations=99) for seed in (1, 1, 2)]
    assert (found[0].mmd.null == found[1].mmd.null).all()
    assert (found[0].counts.null != found[2].counts.null).any()
