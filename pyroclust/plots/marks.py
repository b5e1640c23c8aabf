"""How clusters look: one colour and one marker each, full where their points are certain."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from pyroclust.plots.style import CYCLE, MARKERS

__all__ = ["HOLLOW", "cluster_colour", "cluster_marker", "fade", "mark_clusters", "text_colour"]

HOLLOW = 0.5
"""Uncertainty from which on a mark is hollow."""


def cluster_colour(label: int) -> str:
    """Return the colour of a cluster; every eighth has the same.

    Example:
        >>> cluster_colour(8) == cluster_colour(0)
        True
    """
    return CYCLE[label % len(CYCLE)]


def cluster_marker(label: int) -> str:
    """Return the marker of a cluster, such that 64 clusters differ in colour or marker.

    Example:
        >>> cluster_marker(0), cluster_marker(8)
        ('o', 's')
    """
    return MARKERS[(label + label // len(CYCLE)) % len(MARKERS)]


def fade(colour: str, uncertainty: np.ndarray) -> np.ndarray:
    """Mix a colour with white, the whiter the more uncertain.

    Shape:
        uncertainty: ``(N,)``; output: ``(N, 3)`` red, green and blue.

    Example:
        >>> fade("#000000", np.array([0.0, 0.25, 0.9])).tolist()
        [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]]
    """
    fullness = 1 - np.minimum(uncertainty / HOLLOW, 1)[:, None]
    return 1 - fullness * (1 - np.array(to_rgb(colour)))


def text_colour(background: str) -> str:
    """Return black or white, whichever reads better on a colour.

    Example:
        >>> text_colour("#F0E442"), text_colour("#0072B2")
        ('black', 'white')
    """
    linear = np.array(
        [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(background)]
    )
    # Contrast with black and white is equal at a luminance of 0.18.
    return "black" if linear @ (0.2126, 0.7152, 0.0722) > 0.18 else "white"


def mark_clusters(
    points: np.ndarray, labels: np.ndarray, *, ax: Axes, size: float, uncertainty: np.ndarray | None = None
) -> None:
    """Draw one group of marks a cluster, in its colour and with its marker.

    Shape:
        points: ``(N, 2)``; labels: ``(N,)``, not necessarily without gaps; uncertainty: ``(N,)``.

    Args:
        points: places on the page.
        labels: of the points.
        ax: where to draw.
        size: area of a mark, in square points.
        uncertainty: of the points; all are certain by default.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> mark_clusters(np.zeros((3, 2)), np.array([0, 0, 7]), ax=ax, size=9)
        >>> len(ax.collections)
        2
    """
    unsure = np.zeros(len(labels)) if uncertainty is None else uncertainty
    for label in np.unique(labels).tolist():
        member = labels == label
        ax.scatter(
            points[member, 0],
            points[member, 1],
            s=size,
            marker=cluster_marker(label),
            facecolors=fade(cluster_colour(label), unsure[member]),
            edgecolors=cluster_colour(label),
            linewidths=1.1 if size > 20 else 0.7,
            zorder=3,
        )
