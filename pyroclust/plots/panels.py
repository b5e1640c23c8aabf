"""Several partitions of the same data, a panel each, points where a page can show them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.given import drawable_points
from pyroclust.plots.marks import mark_clusters, matched_labels
from pyroclust.plots.names import plain_text

__all__ = ["Places", "as_sequence", "draw_panels", "place_points"]

NUM_STACKS = 70
"""Stacks of dots side by side in a wide picture."""

NUM_SMALL_STACKS = 40
"""Stacks of dots in one panel of several."""


@dataclass(frozen=True)
class Places:
    """Points on the page.

    Attributes:
        points: ``(N, 2)``.
        labels: of the two axes; the second is empty for stacked dots.
        short_labels: the same, for narrow panels.
        stacked: whether heights only keep dots apart.
    """

    points: np.ndarray
    labels: tuple[str, str]
    short_labels: tuple[str, str]
    stacked: bool

    def prepare(self, ax: Axes) -> None:
        """Set the limits for stacked dots and hide their vertical axis; leave scatter plots alone."""
        if self.stacked:
            ax.yaxis.set_visible(False)
            ax.spines["left"].set_visible(False)
            ax.set_ylim(-0.8, max(4.0, self.points[:, 1].max() + 1))


def place_points(data: np.ndarray, *, columns: Sequence[str] = (), num_stacks: int = NUM_STACKS) -> Places:
    """Lay out data in the plane.

    One column becomes stacked dots, two a scatter plot, more the first two principal components.

    Shape:
        data: ``(N, D)``.

    Args:
        data: in the units of the axes.
        columns: names of the D columns.
        num_stacks: stacks of dots of one column.

    Raises:
        ValueError: if the data are no matrix, or have another number of columns than names.

    Example:
        >>> place_points(np.array([[1.0], [1.0], [2.0]])).points[:, 1].tolist()
        [0.0, 1.0, 0.0]
    """
    if data.ndim != 2 or data.size == 0:
        raise ValueError(f"data has shape {data.shape}, expected (N, D)")
    if len(columns) not in (0, data.shape[1]):
        raise ValueError(
            f"columns has {len(columns)} names, expected one for each of the {data.shape[1]} columns"
        )
    names = [plain_text(name) for name in columns] or [f"column {d + 1}" for d in range(data.shape[1])]
    if data.shape[1] == 1:
        return Places(_stacked(data[:, 0], num_stacks), (names[0], ""), (names[0], ""), stacked=True)
    if data.shape[1] == 2:
        both = (names[0], names[1])
        return Places(np.asarray(data), both, both, stacked=False)
    return _projected(data)


def _stacked(values: np.ndarray, num_stacks: int) -> np.ndarray:
    low, width = values.min(), max(np.ptp(values), 1e-12) / num_stacks
    column = np.minimum(((values - low) / width).astype(int), num_stacks - 1)
    order = np.lexsort((values, column))
    _, first, size = np.unique(column[order], return_index=True, return_counts=True)
    height = np.empty(len(values))
    height[order] = np.arange(len(values)) - np.repeat(first, size)
    return np.column_stack([low + width * (column + 0.5), height])


def _projected(data: np.ndarray) -> Places:
    # From the first point on, equal points are exactly 0.
    centred = data - data[0]
    centred = centred - centred.mean(0)
    _, lengths, axes = np.linalg.svd(np.linalg.qr(centred, mode="r"), full_matrices=False)
    # Of the two directions of an axis the one in which its largest weight is positive.
    axes *= np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1))
    places, variances = np.zeros((len(data), 2)), np.zeros(2)
    places[:, : len(axes)], variances[: len(axes)] = centred @ axes[:2].T, lengths[:2] ** 2
    shares = [f"{variance / max((lengths**2).sum(), 1e-300):.0%}" for variance in variances]
    long = [f"principal component {d + 1} ({share} of the variance)" for d, share in enumerate(shares)]
    short = [f"component {d + 1} ({share})" for d, share in enumerate(shares)]
    return Places(places, (long[0], long[1]), (short[0], short[1]), stacked=False)


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
    partitions, data = np.asarray(partitions), drawable_points("data", data)
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
        ax.set_title(plain_text(title))
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
