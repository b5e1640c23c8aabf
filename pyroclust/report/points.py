"""The points themselves: rows on axes, images, waveforms, graphs; every row, and its missing cells."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.core.messages import short, visible
from pyroclust.data.tables import Graph, Images, Waveforms
from pyroclust.diagnostics.findings import num_doubtful
from pyroclust.plots.drawable import counted
from pyroclust.plots.images_and_graphs import MOST_EDGES
from pyroclust.report.parts import FigureTable, Picture, Section, axis_names, interval, marked, number
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import ColumnOfMissing, MissingCells

_MOST_CLUSTERS, _MOST_IMAGES, _UNSURE, _COLUMNS = 12, 16, 36, 18
# Of pictures, in inches, however many channels or however high images are.
_HIGHEST = 24.0
# A page stays below 3 MB whatever the data.
_MOST_ROWS, _MOST_CELLS, _LONGEST_CELL = 2000, 24_000, 60
_MOST_COLUMNS, _MOST_MISSING, _MOST_LEVELS = 4, 20, 6
_MARKS = (
    "Colour and shape are clusters of the partition with the least expected variation of information under "
    "{}. A full mark is sure to be with its companions; a hollow one is apart from them in at least half of "
    "the draws."
)


def clustering_picture(analysis: Analysis) -> Picture | None:
    """Draw the rows, coloured by cluster; uncertain ones are hollow."""
    view, estimate = analysis.reference, analysis.reference.estimate
    if analysis.data is None or estimate is None:
        return None
    data, names = analysis.data.shown, axis_names(analysis.data.shown_columns)
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
        alternative=f"The {len(data):,} rows over {', '.join(names)}, coloured by "
        f"{counted(estimate.num_clusters, 'cluster')}; "
        f"{num_doubtful(estimate.uncertainty)} of them uncertain and hollow.",
        caption=f"{layout} {_MARKS.format(view.name)}{marked(len(data))}",
    )


def images_section(analysis: Analysis) -> Section | None:
    data, estimate = analysis.data, analysis.reference.estimate
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
        f"under {analysis.reference.name}, the largest first, with the number of its images. Of large "
        "clusters some images are shown: the surest on the left, on the right those that are most often "
        "apart from the others.",
    )
    return Section("The images, by the point estimate", (picture,), is_open=True, gist=clusters)


def unsure_images_section(analysis: Analysis) -> Section | None:
    data, estimate = analysis.data, analysis.reference.estimate
    if data is None or not isinstance(data.shape, Images) or estimate is None:
        return None
    images = data.shown.reshape(-1, *data.shape.event_shape)
    shown = min(_UNSURE, len(images))
    picture = Picture(
        lambda figure: plots.plot_uncertain_images(
            images.clip(0, 1),
            estimate.uncertainty,
            ax=figure.subplots(),
            most_images=_UNSURE,
            columns=_COLUMNS,
        ),
        size=(9, min(0.5 + 0.5 * -(-shown // _COLUMNS) * data.shape.height / data.shape.width, _HIGHEST)),
        alternative=f"The {shown} images whose place is least sure, the worst first.",
        caption="Uncertainty of an image is the probability that it is apart from its companions in the "
        f"estimate. It is above a half for {estimate.num_doubtful:,} of {counted(len(images), 'image')}.",
    )
    gist = f"The least sure image has uncertainty {float(estimate.uncertainty.max()):.2f}"
    return Section("Which images are unsure", (picture,), is_open=True, gist=gist)


def waveforms_section(analysis: Analysis) -> Section | None:
    data, estimate = analysis.data, analysis.reference.estimate
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


def graph_section(analysis: Analysis) -> Section | None:
    data, estimate = analysis.data, analysis.reference.estimate
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
            names=analysis.row_names,
        ),
        size=(9, 6.4),
        alternative=f"A graph of {nodes:,} nodes and {edges:,} edges, nodes coloured by {clusters}.",
        caption=f"{nodes:,} nodes and {edges:,} edges{some}. {_MARKS.format(analysis.reference.name)} Edges "
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


Values = Sequence[Any] | np.ndarray


def rows_table(caption: str, columns: Sequence[tuple[str, Values, Callable[[Any], str]]]) -> FigureTable:
    """Return a table of at most 2000 rows and 24,000 cells, of titles, values and how these are written."""
    num_rows = len(columns[0][1])
    shown = min(num_rows, _MOST_ROWS, max(1, _MOST_CELLS // len(columns)))
    cells = [[short(write(one), _LONGEST_CELL) for one in values[:shown]] for _, values, write in columns]
    header = tuple(short(title, _LONGEST_CELL) for title, *_ in columns)
    return FigureTable(caption, header, tuple(zip(*cells, strict=True)), of_rows=num_rows)


def rows_section(analysis: Analysis) -> Section:
    """List the rows in the units of the table, with their cluster and uncertainty by each source."""
    names, data = analysis.row_names, analysis.data
    columns: list[tuple[str, Values, Callable[[Any], str]]] = [("row", names, visible)]
    if data is not None:
        written = data.clustered.written() if data.shape is None else ()
        columns += [(title, values, _cell) for title, values in written]
        columns += [] if data.table.labels is None else [("known label", data.table.labels, _cell)]
    for key, estimate in analysis.estimates.items():
        name = analysis.summary(key).name
        columns.append((f"cluster, {name}", estimate.assignments + 1, str))
        columns.append((f"uncertainty, {name}", estimate.uncertainty, lambda value: number(value, 2)))
    caption = "Each row with its cluster in the point estimate, and the probability of being apart from it."
    gist = f"All {len(names):,} rows with their clusters and uncertainties"
    return Section("Every row", (rows_table(caption, columns),), gist=gist)


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def missing_section(analysis: Analysis, missing: MissingCells) -> Section:
    """Show the posterior predictive of the missing cells, by column and cell by cell."""
    cells = sum(len(column.rows) for column in missing.columns)
    shown = sorted(missing.columns, key=lambda column: -len(column.rows))[:_MOST_COLUMNS]
    picture = Picture(
        lambda figure: _draw_missing(figure, shown),
        size=(9, 3.4),
        alternative=f"Posterior predictive of the missing cells in {len(shown)} column(s).",
        caption="Each line is a missing cell. For numbers and counts it spans 95 % of the draws, the mark "
        "being their mean, above a histogram of the cells that are there; for others the bar is divided "
        "among the categories. A line as wide as the histogram says that the rest of the row tells nothing.",
    )
    table = FigureTable(
        f"The first {min(_MOST_MISSING, cells)} of {counted(cells, 'missing cell')}, by {missing.drawn_by}; "
        "pyroclust.missing_cells has all of them. None was filled in for the clustering.",
        ("row", "column", "may hold"),
        tuple(
            (str(row), str(column), _may_hold(*rest))
            for row, column, *rest in missing.frame().head(_MOST_MISSING).itertuples(index=False)
        ),
    )
    return Section("What the missing cells may hold", (picture, table), gist=counted(cells, "cell"))


def _draw_missing(figure: Figure, shown: Sequence[ColumnOfMissing]) -> None:
    for ax, column in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        name = axis_names((column.name,))[0]
        if not column.levels:
            plots.plot_missing_numbers(column.draws, column.observed, ax=ax, column=name)
            continue
        shares, levels = column.probabilities, column.levels
        if len(levels) > _MOST_LEVELS:
            # Colours for more could not be told apart.
            order = shares.mean(0).argsort()[::-1]
            kept, rest = order[: _MOST_LEVELS - 1], order[_MOST_LEVELS - 1 :]
            levels = (*(levels[one] for one in kept), f"{len(rest)} others")
            shares = np.column_stack([shares[:, kept], shares[:, rest].sum(1)])
        plots.plot_missing_levels(shares, levels, ax=ax, column=name)


def _may_hold(mean: float, low: float, high: float, likeliest: str | float, probability: float) -> str:
    if isinstance(likeliest, str):
        return f"{likeliest} ({probability:.0%})"
    return f"{number(mean)} ({interval(low, high)})"
