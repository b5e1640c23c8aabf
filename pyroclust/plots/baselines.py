"""Partitions by other methods beside the Bayesian estimate."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.names import counted
from pyroclust.plots.panels import draw_panels

__all__ = ["plot_baselines"]


def plot_baselines(
    data: np.ndarray,
    partitions: Mapping[str, np.ndarray],
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
) -> list[Axes]:
    """Draw the partition of each method on the data; clusters take the colours of the first method's.

    Shape:
        data: ``(N, D)``; partitions: name -> ``(N,)`` labels; axes: one a method.

    Args:
        data: in the units of the axes.
        partitions: of the methods, the Bayesian estimate first.
        axes: where to draw.
        columns: names of the D columns.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> found = {"estimate": np.array([0, 1]), "k-means": np.array([0, 0])}
        >>> axes = new_figure(6, 3).subplots(1, 2)
        >>> axes = plot_baselines(np.array([[0.0], [1.0]]), found, axes=axes)
        >>> axes[1].get_title()
        'k-means: 1 cluster'
    """
    rows = [np.asarray(labels) for labels in partitions.values()]
    if not rows or any(row.shape != data.shape[:1] for row in rows):
        raise ValueError(
            f"partitions have shapes {[row.shape for row in rows]}, expected ({len(data)},) for each method"
        )
    sizes = [len(np.unique(row)) for row in rows]
    titles = [f"{name}: {counted(size, 'cluster')}" for name, size in zip(partitions, sizes, strict=True)]
    return draw_panels(data, np.stack(rows), titles, axes=axes, columns=columns)
