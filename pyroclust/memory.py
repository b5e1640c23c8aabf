"""How much memory is left, and what does not fit into it."""

import os
from pathlib import Path

__all__ = ["check_memory", "free_memory"]


def free_memory() -> int | None:
    """Return the bytes that new arrays may take, or ``None`` where the system does not say.

    On Linux that is what is available without swapping; elsewhere all memory of the machine.

    Example:
        >>> free = free_memory()
        >>> free is None or free > 0
        True
    """
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(needed: int, what: str, *, remedy: str) -> None:
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
            f"{what} take {needed / 2**30:.3g} GiB of memory, "
            f"and this machine has {free / 2**30:.3g} free GiB; {remedy}"
        )
