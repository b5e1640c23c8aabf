"""Atomic writes, by one writer a folder: after a crash a file is the old one or the new one, never a part."""

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

LOCK_FILE = ".pyroclust-lock"
# Names of what is being written; before 0.2 of eight characters.
_PART = re.compile(r"\.part-([0-9a-f]{16}|[a-z0-9_]{8})")
_DAY = 86_400.0

# What a disk without hard links answers.
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def new_part(folder: Path) -> Path:
    """Return a path in a folder for what is being written: nobody else has it, and nobody can guess it."""
    return folder / f".part-{token_hex(8)}"


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing into a folder, a day later."""
    for path in folder.glob(".part-*"):
        with suppress(OSError):
            status = path.lstat()
            is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
            if not _PART.fullmatch(path.name) or not is_own or time.time() - status.st_mtime < _DAY:
                continue
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it over the old one, whose permissions it keeps."""

    def take_the_place(part: Path) -> None:
        _keep_permissions(path, part)
        os.replace(part, path)

    _write(path, content, take_the_place)


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file as :func:`replace_file` does, where there is none."""
    _write(path, content, lambda part: move_to_new(part, path))


def move_to_new(source: Path, target: Path) -> None:
    """Give a file another name, unless something else has it already."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def _write(path: Path, content: bytes, finish: Callable[[Path], None]) -> None:
    """Write a file beside its place, flush it, and finish by giving it its name."""
    part = new_part(path.parent)
    try:
        with os.fdopen(os.open(part, _NEW_FILE, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        finish(part)
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
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            part.chmod(stat.S_IMODE(status.st_mode))


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
