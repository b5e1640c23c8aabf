"""Wording of errors that several readers share, and which errors end a run."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from pyroclust.core.text import listed, short, visible

Found = TypeVar("Found")

_LONGEST, _LINES = 60, 300


def unknown_name(what: str, name_given: object, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest known one first and then as many as fit a line.

    Example:
        >>> unknown_name("guide", "ncp-nig", ["ncp-nig1d", "ncp-niw2d"])
        "unknown guide 'ncp-nig', did you mean 'ncp-nig1d'? Known: ncp-nig1d, ncp-niw2d"
    """
    names, word = sorted(known), str(name_given)
    nearest = get_close_matches(word[:_LONGEST], names, n=1, cutoff=0.5)
    question = f", did you mean '{short(visible(nearest[0]), _LONGEST)}'?" if nearest else "."
    fitting = sum(1 for reach in accumulate(len(visible(name)) + 2 for name in names) if reach <= _LINES)
    known_ones = listed(names, max(1, fitting))
    return f"unknown {what} '{short(visible(word), _LONGEST)}'{question} Known: {known_ones}"


def first_line(error: Exception) -> str:
    """Return the first line of what another library says, without a full stop, to be quoted in a sentence."""
    return visible((str(error).strip().splitlines() or ["unknown reason"])[0].rstrip("."))


def lacks_memory(error: BaseException) -> bool:
    """Say whether an error is want of memory, for which torch has no class of its own."""
    of_torch = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return isinstance(error, MemoryError) or of_torch


def ends_the_run(error: BaseException) -> bool:
    """Say whether an error is none of the part that it came up in: want of memory, or time that is over."""
    return isinstance(error, TimeoutError) or lacks_memory(error)


def read_safely(path: Path, read: Callable[[], Found]) -> Found:
    """Return what a reader finds in a file; what a damaged file makes of it becomes one sentence."""
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


def left_out(what: str, reason: str) -> str:
    """Say in a sentence that a part is missing, and why."""
    return f"{what} could not be made and is left out: {reason}."


class Attempts:
    """Parts that a result can do without: what fails is a sentence, not the end of the run.

    Example:
        >>> tries = Attempts()
        >>> tries.value_or_none("The inverse", lambda: 1 / 0)
        >>> tries.failures
        ('The inverse could not be made and is left out: division by zero.',)
    """

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}  # why some parts are missing, by the names they were tried under

    @property
    def failures(self) -> tuple[str, ...]:
        """Why some parts are missing, a sentence each."""
        return tuple(left_out(what, reason) for what, reason in self.reasons.items())

    def value_or_none(self, what: str, part: Callable[[], Found]) -> Found | None:
        """Return a part, or ``None`` where it fails; want of memory, time and Ctrl-C end the run."""
        try:
            return part()
        except Exception as error:
            if ends_the_run(error):
                raise
            self.reasons[what] = first_line(error)
            return None
