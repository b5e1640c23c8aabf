"""How sure each point is of its place, points sorted within their clusters."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.marks import HOLLOW, cluster_colour, cluster_marker
from pyroclust.plots.style import INK

__all__ = ["plot_point_uncertainty"]


def plot_point_uncertainty(uncertainty: np.ndarray, assignments: np.ndarray, *, ax: Axes) -> Axes:
    """Draw one stem a point, clusters side by side, the most certain points of each first.

    On the data themselves :func:`plot_clustering` shows the same figures, uncertain points hollow.

    Shape:
        uncertainty: ``(N,)`` in [0, 1]; assignments: ``(N,)`` canonical.

    Args:
        uncertainty: such as :func:`pyroclust.diagnostics.point_uncertainty`.
        assignments: the estimate that it belongs to.
        ax: where to draw.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(6, 3).subplots()
        >>> ax = plot_point_uncertainty(np.array([0.2, 0.0, 0.4]), np.array([0, 0, 1]), ax=ax)
        >>> ax.lines[0].get_ydata().tolist()
        [0.0, 0.2]
    """
    if uncertainty.ndim != 1 or assignments.shape != uncertainty.shape:
        raise ValueError(
            f"uncertainty and assignments have shapes {uncertainty.shape} and {assignments.shape}, "
            "expected (N,) and (N,)"
        )
    order = np.lexsort((uncertainty, assignments))
    gap = max(1.0, 0.02 * len(order))
    place = np.arange(len(order)) + gap * np.searchsorted(np.unique(assignments), assignments[order])
    middles = []
    for label in np.unique(assignments).tolist():
        member = assignments[order] == label
        x, y, colour = place[member], uncertainty[order][member], cluster_colour(label)
        ax.vlines(x, 0, y, color=colour, lw=1, alpha=0.6)
        ax.plot(x, y, ls="", marker=cluster_marker(label), color=colour, ms=4.5)
        middles.append(x.mean())
    ax.axhline(HOLLOW, color=INK, lw=0.9, ls=(0, (4, 3)))
    ax.set_xticks(_apart(np.array(middles), 0.035 * float(place[-1] + 1)), _names(assignments))
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="cluster", ylabel="probability of being\napart from companions", ylim=(0, 1.02))
    ax.set_xlim(-1, place[-1] + 1)
    return ax


def _names(assignments: np.ndarray) -> list[str]:
    return [str(label + 1) for label in np.unique(assignments).tolist()]


def _apart(places: np.ndarray, least: float) -> np.ndarray:
    """Move names of small clusters to the right until they no longer touch."""
    steps = least * np.arange(len(places))
    return np.maximum.accumulate(places - steps) + steps
