"""Distances between two sources, each with its noise floor."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import Agreement
from pyroclust.diagnostics.verdict import MAX_DIFFERENCE
from pyroclust.plots.limits import draw_limit
from pyroclust.plots.style import CYCLE, GREY

__all__ = ["plot_agreement"]

_ROWS = {
    "total_variation": "total variation of the\nnumber of clusters",
    "largest_difference": "largest difference\nof co-assignments",
    "mean_difference": "mean difference\nof co-assignments",
}


def plot_agreement(found: Agreement, *, ax: Axes) -> Axes:
    """Draw each distance between two sources as a full mark, and its noise floor as a hollow one.

    A distance near its noise floor is as small as two halves of the reference allow. The line is the limit of
    the verdict, for the first two.

    Args:
        found: such as :func:`pyroclust.diagnostics.agreement`.
        ax: where to draw.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> found = Agreement(0.2, 0.3, 0.05, 0.02, 0.04, 0.01)
        >>> ax = plot_agreement(found, ax=new_figure(6, 3).subplots())
        >>> [line.get_xdata().tolist() for line in ax.lines[1:]]
        [[0.2, 0.3, 0.05], [0.02, 0.04, 0.01]]
    """
    height = np.arange(len(_ROWS))[::-1]
    between = np.array([getattr(found, name) for name in _ROWS])
    noise = np.array([getattr(found, f"noise_{name}") for name in _ROWS])
    draw_limit(MAX_DIFFERENCE, ax=ax, text=f"{MAX_DIFFERENCE:.2f}")
    ax.hlines(height, noise, between, color=GREY, lw=2, zorder=1)
    ax.plot(between, height, ls="", marker="o", ms=9, color=CYCLE[0], label="between the sources")
    ax.plot(noise, height, ls="", marker="D", ms=7, mfc="white", color=CYCLE[3], label="noise floor")
    ax.set_yticks(height, list(_ROWS.values()))
    ax.tick_params(axis="y", length=0)
    top = max(1.2 * MAX_DIFFERENCE, 1.08 * float(np.nanmax([*between, *noise])))
    ax.set(xlabel="distance", xlim=(-0.015 * top, top), ylim=(-0.6, len(_ROWS) - 0.4))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, borderaxespad=0.1)
    return ax
