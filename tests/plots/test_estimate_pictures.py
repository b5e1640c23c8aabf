"""Pictures of estimates, draws and balls draw the partitions that they are given."""

import numpy as np
import pytest

from pyroclust import diagnostics, plots
from pyroclust.plots.marks import cluster_colour

DATA = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0]])
DRAWS = np.array([[0, 0, 1, 1, 2]] * 6 + [[0, 0, 1, 1, 1]] * 3 + [[0, 1, 2, 2, 3]])


@pytest.fixture
def ax():
    return plots.new_figure(6, 4).subplots()


def panels(count: int):
    return plots.new_figure(3 * count, 3).subplots(1, count, squeeze=False)


def members(ax) -> list[list[int]]:
    """Return which points of DATA each group of marks holds."""
    return [
        sorted(int(np.abs(DATA - place).sum(1).argmin()) for place in np.asarray(marks.get_offsets()))
        for marks in ax.collections
    ]


def test_ranked_partitions_are_strips_in_the_given_order(ax):
    ranked = diagnostics.ranked_partitions(DRAWS)
    order = np.array([4, 2, 3, 0, 1])
    plots.plot_ranked_partitions(ranked, order, ax=ax)
    strips = [bar for bar in ax.patches if bar.get_x() + bar.get_width() <= 1 + 1e-9]
    first = [bar for bar in strips if abs(bar.get_y() + bar.get_height() / 2) < 1e-9]
    np.testing.assert_allclose([bar.get_width() for bar in first], [0.2, 0.4, 0.4])
    np.testing.assert_allclose([bar.get_x() for bar in first], [0, 0.2, 0.6], atol=1e-12)
    for bar, label in zip(first, [2, 1, 0], strict=True):
        np.testing.assert_allclose(bar.get_facecolor()[:3], plots_colour(label))
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


def test_draws_are_spread_over_all_and_matched_to_the_reference():
    axes = plots.plot_partition_draws(DATA, DRAWS, axes=panels(3), reference=np.array([1, 1, 0, 0, 2]))
    assert [ax.get_title() for ax in axes] == ["3 clusters", "3 clusters", "4 clusters"]
    assert members(axes[0]) == [[2, 3], [0, 1], [4]]
    chains = DRAWS.reshape(2, 5, 5)
    assert members(plots.plot_partition_draws(DATA, chains, axes=panels(1))[0]) == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="draws has 2 draws, expected at least 3"):
        plots.plot_partition_draws(DATA, DRAWS[:2], axes=panels(3))


@pytest.mark.parametrize("dim", [1, 4])
def test_draws_of_one_column_and_of_many(dim):
    data = np.random.default_rng(0).standard_normal((5, dim))
    axes = plots.plot_partition_draws(data, DRAWS, axes=panels(2))
    assert [sum(len(marks.get_offsets()) for marks in ax.collections) for ax in axes] == [5, 5]


def test_modes_have_their_weights():
    found = diagnostics.partition_modes(DRAWS, seed=0, num_modes=2)
    axes = plots.plot_modes(DATA, found, axes=panels(2))
    for ax, weight, row in zip(axes, found.weights, found.partitions, strict=True):
        assert ax.get_title() == f"{weight:.0%}: {row.max() + 1} clusters"
        assert len(ax.collections) == row.max() + 1
    with pytest.raises(ValueError, match="axes has 1 Axes, expected 2"):
        plots.plot_modes(DATA, found, axes=panels(1))


def test_the_ball_is_drawn_from_its_bounds_with_their_distances():
    ball = diagnostics.credible_ball(DRAWS, DRAWS[0], level=1.0)
    axes = plots.plot_credible_ball(DATA, ball, axes=panels(4))
    assert members(axes[0]) == [[0, 1], [2, 3], [4]]
    bounds = [ball.horizontal[0], ball.upper[0], ball.lower[0]]
    for ax, word, bound in zip(axes[1:], ["Horizontal", "Upper", "Lower"], bounds, strict=True):
        distance = diagnostics.variation_of_information(DRAWS[0], bound)
        assert ax.get_title() == f"{word} bound: {bound.max() + 1} clusters, {distance:.2f} bits"
        assert len(ax.collections) == bound.max() + 1
    assert ball.upper[0].max() < ball.lower[0].max()


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


def test_the_histogram_of_a_posterior_at_one_partition(ax):
    ball = diagnostics.credible_ball(DRAWS[:6], DRAWS[0])
    plots.plot_distance_histogram(ball, ax=ax)
    assert sum(bar.get_height() for bar in ax.containers[0]) == pytest.approx(1)


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


def test_parameters_have_intervals_and_sizes():
    centre = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    axes = plots.plot_cluster_parameters(
        centre, centre - 0.5, centre + 0.25, axes=panels(2), columns=["u", "v"], sizes=np.array([9, 1, 3])
    )
    assert [label.get_text() for label in axes[0].get_yticklabels()][1] == "cluster 2 (1 point)"
    assert [ax.get_xlabel() for ax in axes] == ["u", "v"]
    for column, ax in enumerate(axes):
        intervals, marks = ax.lines[::2], ax.lines[1::2]
        assert [line.get_xdata()[0] for line in marks] == centre[:, column].tolist()
        assert [np.diff(line.get_xdata())[0] for line in intervals] == [0.75] * 3
        assert all(i.get_ydata()[0] == m.get_ydata()[0] for i, m in zip(intervals, marks, strict=True))
    with pytest.raises(ValueError, match="expected \\(K, D\\)"):
        plots.plot_cluster_parameters(centre, centre[:2], centre, axes=panels(2))
