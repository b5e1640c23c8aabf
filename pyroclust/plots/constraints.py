"""What constraints changed, on the data."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from pyroclust.plots.given import drawable_points, drawable_shares
from pyroclust.plots.panels import place_points
from pyroclust.plots.style import CYCLE, GREY, INK

__all__ = ["plot_moved_points"]

# Below, colours would show noise as a finding.
_LEAST_SCALE = 0.05


def plot_moved_points(
    data: np.ndarray,
    change: np.ndarray,
    *,
    ax: Axes,
    together: np.ndarray,
    apart: np.ndarray,
    bound: np.ndarray,
    columns: Sequence[str] = (),
) -> Axes:
    """Draw the data, darker where constraints changed more; lines join the pairs that are known.

    One column becomes stacked dots, two a scatter plot, more a scatter plot of the first two principal
    components. Points that something is known of have a ring.

    Shape:
        data: ``(N, D)``; change: ``(N,)``; together, apart: ``(P, 2)``; bound: ``(M,)``.

    Args:
        data: in the units of the axes.
        change: mean change of the co-assignment probabilities of each point, from 0 to 1.
        ax: where to draw.
        together: pairs of points that belong together.
        apart: pairs that are apart.
        bound: points that something is known of.
        columns: names of the D columns.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> pairs = np.array([[0, 1]])
        >>> ax = plot_moved_points(np.array([[0.0], [1.0]]), np.array([0.5, 0.5]), together=pairs,
        ...     apart=pairs[:0], bound=pairs[0], ax=new_figure(4, 3).subplots())
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['together', 'constrained row']
    """
    data = drawable_points("data", data)
    change = drawable_shares("change", change, len(data))
    places = place_points(data, columns=columns)
    size = 30.0 if places.stacked else float(np.clip(6000 / len(data), 14, 42))
    # Points that moved most lie above others.
    order = np.argsort(change, kind="stable")
    across, up = places.points.T
    marks = ax.scatter(
        across[order],
        up[order],
        c=change[order],
        cmap="YlOrBr",
        vmin=0.0,
        vmax=max(_LEAST_SCALE, float(change.max())),
        s=size,
        edgecolors=GREY,
        linewidths=0.5,
        zorder=3,
    )
    handles = []
    for pairs, colour, dashes, name in (
        (together, INK, "-", "together"),
        (apart, CYCLE[3], (0, (4, 2)), "apart"),
    ):
        if len(pairs):
            ends = places.points[np.asarray(pairs)]
            ax.add_collection(
                LineCollection(ends, colors=colour, linestyles=dashes, linewidths=1.1, zorder=4)
            )
            handles.append(Line2D([], [], color=colour, ls=dashes, lw=1.1, label=name))
    ax.scatter(
        across[bound],
        up[bound],
        s=1.6 * size,
        facecolors="none",
        edgecolors=INK,
        linewidths=1.2,
        zorder=5,
    )
    handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=INK, label="constrained row"))
    places.prepare(ax)
    ax.set(xlabel=places.labels[0], ylabel=places.labels[1])
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=len(handles), borderaxespad=0
    )
    bar = ax.figure.colorbar(marks, ax=ax, pad=0.02, aspect=28)
    bar.set_label("mean change of co-assignment")
    bar.outline.set_visible(False)
    return ax
