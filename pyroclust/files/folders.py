"""Folders that are replaced as a whole."""

import ctypes
import errno
import json
import os
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from pyroclust.files.parts import new_part
from pyroclust.files.writing import sync_folder

__all__ = [
    "check_outside_the_package",
    "finish_entries",
    "finish_folder",
    "replace_entries",
    "replace_folder",
]

_LIBRARY = Path(__file__).parents[1]
_FINISHED, _NAMES = ".pyroclust-finished", ".names"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def check_outside_the_package(folder: Path) -> None:
    """Refuse to write into the installed package.

    Raises:
        ValueError: if the folder lies inside of it.

    Example:
        >>> check_outside_the_package(Path("results"))
    """
    # Path.resolve would end in an error of its own where links point to one another.
    if Path(os.path.realpath(folder)).is_relative_to(_LIBRARY.resolve()):
        raise ValueError(
            f"'{folder}' lies inside the installed package, where nothing is written; choose another folder"
        )


def replace_folder(part: Path, folder: Path) -> None:
    """Put a finished folder in the place of another, which is removed: at any moment one of them is there.

    On Linux the two are exchanged in one step. Elsewhere the old one is renamed first; what a process leaves
    that is killed between the two renames, :func:`finish_folder` puts back.

    Args:
        part: the finished folder, on the same disk.
        folder: an existing folder.

    Raises:
        OSError: if it cannot be done; the old folder is then still in its place.
    """
    _sync_files(part)
    part.chmod(stat.S_IMODE(folder.stat().st_mode))
    if _exchanged(part, folder):
        sync_folder(folder.parent)
        shutil.rmtree(part, ignore_errors=True)
        return
    finish_folder(folder)
    before = _before(folder)
    try:
        os.rename(folder, before)
        os.rename(part, folder)
    except BaseException:
        if before.exists() and not folder.exists():
            os.rename(before, folder)
        raise
    sync_folder(folder.parent)
    shutil.rmtree(before, ignore_errors=True)


def finish_folder(folder: Path) -> None:
    """Put the old folder back, or remove it, that a process left which was killed in :func:`replace_folder`.

    Raises:
        OSError: if it cannot be done.
    """
    before = _before(folder)
    if before.is_symlink() or not before.is_dir():
        return
    if folder.exists():
        shutil.rmtree(before)
    else:
        os.rename(before, folder)


def _before(folder: Path) -> Path:
    return folder.with_name(f".pyroclust-before-{folder.name}")


def replace_entries(part: Path, folder: Path, *, stale: Collection[str]) -> None:
    """Move finished files into a folder that keeps its other files; stale ones of before are removed.

    A process that is killed meanwhile leaves what :func:`finish_entries` completes.

    Args:
        part: a folder with the finished files, inside of ``folder``.
        folder: where they go.
        stale: names that files of an earlier run may have; the new ones are among them.

    Raises:
        OSError: if it cannot be done; the files of before are then all in their places.
    """
    finish_entries(folder, stale=stale)
    new = sorted(one.name for one in part.iterdir())
    (part / _NAMES).write_text(json.dumps(new), encoding="utf-8")
    _sync_files(part)
    finished, before = folder / _FINISHED, new_part(folder)
    before.mkdir()
    removed: list[str] = []
    added: list[str] = []
    try:
        # Whoever finds this folder later completes what is begun here.
        os.rename(part, finished)
        sync_folder(folder)
        for name in sorted({*stale, *new}):
            if os.path.lexists(folder / name):
                removed.append(name)
                os.rename(folder / name, before / name)
        for name in new:
            added.append(name)
            os.rename(finished / name, folder / name)
    except BaseException:
        for name in added:
            with suppress(FileNotFoundError):
                os.rename(folder / name, finished / name)
        for name in removed:
            with suppress(FileNotFoundError):
                os.rename(before / name, folder / name)
        with suppress(FileNotFoundError):
            os.rename(finished, part)
        shutil.rmtree(before, ignore_errors=True)
        raise
    sync_folder(folder)
    shutil.rmtree(finished, ignore_errors=True)
    shutil.rmtree(before, ignore_errors=True)


def finish_entries(folder: Path, *, stale: Collection[str]) -> None:
    """Complete what a process was doing in :func:`replace_entries` when it was killed.

    Its finished files take their places, and stale ones go. Only names among the stale ones are touched.

    Raises:
        OSError: if the folder cannot be written.
    """
    finished = folder / _FINISHED
    if finished.is_symlink() or not finished.is_dir():
        return
    try:
        new = json.loads((finished / _NAMES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        new = None
    if isinstance(new, list):
        for name in sorted(stale):
            if name not in new:
                (folder / name).unlink(missing_ok=True)
            elif os.path.lexists(finished / name):
                os.replace(finished / name, folder / name)
        sync_folder(folder)
    shutil.rmtree(finished, ignore_errors=True)


def _sync_files(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    sync_folder(folder)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two folders in one step, and return whether the system can."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if exchange(_HERE, os.fsencode(first), _HERE, os.fsencode(second), ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(second))
