"""How much memory is left, and what does not fit into it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["check_memory", "free_memory"]

_CGROUPS = Path("/sys/fs/cgroup")
# Names of limit, use and the list with reclaimable cache, in both versions of control groups.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


# Bytes; whole numbers beyond have no quotient in double precision.
_HUGE = 1e300


def free_memory() -> int | None:
    """Return the bytes that new arrays may take, or ``None`` where the system does not say.

    On Linux that is what is available without swapping, or what is left to the control groups of the process
    (those of a container, a batch job or a service) or to its address space (``ulimit -v``) where that is
    less; elsewhere all memory of the machine.

    Example:
        >>> free = free_memory()
        >>> free is None or free > 0
        True
    """
    found = [one for one in (_available(), *_left_to_groups(), *_left_to_process()) if one is not None]
    return max(0, min(found)) if found else None


def check_memory(needed: float, what: str, *, remedy: str) -> None:
    """Refuse what does not fit into memory; where nobody knows how much there is, nothing is refused.

    Args:
        needed: bytes.
        what: the argument and what it asks for, the beginning of the sentence.
        remedy: what to do, its end.

    Raises:
        ValueError: if more is needed than is left.

    Example:
        >>> check_memory(1 << 60, "num_draws is 10: labels", remedy="keep fewer")
        Traceback (most recent call last):
        ValueError: num_draws is 10: labels take 1.07e+09 GiB of memory, ... free GiB; keep fewer
    """
    free = free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} take {min(needed, _HUGE) / 2**30:.3g} GiB of memory, "
            f"and this machine has {free / 2**30:.3g} free GiB; {remedy}"
        )


def _available() -> int | None:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_to_groups() -> Iterator[int]:
    """Return what every control group of the process, and every one around it, has left."""
    for folder in _groups():
        for limit_file, use_file, cache in _GROUP_FILES:
            limit, use = _number(folder / limit_file), _number(folder / use_file)
            if limit is not None and use is not None:
                yield limit - max(0, use - _entry(folder / "memory.stat", cache))


def _groups() -> Iterator[Path]:
    """Return the folders of the groups; in a container these are often the roots themselves."""
    seen: set[Path] = set()
    for line in ("0::/", "0:memory:/", *_lines(Path("/proc/self/cgroup"))):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        own = root / path.strip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(root) and folder not in seen:
                seen.add(folder)
                yield folder


def _left_to_process() -> Iterator[int]:
    """Return what is left of the address space, where that is limited."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, ValueError, OSError):
        return
    used = next((line.split()[0] for line in _lines(Path("/proc/self/statm"))), None)
    if limit != resource.RLIM_INFINITY and used is not None:
        yield limit - int(used) * os.sysconf("SC_PAGE_SIZE")


def _number(path: Path) -> int | None:
    """Return the one number in a file; ``None`` where there is none, or it says "max"."""
    with suppress(ValueError):
        return next((int(line) for line in _lines(path)), None)
    return None


def _entry(path: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in _lines(path) if line.startswith(f"{name} ")), 0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("ascii", errors="replace").splitlines()
    except OSError:
        return []
