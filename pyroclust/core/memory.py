"""How much memory is left, and what does not fit into it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
# Names of limit, use and the list with reclaimable cache, in both versions of control groups.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
# Bytes; whole numbers beyond have no quotient in double precision.
_HUGE = 1e300


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
