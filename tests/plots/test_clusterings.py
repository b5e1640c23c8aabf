"""Partitions on the data: estimates, draws, modes, balls, other methods, and what constraints changed."""

import matplotlib as mpl
import numpy as np
import pytest

from pyroclust import diagnostics, plots
from pyroclust.plots.clusterings import plot_moved_points
from pyroclust.plots.drawable import MOST_MARKS


@pytest.mark.parametrize(("dim", "label"), [(1, "column 1"), (2, "column 1"), (3, "principal component 1")])
def test_clustering(ax, dim, label):
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((40, dim)), np.arange(40) % 11
    assert plots.plot_clustering(data, labels, rng.random(40), ax=ax) is ax
    assert ax.get_xlabel().startswith(label)
    assert sum(len(marks.get_offsets()) for marks in ax.collections) == 40
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_certain_points_are_full_and_uncertain_ones_hollow(ax):
    plots.plot_clustering(np.zeros((2, 2)), np.zeros(2, dtype=int), np.array([0.0, 0.8]), ax=ax)
    full, hollow = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(full[:3], mpl.colors.to_rgb(plots.CYCLE[0]))
    np.testing.assert_allclose(hollow[:3], 1)


DATA = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0]])

DRAWS = np.array([[0, 0, 1, 1, 2]] * 6 + [[0, 0, 1, 1, 1]] * 3 + [[0, 1, 2, 2, 3]])


def panels(count: int):
    return plots.new_figure(3 * count, 3).subplots(1, count, squeeze=False)


def members(ax) -> list[list[int]]:
    """Return which points of DATA each group of marks holds."""
    return [
        sorted(int(np.abs(DATA - place).sum(1).argmin()) for place in np.asarray(marks.get_offsets()))
        for marks in ax.collections
    ]


def test_draws_are_spread_over_all_and_matched_to_the_reference():
    axes = plots.plot_partition_draws(DATA, DRAWS, axes=panels(3), reference=np.array([1, 1, 0, 0, 2]))
    assert [ax.get_title() for ax in axes] == ["3 clusters", "3 clusters", "4 clusters"]
    assert members(axes[0]) == [[2, 3], [0, 1], [4]]
    chains = DRAWS.reshape(2, 5, 5)
    assert members(plots.plot_partition_draws(DATA, chains, axes=panels(1))[0]) == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="draws has 2 draws, expected at least 3"):
        plots.plot_partition_draws(DATA, DRAWS[:2], axes=panels(3))


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


def test_baselines_take_the_colours_of_the_first():
    data = np.arange(6.0)[:, None]
    found = {"Bayesian": np.array([0, 0, 0, 1, 1, 1]), "k-means": np.array([1, 1, 1, 0, 0, 2])}
    axes = plots.plot_baselines(data, found, axes=plots.new_figure(6, 3).subplots(1, 2))
    assert [ax.get_title() for ax in axes] == ["Bayesian: 2 clusters", "k-means: 3 clusters"]
    np.testing.assert_allclose(axes[0].collections[0].get_offsets(), axes[1].collections[0].get_offsets())
    assert [len(ax.collections) for ax in axes] == [2, 3]
    with pytest.raises(ValueError, match="one label a point"):
        plots.plot_baselines(data, {"a": np.zeros(5, dtype=int)}, axes=axes[:1])


NOTHING = np.empty((0, 2), dtype=np.int64)


def drawn(dim=2, change=None, **changes):
    data = np.random.default_rng(0).standard_normal((12, dim))
    given = {
        "together": np.array([[0, 1], [1, 2]]),
        "apart": np.array([[0, 3]]),
        "bound": np.arange(4),
    } | changes
    change = np.linspace(0, 0.5, 12) if change is None else change
    return plot_moved_points(data, change, ax=plots.new_figure(5, 4).subplots(), **given)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_every_pair_is_a_line_and_every_constrained_row_has_a_ring(dim):
    ax = drawn(dim)
    marks, together, apart, rings = ax.collections[:4]
    assert (len(together.get_segments()), len(apart.get_segments())) == (2, 1)
    assert (len(marks.get_offsets()), len(rings.get_offsets())) == (12, 4)
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["together", "apart", "constrained row"]
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_rows_that_moved_most_lie_above_the_others():
    marks = drawn(change=np.linspace(0.5, 0, 12)).collections[0]
    assert (np.diff(marks.get_array()) >= 0).all()


def test_noise_does_not_look_like_a_finding():
    assert drawn(change=np.full(12, 0.001)).collections[0].get_clim() == (0.0, 0.05)


def test_kinds_of_pairs_that_are_not_there_are_not_in_the_legend():
    texts = drawn(together=NOTHING, apart=NOTHING).get_legend().get_texts()
    assert [one.get_text() for one in texts] == ["constrained row"]


@pytest.mark.parametrize("change", [np.full(11, 0.1), np.full(12, 1.5)])
def test_what_cannot_be_drawn_is_refused(change):
    with pytest.raises(ValueError, match="change has shape"):
        drawn(change=change)


def test_of_many_points_some_are_drawn_the_same_everywhere(ax):
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((7000, 2)), rng.integers(3, size=7000)
    plots.plot_clustering(data, labels, np.zeros(7000), ax=ax)
    drawn = np.concatenate([marks.get_offsets() for marks in ax.collections])
    assert len(drawn) == MOST_MARKS
    assert {int(text.get_text().split(": ")[1]) for text in ax.get_legend().get_texts()[:3]} == {
        *np.bincount(labels).tolist()
    }
    panels = plots.new_figure(6, 3).subplots(1, 2)
    plots.plot_partition_draws(data, np.stack([labels, labels]), axes=panels)
    for panel in panels:
        same = np.concatenate([marks.get_offsets() for marks in panel.collections])
        np.testing.assert_array_equal(np.sort(same, 0), np.sort(drawn, 0))
