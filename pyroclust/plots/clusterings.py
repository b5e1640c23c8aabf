"""Partitions on the data: an estimate, its modes, its credible ball, draws, other methods, constraints."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from pyroclust.core.numbers import whole_numbers
from pyroclust.diagnostics import CredibleBall, PartitionLoss, PartitionModes
from pyroclust.diagnostics.labels import flatten
from pyroclust.partitions.raw_labels import DrawsLike
from pyroclust.plots.drawable import (
    DEFAULT_LOSS,
    check_mapping,
    counted,
    drawable_labels,
    drawable_points,
    drawable_shares,
    loss_unit,
    marked_points,
    plain_text,
)
from pyroclust.plots.marks import (
    HOLLOW,
    Places,
    cluster_colour,
    cluster_marker,
    draw_panels,
    fade,
    mark_clusters,
    place_points,
)
from pyroclust.plots.style import CYCLE, GREY, INK

_MAX_LEGEND = 8


def plot_clustering(
    data: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    columns: Sequence[str] = (),
    sizes: np.ndarray | None = None,
) -> Axes:
    """Draw the data, coloured and shaped by cluster; certain points full, uncertain ones hollow.

    One column becomes stacked dots, two a scatter plot, more a scatter plot of the first two principal
    components. Of more than 5000 points so many are drawn, chosen at random and the same in every picture.

    Args:
        data: ``(N, D)``, in the units of the axes.
        assignments: ``(N,)`` canonical labels, such as a point estimate.
        uncertainty: ``(N,)``, hollow from 0.5 on, such as :func:`pyroclust.diagnostics.point_uncertainty`.
        columns: names of the D columns.
        sizes: numbers of points of the clusters, for the legend, where points stand for several.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> plot_clustering(np.array([[0.0], [1.0]]), np.array([0, 1]), np.zeros(2), ax=ax).get_xlabel()
        'column 1'
    """
    data = drawable_points("data", data)
    assignments = drawable_labels("assignments", assignments, len(data))
    uncertainty = drawable_shares("uncertainty", uncertainty, len(data))
    if sizes is None:
        sizes = np.bincount(assignments)
    rows = marked_points(len(data))
    places = place_points(data[rows], columns=columns)
    size = _size_of_marks(places)
    mark_clusters(places.points, assignments[rows], ax=ax, size=size, uncertainty=uncertainty[rows])
    places.prepare(ax)
    ax.set(xlabel=places.labels[0], ylabel=places.labels[1])
    _add_legend(whole_numbers("sizes", sizes), ax)
    return ax


def _add_legend(sizes: np.ndarray, ax: Axes) -> None:
    handles = [
        Line2D(
            [], [], ls="", marker=cluster_marker(k), color=cluster_colour(k), label=f"cluster {k + 1}: {size}"
        )
        for k, size in enumerate(sizes[:_MAX_LEGEND])
    ]
    if len(sizes) > _MAX_LEGEND:
        handles.append(Line2D([], [], ls="", label=f"and {len(sizes) - _MAX_LEGEND} more"))
    handles.append(Line2D([], [], ls="", label=""))
    for level, name in ((0.0, "certain"), (0.25, "uncertainty 0.25"), (HOLLOW, f"{HOLLOW:g} and more")):
        handles.append(
            Line2D([], [], ls="", marker="o", mec=INK, mfc=fade(INK, np.array([level]))[0], label=name)
        )
    ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), handletextpad=0.3, borderaxespad=0
    )


def plot_modes(
    data: np.ndarray, modes: PartitionModes, *, axes: Sequence[Axes], columns: Sequence[str] = ()
) -> list[Axes]:
    """Draw each mode on the data, colours matched by overlap; titles give weight and number of clusters.

    Args:
        data: ``(N, D)``, in the units of the axes.
        modes: such as :func:`pyroclust.diagnostics.partition_modes`.
        axes: one a mode.
        columns: names of the D columns.

    Example:
        >>> from pyroclust.diagnostics import partition_modes
        >>> from pyroclust.plots import new_figure
        >>> found = partition_modes(np.array([[0, 0, 1, 1]] * 3 + [[0, 1, 0, 1]]), seed=0)
        >>> axes = plot_modes(np.arange(4.0)[:, None], found, axes=new_figure(6, 3).subplots(1, 2))
        >>> [ax.get_title() for ax in axes]
        ['75%: 2 clusters', '25%: 2 clusters']
    """
    titles = [
        f"{weight:.0%}: {_clusters_of(row)}"
        for weight, row in zip(modes.weights, modes.partitions, strict=True)
    ]
    return draw_panels(data, modes.partitions, titles, axes=axes, columns=columns)


def _size_of_marks(places: Places) -> float:
    return 30.0 if places.stacked else float(np.clip(6000 / len(places.points), 14, 42))


def plot_credible_ball(
    data: np.ndarray,
    ball: CredibleBall,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    loss: PartitionLoss = DEFAULT_LOSS,
) -> list[Axes]:
    """Draw the estimate and the first horizontal, upper and lower bound on the data, with their distances.

    The horizontal bound is the farthest partition in the ball; the upper bound the farthest of those with the
    fewest clusters, the lower that of those with the most. Where all four look alike the estimate is sure.

    Args:
        data: ``(N, D)``, in the units of the axes.
        ball: such as :func:`pyroclust.diagnostics.credible_ball`.
        axes: four.
        columns: names of the D columns.
        loss: the distance that the ball was made with.

    Example:
        >>> from pyroclust.diagnostics import credible_ball
        >>> from pyroclust.plots import new_figure
        >>> ball = credible_ball(np.array([[0, 0], [0, 1]]), np.array([0, 0]), level=1)
        >>> axes = new_figure(6, 4).subplots(2, 2)
        >>> axes = plot_credible_ball(np.array([[0.0], [1.0]]), ball, axes=axes)
        >>> [ax.get_title() for ax in axes[:2]]
        ['Estimate: 1 cluster', 'Horizontal bound: 2 clusters, 1.00 bits']
    """
    bounds = np.stack([ball.estimate, ball.horizontal[0], ball.upper[0], ball.lower[0]])
    distances = loss(ball.estimate, bounds)
    unit = loss_unit(loss)
    words = ("Horizontal bound", "Upper bound", "Lower bound")
    titles = [f"Estimate: {_clusters_of(ball.estimate)}"]
    titles += [
        f"{word}: {_clusters_of(row)}, {distance:.2f}{unit}"
        for word, row, distance in zip(words, bounds[1:], distances[1:], strict=True)
    ]
    return draw_panels(data, bounds, titles, axes=axes, columns=columns)


def plot_partition_draws(
    data: np.ndarray,
    draws: DrawsLike,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    reference: np.ndarray | None = None,
) -> list[Axes]:
    """Draw as many posterior draws as there are Axes, evenly spaced among those given.

    One column becomes stacked dots, two a scatter plot, more the first two principal components. Colours are
    matched by overlap: a cluster that changes little from draw to draw keeps its colour and marker.

    Args:
        data: ``(N, D)``, in the units of the axes.
        draws: ``(chains, draws, N)`` or ``(S, N)``, posterior draws, at least as many as there are Axes.
        columns: names of the D columns.
        reference: ``(N,)``, partition whose clusters have the first colours, such as a point estimate; the
            first draw by default.

    Raises:
        ValueError: if the shapes do not fit, or there are fewer draws than Axes.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> axes = new_figure(6, 3).subplots(1, 2)
        >>> draws = np.array([[0, 0], [0, 1], [0, 1]])
        >>> axes = plot_partition_draws(np.array([[0.0], [1.0]]), draws, axes=axes)
        >>> [ax.get_title() for ax in axes]
        ['1 cluster', '2 clusters']
    """
    data, flat = drawable_points("data", data), flatten(draws)
    if flat.shape[1] != len(data):
        raise ValueError(f"draws has {flat.shape[1]} points, expected {len(data)}, as many as data")
    if reference is not None:
        reference = drawable_labels("reference", reference, len(data))
    count = np.size(np.asarray(axes, dtype=object))
    if len(flat) < count:
        raise ValueError(f"draws has {len(flat)} draws, expected at least {count}, one for each of the Axes")
    chosen = flat[np.linspace(0, len(flat) - 1, count).round().astype(int)]
    titles = [_clusters_of(row) for row in chosen]
    return draw_panels(data, chosen, titles, axes=axes, columns=columns, reference=reference)


def plot_baselines(
    data: np.ndarray,
    partitions: Mapping[str, np.ndarray],
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
) -> list[Axes]:
    """Draw the partition of each method on the data; clusters take the colours of the first method's.

    Args:
        data: ``(N, D)``, in the units of the axes.
        partitions: method -> ``(N,)`` labels, the Bayesian estimate first.
        axes: one a method.
        columns: names of the D columns.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> found = {"estimate": np.array([0, 1]), "k-means": np.array([0, 0])}
        >>> axes = new_figure(6, 3).subplots(1, 2)
        >>> axes = plot_baselines(np.array([[0.0], [1.0]]), found, axes=axes)
        >>> axes[1].get_title()
        'k-means: 1 cluster'
    """
    check_mapping("partitions", partitions)
    data = drawable_points("data", data)
    rows = [drawable_labels(plain_text(name), labels, len(data)) for name, labels in partitions.items()]
    titles = [f"{name}: {_clusters_of(row)}" for name, row in zip(partitions, rows, strict=True)]
    return draw_panels(data, np.stack(rows), titles, axes=axes, columns=columns)


def _clusters_of(labels: np.ndarray) -> str:
    return counted(len(np.unique(labels)), "cluster")


# Below, colours would show noise as a finding.
_LEAST_SCALE = 0.05


def plot_moved_points(
    data: np.ndarray,
    change: np.ndarray,
    *,
    ax: Axes,
    together: np.ndarray,
    apart: np.ndarray,
    bound: np.ndarray,
    columns: Sequence[str] = (),
) -> Axes:
    """Draw the data, darker where constraints changed more; lines join the pairs that are known."""
    data = drawable_points("data", data)
    change = drawable_shares("change", change, len(data))
    places = place_points(data, columns=columns)
    size = _size_of_marks(places)
    # Points that moved most lie above others.
    order = np.argsort(change, kind="stable")
    across, up = places.points.T
    marks = ax.scatter(
        across[order],
        up[order],
        c=change[order],
        cmap="YlOrBr",
        vmin=0.0,
        vmax=max(_LEAST_SCALE, float(change.max())),
        s=size,
        edgecolors=GREY,
        linewidths=0.5,
        zorder=3,
    )
    handles = []
    for pairs, colour, dashes, name in (
        (together, INK, "-", "together"),
        (apart, CYCLE[3], (0, (4, 2)), "apart"),
    ):
        if len(pairs):
            ends = places.points[np.asarray(pairs)]
            ax.add_collection(
                LineCollection(ends, colors=colour, linestyles=dashes, linewidths=1.1, zorder=4)
            )
            handles.append(Line2D([], [], color=colour, ls=dashes, lw=1.1, label=name))
    ax.scatter(
        across[bound], up[bound], s=1.6 * size, facecolors="none", edgecolors=INK, linewidths=1.2, zorder=5
    )
    handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=INK, label="constrained row"))
    places.prepare(ax)
    ax.set(xlabel=places.labels[0], ylabel=places.labels[1])
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=len(handles), borderaxespad=0
    )
    bar = ax.figure.colorbar(marks, ax=ax, pad=0.02, aspect=28)
    bar.set_label("mean change of co-assignment")
    bar.outline.set_visible(False)
    return ax
