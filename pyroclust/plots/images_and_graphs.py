"""Points that can be looked at: sheets of images, waveforms by cluster, graphs by block."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from pyroclust.core.numbers import check_count
from pyroclust.partitions.graph_spectra import node_positions
from pyroclust.plots.drawable import (
    counted,
    drawable,
    drawable_labels,
    drawable_points,
    drawable_shares,
    plain_text,
)
from pyroclust.plots.marks import cluster_colour, mark_clusters
from pyroclust.plots.style import INK, name_clusters

_GAP = 1
# Between the zero lines of neighbouring channels, in units of the largest mean waveform.
_APART = 1.6


def plot_contact_sheet(
    images: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    most_clusters: int = 12,
    most_images: int = 16,
) -> Axes:
    """Draw images by cluster, a row each, the largest cluster first, from sure to unsure.

    Of a cluster with more images than fit, every so many-th is shown, the surest and the least sure among
    them. One picture for the whole sheet, whatever the number of images.

    Args:
        images: ``(N, H, W)``, pixels in 0..1, light on dark, drawn dark on light.
        assignments: ``(N,)`` canonical labels, such as a point estimate.
        uncertainty: ``(N,)``, such as :func:`pyroclust.diagnostics.point_uncertainty`.
        most_clusters: rows.
        most_images: columns.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((5, 8, 8))
        >>> ax = plot_contact_sheet(images, [0, 0, 1, 1, 1], np.zeros(5), ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['cluster 2: 3', 'cluster 1: 2']
    """
    images = _drawable_images(images)
    assignments = drawable_labels("assignments", assignments, len(images))
    uncertainty = drawable_shares("uncertainty", uncertainty, len(images))
    most_clusters, most_images = (
        check_count(name, one)
        for name, one in (("most_clusters", most_clusters), ("most_images", most_images))
    )
    sizes = np.bincount(assignments)
    shown = np.argsort(-sizes, kind="stable")[:most_clusters]
    rows = [_some_of(np.flatnonzero(assignments == one), uncertainty, most_images) for one in shown]
    _draw_sheet(images, rows, ax=ax)
    name_clusters(_middles(len(rows), images.shape[1]), shown.tolist(), sizes, ax=ax)
    ax.set_xlabel(f"sure to unsure{_left_out(len(sizes) - len(shown))}")
    return ax


def plot_generated(images: np.ndarray, *, ax: Axes) -> Axes:
    """Draw images that a model makes, a row a cluster and a column a style.

    Args:
        images: ``(K, S, H, W)``, pixels in 0..1, as :meth:`pyroclust.models.DeepMixture.generate` gives them;
            light on dark, drawn dark on light.

    Raises:
        ValueError: if the shape does not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((3, 5, 8, 8))
        >>> ax = plot_generated(images, ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['1', '2', '3']
    """
    stacked = np.asarray(images)
    if stacked.ndim != 4:
        raise ValueError(f"images has shape {stacked.shape}, expected (K, S, H, W): clusters and styles")
    clusters, styles = stacked.shape[:2]
    flat = _drawable_images(stacked.reshape(-1, *stacked.shape[2:]))
    rows = np.arange(clusters * styles).reshape(clusters, styles)
    _draw_sheet(flat, list(rows), ax=ax)
    ax.set_yticks(_middles(clusters, stacked.shape[2]), [str(one + 1) for one in range(clusters)])
    ax.set(xlabel="style", ylabel="cluster")
    return ax


def plot_uncertain_images(
    images: np.ndarray, uncertainty: np.ndarray, *, ax: Axes, most_images: int = 24, columns: int = 12
) -> Axes:
    """Draw the images whose place is least sure, the worst first, row by row.

    Args:
        images: ``(N, H, W)``, pixels in 0..1, light on dark, drawn dark on light.
        uncertainty: ``(N,)`` in [0, 1], such as :func:`pyroclust.diagnostics.point_uncertainty`.
        most_images: how many.
        columns: images a row.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((5, 8, 8))
        >>> unsure = np.array([0.0, 0.9, 0.5, 0.0, 0.2])
        >>> ax = plot_uncertain_images(images, unsure, ax=new_figure(4, 3).subplots(), columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['0.90 to 0.50', '0.20 to 0.00', '0.00']
    """
    images = _drawable_images(images)
    uncertainty = drawable_shares("uncertainty", uncertainty, len(images))
    most_images, columns = check_count("most_images", most_images), check_count("columns", columns)
    worst = np.argsort(-uncertainty, kind="stable")[:most_images]
    rows = [worst[start : start + columns] for start in range(0, len(worst), columns)]
    _draw_sheet(images, rows, ax=ax)
    ends = [(f"{uncertainty[row[0]]:.2f}", f"{uncertainty[row[-1]]:.2f}") for row in rows]
    names = [high if high == low else f"{high} to {low}" for high, low in ends]
    ax.set_yticks(_middles(len(rows), images.shape[1]), names)
    ax.set_ylabel("uncertainty")
    return ax


def plot_waveforms(
    waveforms: np.ndarray, assignments: np.ndarray, *, ax: Axes, most_clusters: int = 8
) -> Axes:
    """Draw the mean waveform of every cluster, channels above one another, with one standard deviation.

    Args:
        waveforms: ``(N, channels, samples)``, in any unit.
        assignments: ``(N,)`` canonical labels, such as a point estimate.
        most_clusters: how many clusters, the largest ones; how many are left out stands under the axis.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> waves = np.random.default_rng(0).standard_normal((6, 3, 20))
        >>> ax = plot_waveforms(waves, [0, 0, 0, 1, 1, 1], ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['channel 1', 'channel 2', 'channel 3']
    """
    waveforms = drawable("waveforms", waveforms)
    if waveforms.ndim != 3 or not waveforms.size:
        raise ValueError(f"waveforms has shape {waveforms.shape}, expected (N, channels, samples)")
    assignments = drawable_labels("assignments", assignments, len(waveforms))
    num_channels, num_samples = waveforms.shape[1:]
    sizes = np.bincount(assignments)
    shown = np.argsort(-sizes, kind="stable")[: check_count("most_clusters", most_clusters)]
    means = np.stack([waveforms[assignments == one].mean(0) for one in shown])
    spreads = np.stack([waveforms[assignments == one].std(0) for one in shown])
    unit = max(float(np.abs(means).max()), 1e-12)
    zero = -_APART * np.arange(num_channels)[:, None]
    # One line for all channels of a cluster: nan lifts the pen.
    times = np.tile(np.append(np.arange(num_samples, dtype=float), np.nan), num_channels)
    for one, mean, spread in zip(shown.tolist(), means, spreads, strict=True):
        middle, width = _one_line(mean / unit + zero), _one_line(spread / unit)
        colour = cluster_colour(one)
        ax.fill_between(times, middle - width, middle + width, color=colour, alpha=0.15, lw=0)
        ax.plot(times, middle, color=colour, lw=1.5, label=f"cluster {one + 1}: {sizes[one]}")
    ax.set_yticks(zero[:, 0], [f"channel {place + 1}" for place in range(num_channels)])
    ax.set_xlabel(f"sample{_left_out(len(sizes) - len(shown))}")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)
    return ax


def _middles(rows: int, height: int) -> list[float]:
    return [(height + _GAP) * row + height / 2 for row in range(rows)]


def _left_out(number: int) -> str:
    """Say how many clusters are not shown; nothing where all are."""
    verb = "is" if number == 1 else "are"
    return f"; {counted(number, 'smaller cluster')} {verb} not shown" if number else ""


def _one_line(channels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put channels behind one another, each ended by nan."""
    ended = np.pad(channels, ((0, 0), (0, 1)), constant_values=np.nan)
    return ended.ravel()


def _drawable_images(images: np.ndarray) -> NDArray[np.float64]:
    found = drawable("images", images)
    if found.ndim != 3 or not found.size:
        raise ValueError(f"images has shape {found.shape}, expected (N, H, W)")
    if found.min() < 0 or found.max() > 1:
        raise ValueError(
            f"images has pixels from {found.min():.3g} to {found.max():.3g}, expected numbers in 0..1"
        )
    return found


def _some_of(members: NDArray[np.int64], uncertainty: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return members from sure to unsure, evenly thinned."""
    order = members[np.argsort(uncertainty[members], kind="stable")]
    places = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64)
    return order[places]


def _draw_sheet(images: NDArray[np.float64], rows: Sequence[NDArray[np.int64]], *, ax: Axes) -> None:
    """Draw rows of images as one picture."""
    _, height, width = images.shape
    longest = max(map(len, rows))
    sheet = np.full((len(rows), longest, height + _GAP, width + _GAP), np.nan)
    for place, row in enumerate(rows):
        sheet[place, : len(row), :height, :width] = images[row]
    flat = sheet.transpose(0, 2, 1, 3).reshape(len(rows) * (height + _GAP), longest * (width + _GAP))
    ax.imshow(flat, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest", aspect="equal")
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)


MOST_EDGES = 20_000
"""Edges that a picture of a graph shows; more are a grey cloud that takes a minute."""

_MOST_NAMES = 80


def plot_graph(
    adjacency: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    positions: np.ndarray | None = None,
    names: Sequence[str] = (),
) -> Axes:
    """Draw a graph, nodes coloured and shaped by block; certain nodes full, uncertain ones hollow.

    Edges are one collection of lines, dark within a block, pale between blocks; of more than 20,000 edges so
    many are drawn, chosen at random and the same every time. Names stand beside the nodes of graphs of up to
    80.

    Args:
        adjacency: ``(N, N)``, symmetric, of zeros and ones.
        assignments: ``(N,)`` canonical labels of the nodes, such as a point estimate.
        uncertainty: ``(N,)`` in [0, 1], such as :func:`pyroclust.diagnostics.point_uncertainty`.
        positions: ``(N, 2)``, of the nodes; :func:`pyroclust.partitions.graph_spectra.node_positions` by
            default.
        names: of the nodes; none by default.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> graph = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
        >>> ax = plot_graph(graph, [0, 0, 0, 1, 1, 1], np.zeros(6), ax=new_figure(4, 3).subplots())
        >>> len(ax.collections[0].get_segments())
        6
    """
    adjacency = _drawable_graph(adjacency)
    nodes = len(adjacency)
    assignments = drawable_labels("assignments", assignments, nodes)
    uncertainty = drawable_shares("uncertainty", uncertainty, nodes)
    places = node_positions(adjacency) if positions is None else drawable_points("positions", positions)
    if places.shape != (nodes, 2):
        raise ValueError(f"positions has shape {places.shape}, expected {(nodes, 2)}, a place a node")
    if len(names) not in (0, nodes):
        raise ValueError(f"names has {len(names)} entries, expected {nodes}, one a node, or none")
    one, other = np.nonzero(np.triu(adjacency, 1))
    if len(one) > MOST_EDGES:
        some = np.sort(np.random.default_rng(0).choice(len(one), MOST_EDGES, replace=False))
        one, other = one[some], other[some]
    inside = assignments[one] == assignments[other]
    strength = float(np.clip(120 / max(1, len(one)) ** 0.5, 0.5, 6)) / 6
    colours = np.zeros((len(one), 4))
    colours[:, 3] = np.where(inside, 0.45, 0.18) * strength
    segments = np.stack([places[one], places[other]], 1)
    ax.add_collection(LineCollection(list(segments), colors=colours, linewidths=0.7, zorder=1))
    size = float(np.clip(6000 / nodes, 18, 90))
    mark_clusters(places, assignments, ax=ax, size=size, uncertainty=uncertainty)
    if names and nodes <= _MOST_NAMES:
        for (x, y), name in zip(places, names, strict=True):
            ax.annotate(
                plain_text(name),
                (x, y),
                (5, 4),
                textcoords="offset points",
                fontsize=6.5,
                color=INK,
                zorder=4,
            )
    ax.margins(0.05)
    ax.set_axis_off()
    return ax


def plot_block_matrix(adjacency: np.ndarray, assignments: np.ndarray, *, ax: Axes) -> Axes:
    """Draw the matrix of edges, nodes sorted by block, the largest block first, blocks framed.

    One picture, whatever the number of nodes: a dark point is an edge, and where there are more nodes than
    pixels the grey of a pixel says how many of its pairs have one.

    Args:
        adjacency: ``(N, N)``, symmetric, of zeros and ones.
        assignments: ``(N,)`` canonical labels of the nodes, such as a point estimate.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> graph = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
        >>> ax = plot_block_matrix(graph, [0, 0, 0, 1, 1, 1], ax=new_figure(3, 3).subplots())
        >>> len(ax.patches)
        2
    """
    adjacency = _drawable_graph(adjacency)
    assignments = drawable_labels("assignments", assignments, len(adjacency))
    sizes = np.bincount(assignments)
    by_size = np.argsort(-sizes, kind="stable")
    rank = np.empty_like(by_size)
    rank[by_size] = np.arange(len(by_size))
    order = np.argsort(rank[assignments], kind="stable")
    ax.imshow(adjacency[np.ix_(order, order)], cmap="Greys", vmin=0, vmax=1.2, interpolation="antialiased")
    begin, middles = 0, []
    for block in by_size:
        size = int(sizes[block])
        corner = (begin - 0.5, begin - 0.5)
        colour = cluster_colour(int(block))
        ax.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=colour, linewidth=1.8))
        middles.append(begin + (size - 1) / 2)
        begin += size
    ax.set_xticks([])
    # Names of blocks of few rows would lie above one another.
    named = [place for place, block in enumerate(by_size) if sizes[block] >= len(adjacency) / 25]
    name_clusters([middles[k] for k in named], by_size[named].tolist(), sizes, ax=ax)
    ax.tick_params(length=0)
    return ax


def _drawable_graph(adjacency: np.ndarray) -> NDArray[np.float64]:
    found = drawable("adjacency", adjacency)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) == 0:
        raise ValueError(f"adjacency has shape {found.shape}, expected (N, N), a row and a column a node")
    return found
