"""Several partitions of the same data, a panel each, clusters in the same colours throughout."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.marks import mark_clusters
from pyroclust.plots.matching import matched_labels
from pyroclust.plots.projection import NUM_SMALL_STACKS, Places, place_points

__all__ = ["as_sequence", "draw_panels"]


def as_sequence(axes: Sequence[Axes], count: int, *, what: str) -> list[Axes]:
    """Return the Axes as a flat list of the right length.

    Raises:
        ValueError: if there are not ``count`` of them.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> len(as_sequence(new_figure(4, 3).subplots(2, 2), 4, what="draws"))
        4
    """
    flat = [ax for ax in np.ravel(np.asarray(axes, dtype=object))]
    if len(flat) != count:
        raise ValueError(f"axes has {len(flat)} Axes, expected {count}, one for each of the {what}")
    return flat


def draw_panels(
    data: np.ndarray,
    partitions: np.ndarray,
    titles: Sequence[str],
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    reference: np.ndarray | None = None,
) -> list[Axes]:
    """Draw each partition on the data, colours matched by overlap, names only along the outer edge.

    Shape:
        data: ``(N, D)``; partitions: ``(M, N)``; titles, axes: M of them.

    Args:
        data: in the units of the axes.
        partitions: label vectors.
        titles: of the panels.
        axes: where to draw.
        columns: names of the D columns.
        reference: partition whose clusters have the first colours; the first by default.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> axes = new_figure(4, 3).subplots(1, 2)
        >>> data, partitions = np.array([[0.0], [1.0]]), np.array([[0, 0], [0, 1]])
        >>> [len(ax.collections) for ax in draw_panels(data, partitions, ["a", "b"], axes=axes)]
        [1, 2]
    """
    partitions = np.asarray(partitions)
    if data.ndim != 2 or partitions.shape[1:] != data.shape[:1]:
        raise ValueError(
            f"data and partitions have shapes {data.shape} and {partitions.shape}, expected (N, D) and (M, N)"
        )
    flat = as_sequence(axes, len(partitions), what="partitions")
    places = place_points(data, columns=columns, num_stacks=NUM_SMALL_STACKS)
    size = 13.0 if places.stacked else float(np.clip(2400 / len(data), 6, 20))
    labels = matched_labels(partitions, reference=reference)
    for ax, row, title in zip(flat, labels, titles, strict=True):
        mark_clusters(places.points, row, ax=ax, size=size)
        places.prepare(ax)
        _name_outer(ax, places)
        ax.set_title(title)
    return flat


def _name_outer(ax: Axes, places: Places) -> None:
    spec = ax.get_subplotspec()
    across, up = places.short_labels
    if spec is None or spec.is_last_row():
        ax.set_xlabel(across)
    else:
        ax.tick_params(labelbottom=False)
    if spec is None or spec.is_first_col():
        ax.set_ylabel(up)
    else:
        ax.tick_params(labelleft=False)
