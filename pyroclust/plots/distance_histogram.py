"""How far draws lie from an estimate."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import CredibleBall, PartitionLoss, VariationOfInformation
from pyroclust.plots.names import loss_name, loss_unit, with_unit
from pyroclust.plots.style import CYCLE, GREY, INK

__all__ = ["plot_distance_histogram"]

_DEFAULT_LOSS = VariationOfInformation()


def plot_distance_histogram(
    ball: CredibleBall, *, ax: Axes, num_bins: int = 40, loss: PartitionLoss = _DEFAULT_LOSS
) -> Axes:
    """Draw a histogram of the distances of the draws to the estimate, and the radius of the credible ball.

    Draws inside the ball are blue; those outside are grey and hatched.

    Args:
        ball: such as :func:`pyroclust.diagnostics.credible_ball`.
        ax: where to draw.
        num_bins: of the histogram.
        loss: the distance that the ball was made with.

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073

    Example:
        >>> from pyroclust.diagnostics import credible_ball
        >>> from pyroclust.plots.style import new_figure
        >>> ball = credible_ball(np.array([[0, 0]] * 9 + [[0, 1]]), np.array([0, 0]), level=0.9)
        >>> plot_distance_histogram(ball, ax=new_figure(5, 3).subplots()).get_xlabel()
        'variation of information to the estimate (bits)'
    """
    top = max(float(np.max(ball.distances)), ball.radius, 1e-9)
    edges = _edges(top, ball.radius, num_bins)
    inside = ball.distances <= ball.radius + 1e-9
    looks = ((inside, CYCLE[0], "", f"in the ball: {ball.coverage:.0%}"), (~inside, GREY, "////", "farther"))
    bottom = np.zeros(len(edges) - 1)
    for member, colour, hatch, name in looks:
        heights = np.histogram(ball.distances[member], edges)[0] / len(inside)
        ax.bar(
            edges[:-1],
            heights,
            np.diff(edges),
            bottom,
            align="edge",
            color=colour,
            hatch=hatch,
            label=name,
            edgecolor="white",
            lw=0.4,
        )
        bottom = heights
    ax.axvline(ball.radius, color=INK, lw=1.2, ls=(0, (4, 3)))
    label = f"radius {ball.radius:.2f}{loss_unit(loss)}, level {ball.level:.0%}"
    ax.text(
        ball.radius, 1.01, label, transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=9
    )
    ax.set(xlabel=with_unit(f"{loss_name(loss)} to the estimate", loss), ylabel="share of the draws")
    ax.set_xlim(0, edges[-1])
    ax.legend(loc="upper left")
    return ax


def _edges(top: float, radius: float, num_bins: int) -> np.ndarray:
    """Return bins up to the largest distance, one of which ends just above the radius."""
    width = top / num_bins
    if radius > width:
        width = radius / round(radius / width)
    edges = width * np.arange(int(np.ceil(top / width - 1e-9)) + 1)
    # Draws at the radius belong to the ball: to the bin that ends there.
    edges[1:] += 1e-9 + 1e-9 * width
    return edges
