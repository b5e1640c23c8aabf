"""Traces of a functional over the draws of several chains."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pyroclust.plots.style import CYCLE

__all__ = ["plot_trace"]

MAX_POINTS = 600


def plot_trace(values: np.ndarray, *, ax: Axes, name: str) -> Axes:
    """Draw one line a chain; at most 600 draws of each, evenly spaced.

    Shape:
        values: ``(chains, draws)``.

    Args:
        values: a functional, such as one of :func:`pyroclust.diagnostics.functionals`.
        ax: where to draw.
        name: title of the panel.

    Raises:
        ValueError: if ``values`` is not a matrix.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> len(plot_trace(np.zeros((4, 9)), ax=new_figure(4, 2).subplots(), name="num_clusters").lines)
        4
    """
    if values.ndim != 2:
        raise ValueError(f"values has shape {values.shape}, expected (chains, draws)")
    draws = values.shape[1]
    kept = np.unique(np.linspace(0, draws - 1, min(draws, MAX_POINTS)).round().astype(int))
    for chain, line in enumerate(values[:, kept]):
        ax.plot(kept, line, lw=0.7, alpha=0.75, color=CYCLE[chain % len(CYCLE)], label=f"chain {chain + 1}")
    if (values == values.round()).all():
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if (values == values.flat[0]).all():
        ax.set_ylim(values.flat[0] - 1, values.flat[0] + 1)
        ax.text(0.5, 0.62, "constant", transform=ax.transAxes, ha="center")
    ax.set(title=name, xlabel="draw")
    ax.set_xlim(0, max(1, draws - 1))
    return ax
