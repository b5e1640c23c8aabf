"""What an array of NumPy says of itself in a file, before any of its entries is read."""

import ast
import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["NUMPY_MAGIC", "NumpyHeader", "read_numpy_header"]

NUMPY_MAGIC = b"\x93NUMPY"
"""The first bytes of an array of NumPy."""

# Characters; numpy itself reads no longer header without being asked to.
_LONGEST_HEADER = 10_000


@dataclass(frozen=True)
class NumpyHeader:
    """What an array says of itself.

    Attributes:
        shape: of the array.
        kind: of its entries.
        length: bytes before its first entry.
    """

    shape: tuple[int, ...]
    kind: np.dtype[Any]
    length: int

    @property
    def size(self) -> int:
        """Number of entries; numpy's product of a shape overflows."""
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        """Bytes of all entries."""
        return self.size * self.kind.itemsize

    def check(self, path: Path, what: str, *, held: int) -> None:
        """Refuse Python objects, and arrays whose header asks for other entries than there are.

        Args:
            path: of the file.
            what: the array in a sentence, such as "it".
            held: bytes that there are, with the header.

        Raises:
            ValueError: if the array holds objects, or more or fewer bytes than it says.
        """
        if self.kind.hasobject:
            raise ValueError(
                f"'{path}' is not a readable {path.suffix} file ({what} holds Python objects, which could "
                "run any code); save numbers or text"
            )
        if held != self.length + self.num_bytes:
            raise ValueError(
                f"'{path}' is not a readable {path.suffix} file ({what} has {held - self.length:,} bytes "
                f"where its header says {self.num_bytes:,}); write it again"
            )


def read_numpy_header(file: IO[bytes]) -> NumpyHeader:
    """Read the header of an array in any version of the format, without its entries.

    Args:
        file: at the first byte of the array.

    Raises:
        ValueError: if it is no such header, or damaged.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.save(file, np.zeros((2, 3)))
        >>> _ = file.seek(0)
        >>> read_numpy_header(file).shape
        (2, 3)
    """
    start = file.read(8)
    if len(start) < 8 or start[:6] != NUMPY_MAGIC:
        raise ValueError("it does not begin as an array of NumPy does")
    if start[6] not in (1, 2, 3):
        raise ValueError(f"its format is version {start[6]}, expected 1 to 3")
    width, encoding = 2 if start[6] == 1 else 4, "utf-8" if start[6] == 3 else "latin1"
    length = int.from_bytes(file.read(width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length:,} characters, expected at most {_LONGEST_HEADER:,}")
    try:
        said = ast.literal_eval(file.read(length).decode(encoding))
        shape, kind = said["shape"], np.lib.format.descr_to_dtype(said["descr"])
    # What Python's parser and numpy make of nonsense is many things, MemoryError for brackets among them.
    except Exception:
        raise ValueError("its header is damaged") from None
    if not isinstance(shape, tuple) or not all(type(one) is int and one >= 0 for one in shape):
        raise ValueError("its shape is no tuple of whole numbers")
    return NumpyHeader(shape, kind, len(start) + width + length)


def numpy_header_of(path: Path) -> NumpyHeader:
    """Read the header of the array in a ``.npy`` file.

    Args:
        path: of the file.

    Raises:
        ValueError: as :func:`read_numpy_header`.
    """
    with path.open("rb") as file:
        return read_numpy_header(file)
