"""Numbers that are written with a unit: shares, amounts of money, measures, times of day, dates."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pyroclust.delimited.numerals import MISSING, is_numeral

__all__ = ["DAYS", "HOURS", "Quantities", "days_between", "quantities"]

DAYS, HOURS = "days since ", "hours"

_MINUS = str.maketrans({"\u2212": "-", "\u2012": "-", "\u2013": "-", "\ufe63": "-", "\uff0d": "-"})
_MONEY = r"[$€£¥₹₽₩₺₪]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|R\$|kr|Fr\."
_WORD = r"%|‰|°C|°F|°|[^\W\d_]{1,12}[²³]?(?:\s?/\s?[^\W\d_]{1,8}[²³]?)?"
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>(?:{_MONEY})?)\s?(?P<number>[+-]?[\d.,'\u2019 \u00a0\u2007\u2009\u202f]*\d"
    rf"[.,]?(?:[eE][+-]?\d+)?)\s?(?P<after>(?:{_MONEY}|{_WORD})?)"
)
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")
_CLOCK = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}")
_MONTH_NAMED = ("%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%B %d, %Y", "%b %d, %Y", "%d. %B %Y")
_THIS_CENTURY = 50


@dataclass(frozen=True)
class Quantities:
    """Cells without their unit, as the numbers that they are.

    Attributes:
        unit: of all of them, such as ``"%"``, ``"kg"``, ``"hours"`` or ``"days since 2020-01-31"``.
        cells: the numbers as text, under the marks that they are written with; missing cells as they are.
    """

    unit: str
    cells: list[str]

    @property
    def are_converted(self) -> bool:
        """Whether the numbers are ours, with a decimal point, and not those that were written."""
        return self.unit == HOURS or self.unit.startswith(DAYS)


def quantities(cells: Sequence[str]) -> Quantities | None:
    """Return cells that all have one unit as numbers; ``None`` for numbers without one and for other text."""
    plain = [cell.translate(_MINUS).strip() for cell in cells]
    there = list(dict.fromkeys(cell for cell in plain if cell not in MISSING))
    if not there or all(map(is_numeral, there)):
        has_minus = any(cell != old.strip() for cell, old in zip(plain, cells, strict=True))
        return Quantities("", plain) if there and has_minus else None
    for read in (_measures, _times, _dates):
        found = read(there)
        if found is not None:
            unit, numbers = found
            return Quantities(unit, [numbers.get(cell, cell) for cell in plain])
    return None


def days_between(unit: str, other: str) -> int | None:
    """Return how many days later the first of two units of days begins; ``None`` for other units."""
    if not (unit.startswith(DAYS) and other.startswith(DAYS)):
        return None
    first, second = (date.fromisoformat(one.removeprefix(DAYS)) for one in (unit, other))
    return (first - second).days


def _measures(cells: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    numbers, units = {}, set()
    for cell in cells:
        match = _WRITTEN.fullmatch(cell)
        if match is None or not is_numeral(number := match["sign"] + match["number"].strip()):
            return None
        if bool(match["before"]) and bool(match["after"]):
            return None
        units.add(match["before"] or match["after"])
        numbers[cell] = number
    if len(units) == 2 and min(units) + "s" == max(units):
        units.remove(min(units))
    # A letter behind every number may be a part of its name, as in rooms 1a and 2a.
    unit = units.pop() if len(units) == 1 else ""
    return (unit, numbers) if unit and not (len(unit) == 1 and unit.isalpha() and unit.islower()) else None


def _times(cells: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    found = {cell: _TIME.fullmatch(cell) for cell in cells}
    if any(match is None for match in found.values()):
        return None
    hours = {
        cell: int(match[1]) + int(match[2]) / 60 + int(match[3] or 0) / 3600
        for cell, match in found.items()
        if match is not None
    }
    return HOURS, {cell: f"{value:.10g}" for cell, value in hours.items()}


def _dates(cells: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    read = _reader_of_dates(cells)
    if read is None:
        return None
    days = {}
    for cell in cells:
        try:
            days[cell] = read(cell)
        except ValueError:
            return None
    first = min(days.values())
    return f"{DAYS}{first.isoformat()}", {cell: str((one - first).days) for cell, one in days.items()}


def _reader_of_dates(cells: Sequence[str]) -> Callable[[str], date] | None:
    if all(map(_YEAR_FIRST.fullmatch, cells)):
        return lambda cell: _date_of(_YEAR_FIRST.fullmatch(cell), year=1, month=3, day=4)
    matches = [_YEAR_LAST.fullmatch(cell) for cell in cells]
    if all(matches):
        parts = [match for match in matches if match is not None]
        day_first = any(int(match[1]) > 12 for match in parts) or all(match[2] == "." for match in parts)
        month_first = any(int(match[3]) > 12 for match in parts)
        if day_first == month_first and (day_first or any(match[1] != match[3] for match in parts)):
            return None
        day, month = (1, 3) if day_first else (3, 1)
        return lambda cell: _date_of(_YEAR_LAST.fullmatch(cell), year=4, month=month, day=day)
    for pattern in _MONTH_NAMED:
        try:
            for cell in cells:
                datetime.strptime(cell, pattern)
        except ValueError:
            continue
        return lambda cell, pattern=pattern: datetime.strptime(cell, pattern).date()  # type: ignore[misc]
    return None


def _date_of(match: "re.Match[str] | None", *, year: int, month: int, day: int) -> date:
    assert match is not None
    whole = int(match[year])
    if len(match[year]) == 2:
        whole += 2000 if whole < _THIS_CENTURY else 1900
    return date(whole, int(match[month]), int(match[day]))
