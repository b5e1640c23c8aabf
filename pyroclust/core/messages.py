"""What people are told: text of users as it may be shown, wording of errors, and parts that failed."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import accumulate, islice
from pathlib import Path
from typing import TypeVar

_LONGEST, _LINES = 60, 300
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# What a spreadsheet takes for the beginning of a formula; the last two are letters of full width.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def visible(text: str) -> str:
    """Write characters that are not printed as escapes: no terminal, page or picture obeys a name."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def short(text: str, length: int) -> str:
    """Cut a name that is too long for its place, an axis or a cell."""
    return text if len(text) <= length else text[: length - 1] + "…"


def duration(seconds: float) -> str:
    """Write a time with about one digit."""
    if seconds >= 100:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds < 10 else f"{10 * round(seconds / 10)} s"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Write names one after the other, visible and cut, and how many are left out."""
    rest = iter(names)
    shown = ", ".join(short(visible(name), _LONGEST) for name in islice(rest, most))
    left = sum(1 for _ in rest)
    return f"{shown} and {left:,} more" if left else shown


def spreadsheet_cell(text: str) -> str:
    r"""Write a cell of a CSV file so that spreadsheets show its text and run nothing.

    Text that begins like a formula gets an apostrophe before it, which says "text" to a spreadsheet; numbers
    stay numbers. Quotes stand around a cell with a comma, semicolon, tab, quote or line end, or a space
    at its begin or end. Of other characters that are not printed, such as NUL, the cell has the escapes of
    :func:`visible`.

    References:
        OWASP, CSV injection. https://owasp.org/www-community/attacks/CSV_Injection

    Example:
        >>> print(spreadsheet_cell("=1+1"), spreadsheet_cell("-1"), spreadsheet_cell('say "a", b'))
        '=1+1 -1 "say ""a"", b"
    """
    cell = "".join(one if one in "\t\r\n" else visible(one) for one in text)
    if cell.lstrip(" ").startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        cell = "'" + cell
    if any(one in cell for one in ',;"\t\r\n') or cell != cell.strip(" "):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def range_in_words(limits: tuple[int, int]) -> str:
    """Write how many clusters there may be."""
    fewest, most = limits
    if fewest == most:
        return f"{most} cluster{'s' * (most != 1)}"
    return f"between {fewest} and {most} clusters"


Found = TypeVar("Found")


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
