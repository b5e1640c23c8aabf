"""A training as one picture: loss, validation, learning rate and speed by step."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pyroclust.plots.given import drawable
from pyroclust.plots.names import plain_text
from pyroclust.plots.style import CYCLE, new_figure, style

__all__ = ["plot_training", "plot_training_loss"]

_MOST_POINTS = 400
_STEPS_A_BLOCK = 8
_PANELS = {
    "mean_kl": "Mean KL to the exact posterior (nats)",
    "median_efficiency": "Importance-sampling efficiency, median",
    "log_prob_truth": "Mean log q of the truth (nats)",
}


def plot_training_loss(steps: np.ndarray, loss: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a noisy loss as the band from its 10th to its 90th percentile, and its mean, in blocks of steps.

    Shape:
        steps, loss: ``(steps,)``, nats per point.

    Raises:
        ValueError: if they are no finite numbers, none at all, or not equally many.

    Example:
        >>> axes = plot_training_loss(np.arange(9), np.ones(9), ax=new_figure(4, 3).subplots())
        >>> axes.get_ylabel()
        'loss, nats per point'
    """
    steps, loss = drawable("steps", steps), drawable("loss", loss)
    if steps.ndim != 1 or not steps.size or loss.shape != steps.shape:
        raise ValueError(f"steps and loss have shapes {steps.shape} and {loss.shape}, expected (S,) each")
    blocks = np.array_split(np.arange(len(steps)), min(-(-len(steps) // _STEPS_A_BLOCK), _MOST_POINTS))
    low, mean, high = (
        np.array([figure(loss[block]) for block in blocks])
        for figure in (lambda x: np.quantile(x, 0.1), np.mean, lambda x: np.quantile(x, 0.9))
    )
    middle = np.array([steps[block].mean() for block in blocks])
    ax.fill_between(middle, low, high, color=CYCLE[0], alpha=0.2, lw=0, label="10 to 90 % of the steps")
    ax.plot(middle, mean, color=CYCLE[0], lw=1.3, label="mean")
    top = np.quantile(high[len(high) // 10 :], 0.98) * 1.15
    if np.isfinite(top) and top > low.min():
        ax.set_ylim(min(0.0, float(low.min())), float(top))
    ax.set(xlabel="step", ylabel="loss, nats per point", title="Loss on fresh simulations")
    ax.legend()
    return ax


def plot_training(
    log: Mapping[str, np.ndarray], validation: Mapping[str, np.ndarray], *, name: str = ""
) -> Figure:
    """Draw the log and the validations of a training.

    Args:
        log: columns of ``log.csv``.
        validation: columns of ``validation.csv``; may be empty.
        name: of the guide, for the title.

    Example:
        >>> log = {"step": np.arange(3), "nats_per_point": np.ones(3), "learning_rate": np.ones(3)}
        >>> len(plot_training(log, {}).axes)
        2
    """
    with style():
        panels = [name for name in _PANELS if name in validation]
        figure = new_figure(4.2 * (1 + (len(panels) + 1 + 1) // 2), 6.0)
        axes = figure.subplots(2, 1 + (len(panels) + 1) // 2, squeeze=False).T.ravel()
        plot_training_loss(log["step"], log["nats_per_point"], ax=axes[0])
        axes[1].plot(log["step"], log["learning_rate"], color=CYCLE[3])
        axes[1].set(xlabel="step", title="Learning rate", ylim=(0, None))
        for ax, panel in zip(axes[2:], panels, strict=False):
            ax.plot(validation["step"], validation[panel], color=CYCLE[2], marker="o", ms=3.5)
            ax.set(xlabel="step", title=_PANELS[panel])
            if panel == "mean_kl" and (validation[panel] > 0).all():
                ax.set_yscale("log")
        for ax in axes[2 + len(panels) :]:
            ax.remove()
        if name:
            figure.suptitle(plain_text(name), x=0.01, ha="left")
    return figure
