"""Components, densities, rounds of filtering and parameters by column: what is drawn, and errors."""

import numpy as np
import pytest

from pyroclust import plots

DATA = np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture
def axes_row():
    return list(plots.new_figure(6, 3).subplots(1, 2))


def test_ellipses_are_of_two_deviations_and_absent_components_are_left_out(ax):
    weights, means = np.array([0.7, 0.0, 0.3]), np.array([[0.0, 1.0], [9.0, 9.0], [-2.0, 0.5]])
    scales = np.array([[1.0, 0.5], [1.0, 1.0], [0.2, 0.4]])
    plots.plot_components(DATA, weights, means, scales, ax=ax, assignments=np.arange(40) % 2)
    assert [tuple(one.center) for one in ax.patches] == [(0.0, 1.0), (-2.0, 0.5)]
    assert (ax.patches[0].width, ax.patches[0].height) == (4.0, 2.0)
    assert ax.patches[0].get_linewidth() > ax.patches[1].get_linewidth()
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_outlines_hold_half_and_nine_tenths_of_the_mass(ax):
    wide = np.array([[-6.0, -6.0], [6.0, 6.0]])
    plots.plot_cluster_densities(wide, lambda points: -0.5 * (points**2).sum(-1)[None], ax=ax)
    contours = ax.collections[-1]
    reach = sorted(np.linalg.norm(path.vertices, axis=1).mean() for path in contours.get_paths())
    # Of a standard normal in the plane: sqrt(-2 log(1 - share)).
    np.testing.assert_allclose(reach, np.sqrt(-2 * np.log([0.5, 0.1])), rtol=0.03)


def test_rounds_show_what_is_found_and_what_is_left(axes_row):
    rounds = np.array([0] * 10 + [1] * 20 + [-1] * 10)
    plots.plot_filtering(DATA, rounds, axes=axes_row)
    assert [one.get_title() for one in axes_row] == ["1: 10 points, 30 left", "2: 20 points, 10 left"]
    left, now = axes_row[1].collections
    np.testing.assert_array_equal(now.get_offsets(), DATA[10:30])
    np.testing.assert_array_equal(left.get_offsets(), DATA[30:])


def test_bad_input_is_refused_in_a_sentence(ax):
    with pytest.raises(ValueError, match="data has 3 columns, expected 2"):
        plots.plot_components(np.zeros((4, 3)), np.ones(1), np.zeros((1, 2)), np.ones((1, 2)), ax=ax)
    with pytest.raises(ValueError, match="expected \\(K,\\), \\(K, 2\\) and \\(K, 2\\)"):
        plots.plot_components(DATA, np.ones(2), np.zeros((1, 2)), np.ones((1, 2)), ax=ax)
    with pytest.raises(ValueError, match="log_densities gives shape"):
        plots.plot_cluster_densities(DATA, lambda points: points[:, 0], ax=ax)
    with pytest.raises(ValueError, match="rounds has shape"):
        plots.plot_filtering(DATA, np.zeros(3, dtype=int), axes=[ax])


def panels(count: int):
    return plots.new_figure(3 * count, 3).subplots(1, count, squeeze=False)


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
