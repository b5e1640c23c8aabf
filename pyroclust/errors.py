"""Wording of errors that several readers share."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import accumulate

from pyroclust.text import listed, short, visible

__all__ = ["first_line", "lacks_memory", "unknown_name"]

_LONGEST, _LINES = 60, 300


def unknown_name(what: str, given: str, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest known one first and then as many others as fit a line.

    Names are shown as :func:`pyroclust.text.visible` writes them, long ones cut.

    Example:
        >>> unknown_name("guide", "ncp-nig", ["ncp-nig1d", "ncp-niw2d"])
        "unknown guide 'ncp-nig', did you mean 'ncp-nig1d'? Known: ncp-nig1d, ncp-niw2d"
    """
    names = sorted(known)
    nearest = get_close_matches(given[:_LONGEST], names, n=1, cutoff=0.5)
    question = f", did you mean '{short(visible(nearest[0]), _LONGEST)}'?" if nearest else "."
    fitting = sum(1 for reach in accumulate(len(visible(name)) + 2 for name in names) if reach <= _LINES)
    known_ones = listed(names, max(1, fitting))
    return f"unknown {what} '{short(visible(given), _LONGEST)}'{question} Known: {known_ones}"


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
