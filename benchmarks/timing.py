"""What a process costs: processor time of all its threads, wall time, and memory."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Cost", "cost_of"]

# A process begins with the memory of the one that started it, so that a small one has to.
_LAUNCH = """
import json, os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    json.dump((os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss), file)
"""


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
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        tempfile.NamedTemporaryFile("w+") as used,
    ):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-S", "-c", _LAUNCH, used.name, sys.executable, *command],
            check=True,
            stdout=out,
            stderr=err,
            env={**os.environ, **(environment or {})},
        )
        wall = time.perf_counter() - began
        for stream in (out, err, used):
            stream.seek(0)
        printed, said = out.read(), tuple(err.read().splitlines())
        code, processor_seconds, memory = json.load(used)
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {' '.join(said[-3:])}")
    # Linux counts in kilobytes, macOS in bytes.
    return Cost(
        wall, processor_seconds, memory / 2 ** (20 if sys.platform == "darwin" else 10), printed, said
    )
