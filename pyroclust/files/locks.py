"""One writer a folder: a lock that ends with its process, however that ends."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyroclust.files.parts import owner, owner_lives

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["LOCK_FILE", "locked_folder"]

LOCK_FILE = ".pyroclust-lock"
_held: dict[tuple[Path, int], int] = {}


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes and threads from writing the same things into a folder.

    The lock is the system's (``flock``) and ends with the process, also by kill -9; the file that carries it,
    ``.pyroclust-lock``, is removed at the end. Where there is no ``flock``, as on Windows, the file names the
    process, and counts while that runs. A thread that has the lock may take it again.
    """
    key = (folder.resolve(), threading.get_ident())
    if _held.get(key):
        yield
        return
    path = key[0] / LOCK_FILE
    descriptor = _flocked(path) if fcntl is not None else _created(path)
    if descriptor is None:
        raise ValueError(
            f"another process or thread is writing into the folder '{folder}', expected to be alone there: "
            "wait for its end, or choose another folder"
        )
    _held[key] = 1
    try:
        yield
    finally:
        del _held[key]
        with suppress(OSError):
            # While the lock is still held: nobody else can have put a file of this name there since.
            path.unlink()
        os.close(descriptor)


def _flocked(path: Path) -> int | None:
    """Return an open and locked file, or None where somebody else has the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            # A file system without locks, as some of networks: the file names its process instead.
            os.close(descriptor)
            return _created(path)
        except BaseException:
            os.close(descriptor)
            raise
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, owner().encode())
                return descriptor
        # Its last owner removed it between our opening and our locking.
        os.close(descriptor)


def _created(path: Path) -> int | None:
    """Return a new file that names this process, or None where the process that is named there still runs."""
    for _ in range(2):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            name = path.read_text(encoding="utf-8", errors="replace")
            if name and owner_lives(name) is not False:
                return None
            with suppress(FileNotFoundError):
                path.unlink()
        else:
            os.write(descriptor, owner().encode())
            return descriptor
    return None
