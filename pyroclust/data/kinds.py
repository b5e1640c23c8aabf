"""Kinds of columns: what is measured, counted, answered with yes or no, or one of several categories."""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short, unknown_name, visible
from pyroclust.data.columns import Column
from pyroclust.data.identifiers import are_identifiers, is_survey_weight, numbers_in_names
from pyroclust.data.numerals import MISSING, days_between, is_numeral, quantities

_MOST_LEVELS, _MOST_SHOWN = 50, 8
# Whole numbers of so few values, each so often on average, look like codes of classes.
_MOST_CODES, _LEAST_REPEATS = 10, 3
# Counts of more on average are nearly normal, and a Poisson law would cut them into slices.
_MOST_MEAN_COUNT = 10.0
_ANSWERS = (
    *(("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t")),
    *(("absent", "present"), ("negative", "positive"), ("off", "on")),
)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([ T]\d.*)?"
    r"|\d{1,2}[ .-]+[A-Za-z]{3,9}[ .,-]+\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)
# Numbers in thousands, millions and billions, hexadecimals, fractions, groups of lengths other than three,
# angles, and spans of time.
_NEARLY = re.compile(
    r"[^\w\s]{0,3}[\d.,]+\s?(?:k|K|M|B|bn|mn)|0x[\da-fA-F]+|[+-]?\d+\s?/\s?\d+"
    r"|[+-]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?|[+-]?\d+\s?°[\d.,\s'\"’′″°]+[NSEWO]?"
    r"|-?P(?=.{2})(?:[\d.]+[YMWD])*(?:T(?:[\d.]+[HMS])+)?|(?:\d+\s?(?:d|h|hrs?|m|min|s|sec)\.?\s?){2,}"
)


class Kind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    COUNT = "count"
    YES_NO = "yes/no"
    CATEGORY = "category"
    ORDERED = "ordered"
    OVERDISPERSED = "overdispersed"
    CIRCULAR = "circular"
    CENSORED = "censored"
    BINOMIAL = "binomial"
    TRIALS = "trials"
    HEAPED = "heaped"
    LOG = "log"


