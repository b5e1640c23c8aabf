"""Graphs: nodes by block, and the matrix of edges sorted by block."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from pyroclust.partitions.graph_spectra import node_positions
from pyroclust.plots.drawable import drawable, drawable_labels, drawable_points, drawable_shares, plain_text
from pyroclust.plots.marks import cluster_colour, mark_clusters
from pyroclust.plots.style import INK, name_clusters

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
