"""Data coloured by a partition, each point as full as its place is certain."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from sklearn.decomposition import PCA

from pyroclust.plots.style import CYCLE, INK, MARKERS

__all__ = ["plot_clustering"]

HOLLOW = 0.5
_MAX_LEGEND = 8


def plot_clustering(
    data: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    columns: Sequence[str] = (),
) -> Axes:
    """Draw the data, coloured and shaped by cluster; certain points full, uncertain ones hollow.

    One column becomes stacked dots, two a scatter plot, more a scatter plot of the first two principal
    components.

    Shape:
        data: ``(N, D)``; assignments: ``(N,)`` canonical; uncertainty: ``(N,)``, hollow from 0.5 on.

    Args:
        data: in the units of the axes.
        assignments: partition, such as a point estimate.
        uncertainty: such as :func:`pyroclust.diagnostics.point_uncertainty`.
        ax: where to draw.
        columns: names of the D columns.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> plot_clustering(np.array([[0.0], [1.0]]), np.array([0, 1]), np.zeros(2), ax=ax).get_xlabel()
        'column 1'
    """
    if data.ndim != 2 or assignments.shape != data.shape[:1] or uncertainty.shape != data.shape[:1]:
        raise ValueError(
            f"data, assignments and uncertainty have shapes {data.shape}, {assignments.shape} and "
            f"{uncertainty.shape}, expected (N, D), (N,) and (N,)"
        )
    names = list(columns) or [f"column {d + 1}" for d in range(data.shape[1])]
    if data.shape[1] == 1:
        places, size = _stacked(data[:, 0], ax), 30.0
        labels = (names[0], "")
    else:
        places, labels = (data, (names[0], names[1])) if data.shape[1] == 2 else _projected(data)
        size = float(np.clip(6000 / len(data), 14, 42))
    for label in range(int(assignments.max()) + 1):
        member = assignments == label
        ax.scatter(
            places[member, 0],
            places[member, 1],
            s=size,
            marker=_marker(label),
            facecolors=_fade(CYCLE[label % len(CYCLE)], uncertainty[member]),
            edgecolors=CYCLE[label % len(CYCLE)],
            linewidths=1.1,
            zorder=3,
        )
    ax.set(xlabel=labels[0], ylabel=labels[1])
    _add_legend(assignments, ax)
    return ax


def _stacked(values: np.ndarray, ax: Axes) -> np.ndarray:
    num_bins = 70
    low, width = values.min(), max(np.ptp(values), 1e-12) / num_bins
    column = np.minimum(((values - low) / width).astype(int), num_bins - 1)
    height = np.empty(len(values))
    for place in np.unique(column):
        inside = np.flatnonzero(column == place)
        height[inside[np.argsort(values[inside], kind="stable")]] = np.arange(len(inside))
    ax.yaxis.set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(-0.8, max(4.0, height.max() + 1))
    return np.column_stack([low + width * (column + 0.5), height])


def _projected(data: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    pca = PCA(2).fit(data)
    first, second = (
        f"principal component {d + 1} ({share:.0%} of the variance)"
        for d, share in enumerate(pca.explained_variance_ratio_)
    )
    return pca.transform(data), (first, second)


def _fade(colour: str, uncertainty: np.ndarray) -> np.ndarray:
    fullness = 1 - np.minimum(uncertainty / HOLLOW, 1)[:, None]
    return 1 - fullness * (1 - np.array(to_rgb(colour)))


def _marker(label: int) -> str:
    return MARKERS[(label + label // len(CYCLE)) % len(MARKERS)]


def _add_legend(assignments: np.ndarray, ax: Axes) -> None:
    sizes = np.bincount(assignments)
    handles = [
        Line2D(
            [], [], ls="", marker=_marker(k), color=CYCLE[k % len(CYCLE)], label=f"cluster {k + 1}: {size}"
        )
        for k, size in enumerate(sizes[:_MAX_LEGEND])
    ]
    if len(sizes) > _MAX_LEGEND:
        handles.append(Line2D([], [], ls="", label=f"and {len(sizes) - _MAX_LEGEND} more"))
    handles.append(Line2D([], [], ls="", label=""))
    for level, name in ((0.0, "certain"), (0.25, "uncertainty 0.25"), (HOLLOW, "0.5 and more")):
        handles.append(
            Line2D([], [], ls="", marker="o", mec=INK, mfc=_fade(INK, np.array([level]))[0], label=name)
        )
    ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), handletextpad=0.3, borderaxespad=0
    )
