"""The co-assignment matrix against brute force, and cuts of its tree against scipy's."""

import sys

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree

from pyroclust.diagnostics import co_assignment
from pyroclust.diagnostics.frequencies import average_linkage, cuts
from pyroclust.partitions.raw_labels import renumbered


def brute_force(draws, shares):
    total = np.zeros((draws.shape[1], draws.shape[1]))
    for labels, share in zip(draws, shares, strict=True):
        total += share * (labels[:, None] == labels)
    return total


# Below, at and above the tiles of 256 points and 128 draws, and more clusters than a byte counts.
@pytest.mark.parametrize(
    ("num_draws", "num_points", "num_clusters"),
    [(1, 1, 1), (5, 3, 3), (127, 255, 4), (128, 256, 4), (129, 257, 256), (300, 600, 3), (20, 700, 700)],
)
@pytest.mark.parametrize("entries", [16_000_000, 30_000])
def test_against_brute_force(num_draws, num_points, num_clusters, entries, monkeypatch):
    monkeypatch.setattr(sys.modules["pyroclust.diagnostics.frequencies"], "_BLOCK_ENTRIES", entries)
    rng = np.random.default_rng(0)
    draws = rng.integers(num_clusters, size=(num_draws, num_points))
    found = co_assignment(draws)
    expected = brute_force(draws, np.full(num_draws, 1.0)) / num_draws
    np.testing.assert_array_equal(found, expected)
    weights = rng.random(num_draws)
    found = co_assignment(draws, weights=weights)
    np.testing.assert_allclose(found, brute_force(draws, weights / weights.sum()), atol=1e-6)
    np.testing.assert_array_equal(found, found.T)
    assert found.max() <= 1


def test_uneven_weights_keep_their_ratio():
    draws = np.array([[0, 0], [0, 1]])
    found = co_assignment(draws, weights=np.array([1e-12, 1.0]))
    assert found[0, 1] == pytest.approx(1e-12, rel=1e-5)


@pytest.mark.parametrize("num_draws", [1, 2, 3, 10])
@pytest.mark.parametrize("num_points", [2, 3, 8, 25])
def test_cuts_are_those_of_scipy_where_heights_are_equal_too(num_draws: int, num_points: int):
    rng = np.random.default_rng(num_draws)
    for _ in range(10):
        draws = rng.integers(min(3, num_points), size=(num_draws, num_points))
        tree = average_linkage(co_assignment(draws))
        most = int(rng.integers(1, num_points + 1))
        expected = cut_tree(tree, n_clusters=np.arange(most, 0, -1)).T
        np.testing.assert_array_equal(cuts(tree, most), renumbered(expected.astype(np.int64)))
