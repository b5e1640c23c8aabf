"""Numbers as people write them: decimal marks, marks of thousands, units, times of day and dates."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import short, visible

# Cells of a column of numbers that hold none.
MISSING = frozenset(
    (
        *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
        *("None", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
    )
)

# Apostrophes and spaces, those that do not break a line too.
_BETWEEN = "'\u2019 \u00a0\u2007\u2009\u202f"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_GROUPS = rf"[1-9]\d{{0,2}}(?:([.,{_BETWEEN}])\d{{3}})(?:\1\d{{3}})*"
_GROUPED = re.compile(rf"[+-]?{_GROUPS}(?:([.,])\d+)?", re.ASCII)
_PLAIN = re.compile(rf"[+-]?\d+{_EXPONENT}", re.ASCII)
_OF_NUMBERS = b"0123456789+-eE\n"
_BROKEN = re.compile(rf"[+-]?(?:\d+([.,])\d*|([.,])\d+){_EXPONENT}", re.ASCII)


class PlainNumbers(NamedTuple):
    """The numbers of a column in which every cell is one, and the decimal mark of those that have one."""

    values: NDArray[np.float64]
    mark: str


class Cells(list[str]):
    """The cells of one column; whether they are plain numbers is found out once."""

    @classmethod
    def of(cls, cells: Sequence[str]) -> "Cells":
        """Return cells of any kind as cells of a column."""
        return cells if isinstance(cells, Cells) else cls(cells)

    @cached_property
    def plain(self) -> PlainNumbers | None:
        """The numbers, ``None`` unless all cells are some, with one decimal mark and no other marks."""
        text = "\n".join(self)
        others = set(text.encode(errors="replace").translate(None, _OF_NUMBERS))
        if others not in (set(), {ord(".")}, {ord(",")}) or text.count("\n") != len(self) - 1:
            return None
        mark = chr(others.pop()) if others else ""
        try:
            values = list(map(float, text.replace(",", ".").split("\n") if mark == "," else self))
        except ValueError:
            return None
        return PlainNumbers(np.array(values, dtype=np.float64), mark)

    @cached_property
    def present(self) -> Counter[str]:
        """How often each cell comes that is not missing, without spaces around it."""
        times = Counter(map(str.strip, self))
        for cell in MISSING:
            times.pop(cell, None)
        return times

    @cached_property
    def texts(self) -> list[str]:
        """Those of them that can be no numbers."""
        return [cell for cell in self.present if not is_numeral(cell)]


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a file are written, and what was understood where it is not the plain case."""

    decimal: str = "."
    thousands: str = ""
    notes: tuple[str, ...] = ()

    def numbers(self, cells: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of cells, nan where there are none, and which cells are text."""
        values, is_text = np.full(len(cells), np.nan), np.zeros(len(cells), dtype=bool)
        plain = Cells.of(cells).plain
        if plain is not None and plain.mark in ("", self.decimal):
            return plain.values.copy(), is_text
        groups = rf"|[1-9]\d{{0,2}}(?:[{re.escape(self.thousands)}]\d{{3}})+" if self.thousands else ""
        whole, mark = rf"(?:\d+{groups})", re.escape(self.decimal)
        number = re.compile(rf"[+-]?(?:{whole}(?:{mark}\d*)?|{mark}\d+){_EXPONENT}", re.ASCII)
        as_ours = str.maketrans(self.decimal, ".", self.thousands)
        for place, cell in enumerate(cells):
            text = cell.strip()
            if number.fullmatch(text):
                values[place] = float(text.translate(as_ours))
            elif _INFINITE.fullmatch(text):
                values[place] = float(text)
            else:
                is_text[place] = text not in MISSING
        return values, is_text


def is_numeral(text: str) -> bool:
    """Say whether a cell can be read as a number, under any marks."""
    text = text.strip()
    match = _PLAIN.fullmatch(text) or _BROKEN.fullmatch(text) or in_groups(text) or _INFINITE.fullmatch(text)
    return match is not None


def in_groups(text: str) -> re.Match[str] | None:
    """Match a number with marks between its thousands, the mark first and then the decimal mark."""
    match = _GROUPED.fullmatch(text)
    return None if match is None or match[1] == match[2] else match


def find_number_format(
    columns: Iterable[Sequence[str]], *, delimiter: str, decimal: str | None = None
) -> NumberFormat:
    """Find out how the numbers of a file are written: with the decimal mark under which all can be read."""
    texts = _marked(columns)
    ways = {mark: [text for text in texts if not _is_read(text, mark)] for mark in decimal or ".,"}
    possible = [mark for mark, problems in ways.items() if not problems]
    if decimal is None and not possible:
        raise ValueError(_contradiction(ways["."][0], ways[","][0]))
    mark, notes = decimal or possible[0], []
    either = [text for text in texts if in_groups(text)] if len(possible) == 2 else []
    for text in either:
        # Points are what most software writes, unless semicolons divide cells for the sake of commas.
        if "," in text or ("." in text and delimiter == ";"):
            own = "," if "," in text else "."
            whole, broken = text.translate(str.maketrans("", "", ".,")), float(text.replace(own, "."))
            raise ValueError(
                f"'{text}' could be {whole} or {broken:g}: say which with --decimal . or --decimal ,"
            )
    if mark == "," and decimal is None:
        notes.append("Commas in numbers were read as decimal marks.")
    groups = {match[1]: text for text in reversed(texts) if (match := in_groups(text)) and match[1] != mark}
    if groups:
        example = groups[min(groups)]
        notes.append(f"Marks between thousands were left out of numbers such as '{example}'.")
    if delimiter != "," and (points := [text for text in either if "." in text]):
        notes.append(f"Points in numbers such as '{points[0]}' were read as decimal marks.")
    return NumberFormat(mark, "".join(sorted(groups)), tuple(notes))


def _marked(columns: Iterable[Sequence[str]]) -> list[str]:
    """Return numbers with marks in them, of columns in which every cell that is there can be a number."""
    marked: dict[str, None] = {}
    for cells in map(Cells.of, columns):
        if cells.plain is None:
            marked |= dict.fromkeys(cells.present if not cells.texts else ())
        elif mark := cells.plain.mark:
            # The first with a decimal mark that is certain says all.
            certain = next((cell for cell in cells if mark in cell and not in_groups(cell)), None)
            marked |= dict.fromkeys(cells if certain is None else [certain])
    return [text for text in marked if not _PLAIN.fullmatch(text) and not _INFINITE.fullmatch(text)]


def _is_read(text: str, decimal: str) -> bool:
    """Say whether a number can have been written with a decimal mark."""
    broken, groups = _BROKEN.fullmatch(text), in_groups(text)
    if broken and decimal in text:
        return True
    return bool(groups and groups[1] != decimal and groups[2] in (None, decimal))


def _contradiction(one: str, other: str) -> str:
    first, second = (short(visible(text), 30) for text in (one, other))
    return (
        f"numbers such as '{first}' and '{second}' are written in two ways: "
        "give --decimal, or write them alike"
    )


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
