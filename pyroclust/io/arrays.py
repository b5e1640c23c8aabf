"""Draws of partitions in NumPy files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pyroclust.errors import first_line, unknown_name
from pyroclust.io.labels import FoundDraws, check_room

__all__ = ["read_npy_draws", "read_npz_draws"]

_BESIDE = ("log_joint", "log_prob", "point_names")


def read_npy_draws(path: Path, *, variable: str | None = None) -> FoundDraws:
    """Read draws from the one array of a ``.npy`` file.

    Raises:
        ValueError: if the file is damaged, holds Python objects, or a variable is asked for.
    """
    if variable is not None:
        raise ValueError(
            f"variable is '{variable}', but the one array of '{path}' has no name; leave variable out"
        )
    _check_kind(path, b"PK", ".npz")
    # Mapped, so that the shape is known before anything is read.
    content = _tried(path, lambda: np.load(path, allow_pickle=False, mmap_mode="r"))
    check_room(f"'{path}'", content.size)
    return FoundDraws(np.asarray(content))


def read_npz_draws(path: Path, *, variable: str | None = None) -> FoundDraws:
    """Read draws from an array of a ``.npz`` file, with ``log_joint``, ``log_prob`` and ``point_names``.

    Args:
        path: an existing file.
        variable: name of the array; ``assignments`` by default, or the only one of two or three dimensions.

    Raises:
        ValueError: if the file is damaged, or the array is not there or not the only one.
    """
    arrays = _arrays(path)
    if variable is not None and variable not in arrays:
        raise ValueError(f"'{path}': {unknown_name('array', variable, arrays)}")
    labels = arrays[variable or _only_array(arrays, path)]
    points = arrays.get("point_names")
    if points is not None and points.shape != labels.shape[-1:]:
        raise ValueError(f"'{path}' has point_names of shape {points.shape}, expected {labels.shape[-1:]}")
    return FoundDraws(
        labels,
        arrays.get("log_joint"),
        arrays.get("log_prob"),
        None if points is None else tuple(str(name) for name in points),
    )


def _only_array(arrays: dict[str, np.ndarray], path: Path) -> str:
    if "assignments" in arrays:
        return "assignments"
    found = [name for name, array in arrays.items() if array.ndim in (2, 3) and name not in _BESIDE]
    if len(found) != 1:
        raise ValueError(
            f"'{path}' holds the arrays {', '.join(sorted(arrays)) or 'none'}, and {len(found)} of them can "
            "be draws: name one with variable"
        )
    return found[0]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    _check_kind(path, b"\x93NUMPY", ".npy")
    with path.open("rb") as file, _tried(path, lambda: np.load(file, allow_pickle=False)) as content:
        check_room(f"'{path}'", sum(entry.file_size for entry in content.zip.infolist()) // 8)
        return _tried(path, lambda: {name: np.asarray(content[name]) for name in content})


def _check_kind(path: Path, beginning: bytes, kind: str) -> None:
    """Refuse a file that is of the other kind by its first bytes."""
    with path.open("rb") as file:
        if file.read(len(beginning)) == beginning:
            raise ValueError(f"'{path}' holds what belongs into a {kind} file; rename it")


def _tried(path: Path, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except PermissionError:
        raise
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise ValueError(
            f"'{path}' is not a readable {path.suffix} file ({first_line(error)}); write it again"
        ) from None
