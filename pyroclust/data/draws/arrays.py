"""Draws of partitions in NumPy and NetCDF files: what they take is known before anything is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

import numpy as np

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, read_safely, unknown_name, visible
from pyroclust.data.binary_files import archived_headers, check_self_contained, numpy_header_of
from pyroclust.data.draws.orientation import draws_in_rows
from pyroclust.partitions.draws import Draws, draws_of_labels
from pyroclust.partitions.raw_labels import WEIGHT_NAMES, check_labels_fit, refuse_weights

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
    with path.open("rb") as file, read_safely(path, lambda: ZipFile(file)) as archive:
        members = read_safely(path, lambda: archived_headers(archive))
        headers = {name: header for name, (_, header) in members.items()}
        can_be = {name: len(one.shape) in (2, 3) and name not in _BESIDE for name, one in headers.items()}
        chosen = labels_among(can_be, variable, f"'{path}'")
        wanted = {name: one for name, one in headers.items() if name in (chosen, *_BESIDE, *WEIGHT_NAMES)}
        for name, header in wanted.items():
            header.check(path, f"its array '{visible(name)}'", num_held=members[name][0].file_size)
        check_labels_fit(f"'{path}'", wanted[chosen].size)
        beside = sum(one.num_bytes for name, one in wanted.items() if name != chosen)
        check_memory(beside, f"what stands in '{path}' beside the draws would", remedy="leave it out")
        arrays = read_safely(path, lambda: {name: _array(archive, members[name][0]) for name in wanted})
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


def _array(archive: ZipFile, member: ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def labels_among(names: Mapping[str, bool], variable: str | None, where: str) -> str:
    """Return the name that is told, ``assignments``, or the only one that can be draws."""
    if variable is not None and variable not in names:
        raise ValueError(f"{where}: {unknown_name('variable', variable, names)}")
    if variable is not None or "assignments" in names:
        return variable or "assignments"
    candidates = [name for name, can_be in names.items() if can_be]
    if len(candidates) != 1:
        raise ValueError(
            f"{where} holds {listed(names) or 'no variables'}, and {len(candidates)} of them can be draws: "
            "name the labels with variable"
        )
    return candidates[0]


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