_PLURAL = {
    Kind.NUMBER: "numbers",
    Kind.COUNT: "counts",
    Kind.YES_NO: "yes or no",
    Kind.CATEGORY: "categories",
    Kind.ORDERED: "ordered answers",
    Kind.OVERDISPERSED: "overdispersed counts",
    Kind.CIRCULAR: "places on a circle",
    Kind.CENSORED: "numbers that are cut at a limit",
    Kind.BINOMIAL: "successes",
}
_LEVELS = Kind.CATEGORY, Kind.ORDERED
_COUNTS = Kind.COUNT, Kind.OVERDISPERSED, Kind.BINOMIAL, Kind.TRIALS
# What --kinds may say; trials are named by the column of successes.
_TO_DECLARE = tuple(kind for kind in Kind if kind is not Kind.TRIALS)
_WITH_DETAIL = re.compile(r"(\w+) ?\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class KindOfColumn:
    """A column as it is clustered, or why it is not."""

    kind: Kind | None  # None where it is left out
    values: NDArray[np.float64]  # nan where a cell is missing; of categories and answers places of levels
    levels: tuple[str, ...] = ()  # the categories as written, or what stands for no and for yes
    why: str = ""  # it was left out
    arguments: tuple[float | None, ...] = ()  # once around a circle; floor and ceiling of numbers


def checked_kinds(kinds: Mapping[str, str]) -> dict[str, tuple[Kind, str]]:
    """Return kinds and what stands in brackets behind them by names of columns, checked."""
    if not isinstance(kinds, Mapping):
        raise ValueError(
            f"kinds is of type {type(kinds).__name__}, expected kinds by names of columns, such as "
            "{'stage': 'category'}"
        )
    read = {}
    for name, text in kinds.items():
        kind, detail = found.groups() if (found := _WITH_DETAIL.fullmatch(str(text))) else (text, "")
        if kind not in _TO_DECLARE:
            unknown = unknown_name("kind", kind, _TO_DECLARE)
            raise ValueError(f"column '{short(visible(str(name)), 60)}': {unknown}")
        read[str(name)] = Kind(kind), detail
    return read


def kind_of_column(
    name: str, column: Column, declared: Kind | None = None, *, detail: str = "", may_go: bool = True
) -> KindOfColumn:
    """Find out what a column holds, by the table of kinds in docs/tables.md."""
    shown = short(visible(name), 60)
    if detail and declared not in (Kind.ORDERED, Kind.CIRCULAR, Kind.CENSORED, Kind.BINOMIAL):
        raise ValueError(f"column '{shown}' is told to be {declared}({detail}), expected {declared} alone")
    if declared is Kind.ORDERED:
        return _of_levels(shown, *_ordered(shown, column, detail), kind=declared)
    if declared in (Kind.YES_NO, Kind.CATEGORY):
        return _of_levels(shown, *_levels_of(column), kind=declared)
    try:
        values = column.numbers()
    except ValueError as error:
        if declared is not None or not column.is_text:
            raise ValueError(no_numbers(shown, error, is_text=column.is_text)) from None
        return _of_text(shown, column, may_go=may_go)
    present = values[~np.isnan(values)]
    if np.isinf(present).any():
        raise ValueError(
            f"column '{shown}' holds {int(np.isinf(present).sum())} infinite values, expected finite "
            "numbers, or empty cells where there are none"
        )
    no_counts = present[(present < 0) | (present != np.round(present))]
    if declared in _COUNTS and len(no_counts):
        raise ValueError(
            f"column '{shown}' is told to be counts, but holds {no_counts[0]:g}, expected whole numbers from "
            "0 up"
        )
    if declared is Kind.CIRCULAR:
        return KindOfColumn(declared, values, arguments=(_period(shown, detail),))
    if declared is Kind.CENSORED:
        return KindOfColumn(declared, values, arguments=_limits(shown, values, detail))
    if declared is not None:
        return KindOfColumn(declared, values)
    if not may_go and not len(present):
        raise ValueError(f"column '{shown}' holds no value, expected some numbers or texts; leave it out")
    if column.are_codes:
        return _of_codes(shown, column, values, may_go=may_go)
    return _of_numbers(name, shown, column, values, may_go=may_go)


def values_of_kind(
    name: str, column: Column, kind: Kind, *, levels: Sequence[str], unit: str = ""
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Read new cells of a column whose kind and levels are known, and say which levels are new."""
    if not levels:
        # Places on a circle, and numbers beyond a limit, are read as any number.
        like = Kind.NUMBER if kind in (Kind.CIRCULAR, Kind.CENSORED) else kind
        return kind_of_column(name, column, like).values + _shift(name, column.unit, unit), ()
    are_answers = kind is Kind.YES_NO and _answers(levels) is not None

    def level(text: str) -> str:
        return visible(text).casefold() if are_answers else visible(text)

    places = {level(one): float(place) for place, one in enumerate(levels)}
    cells, _ = _levels_of(column)
    # Whole numbers beside missing ones are often written 1.0.
    values = [
        np.nan if one is None else places.get(level(one), places.get(level(one).removesuffix(".0")))
        for one in cells
    ]
    unseen = dict.fromkeys(cell for cell, place in zip(cells, values, strict=True) if place is None and cell)
    return np.array([np.nan if one is None else one for one in values]), tuple(unseen)


def _shift(name: str, unit: str, wanted: str) -> float:
    """Return what dates are to be moved by; other units have to be the same."""
    days = days_between(unit, wanted)
    if days is None and unit != wanted:
        units = [f"in {one}" if one else "without a unit" for one in (unit, wanted)]
        raise ValueError(
            f"column '{short(visible(name), 60)}' has numbers {units[0]}, and the rows that were clustered "
            f"have them {units[1]}: write them alike"
        )
    return float(days or 0)


def kinds_note(kinds: Mapping[str, KindOfColumn]) -> str | None:
    """Say as what columns were read, and how to say otherwise; ``None`` where all are numbers."""
    if all(one.kind is Kind.NUMBER for one in kinds.values()):
        return None
    parts = []
    for kind in _TO_DECLARE:
        some = [
            f"'{short(name, 40)}'" + f" ({len(one.levels)})" * (kind in _LEVELS)
            for name, one in kinds.items()
            if one.kind is kind
        ]
        parts += [f"{_PLURAL[kind]}: {listed(some)}"] if some else []
    return (
        f"Columns are read as {'; '.join(parts)}. To read one otherwise, give --kinds NAME=KIND, with "
        f"{', '.join(_TO_DECLARE)}."
    )


def looks_note(columns: Mapping[str, Column]) -> str | None:
    """Say which columns were clustered as numbers that do not look like these, and how to leave them out."""
    looks = {}
    for name, column in columns.items():
        try:
            found = kind_of_column(name, column)
        except ValueError:
            looks[name] = "its numbers are dates such as 20201231"
            continue
        if found.kind in (Kind.YES_NO, Kind.CATEGORY):
            looks[name] = f"it has {len(found.levels)} values only, as answers and codes of classes have"
        elif found.kind is None:
            looks[name] = found.why
    if not looks:
        return None
    reasons = "; ".join(f"'{short(name, 60)}': {look}" for name, look in list(looks.items())[:_MOST_SHOWN])
    more = f"; and {len(looks) - _MOST_SHOWN:,} more" if len(looks) > _MOST_SHOWN else ""
    return (
        f"Clustered as numbers, whatever they look like: {reasons}{more}. "
        "To leave one out, name it in --except."
    )


def _of_numbers(
    name: str, shown: str, column: Column, values: NDArray[np.float64], *, may_go: bool
) -> KindOfColumn:
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    if may_go and len(distinct) < 2:
        return KindOfColumn(None, values, why=_few_values(len(distinct)))
    is_whole = bool((present == np.round(present)).all())
    if column.is_logical:
        return KindOfColumn(Kind.YES_NO, values, ("false", "true"))
    if is_whole and len(distinct) > 2 and _are_days(distinct):
        raise ValueError(
            f"column '{shown}' holds dates such as {distinct[0]:.0f}: write them as 2020-12-31, or leave "
            "them out with --except"
        )
    if column.unit:
        return KindOfColumn(Kind.NUMBER, values)
    if may_go and are_identifiers(name, present):
        why = f"its numbers name {len(distinct):,} things"
        if len(distinct) == len(present):
            why = f"it has {len(present):,} numbers in {len(values):,} rows, all different"
        if len(distinct) == len(values):
            why = "it names or counts the rows"
        return KindOfColumn(None, values, why=why)
    if may_go and is_survey_weight(name, present):
        return KindOfColumn(None, values, why="it says how much a row counts, and is no measurement")
    if not is_whole or not _repeat(len(distinct), len(present)):
        return KindOfColumn(Kind.NUMBER, values)
    if distinct.tolist() == [0.0, 1.0]:
        return KindOfColumn(Kind.YES_NO, values, ("0", "1"))
    if 1 < len(distinct) <= _MOST_CODES:
        places = np.where(np.isnan(values), np.nan, np.searchsorted(distinct, values))
        return KindOfColumn(Kind.CATEGORY, places, tuple(f"{one:.0f}" for one in distinct))
    is_count = distinct[0] == 0 and present.mean() <= _MOST_MEAN_COUNT
    return KindOfColumn(Kind.COUNT if is_count else Kind.NUMBER, values)


def _repeat(distinct: int, number: int) -> bool:
    return number >= _LEAST_REPEATS * distinct


def _are_days(values: NDArray[np.float64]) -> bool:
    """Say whether whole numbers are dates such as 20201231."""
    years, months, days = values // 10_000, values // 100 % 100, values % 100
    ranges = ((years, 1800, 2100), (months, 1, 12), (days, 1, 31))
    return all(bool((part >= low).all() and (part <= high).all()) for part, low, high in ranges)


def _of_codes(shown: str, column: Column, values: NDArray[np.float64], *, may_go: bool) -> KindOfColumn:
    """Return numbers with zeros before them, as 007: categories where they repeat, and no measurements."""
    cells, levels = _levels_of(column)
    if 2 <= len(levels) <= _MOST_LEVELS and _repeat(len(levels), len(cells) - cells.count(None)):
        return _of_levels(shown, cells, levels, kind=Kind.CATEGORY)
    if may_go:
        return KindOfColumn(None, values, why="its numbers begin with zeros, as codes do")
    return KindOfColumn(Kind.NUMBER, values)


def _of_text(shown: str, column: Column, *, may_go: bool) -> KindOfColumn:
    cells, distinct = _levels_of(column)
    present = [cell for cell in cells if cell is not None]
    if sum(_DATE.fullmatch(cell.strip()) is not None for cell in distinct) > len(distinct) / 2:
        raise ValueError(
            f"column '{shown}' holds dates such as {short(visible(distinct[0]), 30)}, of which day and month "
            "could be either, or which are written in several ways: write them as 2020-12-31, or leave them "
            "out with --except"
        )
    bare = [one for one in present if is_numeral(one)]
    measures = quantities([one for one in present if not is_numeral(one)]) if bare else None
    if measures is not None and measures.unit:
        raise ValueError(
            f"column '{shown}' holds '{short(visible(bare[0]), 40)}' without the unit that others have "
            f"({measures.unit}): write all with it, or all without"
        )
    nearly = len(bare) + sum(_NEARLY.fullmatch(one) is not None for one in present)
    if 2 * nearly > len(present) and column.order is None:
        text = next((one for one in present if not is_numeral(one)), present[0])
        mark = short(visible(text), 40)
        missing = f"read it as missing with --missing {shlex.quote(f'{shown}={mark}')}, "
        way = "" if is_numeral(text) else "write all digits out, " if _NEARLY.fullmatch(text) else missing
        raise ValueError(no_numbers(shown, f"'{mark}'", is_text=True, way=way))
    why = ""
    if len(distinct) < 2:
        why = _few_values(len(distinct))
    elif _answers(distinct) is None:
        numbers = numbers_in_names(cells)
        if len(distinct) == len(cells) > 2:
            why = "every row has a text of its own"
        elif numbers is not None and are_identifiers(shown, numbers):
            why = f"its texts name {len(distinct):,} things"
        elif len(distinct) > _MOST_LEVELS or 2 * len(distinct) > max(len(present), 4):
            why = f"it has {len(distinct):,} texts in {len(present):,} rows"
    if may_go and why:
        return KindOfColumn(None, np.full(len(cells), np.nan), why=why)
    return _of_levels(shown, cells, distinct, kind=None)


def _levels_of(column: Column) -> tuple[list[str | None], list[str]]:
    """Return cells as text, ``None`` where one is missing, and the texts that there are, in order."""
    missing = {""} if column.only_empty else MISSING
    cells = [None if one is None or one.strip() in missing else one.strip() for one in column.labels()]
    present = dict.fromkeys(cell for cell in cells if cell is not None)
    if column.order is not None:
        return cells, [one for one in column.order if one in present]
    with suppress(ValueError):
        return cells, sorted(present, key=lambda one: (float(one), one))
    return cells, sorted(present)


def _ordered(shown: str, column: Column, detail: str) -> tuple[list[str | None], list[str]]:
    """Return cells and levels in their order: that in brackets, that of the column, or that of numbers."""
    cells, levels = _levels_of(column)
    if detail:
        order = [one.strip() for one in detail.split("<")]
        if len({*order}) < len(order) or not {*levels} <= {*order}:
            raise ValueError(
                f"column '{shown}' has the levels {listed(levels, 6)}, expected all of them once in its "
                f"order, which is {visible(detail)}"
            )
        return cells, order
    if column.order is None and not all(is_numeral(one) for one in levels):
        raise ValueError(
            f"column '{shown}' is told to be ordered, but {listed(levels, 6)} have no order of their own: "
            f"give it as --kinds {shlex.quote(f'{shown}=ordered(low<middle<high)')}"
        )
    return cells, levels


def _period(shown: str, detail: str) -> float:
    """Return the circumference of a circle."""
    with suppress(ValueError):
        if 0 < (period := float(detail)) < np.inf:
            return period
    raise ValueError(
        f"column '{shown}' is told to be circular{f'({visible(detail)})' if detail else ''}, expected what "
        "once around the circle is, as in circular(24) for hours and circular(360) for degrees"
    )


# A limit that is not said holds at least this share of the cells, and two of them.
_LEAST_AT_LIMIT = 0.02


def _limits(shown: str, values: NDArray[np.float64], detail: str) -> tuple[float | None, float | None]:
    """Return floor and ceiling: those in brackets, or the ends of the column that many cells hold."""
    present = values[~np.isnan(values)]
    lowest, highest = (present.min(), present.max()) if len(present) else (0.0, 0.0)
    if detail:
        with suppress(ValueError):
            low, high = (float(one) if one.strip() else None for one in detail.split(".."))
            ends = -np.inf if low is None else low, np.inf if high is None else high
            if (low, high) != (None, None) and ends[0] <= lowest <= highest <= ends[1] and ends[0] < ends[1]:
                return low, high
        raise ValueError(
            f"column '{shown}' is told to be censored({visible(detail)}), and holds {lowest:g} to "
            f"{highest:g}, expected a floor and a ceiling about that, as in censored(0..100), or one of "
            "them, as in censored(..100)"
        )
    fewest = max(2, _LEAST_AT_LIMIT * len(present))
    limits = [float(end) if (present == end).sum() >= fewest else None for end in (lowest, highest)]
    if not {*limits} - {None} or lowest == highest:
        raise ValueError(
            f"column '{shown}' is told to be censored, but few cells hold its smallest or its largest value: "
            f"give floor and ceiling, as in --kinds {shlex.quote(f'{shown}=censored(0..100)')}"
        )
    return limits[0], limits[1]


def _of_levels(shown: str, cells: list[str | None], levels: list[str], *, kind: Kind | None) -> KindOfColumn:
    """Return a column of categories; of answers where two mean no and yes, or that is told."""
    answers = _answers(levels)
    if len(levels) < 2:
        raise ValueError(f"column '{shown}' has {len(levels)} category, expected at least 2; leave it out")
    if kind is Kind.YES_NO and len(levels) != 2 and answers is None:
        raise ValueError(
            f"column '{shown}' is told to be yes/no, but holds {len(levels)} values ({listed(levels, 4)})"
        )
    places = {one: place for place, one in enumerate(levels)}
    if answers is not None and kind not in _LEVELS:
        places = {one: answers.index(one.casefold()) for one in levels}
        # An answer that is written in several ways is one, and is called as most often.
        written = {places[one]: one for one in sorted(levels, key=cells.count)}
        levels, kind = [written[0], written[1]], Kind.YES_NO
    values = np.array([np.nan if cell is None else places[cell] for cell in cells], dtype=np.float64)
    return KindOfColumn(kind or Kind.CATEGORY, values, tuple(map(visible, levels)))


def _answers(levels: Sequence[str]) -> tuple[str, str] | None:
    """Return the words for no and yes that these are; single letters in two forms are levels of their own."""
    folded = {one.casefold() for one in levels}
    answers = next((one for one in _ANSWERS if folded == set(one)), None)
    return None if answers is None or (len(levels) > 2 and len(answers[0]) == 1) else answers


def _few_values(number: int) -> str:
    return "it has one value only" if number else "it holds no value"


def no_numbers(shown: str, what: object, *, is_text: bool = False, way: str = "") -> str:
    """Say that a column holds something else, and what to do."""
    kinds = f", say that it is a category with --kinds {shlex.quote(shown)}=category" if is_text else ""
    return (
        f"column '{shown}' holds {what}, not only real numbers; {way}choose columns with --columns{kinds}, "
        f"or keep it as reference labels with --label {shlex.quote(shown)}"
    )
