"""One writer a folder: a lock that ends with its process, however that ends."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["LOCK_FILE", "locked_folder"]

LOCK_FILE = ".pyroclust-lock"


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes and threads from writing into a folder; who has the lock may take it again."""
    from filelock import FileLock, Timeout

    path = folder.resolve() / LOCK_FILE
    lock = FileLock(path, timeout=0, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"another process or thread is writing into the folder '{folder}', expected to be alone there: "
            "wait for its end, or choose another folder"
        ) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            # While the lock is still held: who locks a file without a name after that tries again.
            with suppress(OSError):
                path.unlink()
        lock.release()
