"""Data sets by name, files, folders and arrays, all read into a :class:`Table`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import first_line, listed, unknown_name, visible
from pyroclust.data.column_selection import chosen_table, rows_as_clustered
from pyroclust.data.columns import RANGE
from pyroclust.data.delimited_text import ReadingOptions
from pyroclust.data.kinds import Kind
from pyroclust.data.reading import (
    SUFFIXES,
    aggregated,
    raw_array,
    raw_frame,
    read_raw,
    read_shaped,
    transposed,
)
from pyroclust.data.shaped_tables import (
    BUILT_IN_GRAPHS,
    BUILT_IN_IMAGES,
    GRAPH_SUFFIXES,
    built_in_graph,
    edges_table,
    graph_table,
    images_table,
    is_graph,
    like_a_graph,
    read_graph,
    shaped_table,
)
from pyroclust.data.tables import Table

Source: TypeAlias = str | PathLike[str] | pd.DataFrame | NDArray[np.generic] | Table
"""A name, a path, or numbers: tensors and whatever else numpy can read are arrays."""


# The columns that are clustered unless others are named, and that of known labels.
BUILT_IN: dict[str, tuple[tuple[str, ...], str | None]] = {
    # 82 galaxy velocities of the Corona Borealis region (Roeder 1990, point 78 corrected), km/s.
    "galaxies": (("velocity_km_s",), None),
    # 150 irises (Anderson 1935), cm.
    "iris": (("petal_length_cm", "petal_width_cm"), "species"),
}

_NAMED = (*BUILT_IN, *BUILT_IN_GRAPHS, *BUILT_IN_IMAGES)


def read_table(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    image_size: int | None = None,
    edges: bool = False,
    partial_labels: str | None = None,
    weight: str | None = None,
    kinds: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    aggregate: str | None = None,
    missing: Sequence[str] = (),
    transpose: bool = False,
    masses_apart: bool = False,
) -> Table:
    """Read a built-in data set, a file of a table or a graph, a folder of images, a frame or an array.

    Args:
        source: ``"galaxies"``, ``"iris"``, ``"digits"`` (images), a file, a folder of images, a data frame of
            pandas or polars, an array or a tensor ``(N,)`` or ``(N, D)``, or one of images ``(N, H, W)`` or
            waveforms ``(N, channels, samples)``; a graph: ``"karate"``, ``"les-miserables"``, a .graphml or
            .npz file, one of networkx, a sparse matrix; or a table, which comes back as it is.
        columns: columns to cluster; by default all but the label, and the petals of iris. Of a file of edges
            the two that name their ends.
        label: column of reference labels, or of a graph the attribute of its nodes, never used for
            clustering. ``01`` and ``1`` are two labels, and only an empty cell is none.
        delimiter: what divides the cells of a CSV or TSV file; found out by default.
        decimal: its decimal mark, a point or a comma; found out by default.
        header: whether its first line, or the first row of a workbook, names the columns; found out by
            default.
        image_size: pixels of a side that images of a folder are scaled to; by default 28 where they are not
            all of 28 x 28 or of 8 x 8 pixels.
        edges: whether a CSV or TSV file holds the edges of a graph, a line each.
        partial_labels: column of what is known of the clusters, with empty cells where nothing is.
        weight: column of how many equal rows each row stands for, whole numbers of at least 1.
        kinds: kinds of columns by name: ``"number"``, ``"count"``, ``"yes/no"`` or ``"category"``; those of
            other columns of a file or a data frame are found out, identifiers are left out, and cells may be
            missing. By default all columns have to be numbers, and all cells there. ``"q1..q15"`` are the
            clustered columns from one to another, of which a later entry may say otherwise.
        leave_out: columns that are not clustered, of all others; instead of ``columns``.
        aggregate: column that says what a row is of, such as a patient: the rows of each become one, with
            means of numbers and most frequent values of text. With ``kinds`` rows that look like several of
            one unit are refused unless this is a column, or ``"none"``.
        missing: values that stand for missing cells: ``"99"`` in all columns, ``"income=-1"`` in one,
            ``"q1..q15=0"`` in those from one to another; ``"continent="`` says that NA and the like are
            categories there.
        transpose: whether columns are the rows to cluster, and rows their measurements.
        masses_apart: divide columns of numbers, more than half of whose cells hold one value, in two: whether
            a cell holds it, and the number where it does not.

    What was guessed is said in the table's ``notes``; what could be read in two ways is refused.

    Raises:
        ValueError: if the source cannot be read or its columns cannot be clustered; the sentence says what
            to do.

    Example:
        >>> table = read_table("galaxies")
        >>> table.data.shape, table.columns
        ((82, 1), ('velocity_km_s',))
        >>> sorted(set(read_table("iris").labels.tolist()))
        ['setosa', 'versicolor', 'virginica']
    """
    reading, source = ReadingOptions(delimiter, decimal, header), _in_pandas(source)
    chosen: dict[str, Any] = {"columns": columns, "label": label, "partial_labels": partial_labels}
    chosen |= {"weight": weight, "aggregate": aggregate}
    emptied = {"kinds": kinds, "leave_out": leave_out, "missing": missing, "transpose": transpose}
    all_options = chosen | {name: value or None for name, value in emptied.items()}
    given = {name: value for name, value in all_options.items() if value is not None}
    chosen |= {"kinds": kinds, "leave_out": leave_out, "missing": missing}
    if isinstance(source, Table):
        for name, value in given.items():
            raise ValueError(
                f"{name} is {value!r}, but source is the table {source.name}, read with its columns: give "
                f"{name} to read_table"
            )
        return source
    if reading.stated and not _is_file(source):
        raise ValueError(f"{reading.stated[0]} is told, but source is no file: leave it out")
    is_folder = isinstance(source, str | PathLike) and Path(source).is_dir()
    if image_size is not None and (not is_folder or str(source) in BUILT_IN_IMAGES):
        raise ValueError(f"image_size is {image_size}, but source is no folder of images: leave it out")
    if edges:
        if label is not None:
            raise ValueError("edges is true, but a file of edges has no labels: leave label out")
        if not _is_file(source):
            raise ValueError("edges is true, but source is no file: leave edges out")
        nodes = edges_table(Path(source), columns=columns, options=reading)
        return _without_columns(nodes, [one for one in given if one != "columns"])
    if (graph := _graph(source, label)) is not None:
        return _without_columns(graph, [one for one in (*given, *reading.stated) if one != "label"])
    if (shaped := _shaped(source, image_size)) is not None:
        return _without_columns(shaped, (*given, *reading.stated))
    name = "table"
    if isinstance(source, pd.DataFrame):
        raw = raw_frame(source)
    elif not isinstance(source, str | PathLike):
        raw, name = raw_array(_array(source)), "array"
        # Arrays hold numbers unless somebody says otherwise.
        chosen["usual"] = Kind.NUMBER
    elif str(source) in BUILT_IN:
        name = str(source)
        usual, built_in_label = BUILT_IN[name]
        if columns is None and not leave_out and not transpose:
            chosen["columns"] = [
                one for one in usual if one not in (label, partial_labels, weight, aggregate)
            ]
        with files("pyroclust").joinpath(f"data/{name}.csv").open() as lines:
            raw = raw_frame(pd.read_csv(lines))
        if label is None and built_in_label not in (partial_labels, weight, aggregate):
            chosen["label"] = built_in_label
    else:
        path = Path(source)
        if not path.suffix and not path.exists():
            raise ValueError(
                f"{unknown_name('data set', str(source), _NAMED)}; or give a file "
                f"({', '.join((*SUFFIXES, *GRAPH_SUFFIXES))})"
            )
        beside = [one for one in (label, partial_labels, weight, aggregate) if one is not None]
        # Codes for missing cells, columns of trials and ranges name columns beside those that are clustered.
        said = (text for one in (kinds or {}).items() for text in map(str, one))
        names_others = transpose or missing or any("(" in text or RANGE in text for text in said)
        wanted = None if columns is None or names_others else [*dict.fromkeys([*columns, *beside])]
        raw, name = read_raw(path, reading, columns=wanted), path.stem
    if transpose:
        raw = transposed(raw)
    table = chosen_table(raw, name, **chosen, masses_apart=masses_apart)
    return replace(table, notes=(*like_a_graph(table), *table.notes))


def read_new_rows(
    source: Source,
    clustered: Table,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    refuses_unseen: bool = False,
    aggregate: str | None = None,
) -> Table:
    """Read rows that have the columns of a table that was clustered; one is enough."""
    reading, source, name = ReadingOptions(delimiter, decimal, header), _in_pandas(source), "table"
    if isinstance(source, Table):
        raw = raw_frame(pd.DataFrame(dict(source.written())))
        columns = zip(raw.columns, source.units, strict=True)
        raw = replace(raw, columns=tuple(replace(column, unit=unit) for column, unit in columns))
    elif isinstance(source, pd.DataFrame):
        raw = raw_frame(source)
    elif isinstance(source, str | PathLike):
        path = Path(source)
        raw, name = read_raw(path, reading), path.stem
    else:
        raw, name, names = raw_array(_array(source)), "array", clustered.columns
        if len(raw.names) != len(names):
            answers = {answer for _, answer, _ in clustered.parts}
            names = tuple(one for place, one in enumerate(names) if place not in answers)
        if len(raw.names) != len(names):
            raise ValueError(f"new has {len(raw.names)} column(s), expected {len(names)}: {listed(names)}")
        raw = replace(raw, names=names)
    if aggregate is not None:
        raw = aggregated(raw, raw.place_of(aggregate, name), counts_rows="rows" in clustered.columns)
    return rows_as_clustered(raw, name, clustered, refuses_unseen=refuses_unseen)


def _in_pandas(source: Any) -> Any:
    """Return frames of other libraries, such as polars, as those of pandas, and all else as it is."""
    convert = getattr(source, "to_pandas", None)
    if convert is None or not hasattr(source, "columns"):
        return source
    try:
        return convert()
    except Exception as error:
        raise ValueError(
            f"source is a {type(source).__name__} that does not turn into a data frame of pandas "
            f"({first_line(error)}): write it as Parquet, and give the file"
        ) from None


def _graph(source: Any, label: str | None) -> Table | None:
    """Return the nodes of a graph; ``None`` where the source is no graph."""
    if not isinstance(source, str | PathLike):
        return graph_table(source, "graph", label=label) if is_graph(source) else None
    if str(source) in BUILT_IN_GRAPHS:
        return built_in_graph(str(source), label=label)
    is_file = Path(source).suffix.lower() in GRAPH_SUFFIXES
    return read_graph(Path(source), label=label) if is_file else None


def _without_columns(table: Table, given: Iterable[str]) -> Table:
    """Return a table that has no columns, unless something is given that only columns have."""
    for name in given:
        raise ValueError(
            f"{name} is given, but source has {table.shape}, not columns of a table: leave it out"
        )
    return table


def _shaped(source: Source, image_size: int | None) -> Table | None:
    """Return points that are no rows of columns; ``None`` where the source is of rows."""
    if isinstance(source, Table | pd.DataFrame):
        return None
    if not isinstance(source, str | PathLike):
        array = _array(source)
        plain = array.ndim >= 3 and not isinstance(array, np.ma.MaskedArray)
        return shaped_table(array, "array") if plain else None
    if str(source) in BUILT_IN_IMAGES:
        return BUILT_IN_IMAGES[str(source)]()
    path = Path(source)
    if str(source) not in BUILT_IN and path.is_dir():
        return images_table(path, size=image_size)
    array_of_file = read_shaped(path)
    return None if array_of_file is None else shaped_table(array_of_file, visible(path.stem))


def _is_file(source: Any) -> bool:
    return isinstance(source, str | PathLike) and str(source) not in _NAMED


def _array(source: Any) -> NDArray[np.generic]:
    """Take numbers out of an array, a tensor of any device, or lists."""
    if isinstance(source, np.ma.MaskedArray):
        return source
    try:
        if hasattr(source, "detach"):
            source = source.detach().cpu().resolve_neg()
            source = source.float() if source.is_floating_point() and source.itemsize < 4 else source
        return np.asarray(source)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"source is of type {type(source).__name__} with rows of unequal lengths, or of no real numbers "
            "that numpy knows, expected a dense array (N,) or (N, D) that holds its values"
        ) from None


def read_labelled_folder(folder: str | Path, *, label: str, min_points: int = 5) -> list[Table]:
    """Read every table of a folder, all but the label column as points, in the order of file names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no folder '{folder}'; check the path")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        raise ValueError(f"'{folder}' holds no table, expected at least one {', '.join(SUFFIXES)} file")
    tables = [_read(path, label=label, min_points=min_points) for path in paths]
    first = tables[0]
    for table in tables[1:]:
        if table.columns != first.columns:
            raise ValueError(
                f"{table.name} has columns {listed(table.columns)}, expected {listed(first.columns)} "
                f"as {first.name}: give all tables the same columns in the same order"
            )
    return tables


def _read(path: Path, *, label: str, min_points: int) -> Table:
    table = chosen_table(read_raw(path), path.stem, label=label)
    labels = [] if table.labels is None else [one for one in table.labels if one is not None]
    if len(table.data) < min_points:
        raise ValueError(
            f"{table.name} has {len(table.data)} row(s), expected at least {min_points}: "
            "take the file out of the folder, or lower min_points"
        )
    if num_missing := len(table.data) - len(labels):
        raise ValueError(
            f"{table.name}: column '{label}' has {num_missing} missing value(s), "
            "expected a class for every row: drop those rows first"
        )
    if len(set(labels)) == len(labels):
        raise ValueError(
            f"{table.name}: column '{label}' gives every row a class of its own, "
            "expected classes of several rows: name another column"
        )
    return table
