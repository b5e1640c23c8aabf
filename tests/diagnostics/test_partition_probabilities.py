import numpy as np
import pytest
from scipy.stats import entropy

from pyroclust.diagnostics import partition_entropy
from pyroclust.diagnostics.labels import distinct_draws
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.raw_labels import renumbered

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
