"""What an HDF5 file may do to its reader, found out before anything is read: other files, cycles, sizes."""

import math
from pathlib import Path
from typing import Any

from pyroclust.core.files import check_regular
from pyroclust.core.memory import check_memory
from pyroclust.core.text import visible

__all__ = ["check_self_contained"]

_MOST_OBJECTS = 10_000


def check_self_contained(path: Path, *, is_read_whole: bool = False) -> None:
    """Refuse an HDF5 file whose values lie elsewhere, whose groups form no tree, or that unpacks to too much.

    Links, external storage and virtual data sets let a file name any file of this machine, whose bytes would
    be read as labels. Names of indices and single blocks are read whole: they must fit into memory.
    """
    import h5py

    check_regular(path)
    total = 0
    with h5py.File(path, "r") as file:
        waiting: list[Any] = [file]
        seen = {_place(file)}
        while waiting:
            group = waiting.pop()
            for name in group:
                link = group.get(name, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    raise _refused(path, f"'{visible(name)}' is a link to another place")
                one = group[name]
                if isinstance(one, h5py.Dataset):
                    _check_dataset(one, path)
                    total += math.prod(one.shape or ()) * one.dtype.itemsize
                if isinstance(one, h5py.Group) and _place(one) in seen:
                    raise _refused(path, f"its group '{visible(name)}' has several names")
                if isinstance(one, h5py.Group):
                    waiting.append(one)
                    seen.add(_place(one))
                if len(seen) > _MOST_OBJECTS:
                    raise _refused(path, f"it has more than {_MOST_OBJECTS:,} groups")
    if is_read_whole:
        check_memory(2 * total, f"the values of '{path}'", remedy="read it where there is more")


def _place(one: Any) -> tuple[int, int]:
    import h5py

    found = h5py.h5o.get_info(one.id)
    return int(found.fileno), int(found.addr)


def _check_dataset(one: Any, path: Path) -> None:
    name = visible(one.name)
    if one.is_virtual or one.external:
        raise _refused(path, f"the values of '{name}' lie in other files")
    # xarray reads indices whole, and HDF5 the blocks that it packed.
    for shape in (one.shape if one.ndim == 1 else None, one.chunks):
        if shape is not None:
            check_memory(
                math.prod(shape) * one.dtype.itemsize,
                f"'{path}' is not read: values of '{name}'",
                remedy="write the labels to a file of their own",
            )


def _refused(path: Path, why: str) -> ValueError:
    return ValueError(f"'{path}' is not read: {why}; write the labels themselves into one file")
