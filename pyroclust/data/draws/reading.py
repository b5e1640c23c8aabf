"""Draws of partitions from files of any software: tables, NumPy and NetCDF."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, read_safely, unknown_name, visible
from pyroclust.core.numbers import check_count
from pyroclust.data.binary_files import archived_headers, check_self_contained, numpy_header_of
from pyroclust.data.delimited_text import PLAIN, ReadingOptions, check_file, foreign_suffix
from pyroclust.data.draws.tables import draws_in_frame, draws_in_rows, labels_among, read_table_draws
from pyroclust.partitions.draws import Draws, draws_of_labels
from pyroclust.partitions.raw_labels import (
    WEIGHT_NAMES,
    DrawsLike,
    check_labels_fit,
    refuse_weights,
    require_equal_weights,
)

if TYPE_CHECKING:
    import xarray as xr

_BESIDE = ("log_joint", "log_prob", "point_names")
_DRAWS = ("chain", "draw", "sample")
_LOG_JOINT, _LOG_PROB = ("log_joint", "lp"), ("log_prob",)


def read_npy_draws(path: Path, *, variable: str | None = None, transpose: bool | None = None) -> Draws:
    """Read draws from the one array of a ``.npy`` file."""
    if variable is not None:
        raise ValueError(
            f"variable is '{variable}', but the one array of '{path}' has no name; leave variable out"
        )
    header = read_safely(path, lambda: numpy_header_of(path))
    check_labels_fit(f"'{path}'", header.size)
    # Mapped, so that nothing is read twice.
    labels = np.asarray(read_safely(path, lambda: np.load(path, allow_pickle=False, mmap_mode="r")))
    notes: tuple[str, ...] = ()
    if labels.ndim == 2:
        labels, notes = draws_in_rows(labels, where=f"'{path}'", transpose=transpose)
    return draws_of_labels(labels, where=f"'{path}'", notes=notes)


def read_npz_draws(path: Path, *, variable: str | None = None) -> Draws:
    """Read draws from an array of a ``.npz`` file, with ``log_joint``, ``log_prob`` and ``point_names``."""
    headers = read_safely(path, lambda: archived_headers(path))
    can_be = {name: len(one.shape) in (2, 3) and name not in _BESIDE for name, one in headers.items()}
    chosen = labels_among(can_be, variable, f"'{path}'")
    wanted = {name: one for name, one in headers.items() if name in (chosen, *_BESIDE, *WEIGHT_NAMES)}
    for name, header in wanted.items():
        header.check(path, f"its array '{visible(name)}'")
    check_labels_fit(f"'{path}'", wanted[chosen].size)
    beside = sum(one.num_bytes for name, one in wanted.items() if name != chosen)
    check_memory(beside, f"what stands in '{path}' beside the draws would", remedy="leave it out")
    with read_safely(path, lambda: np.load(path, allow_pickle=False)) as archive:
        arrays = read_safely(path, lambda: {name: archive[name] for name in wanted})
    labels, points = arrays.pop(chosen), arrays.get("point_names")
    refuse_weights(arrays, labels.shape[:-1], f"'{path}'")
    if points is not None and points.shape != labels.shape[-1:]:
        raise ValueError(f"'{path}' has point_names of shape {points.shape}, expected {labels.shape[-1:]}")
    return draws_of_labels(
        labels,
        where=f"'{path}'",
        log_joint=arrays.get("log_joint"),
        log_prob=arrays.get("log_prob"),
        point_names=None if points is None else tuple(str(name) for name in points),
    )


def read_netcdf_draws(path: Path, *, variable: str | None = None, group: str | None = None) -> Draws:
    """Read draws from one group of a NetCDF file, of ArviZ 0.x or 1.x."""
    import xarray as xr

    read_safely(path, lambda: check_self_contained(path))
    options: dict[str, Any] = {"engine": "h5netcdf", "decode_times": False, "phony_dims": "access"}
    with read_safely(path, lambda: xr.open_datatree(path, **options)) as tree:
        groups = tree.children
        if group is not None and group not in groups:
            raise ValueError(f"'{path}': {unknown_name('group', group, groups)}")
        if group is None and len(groups) > 1 and "posterior" not in groups:
            raise ValueError(
                f"'{path}' has the groups {listed(groups)}, none of them 'posterior': name one with group"
            )
        chosen = group or ("posterior" if "posterior" in groups else next(iter(groups), None))
        dataset = (tree if chosen is None else groups[chosen]).to_dataset(inherit=False)
        # Our own files hold the labels as a coordinate.
        known = {str(name): one for name, one in dataset.variables.items() if name not in dataset.indexes}
        can_be = {name: one.ndim == 3 and one.dtype.kind in "iu" for name, one in known.items()}
        name = labels_among(can_be, variable, f"'{path}'")
        check_labels_fit(f"'{path}'", dataset[name].size)
        labels = _ordered(dataset[name])
        if not labels.ndim or labels.dims[-1] in _DRAWS:
            raise ValueError(
                f"'{path}': '{name}' has the dimensions ({listed(map(str, labels.dims))}), expected one "
                "more for the points: name the labels with variable"
            )
        draws = labels.shape[:-1]
        weights = {
            one: dataset[one] for one in WEIGHT_NAMES if one in dataset and dataset[one].shape == draws
        }
        refuse_weights(weights, draws, f"'{path}'")
        log_joint, log_prob = (_log(dataset, names, path) for names in (_LOG_JOINT, _LOG_PROB))
        if log_joint is None and chosen == "posterior" and "sample_stats" in groups:
            stats = groups["sample_stats"].to_dataset(inherit=False)
            log_joint = _log(stats, _LOG_JOINT, path)
            log_prob = _log(stats, _LOG_PROB, path) if log_prob is None else log_prob
        content = read_safely(path, lambda: np.asarray(labels.values))
    names = labels.coords.get(labels.dims[-1])
    return draws_of_labels(
        content,
        where=f"'{path}'",
        log_joint=log_joint,
        log_prob=log_prob,
        point_names=None if names is None or names.dtype.kind in "iuf" else tuple(map(str, names.values)),
    )


def _ordered(labels: "xr.DataArray") -> "xr.DataArray":
    """Put chains first, then draws, whatever the order in the file."""
    return labels.transpose(*[name for name in _DRAWS if name in labels.dims], ...)


def _log(dataset: "xr.Dataset", names: tuple[str, ...], path: Path) -> np.ndarray | None:
    values = next((dataset[name] for name in names if name in dataset.data_vars), None)
    if values is None:
        return None
    check_memory(values.nbytes, f"values of '{values.name}' in '{path}'", remedy="thin the draws")
    return read_safely(path, lambda: np.asarray(_ordered(values).values))


DRAWS_SUFFIXES = (*PLAIN, ".npy", ".npz", ".nc")


DrawsSource: TypeAlias = str | PathLike[str] | Draws | DrawsLike
"""A file, draws, or any object that holds draws."""


def draws_from(source: DrawsSource) -> Draws:
    """Return equally weighted draws of a file, a data frame (:func:`read_draws`) or any other object."""
    if isinstance(source, str | PathLike | pd.DataFrame):
        return read_draws(source)
    require_equal_weights("the draws", source)
    return Draws.of(source)


def read_draws(
    path: str | PathLike[str] | pd.DataFrame | Sequence[str | PathLike[str]],
    *,
    variable: str | None = None,
    group: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    transpose: bool | None = None,
    burn_in: int = 0,
) -> Draws:
    r"""Read draws of partitions from a CSV, TSV, NumPy or NetCDF file.

    Labels may be whole numbers or names; they are renumbered by first appearance in each draw, so that equal
    partitions have equal labels.

    * ``.csv``, ``.tsv``: one row a draw, one column a point, with a header or without; or one draw a column,
      where labels hardly vary along a row. Columns ``chain`` and ``draw`` or ``iteration``, as R's posterior
      and CmdStan write them, divide and order the rows; ``log_joint`` or ``lp__``, and ``log_prob``, are
      taken out. Columns such as ``id`` and ``seed`` are left out, and the notes say so; row numbers without
      a name are refused. Where columns have indices as in ``z[1]``, those of one name are the points: of
      ``variable``, of ``assignments``, or of the only name with whole numbers.
    * ``.npy``: ``(draws, points)`` or ``(chains, draws, points)``.
    * ``.npz``: the array ``variable``, ``assignments``, or the only one of two or three dimensions; arrays
      ``log_joint``, ``log_prob`` and ``point_names`` where they are.
    * ``.nc``: ArviZ's files. The group ``group``, by default ``posterior``, and in it ``variable``,
      ``assignments``, or the only variable of whole numbers with a third dimension.

    Cost: O(S N log N) for S draws of N points, and 24 bytes a label.

    Args:
        path: the file, a data frame, or several files, a chain each.
        variable: name of the labels, where there is more than one candidate.
        group: of a NetCDF file, such as ``guide`` in the ``draws.nc`` of a comparison.
        delimiter: what divides the cells of a CSV or TSV file; found out by default.
        decimal: its decimal mark, a point or a comma; found out by default.
        header: whether its first line names the columns; found out by default.
        transpose: whether points are in rows and draws in columns; found out by default.
        burn_in: draws of each chain that are left out, the first.

    Raises:
        ValueError: if no labels of at least two points can be read; the sentence says what to do.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "draws.csv"
        >>> _ = path.write_text("chain,a,b,c\n1,5,5,2\n2,7,1,7\n")
        >>> draws = read_draws(path)
        >>> draws.assignments.tolist(), draws.point_names
        ([[[0, 0, 1]], [[0, 1, 0]]], ('a', 'b', 'c'))
    """
    options = ReadingOptions(delimiter, decimal, header)

    def in_file(one: str | PathLike[str]) -> Draws:
        draws = _in_file(Path(one), variable=variable, group=group, options=options, transpose=transpose)
        suffix = "" if group in (None, "posterior") else f" ({group})"
        return replace(draws, name=visible(Path(one).stem + suffix))

    if isinstance(path, pd.DataFrame):
        # Read as the table that it would be in a file; numbers as names name no points.
        named = all(isinstance(one, str) for one in path.columns)
        draws = draws_in_frame(
            path, where="the data frame", is_header=named, names_points=named, transpose=transpose
        )
    elif isinstance(path, str | PathLike):
        draws = in_file(path)
    else:
        draws = _as_chains([in_file(one) for one in path])
    return _without_burn_in(draws, burn_in) if check_count("burn_in", burn_in, at_least=0) else draws


def _in_file(
    path: Path, *, variable: str | None, group: str | None, options: ReadingOptions, transpose: bool | None
) -> Draws:
    kind = path.suffix.lower()
    if kind not in DRAWS_SUFFIXES:
        raise ValueError(f"cannot read draws from '{path}': {foreign_suffix(path, DRAWS_SUFFIXES)}")
    if group is not None and kind != ".nc":
        raise ValueError(f"group is '{group}', but only .nc files have groups and '{path}' is a {kind} file")
    if options.stated and kind not in PLAIN:
        raise ValueError(f"{options.stated[0]} is told, but '{path}' is no text file: leave it out")
    check_file(path)
    try:
        if kind in PLAIN:
            return read_table_draws(path, variable=variable, options=options, transpose=transpose)
        if kind == ".npy":
            return read_npy_draws(path, variable=variable, transpose=transpose)
        if transpose is not None:
            raise ValueError(f"transpose is {transpose}, but arrays of '{path}' have names: leave it out")
        if kind == ".npz":
            return read_npz_draws(path, variable=variable)
        return read_netcdf_draws(path, variable=variable, group=group)
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None
    except MemoryError:
        raise ValueError(f"'{path}' does not fit into memory; thin the draws") from None


def _as_chains(files: Sequence[Draws]) -> Draws:
    """Return the draws of several files as chains, one after the other."""
    if not files:
        raise ValueError("the draws are an empty list of files, expected at least one")
    sizes = sorted({one.assignments.shape[1:] for one in files})
    if len(sizes) > 1:
        raise ValueError(
            f"the files hold {listed(f'{draws:,} draws of {points:,} points' for draws, points in sizes)}, "
            "expected as many of as many in each: cut the longer ones"
        )
    for one, other in combinations(files, 2):
        labels = one.assignments
        # Chains that stay at one partition are equal in earnest.
        if np.array_equal(labels, other.assignments) and (labels != labels[:, :1]).any():
            raise ValueError(
                f"the files '{one.name}' and '{other.name}' hold the very same draws, expected a chain "
                "of its own in each: leave one out"
            )
    notes = tuple(dict.fromkeys(note for one in files for note in one.notes))
    return replace(Draws.joined(files), name=listed([one.name for one in files], 3), notes=notes)


def _without_burn_in(draws: Draws, burn_in: int) -> Draws:
    number = draws.assignments.shape[1]
    if burn_in >= number:
        raise ValueError(f"burn_in is {burn_in:,}, expected fewer than the {number:,} draws of a chain")
    log_joint, log_prob = (
        None if values is None else values[:, burn_in:] for values in (draws.log_joint, draws.log_prob)
    )
    notes = (*draws.notes, f"The first {burn_in:,} draws of each chain were left out.")
    assignments = draws.assignments[:, burn_in:]
    return replace(draws, assignments=assignments, log_joint=log_joint, log_prob=log_prob, notes=notes)
