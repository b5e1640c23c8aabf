"""Modes of a posterior of partitions, with their weights, on the data."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import PartitionModes
from pyroclust.plots.names import counted
from pyroclust.plots.panels import draw_panels

__all__ = ["plot_modes"]


def plot_modes(
    data: np.ndarray, modes: PartitionModes, *, axes: Sequence[Axes], columns: Sequence[str] = ()
) -> list[Axes]:
    """Draw each mode on the data, colours matched by overlap; titles give weight and number of clusters.

    Shape:
        data: ``(N, D)``; axes: one a mode.

    Args:
        data: in the units of the axes.
        modes: such as :func:`pyroclust.diagnostics.partition_modes`.
        axes: where to draw.
        columns: names of the D columns.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.diagnostics import partition_modes
        >>> from pyroclust.plots.style import new_figure
        >>> found = partition_modes(np.array([[0, 0, 1, 1]] * 3 + [[0, 1, 0, 1]]), seed=0)
        >>> axes = plot_modes(np.arange(4.0)[:, None], found, axes=new_figure(6, 3).subplots(1, 2))
        >>> [ax.get_title() for ax in axes]
        ['75%: 2 clusters', '25%: 2 clusters']
    """
    sizes = [len(np.unique(row)) for row in modes.partitions]
    titles = [
        f"{weight:.0%}: {counted(size, 'cluster')}" for weight, size in zip(modes.weights, sizes, strict=True)
    ]
    return draw_panels(data, modes.partitions, titles, axes=axes, columns=columns)
