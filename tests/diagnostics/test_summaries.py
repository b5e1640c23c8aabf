import numpy as np
import torch

from pyroclust.diagnostics import agreement, co_assignment, dendrogram_order, functionals
from pyroclust.partitions import canonical
from pyroclust.partitions.raw_labels import renumbered


def test_renumbered_is_canonical():
    labels = np.random.default_rng(0).integers(12, size=(50, 12))
    np.testing.assert_array_equal(renumbered(labels), canonical(torch.from_numpy(labels)).numpy())


def test_dendrogram_order_puts_blocks_together():
    labels = np.array([0, 1, 0, 1, 2, 0, 2])
    order = dendrogram_order(co_assignment(labels[None]))
    assert sorted(order) == list(range(7))
    assert (np.diff(labels[order]) != 0).sum() == 2


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
