"""Numbers that are written with a unit: shares, amounts of money, measures, times of day, dates."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pyroclust.data.delimited.numerals import Cells, is_numeral

DAYS, HOURS = "days since ", "hours"

# Minus signs and dashes, the wide characters of East Asian text, and the digits of Arabic and Persian.
_ASCII = str.maketrans(
    "\u2212\u2012\u2013\ufe63－＋．，％０１２３４５６７８９٫٬٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹",
    "-----+.,%0123456789.,01234567890123456789",
)
_MONEY = r"[$€£¥₹₽₩₺₪]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|R\$|kr|Fr\."
_WORD = r"%|‰|°C|°F|°|[^\W\d_]{1,12}[²³]?(?:\s?/\s?[^\W\d_]{1,8}[²³]?)?"
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>(?:{_MONEY})?)\s?(?P<number>[+-]?[\d.,'\u2019 \u00a0\u2007\u2009\u202f]*\d"
    rf"[.,]?(?:[eE][+-]?\d+)?)\s?(?P<after>(?:{_MONEY}|{_WORD})?)"
)
_MINUTES = r":([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?"
# The last are spans of time, of more than a day too.
_TIMES = (
    re.compile(rf"([01]?\d|2[0-4]){_MINUTES}()"),
    re.compile(rf"(0?[1-9]|1[0-2])(?:{_MINUTES})?\s?([ap])\.?m\.?", re.IGNORECASE),
    re.compile(r"(\d{1,5}):([0-5]\d):([0-5]\d)(?:\.\d+)?()"),
)
# Forms of dates beside those of ISO: where a column fits two that mean other days, none is taken.
_FORMS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d. %B %Y", "%B %d, %Y"),
    *("%b %d, %Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
)


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
    present = list(plain.present)
    if not plain.texts:
        is_changed = any(cell != old.strip() for cell, old in zip(plain, cells, strict=True))
        return Quantities("", plain) if present and is_changed else None
    for read in (_times, _measures, _dates):
        read_as = read(present)
        if read_as is not None:
            unit, numbers = read_as
            return Quantities(unit, [numbers.get(cell, cell) for cell in plain])
    return None


def days_between(unit: str, other: str) -> int | None:
    """Return how many days later the first of two units of days begins; ``None`` for other units."""
    if not (unit.startswith(DAYS) and other.startswith(DAYS)):
        return None
    (first, zone), (second, other_zone) = (_start_of(one) for one in (unit, other))
    return (first - second).days if zone == other_zone else None


def _start_of(unit: str) -> tuple[date, str]:
    day, _, zone = unit.removeprefix(DAYS).partition(" ")
    return date.fromisoformat(day), zone


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
        if all(matches := [pattern.fullmatch(cell) for cell in cells]):
            return HOURS, {one.string: f"{_hours(one):.10g}" for one in matches if one}
    return None


def _hours(time: re.Match[str]) -> float:
    hour, minutes, seconds, half = time.groups("0")
    whole = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return whole + int(minutes) / 60 + int(seconds) / 3600


def _dates(cells: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """Read dates, those of ISO with times and zones too, in one way, unless day and month could be either."""
    ways = [one for form in ("", *_FORMS) if (one := _moments(cells, form)) is not None]
    if not ways or any(one != ways[0] for one in ways) or len({one.tzinfo for one in ways[0]}) != 1:
        return None
    zone = ways[0][0].tzinfo
    first = min(ways[0]).date()
    start = datetime.combine(first, time(), zone)
    numbers = (f"{(one - start) / timedelta(days=1):.10g}" for one in ways[0])
    return f"{DAYS}{first.isoformat()}" + " UTC" * (zone is not None), dict(zip(cells, numbers, strict=True))


def _moments(cells: Sequence[str], form: str) -> list[datetime] | None:
    with suppress(ValueError, OverflowError):
        moments = [datetime.strptime(one, form) if form else datetime.fromisoformat(one) for one in cells]
        return [one if one.tzinfo is None else one.astimezone(UTC) for one in moments]
    return None
