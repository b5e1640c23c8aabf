"""Losses between partitions: against scikit-learn, by hand, and as metrics."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    VariationOfInformation,
    pairwise_loss,
    variation_of_information,
)
from pyroclust.partitions import enumerate_partitions

LOSSES = [
    VariationOfInformation(),
    VariationOfInformation(weight=0.4),
    Binder(),
    Binder(weight=1.7),
    NormalisedVariationOfInformation(),
    AdjustedRand(),
]
METRICS = [VariationOfInformation(), Binder(), NormalisedVariationOfInformation()]


def conditional_entropy(of, given):
    """H(of | given) in bits, cluster by cluster."""
    return sum((given == k).mean() * entropy(np.bincount(of[given == k]), base=2) for k in np.unique(given))


@pytest.fixture
def partitions():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, size=14)
    return np.stack([rng.integers(size, size=25) for size in sizes])


@pytest.mark.parametrize("weight", [0.3, 1.0, 1.8])
def test_weights_price_the_two_mistakes(partitions, weight):
    for a, b in zip(partitions, partitions[::-1], strict=True):
        expected = weight * conditional_entropy(a, b) + (2 - weight) * conditional_entropy(b, a)
        assert variation_of_information(a, b, weight=weight) == pytest.approx(expected, abs=1e-12)
        together_a, together_b = a[:, None] == a, b[:, None] == b
        expected = (
            weight * (~together_a & together_b).mean() + (2 - weight) * (together_a & ~together_b).mean()
        )
        assert Binder(weight)(a, b) == pytest.approx(expected, abs=1e-12)


def test_values_of_scikit_learn(partitions):
    for a, b in zip(partitions, partitions[::-1], strict=True):
        assert AdjustedRand()(a, b) == pytest.approx(1 - adjusted_rand_score(a, b), abs=1e-12)
        joint = entropy(np.unique(np.stack([a, b]), axis=1, return_counts=True)[1])
        expected = 1 - mutual_info_score(a, b) / joint if joint > 0 else 0.0
        assert NormalisedVariationOfInformation()(a, b) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_edges_and_equal_partitions(loss):
    together, apart = np.zeros(6, dtype=int), np.arange(6)
    for labels in (together, apart, np.array([0, 1, 2, 0, 1, 2])):
        renamed = np.array([3, 5, 0, 1, 4, 2])[labels]
        assert loss(labels, renamed) == 0
    worst = {VariationOfInformation: np.log2(6), Binder: 5 / 6}.get(type(loss), 1.0)
    assert loss(together, apart) == pytest.approx((2 - getattr(loss, "weight", 1)) * worst)
    assert loss(apart, together) == pytest.approx(getattr(loss, "weight", 1) * worst)
    assert loss(np.zeros(1, dtype=int), np.zeros(1, dtype=int)) == 0


@pytest.mark.parametrize("loss", METRICS)
def test_metrics_on_all_partitions_of_five_points(loss):
    every = enumerate_partitions(5).numpy()
    distance = pairwise_loss(every, every, loss=loss)
    np.testing.assert_allclose(distance, distance.T, atol=1e-14)
    assert (distance[~np.eye(len(every), dtype=bool)] > 0.01).all()
    detour = (distance[:, :, None] + distance[None]).min(1)
    assert (distance <= detour + 1e-12).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_pairwise_is_every_call(partitions, loss, monkeypatch):
    singly = np.array([[loss(a, b) for b in partitions[:5]] for a in partitions])
    np.testing.assert_allclose(pairwise_loss(partitions, partitions[:5], loss=loss), singly, atol=1e-14)
    np.testing.assert_allclose(loss(partitions[:, None], partitions[:5]), singly, atol=1e-14)
    monkeypatch.setattr("pyroclust.diagnostics.losses._PAIRS_A_BLOCK", 12)
    monkeypatch.setattr("pyroclust.diagnostics.losses._POINTS_A_THREAD", 30)
    chains = partitions.reshape(2, 7, 25)
    np.testing.assert_allclose(pairwise_loss(chains, partitions[:5], loss=loss), singly, atol=1e-14)
    weights = np.arange(14)
    expected = loss.expected(partitions[:5], chains, weights=weights)
    reverse = np.array([[loss(a, b) for b in partitions] for a in partitions[:5]])
    np.testing.assert_allclose(expected, reverse @ weights / weights.sum(), atol=1e-14)
    repeated = loss.expected(partitions[:5], np.repeat(partitions, weights, axis=0))
    np.testing.assert_allclose(expected, repeated, atol=1e-14)


def test_labels_of_any_kind(partitions):
    expected = variation_of_information(partitions, partitions[0])
    frozen = partitions[::-1].astype(np.uint8)[::-1]
    frozen.setflags(write=False)
    np.testing.assert_allclose(variation_of_information(frozen, frozen[0]), expected)
