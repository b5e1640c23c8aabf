"""Text from users as others may show it: names, labels and cells from files that nobody has looked at."""

import re
from collections.abc import Iterable
from itertools import islice

_LONGEST = 60
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
