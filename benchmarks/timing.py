"""What a process costs: processor time of all its threads, wall time, and memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Cost", "cost_of"]


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Attributes:
        seconds: of wall time.
        processor_seconds: of all threads, the start of Python included.
        mib: of memory, at most.
        printed: on standard output.
        said: lines on standard error.
    """

    seconds: float
    processor_seconds: float
    mib: float
    printed: str
    said: tuple[str, ...]


def cost_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run Python on a command line of its own to the end; with variables that are set for it."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *command], stdout=out, stderr=err, env={**os.environ, **(environment or {})}
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        for stream in (out, err):
            stream.seek(0)
        printed, said = out.read(), tuple(err.read().splitlines())
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {' '.join(said[-3:])}")
    # Linux counts in kilobytes, macOS in bytes.
    mib = used.ru_maxrss / 2 ** (20 if sys.platform == "darwin" else 10)
    return Cost(wall, used.ru_utime + used.ru_stime, mib, printed, said)
