"""What binary files say of themselves, before any value is read: NumPy arrays, HDF5."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np

from pyroclust.core.files import check_regular
from pyroclust.core.machine import check_memory
from pyroclust.core.messages import visible

# Members of one archive: more are no arrays that somebody named.
_MOST_MEMBERS = 10_000
_MOST_OBJECTS = 10_000


@dataclass(frozen=True)
class NumpyHeader:
    """What an array says of its entries, and how many bytes the file has for them."""

    shape: tuple[int, ...]
    kind: np.dtype[Any]
    num_held: int

    @property
    def size(self) -> int:
        """Number of entries; numpy's product of a shape overflows."""
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        """Bytes of all entries."""
        return self.size * self.kind.itemsize

    def check(self, path: Path, what: str) -> None:
        """Refuse Python objects, and arrays that say of themselves to have other bytes than are held."""
        if self.kind.hasobject:
            raise ValueError(
                f"'{path}' is not a readable {path.suffix} file ({what} holds Python objects, which could "
                "run any code); save numbers or text"
            )
        if self.num_held != self.num_bytes:
            raise ValueError(
                f"'{path}' is not a readable {path.suffix} file ({what} has {self.num_held:,} bytes where "
                f"its header says {self.num_bytes:,}); write it again"
            )


def _read_header(file: IO[bytes], num_bytes: int) -> NumpyHeader:
    """Read the header of an array in a file of so many bytes, without its entries."""
    start = file.read(8)
    if start[:6] != np.lib.format.MAGIC_PREFIX:
        raise ValueError("it does not begin as an array of NumPy does")
    # Versions 2 and 3 differ in letters of names alone, which no array without fields has.
    read = (
        np.lib.format.read_array_header_1_0 if start[6:7] == b"\x01" else np.lib.format.read_array_header_2_0
    )
    try:
        shape, _, kind = read(file)
    # What Python's parser and numpy make of nonsense is many things, MemoryError for brackets among them.
    except Exception:
        raise ValueError("its header is damaged") from None
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}, expected whole numbers from 0 up")
    return NumpyHeader(shape, kind, num_bytes - file.tell())


def numpy_header_of(path: Path) -> NumpyHeader:
    """Read the header of the one array in a ``.npy`` file, and check that its entries are there."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise ValueError(f"'{path}' holds several arrays, as a .npz file does, expected one array")
        file.seek(0)
        header = _read_header(file, path.stat().st_size)
    header.check(path, "it")
    return header


def archived_headers(path: Path) -> dict[str, NumpyHeader]:
    """Read the headers of the arrays in a ``.npz`` file, by their names; nothing is unpacked into a file."""
    headers: dict[str, NumpyHeader] = {}
    with path.open("rb") as content, ZipFile(content) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        if len(members) > _MOST_MEMBERS:
            raise ValueError(f"it has {len(members):,} arrays, expected at most {_MOST_MEMBERS:,}")
        for member in members:
            if (name := member.filename.removesuffix(".npy")) in headers:
                raise ValueError(f"it holds two arrays '{member.filename}', expected one of each name")
            with archive.open(member) as file:
                headers[name] = _read_header(file, member.file_size)
    return headers


def check_self_contained(path: Path, *, is_read_whole: bool = False) -> None:
    """Refuse an HDF5 file whose values lie elsewhere, whose groups are no tree, or that unpacks to much."""
    # Links and virtual data sets let a file name any other file, whose bytes would be read as labels.
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
