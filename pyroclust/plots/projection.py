"""Where on a page the points of a data set lie: stacked dots, a scatter plot, or principal components."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from sklearn.decomposition import PCA

__all__ = ["Places", "place_points"]

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
    names = list(columns) or [f"column {d + 1}" for d in range(data.shape[1])]
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
    pca = PCA(2).fit(data)
    shares = [f"{share:.0%}" for share in pca.explained_variance_ratio_]
    long = [f"principal component {d + 1} ({share} of the variance)" for d, share in enumerate(shares)]
    short = [f"component {d + 1} ({share})" for d, share in enumerate(shares)]
    return Places(pca.transform(data), (long[0], long[1]), (short[0], short[1]), stacked=False)
