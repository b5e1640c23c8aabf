"""Cuts of a tree, against scipy's, ties included."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree

from pyroclust.diagnostics.draws.co_assignment import average_linkage, co_assignment, cuts
from pyroclust.partitions.renumbering import renumbered


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


def test_the_finest_cut_has_every_point_alone():
    assert cuts(average_linkage(np.eye(4)), 4)[0].tolist() == [0, 1, 2, 3]
