"""Numbers of clusters, co-assignment, strips of partitions, histograms, stems and scores."""

import numpy as np
import pytest

from pyroclust import diagnostics, plots
from pyroclust.plots.marks import cluster_colour


def test_num_clusters_leaves_out_the_impossible(ax):
    row = np.array([0.0, 0.4, 0.6, 0.001])
    plots.plot_num_clusters(np.arange(1, 5), {"guide": row, "MCMC": row}, ax=ax)
    assert [round(bar.get_height(), 3) for bar in ax.patches] == [0.4, 0.6, 0.4, 0.6]
    with pytest.raises(ValueError, match=r"probabilities \[\(4,\)\]"):
        plots.plot_num_clusters(np.arange(2), {"guide": row}, ax=ax)


def test_num_clusters_of_no_probability_can_be_drawn(ax):
    plots.plot_num_clusters(np.array([1, 2]), {"guide": np.zeros(2)}, ax=ax)
    assert ax.get_ylim() == (0, 1.12)
    with pytest.raises(ValueError, match="probabilities has negative numbers"):
        plots.plot_num_clusters(np.array([1, 2]), {"guide": np.array([0.4, -0.6])}, ax=ax)


def test_every_source_of_num_clusters_has_its_own_colour(ax):
    row = np.array([0.4, 0.6])
    plots.plot_num_clusters(np.arange(2), dict.fromkeys(("guide", "weighted", "refined", "MCMC"), row), ax=ax)
    assert len({bar.get_facecolor() for bar in ax.patches}) == 4


def test_the_prior_of_num_clusters_stands_behind_the_posterior(ax):
    prior, row = np.array([0.4, 0.3, 0.2, 0.09, 0.01]), np.array([0.0, 0.0, 0.9, 0.1, 0.0])
    plots.plot_num_clusters(np.arange(1, 6), {"MCMC": row}, prior=prior, ax=ax)
    assert [round(bar.get_height(), 2) for bar in ax.patches] == [0.4, 0.3, 0.2, 0.09, 0, 0, 0.9, 0.1]
    behind, before = ax.patches[2], ax.patches[6]
    assert behind.get_width() > before.get_width()
    assert behind.get_x() + behind.get_width() / 2 == pytest.approx(before.get_x() + before.get_width() / 2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["prior", "MCMC"]
    with pytest.raises(ValueError, match="expected \\(K,\\) each"):
        plots.plot_num_clusters(np.arange(1, 6), {"MCMC": row}, prior=prior[:3], ax=ax)


def test_co_assignment_is_ordered_and_the_difference_symmetric(ax):
    matrix, order = np.array([[1, 0.2, 0.9], [0.2, 1, 0.1], [0.9, 0.1, 1]]), np.array([0, 2, 1])
    plots.plot_co_assignment(matrix, order, ax=ax)
    assert ax.images[0].get_array()[0].tolist() == pytest.approx([1, 0.9, 0.2])
    other = plots.new_figure(3, 3).subplots()
    plots.plot_co_assignment_difference(matrix, matrix - 0.3, order, ax=other)
    low, high = other.images[0].get_clim()
    assert low == -high == pytest.approx(-0.3)
    with pytest.raises(ValueError, match="expected"):
        plots.plot_co_assignment(matrix, order[:2], ax=ax)


DATA = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0]])

DRAWS = np.array([[0, 0, 1, 1, 2]] * 6 + [[0, 0, 1, 1, 1]] * 3 + [[0, 1, 2, 2, 3]])


def test_ranked_partitions_are_strips_in_the_given_order(ax):
    ranked = diagnostics.ranked_partitions(DRAWS)
    order = np.array([4, 2, 3, 0, 1])
    plots.plot_ranked_partitions(ranked, order, ax=ax)
    first = ax.collections[0]
    extents = [one.get_extents() for one in first.get_paths()]
    np.testing.assert_allclose([one.width for one in extents], [0.2, 0.4, 0.4])
    np.testing.assert_allclose([one.x0 for one in extents], [0, 0.2, 0.6], atol=1e-12)
    for face, label in zip(first.get_facecolors(), [2, 1, 0], strict=True):
        np.testing.assert_allclose(face[:3], plots_colour(label))
    words = [text.get_text() for text in ax.texts]
    assert words[:3] == ["3", "2", "1"]
    assert [word for word in words if "%" in word] == ["60.00%", "30.00%", "10.00%"]


