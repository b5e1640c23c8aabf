"""Atomic writes: after a crash a file is the old one or the new one, never a part."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it to the disk, and rename it over the old one.

    A process killed at any moment leaves the old content or the new, never a part of it. After an error the
    old content stays and nothing lies beside it.

    Raises:
        OSError: if the disk is full or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "note.txt"
        >>> replace_file(path, b"new")
        >>> path.read_bytes()
        b'new'
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
