"""Names of what is still being written, and the removal of what killed processes left."""

import os
import re
import shutil
import socket
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

__all__ = ["clear_leftovers", "new_part"]

_PREFIX = ".part-"
# Machine, process, when it started, and what nobody can guess; or a name of an earlier version.
_NAME = re.compile(r"\.part-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-(?P<start>\d+)-[0-9a-f]{16}")
_EARLIER_NAME = re.compile(r"\.part-[a-z0-9_]{8}")
_DAY = 86_400.0


def new_part(folder: Path) -> Path:
    """Return a path in a folder for what is being written: nobody else has it, and nobody can guess it."""
    own = f"{_machine()}-{os.getpid()}-{_start(os.getpid()) or 0}"
    return folder / f"{_PREFIX}{own}-{token_hex(8)}"


def _is_written(found: re.Match[str]) -> bool | None:
    """Return whether the process of a name still runs; ``None`` where that cannot be known from here."""
    if found["machine"] != _machine() or os.name == "nt":
        return None
    process, start = int(found["process"]), int(found["start"])
    if Path("/proc/self/stat").exists():
        return _start(process) == start
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing into a folder."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            with suppress(OSError):
                if entry.name.startswith(_PREFIX) and _is_left_over(entry):
                    _remove(Path(entry.path))


def _is_left_over(entry: "os.DirEntry[str]") -> bool:
    found = entry.stat(follow_symlinks=False)
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return False
    if (name := _NAME.fullmatch(entry.name)) is not None:
        if (is_written := _is_written(name)) is not None:
            return not is_written
    elif not _EARLIER_NAME.fullmatch(entry.name):
        return False
    return time.time() - found.st_mtime > _DAY


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


@cache
def _machine() -> str:
    """Return what stands for the machine, or the container, whose process numbers are meant."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return blake2b(f"{socket.gethostname()} {space}".encode(), digest_size=4).hexdigest()


def _start(process: int) -> int | None:
    """Return when a process started, in ticks since the machine did; ``None`` where it is dead or unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    # A killed process stays in the list as a zombie until its parent asks for it.
    return None if fields[0] in "ZX" else int(fields[19])
