"""Profiles of the clusters of an estimate, by hand."""

import sys

import numpy as np

from pyroclust.diagnostics.clusters import cluster_profiles

DRAWS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 2]])
DATA = np.array([[0.0, 1.0], [2.0, 1.0], [6.0, 1.0], [8.0, 1.0]])


def test_by_hand():
    found = cluster_profiles(DRAWS, DRAWS[0], data=DATA)
    # Counterparts of {0, 1}: itself twice, {0, 1, 2} with 2/3, {0} or {1} with 1/2.
    np.testing.assert_allclose(found.stability, [(1 + 1 + 2 / 3 + 1 / 2) / 4, (1 + 1 + 1 / 2 + 1) / 4])
    np.testing.assert_array_equal(found.sizes, [2, 2])
    np.testing.assert_allclose(found.centres, [[1, 1], [7, 1]])
    np.testing.assert_allclose(found.spreads, [[1, 0], [1, 0]])
    np.testing.assert_allclose(found.share_low, [0.25, 0.25])
    np.testing.assert_allclose(found.share_high, [0.75, 0.5])
    np.testing.assert_allclose(found.centre_low[:, 0], [0, 7])
    np.testing.assert_allclose(found.centre_high[:, 0], [8 / 3, 8])


def test_weights_are_repetitions():
    weights = np.array([3, 1, 2, 0])
    repeated = np.repeat(DRAWS, weights, axis=0)
    a = cluster_profiles(DRAWS, DRAWS[0], data=DATA, weights=weights)
    b = cluster_profiles(repeated, DRAWS[0], data=DATA)
    for name in ("stability", "share_low", "share_high", "centre_low", "centre_high"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name))


def test_many_draws_go_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    draws, data = rng.integers(4, size=(50, 9)), rng.standard_normal((9, 2))
    whole = cluster_profiles(draws, draws[0], data=data)
    # The package has a function of the module's name.
    monkeypatch.setattr(sys.modules["pyroclust.diagnostics.clusters"], "_MAX_CELLS", 100)
    np.testing.assert_allclose(cluster_profiles(draws, draws[0], data=data).centre_low, whole.centre_low)
