"""What points look like that are no rows of columns: sections for images, waveforms and graphs."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from pyroclust import plots
from pyroclust.data.shapes import Graph, Images, Waveforms
from pyroclust.plots.graphs import MOST_EDGES
from pyroclust.plots.names import counted
from pyroclust.report.parts import Picture, Section
from pyroclust.results.analysis import Analysis
from pyroclust.results.summaries import Estimate

__all__ = ["shape_sections"]

_MOST_CLUSTERS, _MOST_IMAGES, _UNSURE, _COLUMNS = 12, 16, 36, 18
# Of pictures, in inches, however many channels or however high images are.
_HIGHEST = 24.0


@singledispatch
def shape_sections(shape: Any, found: Analysis) -> dict[str, Callable[[], Section]]:
    """Return the sections that show the points themselves, by their names in sentences: none for rows.

    A new kind of point registers its own.
    """
    return {}


@shape_sections.register
def _(shape: Images, found: Analysis) -> dict[str, Callable[[], Section]]:
    return {
        "the images by cluster": lambda: _contact_sheet(shape, found),
        "the least sure images": lambda: _uncertain(shape, found),
    }


@shape_sections.register
def _(shape: Waveforms, found: Analysis) -> dict[str, Callable[[], Section]]:
    return {"the waveforms by cluster": lambda: _waveforms(shape, found)}


@shape_sections.register
def _(shape: Graph, found: Analysis) -> dict[str, Callable[[], Section]]:
    # In place of the points in a plane.
    return {"the data": lambda: _graph(shape, found)}


def _seen(found: Analysis) -> tuple[np.ndarray, Estimate]:
    estimate = found.reference.summary.estimate
    if estimate is None:
        raise ValueError(f"{found.reference.name} has no point estimate, expected a source with one")
    return found.reference.points, estimate


def _contact_sheet(shape: Images, found: Analysis) -> Section:
    data, estimate = _seen(found)
    rows = min(_MOST_CLUSTERS, estimate.num_clusters)
    clusters = counted(estimate.num_clusters, "cluster")
    picture = Picture(
        lambda figure: plots.plot_contact_sheet(
            data.reshape(-1, *shape.event_shape).clip(0, 1),
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            most_clusters=_MOST_CLUSTERS,
            most_images=_MOST_IMAGES,
        ),
        size=(9, min(0.6 + 0.55 * rows * shape.height / shape.width, _HIGHEST)),
        alternative=f"The images in {clusters} of the point estimate, a row each, from sure to unsure.",
        caption="Each row is a cluster of the partition with the least expected variation of information "
        f"under {found.reference.name}, the largest first, with the number of its images. Of large clusters "
        "some images are shown: the surest on the left, on the right those that are most often apart from "
        "the others.",
    )
    return Section("The images, by the point estimate", (picture,), is_open=True, gist=clusters)


def _uncertain(shape: Images, found: Analysis) -> Section:
    data, estimate = _seen(found)
    number = min(_UNSURE, len(data))
    worst = float(estimate.uncertainty.max())
    picture = Picture(
        lambda figure: plots.plot_uncertain_images(
            data.reshape(-1, *shape.event_shape).clip(0, 1),
            estimate.uncertainty,
            ax=figure.subplots(),
            most_images=_UNSURE,
            columns=_COLUMNS,
        ),
        size=(9, min(0.5 + 0.5 * -(-number // _COLUMNS) * shape.height / shape.width, _HIGHEST)),
        alternative=f"The {number} images whose place is least sure, the worst first.",
        caption="Uncertainty of an image is the probability that it is apart from its companions in the "
        f"estimate. It is above a half for {estimate.num_doubtful:,} of {counted(len(data), 'image')}.",
    )
    gist = f"The least sure image has uncertainty {worst:.2f}"
    return Section("Which images are unsure", (picture,), is_open=True, gist=gist)


def _waveforms(shape: Waveforms, found: Analysis) -> Section:
    data, estimate = _seen(found)
    clusters = counted(estimate.num_clusters, "cluster")
    picture = Picture(
        lambda figure: plots.plot_waveforms(
            data.reshape(-1, *shape.event_shape), estimate.assignments, ax=figure.subplots()
        ),
        size=(9, min(1 + 0.6 * shape.num_channels, _HIGHEST)),
        alternative=f"Mean waveforms of {clusters} on {shape.num_channels} channels.",
        caption="Lines are the mean waveforms of the largest clusters of the point estimate, bands one "
        "standard deviation to both sides; channels lie above one another on one scale.",
    )
    return Section("The waveforms, by the point estimate", (picture,), is_open=True, gist=clusters)


def _graph(shape: Graph, found: Analysis) -> Section:
    places, estimate = _seen(found)
    nodes, edges = len(shape.adjacency), int(shape.adjacency.sum() / 2)
    some = f", {MOST_EDGES:,} of which are drawn" if edges > MOST_EDGES else ""
    clusters = counted(estimate.num_clusters, "cluster")
    drawing = Picture(
        lambda figure: plots.plot_graph(
            shape.adjacency,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            positions=places,
            names=found.row_names,
        ),
        size=(9, 6.4),
        alternative=f"A graph of {nodes:,} nodes and {edges:,} edges, nodes coloured by {clusters}.",
        caption=f"{nodes:,} nodes and {edges:,} edges{some}. Colour and shape are clusters of the partition "
        f"with the least expected variation of information under {found.reference.name}. A full mark is sure "
        "to be with its companions; a hollow one is apart from them in at least half of the draws. Edges "
        "within a cluster are darker.",
    )
    side = 5.2
    matrix = Picture(
        lambda figure: plots.plot_block_matrix(shape.adjacency, estimate.assignments, ax=figure.subplots()),
        size=(side + 2.4, side),
        alternative=f"The matrix of edges with its rows sorted by {clusters}, which are framed.",
        caption="Rows and columns are nodes, sorted by cluster, the largest first; a dark point is an edge. "
        "The model expects one rate of edges within each frame, and one between each two.",
    )
    return Section("The graph, by the point estimate", (drawing, matrix), is_open=True, gist=clusters)
