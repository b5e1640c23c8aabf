"""Data coloured by a partition, each point as full as its place is certain."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pyroclust.plots.marks import HOLLOW, cluster_colour, cluster_marker, fade, mark_clusters
from pyroclust.plots.projection import place_points
from pyroclust.plots.style import INK

__all__ = ["plot_clustering"]

_MAX_LEGEND = 8


def plot_clustering(
    data: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    columns: Sequence[str] = (),
) -> Axes:
    """Draw the data, coloured and shaped by cluster; certain points full, uncertain ones hollow.

    One column becomes stacked dots, two a scatter plot, more a scatter plot of the first two principal
    components.

    Shape:
        data: ``(N, D)``; assignments: ``(N,)`` canonical; uncertainty: ``(N,)``, hollow from 0.5 on.

    Args:
        data: in the units of the axes.
        assignments: partition, such as a point estimate.
        uncertainty: such as :func:`pyroclust.diagnostics.point_uncertainty`.
        ax: where to draw.
        columns: names of the D columns.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> plot_clustering(np.array([[0.0], [1.0]]), np.array([0, 1]), np.zeros(2), ax=ax).get_xlabel()
        'column 1'
    """
    if data.ndim != 2 or assignments.shape != data.shape[:1] or uncertainty.shape != data.shape[:1]:
        raise ValueError(
            f"data, assignments and uncertainty have shapes {data.shape}, {assignments.shape} and "
            f"{uncertainty.shape}, expected (N, D), (N,) and (N,)"
        )
    places = place_points(data, columns=columns)
    size = 30.0 if places.stacked else float(np.clip(6000 / len(data), 14, 42))
    mark_clusters(places.points, assignments, ax=ax, size=size, uncertainty=uncertainty)
    places.prepare(ax)
    ax.set(xlabel=places.labels[0], ylabel=places.labels[1])
    _add_legend(assignments, ax)
    return ax


def _add_legend(assignments: np.ndarray, ax: Axes) -> None:
    sizes = np.bincount(assignments)
    handles = [
        Line2D(
            [], [], ls="", marker=cluster_marker(k), color=cluster_colour(k), label=f"cluster {k + 1}: {size}"
        )
        for k, size in enumerate(sizes[:_MAX_LEGEND])
    ]
    if len(sizes) > _MAX_LEGEND:
        handles.append(Line2D([], [], ls="", label=f"and {len(sizes) - _MAX_LEGEND} more"))
    handles.append(Line2D([], [], ls="", label=""))
    for level, name in ((0.0, "certain"), (0.25, "uncertainty 0.25"), (HOLLOW, "0.5 and more")):
        handles.append(
            Line2D([], [], ls="", marker="o", mec=INK, mfc=fade(INK, np.array([level]))[0], label=name)
        )
    ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), handletextpad=0.3, borderaxespad=0
    )
