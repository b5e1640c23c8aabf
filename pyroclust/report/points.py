"""The points themselves, by the point estimate: rows on axes, images, waveforms, graphs."""

from pyroclust import plots
from pyroclust.data.shapes import Graph, Images, Waveforms
from pyroclust.plots.graphs import MOST_EDGES
from pyroclust.plots.names import counted
from pyroclust.report.parts import Picture, Section
from pyroclust.report.words import axis_names
from pyroclust.results.analysis import Analysis

__all__ = [
    "clustering_picture",
    "graph_section",
    "images_section",
    "unsure_images_section",
    "waveforms_section",
]

_MOST_CLUSTERS, _MOST_IMAGES, _UNSURE, _COLUMNS = 12, 16, 36, 18
# Of pictures, in inches, however many channels or however high images are.
_HIGHEST = 24.0
_MARKS = (
    "Colour and shape are clusters of the partition with the least expected variation of information under "
    "{}. A full mark is sure to be with its companions; a hollow one is apart from them in at least half of "
    "the draws."
)


def clustering_picture(found: Analysis) -> Picture | None:
    """Draw the rows, coloured by cluster; uncertain ones are hollow."""
    view, estimate = found.reference, found.reference.estimate
    if found.data is None or estimate is None:
        return None
    data, names = found.data.shown, axis_names(found.data.shown_columns)
    is_stacked = data.shape[1] == 1
    layout = "Each dot is one row, stacked where rows are close." if is_stacked else "Each mark is one row."
    return Picture(
        lambda figure: plots.plot_clustering(
            data,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            columns=names,
            sizes=view.sizes,
        ),
        size=(9, 2.7 if is_stacked else 4.8),
        alternative=f"The {len(data)} rows over {', '.join(names)}, coloured by "
        f"{counted(estimate.num_clusters, 'cluster')}; {estimate.num_doubtful} of them uncertain and hollow.",
        caption=f"{layout} {_MARKS.format(view.name)}",
    )


def images_section(found: Analysis) -> Section | None:
    """Show the images of each cluster, from sure to unsure."""
    data, estimate = found.data, found.reference.estimate
    if data is None or not isinstance(data.shape, Images) or estimate is None:
        return None
    images = data.shown.reshape(-1, *data.shape.event_shape)
    clusters = counted(estimate.num_clusters, "cluster")
    rows = min(_MOST_CLUSTERS, estimate.num_clusters)
    picture = Picture(
        lambda figure: plots.plot_contact_sheet(
            images.clip(0, 1),
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            most_clusters=_MOST_CLUSTERS,
            most_images=_MOST_IMAGES,
        ),
        size=(9, min(0.6 + 0.55 * rows * data.shape.height / data.shape.width, _HIGHEST)),
        alternative=f"The images in {clusters} of the point estimate, a row each, from sure to unsure.",
        caption="Each row is a cluster of the partition with the least expected variation of information "
        f"under {found.reference.name}, the largest first, with the number of its images. Of large clusters "
        "some images are shown: the surest on the left, on the right those that are most often apart from "
        "the others.",
    )
    return Section("The images, by the point estimate", (picture,), is_open=True, gist=clusters)


def unsure_images_section(found: Analysis) -> Section | None:
    """Show the images whose place is least sure."""
    data, estimate = found.data, found.reference.estimate
    if data is None or not isinstance(data.shape, Images) or estimate is None:
        return None
    images = data.shown.reshape(-1, *data.shape.event_shape)
    number = min(_UNSURE, len(images))
    picture = Picture(
        lambda figure: plots.plot_uncertain_images(
            images.clip(0, 1),
            estimate.uncertainty,
            ax=figure.subplots(),
            most_images=_UNSURE,
            columns=_COLUMNS,
        ),
        size=(9, min(0.5 + 0.5 * -(-number // _COLUMNS) * data.shape.height / data.shape.width, _HIGHEST)),
        alternative=f"The {number} images whose place is least sure, the worst first.",
        caption="Uncertainty of an image is the probability that it is apart from its companions in the "
        f"estimate. It is above a half for {estimate.num_doubtful:,} of {counted(len(images), 'image')}.",
    )
    gist = f"The least sure image has uncertainty {float(estimate.uncertainty.max()):.2f}"
    return Section("Which images are unsure", (picture,), is_open=True, gist=gist)


def waveforms_section(found: Analysis) -> Section | None:
    """Show the mean waveform of each cluster."""
    data, estimate = found.data, found.reference.estimate
    if data is None or not isinstance(data.shape, Waveforms) or estimate is None:
        return None
    waveforms = data.shown.reshape(-1, *data.shape.event_shape)
    clusters = counted(estimate.num_clusters, "cluster")
    picture = Picture(
        lambda figure: plots.plot_waveforms(waveforms, estimate.assignments, ax=figure.subplots()),
        size=(9, min(1 + 0.6 * data.shape.num_channels, _HIGHEST)),
        alternative=f"Mean waveforms of {clusters} on {data.shape.num_channels} channels.",
        caption="Lines are the mean waveforms of the largest clusters of the point estimate, bands one "
        "standard deviation to both sides; channels lie above one another on one scale.",
    )
    return Section("The waveforms, by the point estimate", (picture,), is_open=True, gist=clusters)


def graph_section(found: Analysis) -> Section | None:
    """Show the graph, and the matrix of its edges with rows sorted by cluster."""
    data, estimate = found.data, found.reference.estimate
    if data is None or not isinstance(data.shape, Graph) or estimate is None:
        return None
    adjacency = data.shape.adjacency
    clusters = counted(estimate.num_clusters, "cluster")
    nodes, edges = len(adjacency), int(adjacency.sum() / 2)
    some = f", {MOST_EDGES:,} of which are drawn" if edges > MOST_EDGES else ""
    drawing = Picture(
        lambda figure: plots.plot_graph(
            adjacency,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            positions=data.shown,
            names=found.row_names,
        ),
        size=(9, 6.4),
        alternative=f"A graph of {nodes:,} nodes and {edges:,} edges, nodes coloured by {clusters}.",
        caption=f"{nodes:,} nodes and {edges:,} edges{some}. {_MARKS.format(found.reference.name)} Edges "
        "within a cluster are darker.",
    )
    matrix = Picture(
        lambda figure: plots.plot_block_matrix(adjacency, estimate.assignments, ax=figure.subplots()),
        size=(7.6, 5.2),
        alternative=f"The matrix of edges with its rows sorted by {clusters}, which are framed.",
        caption="Rows and columns are nodes, sorted by cluster, the largest first; a dark point is an edge. "
        "The model expects one rate of edges within each frame, and one between each two.",
    )
    return Section("The graph, by the point estimate", (drawing, matrix), is_open=True, gist=clusters)
