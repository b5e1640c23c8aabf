"""Pictures of convergence draw the figures that they are given."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from pyroclust import diagnostics, plots
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS


@pytest.fixture
def draws():
    return np.random.default_rng(0).integers(3, size=(4, 60, 8))


def bars(ax) -> list:
    rows = [one for one in ax.collections if isinstance(one, PolyCollection)]
    return [path.get_extents() for row in rows for path in row.get_paths()]


def heights(ax) -> np.ndarray:
    return np.array([bar.height for bar in bars(ax)])


def test_rank_bars_of_different_values_are_histograms_of_ranks(ax):
    values = np.random.default_rng(0).permutation(np.arange(400.0)).reshape(4, 100)
    plots.plot_rank_bars(values, ax=ax, name="x", num_bins=10)
    counts = np.array([np.histogram(row, np.arange(0, 401, 40))[0] for row in values])
    np.testing.assert_allclose(heights(ax).reshape(4, 10), counts / 10)


def test_rank_bars_share_ties_evenly(ax):
    plots.plot_rank_bars(np.full((2, 50), 3.0), ax=ax, name="x", num_bins=5)
    np.testing.assert_allclose(heights(ax), 1.0)


def test_a_chain_that_stays_low_has_its_bars_on_the_left(ax):
    plots.plot_rank_bars(np.array([np.zeros(50), np.ones(50)]), ax=ax, name="x", num_bins=10)
    low, high = heights(ax).reshape(2, 10)
    np.testing.assert_allclose(low, [2.0] * 5 + [0.0] * 5)
    np.testing.assert_allclose(high, low[::-1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["chain 2", "chain 1"]
    floors = np.array([bar.y0 for bar in bars(ax)]).reshape(2, 10)
    assert floors[0, 0] > floors[1, 0] + high.max() - 1e-9


def rows():
    make = diagnostics.Convergence
    return [
        make("num_clusters", 3.0, 1.0, 1.002, 900.0, 800.0, constant=False),
        make("together_0_4", 0.5, 0.5, 1.2, 30.0, 60.0, constant=False),
        make("entropy", 1.0, 0.0, float("nan"), float("nan"), float("nan"), constant=True),
        make("log_joint", 1.0, 0.0, float("inf"), 4.0, 4.0, constant=False),
    ]


def test_convergence_has_dots_limits_and_names_constants():
    left, right = plots.plot_convergence(rows(), axes=plots.new_figure(9, 3).subplots(1, 2))
    good, bad, *limits = left.lines
    assert good.get_xydata().tolist() == [[1.002, 3.0]]
    assert bad.get_ydata().tolist() == [2.0, 0.0] or np.isnan(bad.get_xdata()).any()
    assert 1.2 in bad.get_xdata()
    assert [line.get_xdata()[0] for line in limits] == [GOOD_RHAT, MAX_RHAT]
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == ["number of clusters", "points 1 and 5 together", "entropy (constant)", "log joint"]
    assert "∞" in [text.get_text() for text in left.texts]
    tail, bulk, *limits = right.lines
    np.testing.assert_array_equal(bulk.get_xdata(), [900, 30, np.nan, 4])
    np.testing.assert_array_equal(tail.get_xdata(), [800, 60, np.nan, 4])
    assert [line.get_xdata()[0] for line in limits] == [GOOD_ESS, MIN_ESS]
    low, high = right.get_xlim()
    assert low < 4
    assert high > 900


def test_a_constant_functional_has_no_dot_whatever_its_row_says():
    row = diagnostics.Convergence("entropy", 1.0, 0.0, 1.0, 4000.0, 4000.0, constant=True)
    left, right = plots.plot_convergence([row], axes=plots.new_figure(9, 3).subplots(1, 2))
    assert not any(np.isfinite(line.get_xdata()).any() for line in right.lines[:2])
    assert not any(np.isfinite(np.asarray(line.get_xdata(), dtype=float)).any() for line in left.lines[:2])


def test_convergence_wants_rows_and_two_axes(ax):
    with pytest.raises(ValueError, match="rows is empty"):
        plots.plot_convergence([], axes=[ax, ax])
    with pytest.raises(ValueError, match="axes has 1 Axes, expected 2"):
        plots.plot_convergence(rows(), axes=[ax])


def test_co_membership_counts_every_pair_that_varies(ax):
    ess = np.array([50.0, 150.0, 900.0, np.nan])
    found = diagnostics.CoMembershipEss(np.zeros((4, 2), dtype=int), ess, 1, 50.0, 150.0)
    plots.plot_co_membership(found, ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 3
    assert ax.get_title() == "4 pairs of points, 1 constant"
    low = [bar for bar in ax.patches if bar.get_height() and bar.get_x() + bar.get_width() < MIN_ESS]
    assert sum(bar.get_height() for bar in low) == 1
    assert [line.get_xdata()[0] for line in ax.lines[:2]] == [GOOD_ESS, MIN_ESS]
    assert ax.lines[2].get_xdata() == [150.0]


def test_co_membership_of_constant_pairs_only_is_empty(ax):
    found = diagnostics.CoMembershipEss(np.zeros((2, 2), dtype=int), np.full(2, np.nan), 2, np.inf, np.inf)
    plots.plot_co_membership(found, ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 0


def test_distances_are_those_to_the_worst_references_first(draws):
    found = diagnostics.distance_rhat(draws, num_references=4, seed=0)
    axes = plots.plot_distances(draws, found, axes=plots.new_figure(9, 3).subplots(1, 2))
    worst = np.argsort(-found.rhats)[:2]
    for ax, place in zip(axes, worst, strict=True):
        assert f"reference {place + 1}: R-hat {found.rhats[place]:.3f}" in ax.get_title()
        expected = diagnostics.variation_of_information(draws, found.references[place])
        np.testing.assert_allclose([line.get_ydata() for line in ax.lines], expected, atol=1e-12)
    assert axes[0].get_ylabel() == "variation of information\n(bits)"


def test_distances_want_chains_and_no_more_axes_than_references(draws, ax):
    found = diagnostics.distance_rhat(draws, num_references=1, seed=0)
    with pytest.raises(ValueError, match=r"expected \(chains, draws, N\)"):
        plots.plot_distances(draws[0], found, axes=[ax])
    with pytest.raises(ValueError, match="at most 1"):
        plots.plot_distances(draws, found, axes=[ax, ax])


def test_trace_thins_and_names_constants(ax):
    plots.plot_trace(np.zeros((4, 5000)), ax=ax, name="K")
    assert len(ax.lines) == 4
    assert len(ax.lines[0].get_xdata()) == 600
    assert ax.texts[0].get_text() == "constant"
