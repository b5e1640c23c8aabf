"""Parameters of the clusters of an estimate, with intervals."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.core.arrays import whole_numbers
from pyroclust.plots.given import drawable
from pyroclust.plots.marks import cluster_colour, cluster_marker
from pyroclust.plots.names import counted, plain_text
from pyroclust.plots.panels import as_sequence
from pyroclust.plots.style import GREY

__all__ = ["plot_cluster_parameters"]


def plot_cluster_parameters(
    centre: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    sizes: np.ndarray | None = None,
) -> list[Axes]:
    """Draw one panel a column: a row a cluster, its parameter as a mark on an interval.

    Shape:
        centre, low, high: ``(K, D)``; axes: D of them; sizes: ``(K,)``.

    Args:
        centre: such as posterior means of the clusters' means; nan leaves a gap.
        low: lower ends of the intervals.
        high: upper ends of the intervals.
        axes: where to draw.
        columns: names of the D columns.
        sizes: numbers of points of the clusters, written beside them.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> axes = [new_figure(6, 3).subplots()]
        >>> mean = np.array([[0.0], [5.0]])
        >>> axes = plot_cluster_parameters(mean, mean - 1, mean + 1, axes=axes, sizes=np.array([7, 3]))
        >>> [label.get_text() for label in axes[0].get_yticklabels()]
        ['cluster 1 (7 points)', 'cluster 2 (3 points)']
    """
    centre, low, high = (
        drawable(name, row, gaps=True) for name, row in (("centre", centre), ("low", low), ("high", high))
    )
    sizes = None if sizes is None else whole_numbers("sizes", sizes)
    if sizes is not None and sizes.shape != centre.shape[:1]:
        raise ValueError(f"sizes has shape {sizes.shape}, expected {centre.shape[:1]}, one a cluster")
    if centre.ndim != 2 or not centre.size or low.shape != centre.shape or high.shape != centre.shape:
        raise ValueError(
            f"centre, low and high have shapes {centre.shape}, {low.shape} and {high.shape}, expected (K, D)"
        )
    flat = as_sequence(axes, centre.shape[1], what="columns")
    titles = [plain_text(name) for name in columns] or [f"column {d + 1}" for d in range(centre.shape[1])]
    height = np.arange(len(centre))[::-1]
    for column, (ax, title) in enumerate(zip(flat, titles, strict=True)):
        for label, place in enumerate(height):
            ax.plot([low[label, column], high[label, column]], [place] * 2, color=cluster_colour(label), lw=2)
            ax.plot(
                centre[label, column], place, marker=cluster_marker(label), color=cluster_colour(label), ms=7
            )
        ax.set_yticks(height, _names(len(centre), sizes) if column == 0 else [""] * len(centre))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", color=GREY, alpha=0.25, lw=0.8)
        ax.set_axisbelow(True)
        ax.set(xlabel=title, ylim=(-0.6, len(centre) - 0.4))
    return flat


def _names(count: int, sizes: np.ndarray | None) -> list[str]:
    if sizes is None:
        return [f"cluster {k + 1}" for k in range(count)]
    return [f"cluster {k + 1} ({counted(int(size), 'point')})" for k, size in enumerate(sizes)]
