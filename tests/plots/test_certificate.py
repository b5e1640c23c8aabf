"""The pictures of a certificate and of a training say what their numbers say."""

import numpy as np
import pytest

from pyroclust import plots
from pyroclust.diagnostics.ranks import ecdf_band
from pyroclust.plots import new_figure
from pyroclust.plots.certificate import plot_training, plot_training_loss

ROWS = [
    {
        "num_points": n,
        "median_efficiency": 0.9 - n / 1000,
        "low_efficiency": 0.5,
        "high_efficiency": 0.95,
        "share_high_k": n / 1000,
    }
    for n in (20, 100)
]

CONTENT = {
    "exact": [{"num_points": 8, "mean_kl": 0.0123, "mean_kl_se": 0.001}],
    "sampled": ROWS,
    "calibration": [
        {"functional": name, "num_points": 30, "num_datasets": 100, "counts": counts}
        for name, counts in {"num_clusters": [25] * 4, "log_joint": [40, 30, 20, 10]}.items()
    ],
    "num_clusters": {
        "prior": [0.5, 0.3, 0.2],
        "simulated": [0.4, 0.4, 0.2],
        "averaged": [0.6, 0.3, 0.1],
        "averaged_se": [0.01, 0.01, 0.01],
        "total_variation": 0.1,
        "total_variation_noise": 0.02,
    },
    "order": {"median": 0.3, "low": 0.1, "high": 0.5, "baseline_median": 0.6},
}


def test_efficiency_has_a_line_a_band_and_the_share_of_high_k(ax) -> None:
    plots.plot_efficiency(ROWS, ax=ax)
    line = ax.containers[0].lines[0]
    np.testing.assert_allclose(line.get_xydata(), [[20, 0.88], [100, 0.8]])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20\n2 %", "100\n10 %"]
    corners = ax.collections[0].get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == (0.5, 0.95)


def test_ranks_are_drawn_as_differences_inside_the_band(ax) -> None:
    plots.plot_rank_ecdf({"num_clusters": [25] * 4, "log_joint": [40, 30, 20, 10]}, ax=ax)
    flat, tilted = (line.get_ydata() for line in ax.lines[:2])
    np.testing.assert_allclose(flat, 0, atol=1e-12)
    np.testing.assert_allclose(tilted, [0, 0.15, 0.2, 0.15, 0])
    low, high = ecdf_band(100, 4)
    grid = np.array([0.25, 0.5, 0.75])
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx((low - grid).min())
    assert corners.max() == pytest.approx((high - grid).max())
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["95 % of calibrated", "number of clusters", "log joint"]


def test_order_spread_with_and_without_a_baseline(ax) -> None:
    plots.plot_order_spread(CONTENT["order"], ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["guide", "baseline"]
    assert ax.lines[-1].get_xdata()[0] == 0.6
    other = plots.new_figure(4, 3).subplots()
    plots.plot_order_spread({"median": 0.3, "low": 0.1, "high": 0.5}, ax=other)
    assert [label.get_text() for label in other.get_yticklabels()] == ["guide"]


def test_all_panels_and_the_figures_in_the_titles() -> None:
    figure = plots.plot_certificate(CONTENT, name="mine")
    assert "mine, KL to exact posteriors 0.012 ± 0.001 at N = 8" in figure.get_suptitle()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[2] == "Number of clusters: total variation 0.100 (noise 0.020)"
    heights = [round(bar.get_height(), 3) for bar in figure.axes[2].patches]
    assert heights == [0.5, 0.3, 0.2, 0.6, 0.3, 0.1]
    assert plots.png_bytes(figure, dpi=40).startswith(b"\x89PNG")


@pytest.mark.parametrize("part", ["sampled", "calibration", "num_clusters", "order"])
def test_a_missing_part_is_left_blank(part) -> None:
    figure = plots.plot_certificate({**CONTENT, part: None}, name="mine")
    blank = [ax for ax in figure.axes if any(text.get_text() == "not measured" for text in ax.texts)]
    assert len(blank) == 1


def test_without_a_likelihood_the_panel_of_weights_says_so() -> None:
    rows = [row for row in CONTENT["calibration"] if row["functional"] != "log_joint"]
    figure = plots.plot_certificate({**CONTENT, "sampled": (), "calibration": rows}, name="mine")
    assert figure.axes[0].texts[0].get_text() == "the model has no likelihood"


def test_without_a_prior_simulated_frequencies_stand_beside_the_posterior() -> None:
    counts = {**CONTENT["num_clusters"], "prior": None, "total_variation": None}
    figure = plots.plot_certificate({**CONTENT, "num_clusters": counts}, name="mine")
    heights = [round(bar.get_height(), 3) for bar in figure.axes[2].patches]
    assert heights[:3] == [0.4, 0.4, 0.2]


PARTITIONS = {
    "coverage": {
        "levels": [0.5, 0.9],
        "observed": [0.5, 0.7],
        "low": [0.4, 0.8],
        "high": [0.6, 1.0],
        "p_value": 0.02,
    },
    "reliability": {
        "predicted": [0.1, 0.9],
        "observed": [0.1, 0.8],
        "low": [0.0, 0.7],
        "high": [0.2, 1.0],
        "counts": [30, 10],
        "ece": 0.025,
        "ece_noise": 0.011,
    },
}


def test_coverage_and_reliability_stand_in_a_third_row() -> None:
    figure = plots.plot_certificate({**CONTENT, **PARTITIONS}, name="mine")
    assert len(figure.axes) == 6
    balls, pairs = figure.axes[4:]
    assert balls.get_title(loc="left") == "Credible balls: p = 0.020"
    assert pairs.get_title(loc="left") == "Probabilities of pairs: error 0.025 (noise 0.011)"
    assert balls.lines[1].get_ydata().tolist() == [0.5, 0.7]
    heights = [bar.get_height() for bar in pairs.patches]
    assert heights[0] == pytest.approx(3 * heights[1])
    assert plots.png_bytes(figure, dpi=40).startswith(b"\x89PNG")


@pytest.mark.parametrize("part", list(PARTITIONS))
def test_one_of_the_two_leaves_the_other_blank(part) -> None:
    figure = plots.plot_certificate({**CONTENT, part: PARTITIONS[part]}, name="mine")
    assert len(figure.axes) == 6
    assert sum(any(text.get_text() == "not measured" for text in ax.texts) for ax in figure.axes) == 1


def log(steps: int) -> dict[str, np.ndarray]:
    return {
        "step": np.arange(steps),
        "nats_per_point": 0.2 + np.exp(-np.arange(steps) / 50),
        "learning_rate": np.linspace(1e-3, 1e-5, steps),
    }


def test_the_loss_is_averaged_in_blocks() -> None:
    axes = plot_training_loss(np.arange(5000), np.ones(5000), ax=new_figure(4, 3).subplots())
    x, y = axes.lines[0].get_data()
    assert len(x) == 400
    assert np.asarray(y) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "columns", [[], ["log_prob_truth"], ["mean_kl", "median_efficiency", "log_prob_truth"]]
)
def test_a_panel_for_each_figure(columns: list[str]) -> None:
    validation = {"step": np.arange(3)} | {name: np.array([0.3, 0.2, 0.1]) for name in columns}
    figure = plot_training(log(7), validation if columns else {}, name="ncp-test")
    titles = [one.get_title(loc="left") for one in figure.axes]
    assert len(figure.axes) == 2 + len(columns)
    assert {"Loss on fresh simulations", "Learning rate"} <= set(titles)
