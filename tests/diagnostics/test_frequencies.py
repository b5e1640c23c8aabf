"""The co-assignment matrix, cuts of its tree, distinct draws and entropies, against brute force."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree
from scipy.stats import entropy

from pyroclust.diagnostics import co_assignment, partition_entropy
from pyroclust.diagnostics.frequencies import average_linkage, cuts
from pyroclust.diagnostics.labels import distinct_draws
from pyroclust.partitions import enumerate_partitions
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
    monkeypatch.setattr("pyroclust.diagnostics.frequencies._BLOCK_ENTRIES", entries)
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


@pytest.mark.parametrize(("num_draws", "num_points"), [(1, 2), (2, 3), (3, 8), (10, 25)])
def test_cuts_are_those_of_scipy_where_heights_are_equal_too(num_draws: int, num_points: int):
    rng = np.random.default_rng(num_draws)
    for _ in range(10):
        draws = rng.integers(min(3, num_points), size=(num_draws, num_points))
        tree = average_linkage(co_assignment(draws))
        most = int(rng.integers(1, num_points + 1))
        expected = cut_tree(tree, n_clusters=np.arange(most, 0, -1)).T
        np.testing.assert_array_equal(cuts(tree, most), renumbered(expected.astype(np.int64)))


DRAWS = np.array([[0, 1, 1], [2, 0, 0], [0, 0, 0], [0, 1, 2], [1, 1, 1], [0, 2, 2]])


def test_distinct_draws_against_numpy():
    rng = np.random.default_rng(0)
    draws, weights = rng.integers(3, size=(200, 5)), rng.random(200)
    found = distinct_draws(draws, weights=weights)
    canonical = renumbered(draws)
    np.testing.assert_array_equal(found.partitions[found.members], canonical)
    assert len(np.unique(canonical, axis=0)) == len(found.partitions)
    assert (np.diff(found.mass) <= 1e-12).all()
    np.testing.assert_allclose(
        found.mass, [weights[found.members == k].sum() / weights.sum() for k in range(len(found.mass))]
    )
    shuffled = rng.permutation(200)
    again = distinct_draws(draws[shuffled], weights=weights[shuffled])
    np.testing.assert_array_equal(found.partitions, again.partitions)


def test_entropy_by_hand():
    found = partition_entropy(DRAWS)
    share = np.array([3, 2, 1]) / 6
    assert found.plug_in == pytest.approx(entropy(share, base=2))
    # One of six draws is a partition seen once.
    assert found.coverage == pytest.approx(5 / 6)
    scaled = share * 5 / 6
    assert found.corrected == pytest.approx(-(scaled * np.log2(scaled) / (1 - (1 - scaled) ** 6)).sum())
    assert found.num_distinct == 3


def test_entropy_where_it_is_certain_or_meaningless():
    certain = partition_entropy(np.zeros((10, 4), dtype=int))
    assert (certain.plug_in, certain.corrected, certain.coverage) == (0, 0, 1)
    different = partition_entropy(enumerate_partitions(4).numpy())
    assert different.plug_in == pytest.approx(np.log2(15))
    assert np.isnan(different.corrected)
    assert different.coverage == 0


def test_weighted_entropy():
    weights = np.array([2.0, 2, 2, 2, 2, 2])
    assert partition_entropy(DRAWS, weights=weights) == partition_entropy(DRAWS)
    found = partition_entropy(DRAWS, weights=np.array([1, 1, 1, 6, 1, 0]))
    share = np.array([0.6, 0.2, 0.2])
    assert found.plug_in == pytest.approx(entropy(share, base=2))
    assert found.coverage == pytest.approx(0.4)
    number = 100 / (4 + 36)
    scaled = 0.4 * share
    assert found.corrected == pytest.approx(-(scaled * np.log2(scaled) / (1 - (1 - scaled) ** number)).sum())
    ignored = partition_entropy(DRAWS, weights=np.array([1, 1, 1, 0, 1, 1]))
    assert (ignored.num_distinct, ignored.coverage) == (2, pytest.approx(1.0))
