"""How clusters look, a colour and a marker each, and several partitions of the same data, a panel each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from pyroclust.diagnostics.limits import DOUBTFUL
from pyroclust.plots.drawable import drawable_points, marked_points, plain_text
from pyroclust.plots.style import CYCLE, MARKERS

HOLLOW = DOUBTFUL
"""Uncertainty from which on a mark is hollow."""


def cluster_colour(label: int) -> str:
    """Return the colour of a cluster; every eighth has the same."""
    return CYCLE[label % len(CYCLE)]


def cluster_marker(label: int) -> str:
    """Return the marker of a cluster, such that 64 clusters differ in colour or marker."""
    return MARKERS[(label + label // len(CYCLE)) % len(MARKERS)]


def fade(colour: str, uncertainty: np.ndarray) -> np.ndarray:
    """Mix a colour with white, the whiter the more uncertain."""
    fullness = 1 - np.minimum(uncertainty / HOLLOW, 1)[:, None]
    return 1 - fullness * (1 - np.array(to_rgb(colour)))


def text_colour(background: str) -> str:
    """Return black or white, whichever reads better on a colour."""
    linear = np.array(
        [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(background)]
    )
    # Contrast with black and white is equal at a luminance of 0.18.
    return "black" if linear @ (0.2126, 0.7152, 0.0722) > 0.18 else "white"


def mark_clusters(
    points: np.ndarray, labels: np.ndarray, *, ax: Axes, size: float, uncertainty: np.ndarray | None = None
) -> None:
    """Draw one group of marks a cluster, in its colour and with its marker."""
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
    had its label gets a new one. Cost O(M N K + M K^3). Kuhn (1955), The Hungarian method for the assignment
    problem, https://doi.org/10.1002/nav.3800020109
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
        names = _matched_names(votes.T @ members)
        matched[row] = members.astype(np.int64) @ names
        votes = np.pad(votes, ((0, 0), (0, max(0, names.max() + 1 - votes.shape[1]))))
        votes[np.arange(len(labels)), matched[row]] += 1
    return matched


def _one_hot(labels: np.ndarray) -> np.ndarray:
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)


def _matched_names(overlap: np.ndarray) -> np.ndarray:
    """Return a label for each cluster (column): an old one (row) it overlaps with, or a new one."""
    names = np.full(overlap.shape[1], -1)
    old, cluster = scipy.optimize.linear_sum_assignment(-overlap)
    real = overlap[old, cluster] > 0
    names[cluster[real]] = old[real]
    fresh = names < 0
    names[fresh] = len(overlap) + np.arange(fresh.sum())
    return names


NUM_STACKS = 70
"""Stacks of dots side by side in a wide picture."""

NUM_SMALL_STACKS = 40
"""Stacks of dots in one panel of several."""


@dataclass(frozen=True)
class Places:
    """Points on the page."""

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
    """Lay out data in the plane."""
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
    """Return the Axes as a flat list of the right length."""
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
    """Draw each partition on the data, colours matched by overlap, names only along the outer edge."""
    partitions, data = np.asarray(partitions), drawable_points("data", data)
    if partitions.shape[1:] != data.shape[:1]:
        raise ValueError(
            f"data and partitions have shapes {data.shape} and {partitions.shape}, expected (N, D) and (M, N)"
        )
    flat, rows = as_sequence(axes, len(partitions), what="partitions"), marked_points(len(data))
    places = place_points(data[rows], columns=columns, num_stacks=NUM_SMALL_STACKS)
    size = 13.0 if places.stacked else float(np.clip(2400 / len(rows), 6, 20))
    labels = matched_labels(partitions[:, rows], reference=None if reference is None else reference[rows])
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
