"""How often credible balls hold the truth, against how often they should."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from pyroclust.diagnostics import BallCoverage
from pyroclust.plots.bands import draw_inside_and_out
from pyroclust.plots.style import CYCLE, GREY, INK

__all__ = ["draw_coverage", "plot_coverage"]


def plot_coverage(found: BallCoverage, *, ax: Axes) -> Axes:
    """Draw the observed against the nominal coverage of credible balls, inside the band of calibrated ones.

    Below the diagonal balls are too small: the guide is too sure. Above it they are too large.

    Args:
        found: such as :func:`pyroclust.diagnostics.ball_coverage`.
        ax: where to draw.

    Example:
        >>> from pyroclust.diagnostics import ball_coverage
        >>> from pyroclust.plots.style import new_figure
        >>> partitions = np.random.default_rng(0).integers(2, size=(50, 20, 5))
        >>> found = ball_coverage(partitions[0], partitions[1:], seed=0)
        >>> plot_coverage(found, ax=new_figure(4, 4).subplots()).get_ylabel()
        'balls with the truth'

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073
    """
    return draw_coverage(
        found.levels, found.observed, found.low, found.high, ax=ax, band_level=found.band_level
    )


def draw_coverage(
    levels: np.ndarray,
    observed: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    ax: Axes,
    band_level: float = 0.95,
) -> Axes:
    """Draw coverage from its arrays, as a certificate stores them.

    Shape:
        levels, observed, low, high: ``(L,)``.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> x = np.array([0.5, 0.9])
        >>> len(draw_coverage(x, x, x - 0.1, x + 0.1, ax=new_figure(4, 4).subplots()).lines)
        3
    """
    band = f"{band_level:.0%} of calibrated"
    ax.fill_between(levels, low, high, color=GREY, alpha=0.25, lw=0, label=band)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=(0, (4, 3)))
    ax.plot(levels, observed, color=CYCLE[0], lw=1.4)
    draw_inside_and_out(levels, observed, low, high, ax=ax)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="level of the credible ball", ylabel="balls with the truth", xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left")
    return ax
