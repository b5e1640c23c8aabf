"""Points that are no rows of columns, as tables: the nodes of graphs, images and waveforms."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.image_files import image_sizes, read_image_folder
from pyroclust.core.machine import check_memory
from pyroclust.core.messages import first_line, listed, read_safely, short, visible
from pyroclust.data.binary_files import archived_headers
from pyroclust.data.delimited_text import ReadingOptions, check_file
from pyroclust.data.notes import alike_notes
from pyroclust.data.reading import read_raw
from pyroclust.data.tables import Graph, Images, PointShape, Table, Waveforms

GRAPH_SUFFIXES = (".graphml", ".npz")

_BYTES_AN_ENTRY = 24
# Of nodes, edges and attributes, for each byte of a GraphML file.
_BYTES_A_BYTE = 50
# Names that are numbers; Python reads no integer of thousands of digits.
_ENDS = ({"source", "target"}, {"from", "to"}, {"src", "dst"}, {"node1", "node2"}, {"u", "v"})
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_DIRECTIONS = "The directions of edges were left out."
_WEIGHTS = "The weights of edges were left out: every edge counts alike."

# Of networkx: what makes a graph, and the attribute of its known labels.
BUILT_IN_GRAPHS: dict[str, tuple[str, str | None]] = {
    # 34 members of a karate club and their friendships (Zachary 1977).
    "karate": ("karate_club_graph", "club"),
    # 77 characters of Les Misérables, joined where they share a chapter (Knuth 1993).
    "les-miserables": ("les_miserables_graph", None),
}
_LARGE, _SMALL = 28, 8
# Whites of whole pixels: one bit, the digits of scikit-learn, one byte. Larger numbers are often voltages.
_WHITES = (1, 16, 255)


def built_in_graph(name: str, *, label: str | None = None) -> Table:
    """Return the table of a graph that comes with networkx, with its known labels or others."""
    import networkx

    make, own = BUILT_IN_GRAPHS[name]
    return graph_table(getattr(networkx, make)(), name, label=own if label is None else label)


def is_graph(source: Any) -> bool:
    """Say whether something is a graph of networkx or a sparse matrix."""
    networked = hasattr(source, "adjacency") and hasattr(source, "nodes")
    return networked or (hasattr(source, "toarray") and hasattr(source, "nnz"))


def graph_table(graph: Any, name: str, *, label: str | None = None) -> Table:
    """Take a graph of networkx, or a sparse matrix, as a table whose rows are nodes."""
    if hasattr(graph, "toarray"):
        if label is not None:
            raise ValueError(f"label is {label!r}, but {name} is a matrix without attributes: leave it out")
        return _of_matrix(graph, name)
    is_weighted = any("weight" in about for _, _, about in graph.edges(data=True))
    notes = [_DIRECTIONS] * graph.is_directed() + [_WEIGHTS] * is_weighted
    places = {node: place for place, node in enumerate(graph.nodes)}
    pairs = [(places[one], places[other]) for one, other, *_ in graph.edges]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    labels = None
    if label is not None:
        about_nodes = [about for _, about in graph.nodes(data=True)]
        known = [about.get(label) for about in about_nodes]
        if all(one is None for one in known):
            attributes = sorted({str(key) for about in about_nodes for key in about})
            raise ValueError(
                f"label is {label!r}, but no node of {name} has it, expected one of: "
                f"{listed(attributes) or 'there is none'}"
            )
        labels = np.array([None if one is None else str(one) for one in known], dtype=object)
    return _table_of_graph(name, ends, [str(node) for node in places], labels=labels, notes=notes)


def like_a_graph(table: Table) -> tuple[str, ...]:
    """Return what to say of rows of columns that are a matrix of pairs, or edges: nothing of others."""
    data, ends = table.data, {name.casefold() for name in table.columns}
    if len(data.T) == 2 and ends in _ENDS:
        return ("The columns look like the ends of edges: to cluster the nodes of a graph, give --edges.",)
    rows, columns = data.shape
    if rows != columns or rows < 3 or not np.array_equal(data, data.T) or len(np.unique(data)) < 2:
        return ()
    if np.ptp(data.diagonal()):
        return ()
    return (
        "The columns are a matrix of pairs of rows, as of edges, distances or correlations, and were read as "
        "measurements: give a graph as a .npz file or scipy.sparse.csr_array(matrix), or else the table "
        "that it was computed from.",
    )


def edges_table(path: Path, *, columns: Sequence[str] | None = None, options: ReadingOptions) -> Table:
    """Read a CSV or TSV file of edges, one a line, whose two columns name the nodes at its ends."""
    raw = read_raw(path, options, of_edges=True)
    chosen = columns or raw.names
    if len(chosen) != 2:
        raise ValueError(
            f"{path.name} has the columns {listed(chosen)}, expected two, the ends of an edge: name them "
            "(--columns A,B); weights are not used"
        )
    # Of two columns of one name both are ends, unless they are named.
    places = [raw.place_of(one, path.name) for one in columns] if columns else [0, 1]
    ends = np.stack([raw.columns[place].labels() for place in places], 1)
    if None in ends:
        edge = next(place for place, one in enumerate(ends.tolist(), 1) if None in one)
        raise ValueError(f"{path.name} has no node at an end of edge {edge}: fill it, or drop the line")
    names = [str(one).strip() for one in ends.ravel()]
    nodes = list(dict.fromkeys(names))
    if all(map(_WHOLE_NUMBER.fullmatch, nodes)):
        nodes.sort(key=int)
    numbers = {node: place for place, node in enumerate(nodes)}
    alone = "A node without an edge has no line, and is not in the graph."
    pairs = np.array([numbers[one] for one in names]).reshape(-1, 2)
    name = visible(path.stem)
    return _table_of_graph(name, pairs, nodes, notes=[*raw.notes, alone, *alike_notes(nodes, name, "nodes")])


def read_graph(path: Path, *, label: str | None = None) -> Table:
    """Read a GraphML file, or a matrix in a .npz file: one of SciPy, or one dense array of NumPy."""
    check_file(path)
    name = visible(path.stem)
    try:
        if path.suffix.lower() == ".npz":
            _check_arrays(path)
            return graph_table(read_safely(path, lambda: _matrix_of(path)), name, label=label)
        import networkx

        check_memory(
            path.stat().st_size * _BYTES_A_BYTE, f"the graph of '{path}'", remedy="take a part of it"
        )
        if (number := len(re.findall(rb"<(?:\w+:)?graph[\s>]", path.read_bytes()))) > 1:
            raise ValueError(f"'{path}' holds {number} graphs, expected one: give each a file of its own")
        return graph_table(read_safely(path, lambda: networkx.read_graphml(path)), name, label=label)
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None


def _check_arrays(path: Path) -> None:
    """Refuse an archive whose arrays are Python objects, are damaged, or do not fit into memory."""
    headers = read_safely(path, lambda: archived_headers(path))
    for name, header in headers.items():
        header.check(path, f"'{visible(name)}'")
    total = sum(header.num_bytes for header in headers.values())
    check_memory(2 * total, f"the arrays of '{path}'", remedy="take a part of the graph")


def _matrix_of(path: Path) -> Any:
    """Return a sparse matrix."""
    from scipy.sparse import coo_array, load_npz

    with np.load(path, allow_pickle=False) as archive:
        names = list(archive)
        if "format" not in names:
            if len(names) != 1:
                holds = f"the arrays {listed(names)}" if names else "no array"
                raise ValueError(f"it holds {holds}, expected one matrix")
            if (matrix := archive[names[0]]).dtype.kind not in "biufc":
                raise ValueError("its entries are no numbers, expected zeros and ones")
            return coo_array(np.atleast_2d(matrix))
    return load_npz(path)


def _of_matrix(matrix: Any, name: str) -> Table:
    shape = tuple(int(size) for size in matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} has shape {shape}, expected a row and a column a node, (N, N)")
    size = shape[0]
    _check_size(size)
    if hasattr(matrix, "check_format"):
        # Pointers beyond the arrays would make scipy write outside of them.
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"{name} is no sparse matrix that can be read ({first_line(error)}); save it again"
            ) from None
    entries = matrix.tocoo()
    values = np.asarray(entries.data)
    if values.dtype.kind not in "biuf" or not np.isfinite(values.astype(float)).all():
        raise ValueError(f"{name} holds entries that are no finite numbers, expected zeros and ones")
    is_edge = values != 0
    ends = np.unique(np.stack([entries.row[is_edge], entries.col[is_edge]], 1).astype(np.int64), axis=0)
    is_weighted = bool((values[is_edge] != 1).any())
    is_full = is_weighted and (ends[:, 0] != ends[:, 1]).sum() == size * (size - 1) > 2
    if is_full or (values < 0).any():
        raise ValueError(
            f"{name} holds numbers below 0, or one for every two nodes, expected zeros where no edge is: "
            "take a threshold, as matrix > 0.5"
        )
    is_directed = not np.array_equal(ends, np.unique(ends[:, ::-1], axis=0))
    notes = [_WEIGHTS] * is_weighted + [_DIRECTIONS] * is_directed
    return _table_of_graph(
        name, np.unique(np.sort(ends, 1), axis=0), [str(one) for one in range(size)], notes=notes
    )


def _table_of_graph(
    name: str,
    ends: NDArray[np.int_],
    nodes: Sequence[str],
    *,
    labels: NDArray[np.object_] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """Return the table of a graph with these edges, loops and repeated ones left out."""
    size = len(nodes)
    if size < 2:
        raise ValueError(f"{name} has {size} node(s), expected at least 2 to cluster")
    _check_size(size)
    matrix = np.zeros((size, size))
    loops = ends[:, 0] == ends[:, 1]
    matrix[ends[:, 0], ends[:, 1]] = matrix[ends[:, 1], ends[:, 0]] = 1
    np.fill_diagonal(matrix, 0)
    notes_and_more = list(notes)
    if loops.any():
        notes_and_more.append(f"{int(loops.sum()):,} edge(s) from a node to itself were left out.")
    repeated = int((~loops).sum() - matrix.sum() / 2)
    if repeated:
        notes_and_more.append(f"{repeated:,} edge(s) that come again were left out.")
    names = tuple(map(visible, nodes))
    if len(set(names)) < size:
        twice = next(one for one in names if names.count(one) > 1)
        raise ValueError(
            f"{name} has two nodes that are written '{short(twice, 40)}': give each a name of its own"
        )
    return Table(name, matrix, names, labels, names, tuple(notes_and_more), Graph(matrix))


def _check_size(size: int) -> None:
    check_memory(
        _BYTES_AN_ENTRY * size**2,
        f"the entries of the matrix of {size:,} nodes",
        remedy="take a part of the graph",
    )


def images_table(folder: Path, *, size: int | None = None) -> Table:
    """Read a folder of images as points to cluster; its sub-folders are their known labels."""
    if size is None and image_sizes(folder) not in ({(_LARGE, _LARGE)}, {(_SMALL, _SMALL)}):
        size = _LARGE
    folder_of_images = read_image_folder(folder, size=size)
    labels = None if folder_of_images.classes is None else np.array(folder_of_images.classes, dtype=object)
    _, height, width = folder_of_images.images.shape
    return _table_of_arrays(
        visible(folder.resolve().name),
        folder_of_images.images.astype(float),
        Images(height, width),
        labels=labels,
        names=folder_of_images.names,
        notes=folder_of_images.notes,
    )


def shaped_table(array: NDArray[Any], name: str) -> Table:
    """Take an array of three dimensions as images or waveforms."""
    if array.ndim != 3 or 0 in array.shape:
        colours = ": make images in colours grey first" if array.ndim > 3 else ""
        raise ValueError(
            f"{name} has shape {array.shape}, expected (N, D), images (N, H, W) or waveforms "
            f"(N, channels, samples){colours}"
        )
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds entries of type {array.dtype}, expected real numbers")
    values = array.astype(float)
    num_missing = int((~np.isfinite(values)).sum())
    if num_missing:
        raise ValueError(
            f"{name} holds {num_missing:,} missing or infinite values; drop or fill those points first"
        )
    high = values.max()
    is_of_pixels = values.min() >= 0 and (high <= 1 or not (values % 1).any())
    white = next((white for white in _WHITES if is_of_pixels and high <= white), None)
    if white is None:
        kind: PointShape = Waveforms(*array.shape[1:])
        note = f"The numbers are not those of pixels, so these are taken as {kind}."
    else:
        values, kind = values / white, Images(*array.shape[1:])
        divided = f", divided by {white}" if white > 1 else ""
        note = f"The numbers are those of pixels, so these are taken as {kind}{divided}."
    return _table_of_arrays(name, values, kind, notes=(note,))


def _table_of_arrays(
    name: str,
    values: NDArray[np.float64],
    shape: PointShape,
    *,
    labels: NDArray[np.object_] | None = None,
    names: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    if len(values) < 2:
        raise ValueError(f"{name} has {len(values)} point(s), expected at least 2 to cluster")
    first, second = shape.event_shape
    columns = tuple(f"{row}, {column}" for row in range(1, first + 1) for column in range(1, second + 1))
    rows = names or tuple(str(row) for row in range(1, len(values) + 1))
    return Table(name, values.reshape(len(values), -1), columns, labels, rows, notes, shape)


def _digits() -> Table:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    labels = np.array([str(one) for one in bunch.target], dtype=object)
    return replace(shaped_table(bunch.images, "digits"), labels=labels)


BUILT_IN_IMAGES: dict[str, Callable[[], Table]] = {"digits": _digits}
"""Collections of images by name: 1,797 handwritten digits of 8 x 8 pixels from scikit-learn."""
