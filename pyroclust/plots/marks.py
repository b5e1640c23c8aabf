"""How clusters look: one colour and one marker each, the same from one partition to the next."""

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from pyroclust.diagnostics.limits import DOUBTFUL
from pyroclust.plots.style import CYCLE, MARKERS

__all__ = [
    "HOLLOW",
    "cluster_colour",
    "cluster_marker",
    "fade",
    "mark_clusters",
    "matched_labels",
    "text_colour",
]

HOLLOW = DOUBTFUL
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


def matched_labels(partitions: np.ndarray, *, reference: np.ndarray | None = None) -> np.ndarray:
    r"""Rename the clusters of each partition to overlap most with those of the ones before it.

    .. math:: \hat\pi_m = \arg\max_\pi \sum_i v_m(i, \pi(c_{m,i}))

    where :math:`v_m(i, k)` says how often point i had the label k in the reference and in the partitions
    before m, and :math:`\pi` gives different clusters different labels. A cluster none of whose points ever
    had its label gets a new one. Cost O(M N K + M K^3).

    Shape:
        partitions: ``(M, N)``; reference: ``(N,)``; output: ``(M, N)`` labels, perhaps with gaps.

    Args:
        partitions: label vectors of the same points.
        reference: whose labels come first; the first partition by default.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Kuhn (1955), The Hungarian method for the assignment problem. https://doi.org/10.1002/nav.3800020109

    Example:
        >>> matched_labels(np.array([[0, 0, 1, 1], [0, 1, 2, 2]])).tolist()
        [[0, 0, 1, 1], [0, 2, 1, 1]]
    """
    partitions = np.asarray(partitions)
    first = partitions[0] if reference is None and partitions.ndim == 2 else np.asarray(reference)
    if partitions.ndim != 2 or first.shape != partitions.shape[1:]:
        raise ValueError(
            f"partitions and reference have shapes {partitions.shape} and {first.shape}, "
            "expected (M, N) and (N,)"
        )
    votes = _one_hot(first)
    matched = np.empty(partitions.shape, dtype=np.int64)
    for row, labels in enumerate(partitions):
        members = _one_hot(np.unique(labels, return_inverse=True)[1])
        names = _names(votes.T @ members)
        matched[row] = members.astype(np.int64) @ names
        votes = np.pad(votes, ((0, 0), (0, max(0, names.max() + 1 - votes.shape[1]))))
        votes[np.arange(len(labels)), matched[row]] += 1
    return matched


def _one_hot(labels: np.ndarray) -> np.ndarray:
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)


def _names(overlap: np.ndarray) -> np.ndarray:
    """Return a label for each cluster (column): an old one (row) it overlaps with, or a new one."""
    names = np.full(overlap.shape[1], -1)
    old, cluster = scipy.optimize.linear_sum_assignment(-overlap)
    real = overlap[old, cluster] > 0
    names[cluster[real]] = old[real]
    fresh = names < 0
    names[fresh] = len(overlap) + np.arange(fresh.sum())
    return names
