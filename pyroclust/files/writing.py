"""Atomic writes: after a crash a file is the old one or the new one, never a part."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from pyroclust.files.parts import new_part

__all__ = ["replace_file", "sync_folder"]

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it to the disk, and rename it over the old one.

    A process killed at any moment leaves the old content or the new, never a part of it. After an error the
    old content stays and nothing lies beside it. A new file has the permissions that the user's mask gives,
    a replaced one keeps its own. Where the path is a link, the link is replaced, and what it points to stays
    as it is.

    Raises:
        OSError: if the disk is full or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "note.txt"
        >>> replace_file(path, b"new")
        >>> path.read_bytes()
        b'new'
    """
    part = new_part(path.parent)
    try:
        with os.fdopen(os.open(part, _NEW_FILE, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _keep_permissions(path, part)
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            # The name of the part would tell a reader nothing.
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that they outlast a power cut; some systems cannot."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep_permissions(path: Path, part: Path) -> None:
    with suppress(OSError):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            part.chmod(stat.S_IMODE(found.st_mode))
