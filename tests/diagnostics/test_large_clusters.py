"""The number of clusters without single rows."""

import numpy as np
import pytest

from pyroclust.diagnostics.chains import least_rows, num_large_clusters
from pyroclust.partitions import Draws
from pyroclust.results.answer import AnswerInWords
from pyroclust.results.summaries import DrawsSummary


@pytest.mark.parametrize("num_points", [1, 2, 7, 199, 200, 201, 1000])
def test_clusters_are_counted_by_their_rows(num_points):
    draws = np.random.default_rng(num_points).geometric(0.05, size=(4, 30, num_points)) % num_points
    least = max(2, -(-num_points // 100))
    assert least_rows(num_points) == least
    expected = [[(np.bincount(draw) >= least).sum() for draw in chain] for chain in draws]
    np.testing.assert_array_equal(num_large_clusters(draws), expected)


def summary_of(draws: np.ndarray) -> DrawsSummary:
    return DrawsSummary(Draws(name="made up", assignments=draws), name="MCMC", seed=0)


def test_the_first_screen_says_it_where_single_rows_are_counted():
    # Of 20 rows one is alone in nine draws of ten, and another one in three of them.
    draws = np.zeros((1, 10, 20), dtype=np.int64)
    draws[..., 10:] = 1
    draws[:, 1:, -1] = 2
    draws[:, 7:, -2] = 3
    summary = summary_of(draws)
    found = AnswerInWords.of(summary, rely="Yes", following="", given="")
    assert (found.num_clusters, found.interval) == (3, (2, 4))
    large = found.large_clusters
    assert (large.least_rows, large.num_clusters, large.probability, large.interval) == (2, 2, 1.0, (2, 2))
    assert dict(found.lines)["Large ones"] == (
        "2 clusters of at least 2 rows (probability 1.00; 90 % interval 2)"
    )
    figures = summary.short_figures()["num_large_clusters"]
    assert figures["least_rows"] == 2
    assert dict(zip(figures["values"].tolist(), figures["probabilities"], strict=True))[2] == 1.0


def test_the_first_screen_says_it_once_where_both_are_the_same():
    draws = np.tile(np.repeat([0, 1], 10), (1, 10, 1))
    assert "Large ones" not in dict(
        AnswerInWords.of(summary_of(draws), rely="Yes", following="", given="").lines
    )
