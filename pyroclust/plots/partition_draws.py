"""Single posterior draws on the data, clusters in the same colours from draw to draw."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.names import counted
from pyroclust.plots.panels import draw_panels

__all__ = ["plot_partition_draws"]


def plot_partition_draws(
    data: np.ndarray,
    draws: np.ndarray,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    reference: np.ndarray | None = None,
) -> list[Axes]:
    """Draw as many posterior draws as there are Axes, evenly spaced among those given.

    One column becomes stacked dots, two a scatter plot, more the first two principal components. Colours are
    matched by overlap: a cluster that changes little from draw to draw keeps its colour and marker.

    Shape:
        data: ``(N, D)``; draws: ``(chains, draws, N)`` or ``(S, N)``, S at least the number of Axes;
        reference: ``(N,)``.

    Args:
        data: in the units of the axes.
        draws: posterior draws.
        axes: where to draw.
        columns: names of the D columns.
        reference: partition whose clusters have the first colours, such as a point estimate; the first draw
            by default.

    Raises:
        ValueError: if the shapes do not fit, or there are fewer draws than Axes.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> axes = new_figure(6, 3).subplots(1, 2)
        >>> draws = np.array([[0, 0], [0, 1], [0, 1]])
        >>> axes = plot_partition_draws(np.array([[0.0], [1.0]]), draws, axes=axes)
        >>> [ax.get_title() for ax in axes]
        ['1 cluster', '2 clusters']
    """
    flat = np.asarray(draws).reshape(-1, np.shape(draws)[-1])
    count = np.size(np.asarray(axes, dtype=object))
    if len(flat) < count:
        raise ValueError(f"draws has {len(flat)} draws, expected at least {count}, one for each of the Axes")
    chosen = flat[np.linspace(0, len(flat) - 1, count).round().astype(int)]
    sizes = [len(np.unique(row)) for row in chosen]
    titles = [counted(size, "cluster") for size in sizes]
    return draw_panels(data, chosen, titles, axes=axes, columns=columns, reference=reference)
