"""Above 2,000 points nothing of a summary has a number for every pair of them."""

import tracemalloc

import numpy as np
import pytest

from pyroclust import diagnostics
from pyroclust.diagnostics.differences import marginals
from pyroclust.diagnostics.frequencies import MAX_PAIRED_POINTS, paired_points
from pyroclust.diagnostics.sources import largest_pair
from pyroclust.partitions import Draws
from pyroclust.results.summaries import DrawsSummary


def _draws(num_points: int, *, number: int = 12, clusters: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.integers(clusters, size=num_points)
    moved = rng.random((number, num_points)) < 0.1
    return np.where(moved, rng.integers(clusters, size=(number, num_points)), base)


def test_the_sample_is_the_same_for_every_source_and_sorted():
    chosen = paired_points(9000)
    assert len(np.unique(chosen)) == MAX_PAIRED_POINTS
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, paired_points(9000))
    np.testing.assert_array_equal(paired_points(MAX_PAIRED_POINTS), np.arange(MAX_PAIRED_POINTS))


def test_the_matrix_is_that_of_the_sampled_points():
    draws = _draws(2300)
    found = marginals(draws)
    expected = diagnostics.co_assignment(draws)[np.ix_(found.points, found.points)]
    np.testing.assert_allclose(found.together, expected, atol=1e-12)


def test_labels_above_the_size_of_the_sample_are_told_apart():
    every = np.arange(5000)[None]
    assert marginals(every).together.sum() == MAX_PAIRED_POINTS


def test_the_largest_pair_is_named_by_its_rows():
    first = np.zeros((10, 4000), dtype=np.int64)
    second, moved = first.copy(), paired_points(4000)[[5, 700]]
    second[:, moved[0]] = 1
    second[:, moved[1]] = 1
    second[:5, moved[1]] = 0
    pair = largest_pair(marginals(first), marginals(second))
    assert moved[0] in pair


@pytest.mark.parametrize("num_points", [7, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_uncertainty_without_a_matrix_is_that_of_the_matrix(num_points: int, *, weighted: bool):
    draws = _draws(num_points, number=40)
    estimate = draws[3].copy()
    estimate[0] = num_points - 1
    estimate[-1] = num_points - 2
    weights = np.random.default_rng(1).random(40) if weighted else None
    similarity = diagnostics.co_assignment(draws, weights=weights)
    np.fill_diagonal(similarity, 0.0)
    together = estimate[:, None] == estimate
    companions = together.sum(-1) - 1
    own = 1 - (similarity * together).sum(-1) / np.maximum(companions, 1)
    expected = np.where(companions > 0, own, similarity.max(-1))
    found = diagnostics.point_uncertainty(draws, estimate, weights=weights)
    np.testing.assert_allclose(found, expected, atol=1e-6 if weighted else 1e-12)


def test_a_summary_and_a_comparison_have_no_matrix_of_all_points():
    num_points = 12_000
    first, second = _draws(num_points), _draws(num_points, seed=1)
    tracemalloc.start()
    summary = DrawsSummary(Draws(assignments=first[None]), name="mine", seed=0)
    summary.figures()
    found = diagnostics.compare_sources(first, second, seed=0, num_permutations=9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert summary.tries.failures == ()
    assert summary.estimate is not None
    assert len(summary.estimate.uncertainty) == num_points
    assert max(found.largest_pair) < num_points
    # A number for every pair would be 1,152 MB; for the pairs among 2,000 points it is 32 MB.
    assert peak < 8 * num_points**2 / 3


def test_an_estimate_that_is_searched_for_with_a_part_of_the_draws_is_the_truth():
    draws = _draws(4000, number=600)
    base = np.random.default_rng(0).integers(4, size=4000)
    assert diagnostics.variation_of_information(diagnostics.point_estimate(draws, seed=0), base) == 0.0
