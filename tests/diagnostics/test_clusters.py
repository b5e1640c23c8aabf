"""Profiles of clusters, columns that tell them apart, what sets them apart: by hand and brute force."""

import numpy as np

from pyroclust import diagnose
from pyroclust.diagnostics import cluster_contrasts, column_shares
from pyroclust.diagnostics.clusters import cluster_profiles
from pyroclust.report import page_of

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
    monkeypatch.setattr("pyroclust.diagnostics.clusters._MAX_CELLS", 100)
    np.testing.assert_allclose(cluster_profiles(draws, draws[0], data=data).centre_low, whole.centre_low)


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=(50, 30))
    return labels, rng.normal(size=(30, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -3.0]


def test_shares_are_adjusted_coefficients_of_determination():
    draws, data = drawn()
    weights = np.random.default_rng(1).random(50)
    every = []
    for labels in draws:
        design = np.eye(4)[labels][:, np.unique(labels)]
        fitted = design @ np.linalg.lstsq(design, data, rcond=None)[0]
        within = ((data - fitted) ** 2).sum(0) / (30 - design.shape[1])
        every.append(1 - within / data.var(0, ddof=1))
    found = column_shares(draws, data=data, weights=weights)
    np.testing.assert_allclose(found.mean, np.average(every, axis=0, weights=weights))
    plain = column_shares(draws, data=data)
    np.testing.assert_allclose(plain.low, np.sort(every, 0)[1])
    np.testing.assert_allclose(plain.high, np.sort(every, 0)[48])


def test_shares_where_nothing_varies_or_nothing_is_together():
    data = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 4.0]])
    assert column_shares(np.array([[0, 1, 2]]), data=data).mean.tolist() == [0.0, 0.0]
    assert column_shares(np.array([[0, 0, 1]]), data=data).mean[0] == 0.0


def test_contrasts_are_differences_of_means_in_pooled_units():
    draws, data = drawn(3)
    found = cluster_contrasts(draws[0], data=data)
    labels = draws[0]
    order = list(dict.fromkeys(labels.tolist()))
    pooled = sum(((data[labels == k] - data[labels == k].mean(0)) ** 2).sum(0) for k in order) / (30 - 4)
    for place, k in enumerate(order):
        inside, outside = data[labels == k], data[labels != k]
        np.testing.assert_allclose(found.inside[place], inside.mean(0))
        np.testing.assert_allclose(found.spread_inside[place], inside.std(0), atol=1e-12)
        np.testing.assert_allclose(found.outside[place], outside.mean(0))
        np.testing.assert_allclose(
            found.effect[place], (inside.mean(0) - outside.mean(0)) / np.sqrt(pooled), rtol=1e-9
        )


def test_one_cluster_has_nothing_beside_it():
    found = cluster_contrasts(np.zeros(3, int), data=np.array([[0.0], [1.0], [2.0]]))
    assert np.isnan(found.outside).all()
    assert np.isnan(found.effect).all()


def test_the_page_says_it_in_sentences():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [15, 15, 1])
    points = rng.normal(size=(31, 2)) + np.array([[0.0, 0.0], [8.0, 0.0], [4.0, 60.0]])[labels]
    page = page_of(diagnose(np.tile(labels, (2, 50, 1)), data=points))
    section = next(one for one in page.sections if one.title == "What sets them apart")
    assert section.gist.startswith("Most by x")
    said = " ".join(part.text for part in section.parts[1:])
    assert "Cluster 1 (15 rows) has lower x1" in said
    assert "More likely alone than not" in said