def plots_colour(label: int) -> tuple[float, ...]:
    colour = cluster_colour(label)
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def test_bars_of_ranked_partitions_are_in_proportion_and_the_rest_is_named(ax):
    ranked = diagnostics.ranked_partitions(DRAWS)
    plots.plot_ranked_partitions(ranked, np.arange(5), ax=ax, shown=2)
    bars = [bar.get_width() for bar in ax.patches if bar.get_x() > 1]
    assert bars[0] / bars[1] == pytest.approx(2)
    assert "1 other partitions: 10.00%" in [text.get_text() for text in ax.texts]
    with pytest.raises(ValueError, match=r"order has shape \(4,\), expected each of 5 points once"):
        plots.plot_ranked_partitions(ranked, np.arange(4), ax=ax)


def test_the_histogram_splits_at_the_radius(ax):
    ball = diagnostics.credible_ball(DRAWS, DRAWS[0], level=0.7)
    plots.plot_distance_histogram(ball, ax=ax)
    inside, outside = ax.containers[:2]
    assert sum(bar.get_height() for bar in inside) == pytest.approx(0.7)
    assert sum(bar.get_height() for bar in outside) == pytest.approx(0.3)
    right = max(bar.get_x() + bar.get_width() for bar in inside if bar.get_height())
    left = min(bar.get_x() for bar in outside if bar.get_height())
    assert right <= ball.radius + 1e-6
    assert left >= ball.radius - 1e-6
    assert ax.lines[0].get_xdata()[0] == ball.radius
    assert all(bar.get_hatch() for bar in outside)
    assert ax.get_legend().get_texts()[0].get_text() == "in the ball: 70%"


def test_uncertainty_is_sorted_within_clusters(ax):
    plots.plot_point_uncertainty(np.array([0.3, 0.9, 0.1, 0.2]), np.array([0, 1, 0, 1]), ax=ax)
    assert [line.get_ydata().tolist() for line in ax.lines[:2]] == [[0.1, 0.3], [0.2, 0.9]]
    assert ax.lines[0].get_xdata().max() < ax.lines[1].get_xdata().min()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2"]
    with pytest.raises(ValueError, match=r"expected \(4,\) of numbers from 0 to 1"):
        plots.plot_point_uncertainty(np.zeros(3), np.zeros(4, dtype=int), ax=ax)


def test_names_of_many_small_clusters_do_not_touch(ax):
    plots.plot_point_uncertainty(np.zeros(210), np.r_[np.zeros(200, dtype=int), np.arange(1, 11)], ax=ax)
    assert np.diff(ax.get_xticks()).min() > 0.03 * np.ptp(ax.get_xlim())


def test_scores_are_dots_by_method(ax):
    rows = {"k-means": {"ARI": 0.5, "AMI": 0.6}, "Bayesian": {"ARI": 0.9, "AMI": -0.1}}
    plots.plot_scores(rows, ax=ax)
    first, second = ax.lines[:2]
    assert first.get_xdata().tolist() == [0.5, 0.9]
    assert second.get_xdata().tolist() == [0.6, -0.1]
    assert first.get_marker() != second.get_marker()
    np.testing.assert_array_equal(np.round(first.get_ydata()), [1, 0])
    assert ax.get_xlim()[0] < -0.1
    plots.plot_scores({"a": {"ARI": 0.5}, "b": {"ARI": np.nan}}, ax=ax)
    assert ax.get_xlim() == (0.45, 1.03)
    with pytest.raises(ValueError, match="the same names"):
        plots.plot_scores({"a": {"ARI": 1.0}, "b": {"AMI": 1.0}}, ax=ax)
    with pytest.raises(ValueError, match="scores is empty"):
        plots.plot_scores({}, ax=ax)
