"""Commands and scripts in processes of their own, and signals and kills at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

_PATIENCE = 240


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start ``pyroclust`` with arguments, or Python with a script, in a folder."""
    what = ["-m", "pyroclust"] if not arguments[0].endswith(".py") else []
    # Warnings and threads as users have them, but for the cores that tests share.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    command = [sys.executable, *what, *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


def run_and_signal(
    arguments: list[str],
    folder: Path,
    number: int,
    *,
    seed: int,
    longest: float = 6.0,
    when: Callable[[], bool] | None = None,
) -> tuple[int, str, str]:
    """Send a signal at a random moment, or a random moment after something is true; return code and texts."""
    rng = random.Random(seed)
    process = start(arguments, folder)
    end = time.monotonic() + _PATIENCE
    while when is not None and not when() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    wanted = time.monotonic() + rng.uniform(0.0, longest)
    while time.monotonic() < wanted and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(number)
    if number != signal.SIGKILL and rng.random() < 0.4:
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(number)
    out, err = process.communicate(timeout=_PATIENCE)
    return process.returncode, out, err


def left_over(folder: Path) -> list[str]:
    """Return the names of unfinished files below a folder; records of finished ones end in .pyroclust."""
    hidden = (path for path in folder.rglob(".*") if not path.name.endswith(".pyroclust"))
    return [str(path.relative_to(folder)) for path in hidden]


def a_day_later(folder: Path) -> None:
    """Age what killed processes were writing: a fresh file may be that of a process that still runs."""
    for path in folder.rglob(".part-*"):
        os.utime(path, (0, 0))


@contextmanager
def broken(name: str, call: int, error: BaseException) -> Iterator[list[int]]:
    """Let the n-th call of a function of the system fail, from 1 on; the list counts the calls."""
    module, _, function = name.rpartition(".")
    real = getattr(sys.modules[module], function)
    calls: list[int] = []

    def failing(*arguments: object, **named: object) -> object:
        calls.append(len(calls) + 1)
        if len(calls) == call:
            raise error
        return real(*arguments, **named)

    with mock.patch(name, failing):
        yield calls


@contextmanager
def without_room(size: int) -> Iterator[None]:
    """Let the system refuse every write beyond so many bytes of a file, half-way through."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
