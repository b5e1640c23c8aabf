"""Draws of partitions in NumPy files: what an array takes is read from its header before anything is."""

from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import numpy as np

from pyroclust.core.errors import readable, unknown_name
from pyroclust.core.memory import check_memory
from pyroclust.core.text import listed, visible
from pyroclust.data.draws.orientation import draws_in_rows
from pyroclust.data.numpy_headers import archived_headers, numpy_header_of
from pyroclust.partitions.draws import Draws, draws_of_labels
from pyroclust.partitions.raw_labels import WEIGHT_NAMES, refuse_weights
from pyroclust.partitions.renumbering import check_room

__all__ = ["labels_among", "read_npy_draws", "read_npz_draws"]

_BESIDE = ("log_joint", "log_prob", "point_names")


def read_npy_draws(path: Path, *, variable: str | None = None, transpose: bool | None = None) -> Draws:
    """Read draws from the one array of a ``.npy`` file."""
    if variable is not None:
        raise ValueError(
            f"variable is '{variable}', but the one array of '{path}' has no name; leave variable out"
        )
    header = readable(path, lambda: numpy_header_of(path))
    check_room(f"'{path}'", header.size)
    # Mapped, so that nothing is read twice.
    labels = np.asarray(readable(path, lambda: np.load(path, allow_pickle=False, mmap_mode="r")))
    notes: tuple[str, ...] = ()
    if labels.ndim == 2:
        labels, notes = draws_in_rows(labels, where=f"'{path}'", transpose=transpose)
    return draws_of_labels(labels, where=f"'{path}'", notes=notes)


def read_npz_draws(path: Path, *, variable: str | None = None) -> Draws:
    """Read draws from an array of a ``.npz`` file, with ``log_joint``, ``log_prob`` and ``point_names``."""
    with path.open("rb") as file, readable(path, lambda: ZipFile(file)) as archive:
        members = readable(path, lambda: archived_headers(archive))
        headers = {name: header for name, (_, header) in members.items()}
        can_be = {name: len(one.shape) in (2, 3) and name not in _BESIDE for name, one in headers.items()}
        chosen = labels_among(can_be, variable, f"'{path}'")
        wanted = {name: one for name, one in headers.items() if name in (chosen, *_BESIDE, *WEIGHT_NAMES)}
        for name, header in wanted.items():
            header.check(path, f"its array '{visible(name)}'", held=members[name][0].file_size)
        check_room(f"'{path}'", wanted[chosen].size)
        beside = sum(one.num_bytes for name, one in wanted.items() if name != chosen)
        check_memory(beside, f"what stands in '{path}' beside the draws would", remedy="leave it out")
        found = readable(path, lambda: {name: _array(archive, members[name][0]) for name in wanted})
    labels, points = found.pop(chosen), found.get("point_names")
    refuse_weights(found, labels.shape[:-1], f"'{path}'")
    if points is not None and points.shape != labels.shape[-1:]:
        raise ValueError(f"'{path}' has point_names of shape {points.shape}, expected {labels.shape[-1:]}")
    return draws_of_labels(
        labels,
        where=f"'{path}'",
        log_joint=found.get("log_joint"),
        log_prob=found.get("log_prob"),
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
    found = [name for name, can_be in names.items() if can_be]
    if len(found) != 1:
        raise ValueError(
            f"{where} holds {listed(names) or 'no variables'}, and {len(found)} of them can be draws: name "
            "the labels with variable"
        )
    return found[0]
