"""The machine: memory that is left, threads, versions of libraries, the precision that torch works in."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

_CGROUPS = Path("/sys/fs/cgroup")
# Names of limit, use and the list with reclaimable cache, in both versions of control groups.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
# Bytes; whole numbers beyond have no quotient in double precision.
_HUGE = 1e300


_LIBRARIES = ("pyroclust", "numpy", "torch", "numba", "pyro-ppl")


def versions() -> dict[str, str]:
    """Return the versions of the libraries that make the draws."""
    return {name: version(name) for name in _LIBRARIES}


def free_memory() -> int:
    """Return the bytes that new arrays may take: what machine, control groups and ``ulimit -v`` leave."""
    import psutil

    limits = [psutil.virtual_memory().available, *_left_to_groups()]
    with suppress(ImportError, ValueError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            limits.append(limit - psutil.Process().memory_info().vms)
    return max(0, min(limits))


def check_memory(needed: float, what: str, *, remedy: str) -> None:
    """Refuse what does not fit into memory: so many bytes for what begins the sentence; a remedy ends it."""
    free = free_memory()
    if needed > free:
        raise ValueError(
            f"{what} take {min(needed, _HUGE) / 2**30:.3g} GiB of memory, "
            f"and this machine has {free / 2**30:.3g} free GiB; {remedy}"
        )


def _left_to_groups() -> Iterator[int]:
    """Return what every control group of the process, and every one around it, has left."""
    for folder in _groups():
        for limit_file, use_file, cache in _GROUP_FILES:
            # Where there is no limit the file says "max", or is not there.
            with suppress(ValueError, OSError):
                limit, use = (int((folder / name).read_text()) for name in (limit_file, use_file))
                yield limit - max(0, use - _entry(folder / "memory.stat", cache))


def _groups() -> Iterator[Path]:
    """Return the folders of the groups; in a container these are often the roots themselves."""
    seen: set[Path] = set()
    for line in ("0::/", "0:memory:/", *_lines(Path("/proc/self/cgroup"))):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root) and folder not in seen:
                seen.add(folder)
                yield folder


def _entry(path: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in _lines(path) if line.startswith(f"{name} ")), 0)


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text("ascii", errors="replace").splitlines()
    return []


_VARIABLE, _NO_CODE = "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT"


def check_threads() -> None:
    """Refuse an environment in which numba cannot be imported, or compiles nothing."""
    if os.environ.get(_NO_CODE, "0") not in ("", "0"):
        raise ValueError(
            f"the environment variable {_NO_CODE} is set, and chains are compiled code: unset it"
        )
    text = os.environ.get(_VARIABLE, "")
    try:
        is_too_few = int(text) < 1
    except ValueError:
        # Numba warns, naming the variable, and uses every core.
        return
    if is_too_few:
        raise ValueError(
            f"the environment variable {_VARIABLE} is {int(text)}, expected 1 or more; correct or unset it"
        )


def num_threads() -> int:
    """Return the number of cores that this process may use, or ``NUMBA_NUM_THREADS`` where it is set."""
    check_threads()
    # numba.get_num_threads starts numba's own threads, and with them sets those of OpenMP, and so of torch.
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def each_in_threads(function: Callable[..., Any], *items: Sequence[Any]) -> None:
    """Call a function with each item, in threads where there are several of both."""
    if len(items[0]) <= 1 or num_threads() == 1:
        for one in zip(*items, strict=True):
            function(*one)
        return
    with ThreadPoolExecutor(num_threads()) as pool:
        list(pool.map(function, *items))


def map_in_threads(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Sequence[Any]
) -> list[Any]:
    """Map a function over items, in as many tasks as threads: one takes 50 microseconds."""
    size = max(1, -(-len(items) // num_threads()))
    parts = [items[first : first + size] for first in range(0, len(items), size)]
    return [one for part in pool.map(lambda few: [function(item) for item in few], parts) for one in part]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch work in one thread within the block: small matrices take up to 50 times as long in more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def single_precision() -> Iterator[None]:
    """Let single precision be what torch makes within the block, whatever the caller has set."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
