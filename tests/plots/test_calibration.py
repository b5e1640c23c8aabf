"""Pictures of calibration, of weights and of familiarity draw the figures that they are given."""

from dataclasses import replace

import numpy as np
import pytest

from pyroclust import diagnostics, plots
from pyroclust.diagnostics.likeness import FamiliarityRow


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


def test_log_weights_are_relative_to_their_mean(ax):
    plots.plot_log_weights(np.full(7, -500.0), ax=ax)
    (peak,) = [bar for bar in ax.patches if bar.get_height() > 0]
    assert peak.get_x() <= 0 <= peak.get_x() + peak.get_width()
    assert peak.get_height() == 7
