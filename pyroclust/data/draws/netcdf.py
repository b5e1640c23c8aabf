"""Draws of partitions in the NetCDF files that ArviZ writes."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pyroclust.core.errors import readable, unknown_name
from pyroclust.core.memory import check_memory
from pyroclust.core.text import listed
from pyroclust.data.draws.arrays import labels_among
from pyroclust.data.hdf5 import check_self_contained
from pyroclust.partitions.draws import Draws, draws_of_labels
from pyroclust.partitions.raw_labels import WEIGHT_NAMES, refuse_weights
from pyroclust.partitions.renumbering import check_room

__all__ = ["read_netcdf_draws"]

_DRAWS = ("chain", "draw", "sample")
_LOG_JOINT, _LOG_PROB = ("log_joint", "lp"), ("log_prob",)


def read_netcdf_draws(path: Path, *, variable: str | None = None, group: str | None = None) -> Draws:
    """Read draws from one group of a NetCDF file, of ArviZ 0.x or 1.x."""
    readable(path, lambda: check_self_contained(path))
    options: dict[str, Any] = {"engine": "h5netcdf", "decode_times": False, "phony_dims": "access"}
    with readable(path, lambda: xr.open_datatree(path, **options)) as tree:
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
        check_room(f"'{path}'", dataset[name].size)
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
        content = readable(path, lambda: np.asarray(labels.values))
    names = labels.coords.get(labels.dims[-1])
    return draws_of_labels(
        content,
        where=f"'{path}'",
        log_joint=log_joint,
        log_prob=log_prob,
        point_names=None if names is None or names.dtype.kind in "iuf" else tuple(map(str, names.values)),
    )


def _ordered(labels: xr.DataArray) -> xr.DataArray:
    """Put chains first, then draws, whatever the order in the file."""
    return labels.transpose(*[name for name in _DRAWS if name in labels.dims], ...)


def _log(dataset: xr.Dataset, names: tuple[str, ...], path: Path) -> np.ndarray | None:
    found = next((dataset[name] for name in names if name in dataset.data_vars), None)
    if found is None:
        return None
    check_memory(found.nbytes, f"values of '{found.name}' in '{path}'", remedy="thin the draws")
    return readable(path, lambda: np.asarray(_ordered(found).values))
