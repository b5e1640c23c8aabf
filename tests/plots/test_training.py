"""The picture of a training."""

import numpy as np
import pytest

from pyroclust.plots import new_figure
from pyroclust.plots.certificate import plot_training, plot_training_loss


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


def test_one_step_is_enough() -> None:
    assert plot_training(log(1), {}).axes
