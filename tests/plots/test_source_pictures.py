"""Pictures of two sources, of calibration and of other methods draw the figures that they are given."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from pyroclust import diagnostics, plots
from pyroclust.diagnostics.limits import MAX_DIFFERENCE
from pyroclust.diagnostics.simulations.familiarity import FamiliarityRow
from pyroclust.plots.agreement import _scaled


@pytest.fixture
def ax():
    return plots.new_figure(6, 4).subplots()


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


def test_many_draws_are_thinned(ax, sources):
    plots.plot_partition_map(*sources, ax=ax, seed=0, num_draws=12)
    assert [len(marks.get_offsets()) for marks in ax.collections] == [12, 12]


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


def test_other_numbers_of_points_are_refused(ax):
    a, b = np.zeros((5, 3), dtype=int), np.zeros((5, 4), dtype=int)
    with pytest.raises(ValueError, match="3 and 4 points"):
        plots.plot_two_samples(a, b, ax=ax, seed=0)


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


@pytest.fixture
def calibrated():
    partitions = np.random.default_rng(0).integers(2, size=(20, 60, 6))
    return partitions[0], partitions[1:]


def test_coverage_marks_what_leaves_the_band(ax, calibrated):
    found = diagnostics.ball_coverage(*calibrated, seed=0, levels=[0.5, 0.9])
    found = replace(
        found, observed=np.array([0.5, 0.2]), low=np.array([0.4, 0.8]), high=np.array([0.6, 0.95])
    )
    plots.plot_coverage(found, ax=ax)
    _, line, inside, outside = ax.lines
    assert line.get_xydata().tolist() == [[0.5, 0.5], [0.9, 0.2]]
    assert inside.get_xydata().tolist() == [[0.5, 0.5]]
    assert outside.get_xydata().tolist() == [[0.9, 0.2]]
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == (0.4, 0.95)
    assert "95% of calibrated" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_reliability_has_bins_bands_and_counts(ax, calibrated):
    found = diagnostics.pair_reliability(*calibrated)
    plots.plot_reliability(found, ax=ax)
    shown = np.concatenate([line.get_xydata() for line in ax.lines[1:]])
    np.testing.assert_allclose(
        shown[np.argsort(shown[:, 0])], np.column_stack([found.predicted, found.observed])
    )
    bands = np.array([path.vertices[:, 1] for path in ax.collections[0].get_paths()])
    np.testing.assert_allclose(bands, np.column_stack([found.low, found.high]))
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.sum(), found.counts / found.counts.sum())
    assert f"Brier score {found.brier:.3f}" in ax.texts[0].get_text()


def test_the_averaged_posterior_stands_beside_the_prior(ax):
    prior, averaged = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    plots.plot_averaged_posterior(prior, averaged, np.full(3, 0.05), ax=ax, prior_name="simulated")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.5, 0.3, 0.2, 0.4, 0.4, 0.2])
    ends = ax.collections[0].get_segments()[0][:, 1]
    np.testing.assert_allclose(ends, [0.3, 0.5])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["simulated", "averaged posterior"]
    with pytest.raises(ValueError, match="expected \\(K_max,\\)"):
        plots.plot_averaged_posterior(prior, averaged[:2], prior, ax=ax)


def test_familiarity_is_in_units_of_the_simulations(ax):
    row = FamiliarityRow("spread", 5.0, 1.0, 3.0, 4.0, 90, 5, 0.1, 2.0)
    low = replace(row, name="mean", value=2.0)
    near = replace(row, name="embedding", value=-1.0, p_value=0.98)
    found = diagnostics.Familiarity(0.1, 1.0, 1.0, 95, rows=(row, low, near), overall=0.123)
    plots.plot_familiarity(found, ax=ax)
    _, inside, outside = ax.lines
    assert outside.get_xydata().tolist() == [[2.0, 2.0]]
    assert inside.get_xydata().tolist() == [[-0.5, 1.0], [-2.0, 0.0]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["spread", "mean", "embedding"]
    assert ax.get_title() == "p = 0.123 among 95 simulations"
    with pytest.raises(ValueError, match="found has no rows"):
        plots.plot_familiarity(replace(found, rows=()), ax=ax)


def test_baselines_take_the_colours_of_the_first():
    data = np.arange(6.0)[:, None]
    found = {"Bayesian": np.array([0, 0, 0, 1, 1, 1]), "k-means": np.array([1, 1, 1, 0, 0, 2])}
    axes = plots.plot_baselines(data, found, axes=plots.new_figure(6, 3).subplots(1, 2))
    assert [ax.get_title() for ax in axes] == ["Bayesian: 2 clusters", "k-means: 3 clusters"]
    np.testing.assert_allclose(axes[0].collections[0].get_offsets(), axes[1].collections[0].get_offsets())
    assert [len(ax.collections) for ax in axes] == [2, 3]
    with pytest.raises(ValueError, match="one label a point"):
        plots.plot_baselines(data, {"a": np.zeros(5, dtype=int)}, axes=axes[:1])


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
