"""Numbers that are written with a unit: shares, amounts of money, measures, times of day, dates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pyroclust.delimited.numerals import Cells, is_numeral

__all__ = ["DAYS", "HOURS", "Quantities", "days_between", "quantities"]

DAYS, HOURS = "days since ", "hours"

# Minus signs and dashes, and the wide characters of East Asian text.
_ASCII = str.maketrans("\u2212\u2012\u2013\ufe63－＋．，％０１２３４５６７８９", "-----+.,%0123456789")
_MONEY = r"[$€£¥₹₽₩₺₪]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|R\$|kr|Fr\."
_WORD = r"%|‰|°C|°F|°|[^\W\d_]{1,12}[²³]?(?:\s?/\s?[^\W\d_]{1,8}[²³]?)?"
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>(?:{_MONEY})?)\s?(?P<number>[+-]?[\d.,'\u2019 \u00a0\u2007\u2009\u202f]*\d"
    rf"[.,]?(?:[eE][+-]?\d+)?)\s?(?P<after>(?:{_MONEY}|{_WORD})?)"
)
_MINUTES = r":([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?"
_TIMES = (
    re.compile(rf"([01]?\d|2[0-4]){_MINUTES}()"),
    re.compile(rf"(0?[1-9]|1[0-2])(?:{_MINUTES})?\s?([ap])\.?m\.?", re.IGNORECASE),
)
_CLOCK = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}")
_MONTH_NAMED = ("%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%B %d, %Y", "%b %d, %Y", "%d. %B %Y")
_THIS_CENTURY = 50


@dataclass(frozen=True)
class Quantities:
    """Cells without their unit, as numbers under the marks that they are written with."""

    unit: str  # of all of them, such as "%", "kg", "hours" or "days since 2020-01-31"
    cells: list[str]

    @property
    def are_converted(self) -> bool:
        """Whether the numbers are ours, with a decimal point, and not those that were written."""
        return self.unit == HOURS or self.unit.startswith(DAYS)


def quantities(cells: Sequence[str]) -> Quantities | None:
    """Return cells that all have one unit as numbers; ``None`` for numbers without one and for other text."""
    plain = Cells([cell.translate(_ASCII).strip() for cell in cells])
    there = list(plain.there)
    if not plain.texts:
        is_changed = any(cell != old.strip() for cell, old in zip(plain, cells, strict=True))
        return Quantities("", plain) if there and is_changed else None
    for read in (_times, _measures, _dates):
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
    for pattern in _TIMES:
        if all(found := [pattern.fullmatch(cell) for cell in cells]):
            return HOURS, {one.string: f"{_hours(one):.10g}" for one in found if one}
    return None


def _hours(time: re.Match[str]) -> float:
    hour, minutes, seconds, half = time.groups("0")
    whole = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return whole + int(minutes) / 60 + int(seconds) / 3600


def _dates(cells: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    for pattern in (None, *_MONTH_NAMED):
        try:
            days = _by_numbers(cells) if pattern is None else _by_name(cells, pattern)
        except ValueError:
            continue
        first = min(days)
        numbers = (str((one - first).days) for one in days)
        return f"{DAYS}{first.isoformat()}", dict(zip(cells, numbers, strict=True))
    return None


def _by_name(cells: Sequence[str], pattern: str) -> list[date]:
    return [datetime.strptime(cell, pattern).date() for cell in cells]


def _by_numbers(cells: Sequence[str]) -> list[date]:
    """Read dates of numbers alone, unless day and month could be either."""
    if all(found := [_YEAR_FIRST.fullmatch(cell) for cell in cells]):
        return [date(int(one[1]), int(one[3]), int(one[4])) for one in found if one]
    parts = [one for cell in cells if (one := _YEAR_LAST.fullmatch(cell))]
    if len(parts) < len(cells):
        raise ValueError
    day_first = any(int(one[1]) > 12 for one in parts) or all(one[2] == "." for one in parts)
    month_first = any(int(one[3]) > 12 for one in parts)
    if day_first == month_first and (day_first or any(one[1] != one[3] for one in parts)):
        raise ValueError
    day, month = (1, 3) if day_first else (3, 1)
    return [date(_whole_year(one[4]), int(one[month]), int(one[day])) for one in parts]


def _whole_year(text: str) -> int:
    if len(text) == 4:
        return int(text)
    return int(text) + (2000 if int(text) < _THIS_CENTURY else 1900)
