import numpy as np
import pytest
import torch

from pyroclust.diagnostics import (
    VariationOfInformation,
    agreement,
    cluster_count_posterior,
    co_assignment,
    dendrogram_order,
    functionals,
    point_estimate,
    point_uncertainty,
    total_variation,
    variation_of_information,
)
from pyroclust.partitions import canonical, enumerate_partitions
from pyroclust.partitions.renumbering import renumbered


@pytest.fixture
def draws():
    return renumbered(np.random.default_rng(0).integers(4, size=(60, 15))).reshape(3, 20, 15)


def brute_force(flat, share):
    return np.einsum("s,sij->ij", share, flat[:, :, None] == flat[:, None])


def test_co_assignment_against_brute_force(draws):
    flat = draws.reshape(-1, 15)
    np.testing.assert_allclose(co_assignment(draws), brute_force(flat, np.full(60, 1 / 60)), atol=1e-12)
    weights = np.random.default_rng(1).random((3, 20))
    expected = brute_force(flat, weights.ravel() / weights.sum())
    np.testing.assert_allclose(co_assignment(draws, weights=weights), expected, atol=1e-6)


def test_renumbered_is_canonical():
    labels = np.random.default_rng(0).integers(12, size=(50, 12))
    np.testing.assert_array_equal(renumbered(labels), canonical(torch.from_numpy(labels)).numpy())


@pytest.mark.parametrize("seed", range(10))
def test_point_estimate_is_the_optimum_over_all_partitions(seed):
    rng = np.random.default_rng(seed)
    every = enumerate_partitions(6).numpy()
    weights = rng.dirichlet(np.full(len(every), 0.02))
    # Every partition is a draw, hence a candidate: the search is then exhaustive.
    best = point_estimate(every, seed=0, weights=weights)
    losses = VariationOfInformation().expected(every, every, weights=weights)
    assert losses[(every == best).all(1)] == pytest.approx(losses.min(), abs=1e-9)


def test_point_estimate_finds_a_partition_that_was_never_drawn():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 30)
    noisy = np.where(rng.random((400, 90)) < 0.1, rng.integers(3, size=(400, 90)), truth)
    found = point_estimate(renumbered(noisy), seed=0)
    assert not (renumbered(noisy) == truth).all(1).any()
    assert variation_of_information(found, truth) == 0


def test_point_estimate_heeds_weights_and_seed(draws):
    two = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    assert point_estimate(two, seed=0, weights=np.array([0.1, 0.9])).tolist() == [0, 1, 1, 1]
    many = renumbered(np.random.default_rng(3).integers(3, size=(1200, 8)))
    np.testing.assert_array_equal(point_estimate(many, seed=4), point_estimate(many, seed=4))
    assert point_estimate(np.zeros((3, 1), dtype=int), seed=0).tolist() == [0]


def test_point_uncertainty_by_hand():
    draws = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 1]])
    found = point_uncertainty(draws, np.array([0, 0, 0, 1]))
    # Point 2 is with 0 and with 1 in one draw of four; point 3 is alone in two draws of four.
    np.testing.assert_allclose(found, [1 - 0.625, 1 - 0.625, 0.75, 0.5])


def test_dendrogram_order_puts_blocks_together():
    labels = np.array([0, 1, 0, 1, 2, 0, 2])
    order = dendrogram_order(co_assignment(labels[None]))
    assert sorted(order) == list(range(7))
    assert (np.diff(labels[order]) != 0).sum() == 2


def test_cluster_counts():
    draws = np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2], [0, 0, 1]])
    values, probabilities = cluster_count_posterior(draws)
    assert values.tolist() == [1, 2, 3]
    assert probabilities.tolist() == [0.25, 0.25, 0.5]
    _, weighted = cluster_count_posterior(draws, weights=np.array([1, 0, 0, 3]))
    np.testing.assert_allclose(weighted, [0.25, 0.75, 0.0])
    assert total_variation(probabilities, weighted) == pytest.approx(0.5)


def test_functionals_by_hand():
    draws = np.array([[[0, 0, 1, 1], [0, 1, 2, 3]], [[0, 0, 0, 1], [0, 0, 0, 0]]])
    values = functionals(draws, reference=np.array([0, 0, 1, 1]))
    assert values["num_clusters"].tolist() == [[2, 4], [2, 1]]
    np.testing.assert_allclose(values["entropy"], [[1, 2], [0.8112781244591328, 0]])
    assert values["largest_share"].tolist() == [[0.5, 0.25], [0.75, 1.0]]
    np.testing.assert_allclose(values["distance_to_reference"][0], [0, 1])
    pairs = [name for name in values if name.startswith("together")]
    assert len(pairs) == len(set(pairs)) == 5
    first, second = (int(point) for point in pairs[0].split("_")[1:])
    np.testing.assert_array_equal(values[pairs[0]], draws[..., first] == draws[..., second])
    assert list(functionals(draws, seed=0)) == list(functionals(draws[:1], seed=0))


def test_agreement_of_known_sources():
    together, apart = np.zeros((2, 50, 4), dtype=int), np.tile(np.arange(4), (2, 50, 1))
    found = agreement(together, apart)
    assert (found.total_variation, found.largest_difference, found.mean_difference) == (1, 1, 1)
    assert (found.noise_total_variation, found.noise_largest_difference) == (0, 0)
    split = np.concatenate([together[:1], apart[:1]])
    assert agreement(split, split).largest_difference == 0
    assert agreement(split, split).noise_mean_difference == 1
    weights = np.repeat([0.0, 1.0], 50)
    assert agreement(split, apart, weights=weights).largest_difference == 0
    halves = np.concatenate([together[0], apart[0]])
    assert agreement(halves, halves).noise_largest_difference == 1


def test_shapes_are_named(draws):
    with pytest.raises(ValueError, match=r"\(chains, draws, points\)"):
        co_assignment(draws[None])
    with pytest.raises(ValueError, match="weights has 2 entries, expected 60"):
        co_assignment(draws, weights=np.ones(2))
    with pytest.raises(ValueError, match="estimate has shape"):
        point_uncertainty(draws, np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="15 and 4 points"):
        agreement(draws, draws[..., :4] * 0)
