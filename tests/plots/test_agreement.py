"""Pictures of two sources draw the figures that they are given."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform

from pyroclust import diagnostics, plots
from pyroclust.diagnostics import distance_rhat
from pyroclust.diagnostics.limits import MAX_DIFFERENCE
from pyroclust.partitions import Draws, canonical
from pyroclust.plots.agreement import _scaled
from pyroclust.plots.style import new_figure


@pytest.fixture
def sources():
    rng = np.random.default_rng(0)
    return rng.integers(2, size=(40, 9)), rng.integers(4, size=(2, 25, 9))


def test_distances_within_and_between(ax, sources):
    a, b = sources
    plots.plot_two_samples(a, b, ax=ax, seed=0, names=("guide", "MCMC"))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    flat = b.reshape(-1, 9)
    expected = [
        diagnostics.pairwise_loss(a, a)[np.triu_indices(40, 1)].mean(),
        diagnostics.pairwise_loss(flat, flat)[np.triu_indices(50, 1)].mean(),
        diagnostics.pairwise_loss(a, flat).mean(),
    ]
    words = ["within guide", "within MCMC", "between the two"]
    assert names == [f"{word}, mean {mean:.2f}" for word, mean in zip(words, expected, strict=True)]
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], expected)
    assert [stairs.get_data().values.sum() for stairs in ax.patches] == pytest.approx([1, 1, 1])
    assert len({stairs.get_linestyle() for stairs in ax.patches}) == 3


def test_scaling_recovers_points_of_the_plane():
    points = np.random.default_rng(0).standard_normal((30, 2)) * [3, 1]
    places, share = _scaled(squareform(pdist(points)))
    np.testing.assert_allclose(pdist(places), pdist(points))
    assert share == pytest.approx(1)
    assert places[:, 0].var() > places[:, 1].var()


def test_the_map_separates_sources_that_differ(ax):
    a, b = np.tile([0, 0, 0, 1, 1, 1], (10, 1)), np.tile([0, 1, 0, 1, 0, 1], (10, 1))
    plots.plot_partition_map(a, b, ax=ax, seed=0)
    left, right = (np.asarray(marks.get_offsets())[:, 0] for marks in ax.collections)
    assert max(left.max(), right.max()) - min(left.min(), right.min()) == pytest.approx(
        diagnostics.variation_of_information(a[0], b[0])
    )
    assert left.max() < right.min() or right.max() < left.min()


def test_the_null_holds_every_permutation_and_the_observed_line(ax):
    null = np.random.default_rng(0).standard_normal(99)
    plots.plot_permutation_null(diagnostics.TwoSampleTest(7.5, 0.01, null, 20, 20), ax=ax, statistic="MMD")
    assert sum(bar.get_height() for bar in ax.patches) == 99
    assert ax.lines[0].get_xdata()[0] == 7.5
    assert ax.get_xlim()[1] > 7.5
    assert "observed, p = 0.01" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_agreement_has_distance_and_floor_of_each(ax):
    plots.plot_agreement(diagnostics.Agreement(0.3, 0.4, 0.05, 0.01, 0.02, 0.03), ax=ax, tolerance=0.1)
    between, noise = ax.lines
    limits = [line.get_segments()[0][0].tolist() for line in ax.collections[:2]]
    assert limits == [[MAX_DIFFERENCE, 1.7], [0.1, 0.7]]
    assert between.get_xydata().tolist() == [[0.3, 2], [0.4, 1], [0.05, 0]]
    assert noise.get_xdata().tolist() == [0.01, 0.02, 0.03]
    assert [label.get_text().split()[0] for label in ax.get_yticklabels()] == ["total", "largest", "mean"]


LABELS = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 60, 6))))

DATA = np.arange(6.0)[:, None]


@pytest.mark.parametrize("draws", [LABELS, Draws(assignments=LABELS.numpy())], ids=["tensor", "draws"])
def test_pictures_of_a_sampler_s_draws(draws):
    panels = new_figure(6, 4).subplots(2, 2).ravel()
    plots.plot_two_samples(draws, draws, ax=panels[0], seed=0)
    plots.plot_partition_map(draws, draws, ax=panels[1], seed=0)
    plots.plot_partition_draws(DATA, draws, axes=panels[2:3])
    plots.plot_distances(draws, distance_rhat(draws, seed=0), axes=panels[3:])
    assert all(ax.has_data() for ax in panels)
    with pytest.raises(ValueError, match=r"draws(_a)? is of type int"):
        plots.plot_two_samples(3, draws, ax=panels[0], seed=0)
