"""Wording of errors that several readers share."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from pyroclust.core.text import listed, short, visible

__all__ = ["ends_the_run", "first_line", "lacks_memory", "readable", "unknown_name"]

Found = TypeVar("Found")

_LONGEST, _LINES = 60, 300


def unknown_name(what: str, given: object, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest known one first and then as many others as fit a line.

    Names are shown as :func:`pyroclust.core.text.visible` writes them, long ones cut.

    Example:
        >>> unknown_name("guide", "ncp-nig", ["ncp-nig1d", "ncp-niw2d"])
        "unknown guide 'ncp-nig', did you mean 'ncp-nig1d'? Known: ncp-nig1d, ncp-niw2d"
    """
    names, word = sorted(known), str(given)
    nearest = get_close_matches(word[:_LONGEST], names, n=1, cutoff=0.5)
    question = f", did you mean '{short(visible(nearest[0]), _LONGEST)}'?" if nearest else "."
    fitting = sum(1 for reach in accumulate(len(visible(name)) + 2 for name in names) if reach <= _LINES)
    known_ones = listed(names, max(1, fitting))
    return f"unknown {what} '{short(visible(word), _LONGEST)}'{question} Known: {known_ones}"


def first_line(error: Exception) -> str:
    r"""Return the first line of what another library says, without a full stop, to be quoted in a sentence.

    Example:
        >>> first_line(OSError("Bad magic number.\nSee the manual."))
        'Bad magic number'
    """
    return visible((str(error).strip().splitlines() or ["unknown reason"])[0].rstrip("."))


def lacks_memory(error: BaseException) -> bool:
    """Say whether an error is want of memory, for which torch has no class of its own.

    Example:
        >>> lacks_memory(MemoryError()), lacks_memory(RuntimeError("shapes differ"))
        (True, False)
    """
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "allocate memory" in str(error)
    )


def ends_the_run(error: BaseException) -> bool:
    """Say whether an error is none of the part that it came up in: want of memory, or time that is over."""
    return isinstance(error, TimeoutError) or lacks_memory(error)


def readable(path: Path, read: Callable[[], Found]) -> Found:
    """Return what a reader finds in a file, and turn whatever a damaged file makes of it into one sentence.

    Want of memory or of permission stays what it is, and so does a sentence on the file.

    Args:
        path: of the file.
        read: reads it.

    Raises:
        ValueError: if the reader fails.

    Example:
        >>> readable(Path("points.npy"), lambda: [1, 2].index(3))
        Traceback (most recent call last):
        ValueError: 'points.npy' is not a readable .npy file (3 is not in list); write it again
    """
    try:
        return read()
    except (PermissionError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(f"'{path}' "):
            raise
        raise ValueError(
            f"'{path}' is not a readable {path.suffix} file ({first_line(error)}); write it again"
        ) from None
