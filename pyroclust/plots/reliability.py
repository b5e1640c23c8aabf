"""Do pairs with probability p share a cluster in a share p of the cases?"""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import PairReliability
from pyroclust.plots.bands import draw_inside_and_out
from pyroclust.plots.style import CYCLE, GREY, INK

__all__ = ["draw_reliability", "plot_reliability"]


def plot_reliability(found: PairReliability, *, ax: Axes) -> Axes:
    """Draw observed against predicted co-assignment, a mark a bin, with the band of calibrated ones.

    Bars along the bottom are the shares of the pairs in each bin, on a scale of their own: most pairs are
    nearly surely together or apart.

    Args:
        found: such as :func:`pyroclust.diagnostics.pair_reliability`.
        ax: where to draw.

    References:
        Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.
        https://doi.org/10.1175/WAF993.1

    Example:
        >>> from pyroclust.diagnostics import pair_reliability
        >>> from pyroclust.plots.style import new_figure
        >>> partitions = np.random.default_rng(0).integers(2, size=(20, 50, 8))
        >>> found = pair_reliability(partitions[0], partitions[1:])
        >>> plot_reliability(found, ax=new_figure(4, 4).subplots()).get_ylabel()
        'share together'
    """
    bins = (found.predicted, found.observed, found.low, found.high, found.counts)
    draw_reliability(*bins, ax=ax, band_level=found.band_level)
    words = f"Brier score {found.brier:.3f}\nby the base rate {found.brier_prior:.3f}"
    ax.text(0.98, 0.26, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=9)
    return ax


def draw_reliability(
    predicted: np.ndarray,
    observed: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    counts: np.ndarray,
    *,
    ax: Axes,
    band_level: float = 0.95,
) -> Axes:
    """Draw a reliability diagram from its arrays, as a certificate stores them.

    Shape:
        predicted, observed, low, high, counts: ``(M,)``.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> x = np.array([0.5, 0.9])
        >>> len(draw_reliability(x, x, x - 0.1, x + 0.1, x, ax=new_figure(4, 4).subplots()).patches)
        2
    """
    share = counts / np.sum(counts)
    heights = 0.22 * share / share.max()
    ax.bar(predicted, heights, 0.04, color=CYCLE[5], alpha=0.6, label="share of the pairs")
    band = f"{band_level:.0%} of calibrated"
    ax.vlines(predicted, low, high, color=GREY, alpha=0.35, lw=9, label=band)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=(0, (4, 3)))
    draw_inside_and_out(predicted, observed, low, high, ax=ax)
    ax.set(xlabel="predicted probability of a pair", ylabel="share together")
    ax.set(xlim=(-0.03, 1.03), ylim=(0, 1.03))
    ax.legend(loc="upper left")
    return ax
