"""Numbers of clusters and co-assignment matrices."""

import numpy as np
import pytest

from pyroclust import plots


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
