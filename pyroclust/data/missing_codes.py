"""Numbers and marks that stand for a missing answer: those that are declared, and those that look like it."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short, visible
from pyroclust.data.columns import Column, RawTable
from pyroclust.data.numerals import Cells

_NUMBERED = re.compile(r"(.+?)[\W_]*\d+")
_FEWEST_ALIKE, _LARGEST_SCALE = 3, 11
_MOST_SHOWN = 8
# Numbers that programs and people write where there is none.
_STAND_INS = np.unique(
    (
        *(sign * (10.0**digits - 1) for sign in (-1, 1) for digits in range(2, 10)),
        *(-9.0, -32768.0, 65535.0, -1e30, 1e30, 1e20),
        *(-7.0, -8.0, -77.0, -88.0, 66.0, 77.0, 88.0, 777.0, 888.0, 98.0, 998.0, 9998.0, 97.0, 997.0, 9997.0),
        *(9.969209968386869e36, -1.7976931348623157e308, -3.4028234663852886e38),
    )
)
# Beyond the answers of a scale that begins at 1.
_BEYOND_A_SCALE = (-1.0, 7.0, 8.0, 9.0)
_MARKS = frozenset(
    (
        *("?", ".", "..", "-", "--", "–", "—", "*", "n.a.", "na", "missing", "unknown", "refused", "k.a."),
        *("fehlt", "inconnu", "manquant", "s/d", "n.d.", "nd", "#n/a!", "n. a.", "k. a.", "not available"),
        *("not applicable", "no answer", "keine angabe", "sin datos"),
    )
)
# Of other numbers no less than this many of their ranges away: 0 and -1, and any but known codes.
_RANGES_OF_NONE, _RANGES_OF_ANY = 0.25, 2.0
_MOST_OF_ANY = 0.2


def without_codes(raw: RawTable, declared: Sequence[str]) -> tuple[RawTable, dict[str, tuple[str, ...]]]:
    """Empty the cells that hold a code, with a note of how many they are, and return codes by columns."""
    columns, emptied, codes = list(raw.columns), [], _read_codes(declared, raw)
    kept_as_levels = [f"'{short(raw.names[place], 40)}'" for place, values in codes.items() if "" in values]
    for place, values in codes.items():
        columns[place], number = without_values(columns[place], values)
        emptied += [f"{number:,} in '{short(raw.names[place], 40)}'"] if number else []
    if not emptied and not kept_as_levels:
        all_codes = sorted(set().union(*codes.values()))
        raise ValueError(f"missing is {listed(all_codes)}, and no cell holds it; leave it out")
    notes = [*raw.notes]
    notes += [f"Read as missing, as was said: {listed(emptied, _MOST_SHOWN)}."] if emptied else []
    notes += (
        [f"Texts such as NA are levels, as was said, in {listed(kept_as_levels, _MOST_SHOWN)}."]
        if kept_as_levels
        else []
    )
    by_name = {raw.names[place]: tuple(sorted(values)) for place, values in codes.items()}
    return replace(raw, columns=tuple(columns), notes=tuple(notes)), by_name


def without_values(column: Column, values: Collection[str]) -> tuple[Column, int]:
    """Empty the cells that hold one of some values, and count them; with "" NA and the like are levels."""
    is_code = _holds(column, values)
    marks = tuple(mark for mark in column.missing_marks if mark not in values)
    return replace(column.without(is_code), only_empty="" in values, missing_marks=marks), int(is_code.sum())


def _read_codes(declared: Sequence[str], raw: RawTable) -> dict[int, set[str]]:
    """Return which cells of which columns are missing: of all, of one, or of those from one to another."""
    if isinstance(declared, str):
        raise ValueError(
            f"missing is the text '{short(visible(declared), 40)}', expected a list such as ['99']"
        )
    codes: dict[int, set[str]] = {}
    for one in map(str, declared):
        where, has_name, value = one.rpartition("=")
        shown = f"missing is '{short(visible(one), 40)}'"
        if not value.strip() and not where.strip():
            raise ValueError(f"{shown}, expected a value, as in 99 or income=99")
        for place in raw.places_in(where, "missing") if has_name else range(len(raw.names)):
            codes.setdefault(place, set()).add(value.strip())
    return codes


def _holds(column: Column, values: Collection[str]) -> NDArray[np.bool_]:
    """Say which cells hold one of some values, written alike or equal as numbers."""
    numbers = set(map(_number, values)) - {None}

    def is_code(cell: str | None) -> bool:
        return cell is not None and (cell.strip() in values or (bool(numbers) and _number(cell) in numbers))

    return np.array([is_code(cell) for cell in column.labels()], dtype=bool)


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def without_marks(column: Cells) -> tuple[Cells, list[str]]:
    """Empty the cells of a column of numbers that hold a mark for a missing one, and return the marks."""
    marks = [] if column.plain is not None else column.texts
    numbers = column.present.total() - sum(column.present[mark] for mark in marks) if marks else 0
    if not marks or 2 * numbers < len(column) or any(mark.casefold() not in _MARKS for mark in marks):
        return column, []
    return Cells("" if cell.strip() in marks else cell for cell in column), marks


def marks_note(columns: Mapping[str, Column], levels: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which marks were read as missing in columns, whose levels they are not."""
    parts = [
        f"{listed(f'“{mark}”' for mark in marks)} in '{short(name, 40)}'"
        for name, column in columns.items()
        if (
            marks := [
                mark for mark in column.missing_marks if mark not in levels.get(name, column.missing_marks)
            ]
        )
    ]
    way = "To cluster such a column as a category, marks and all, give --kinds NAME=category."
    return [f"Read as missing among numbers: {listed(parts, _MOST_SHOWN)}. {way}"] if parts else []


def suspected_codes(columns: Mapping[str, Column]) -> str | None:
    """Say which numbers may stand for missing ones: far from all others, or 0 where a scale begins at 1."""
    numbers = ((name, column.numbers_or_none()) for name, column in columns.items())
    present = {name: one[np.isfinite(one)] for name, one in numbers if one is not None}
    codes = {name: _codes(values) for name, values in present.items()}
    suspects = [
        (name, _written(columns[name], one), int((present[name] == one).sum()))
        for name, some in (*codes.items(), *_zeros_of_scales(present))
        for one in some
    ]
    if not suspects:
        return None
    parts = [f"{code} ({times:,} in '{short(name, 40)}')" for name, code, times in suspects]
    more = f" and {len(parts) - _MOST_SHOWN:,} more" if len(parts) > _MOST_SHOWN else ""
    different = {one for _, one, _ in suspects}
    names_them = len(suspects) == 1 or len(different) > 1 or "0" in different
    how = [f"{name}={code}" for name, code, _ in suspects] if names_them else list(different)
    ways = " ".join(f"--missing {shlex.quote(one)}" for one in how[:_MOST_SHOWN])
    ways += " and so on" if len(how) > _MOST_SHOWN else ""
    return (
        f"May stand for missing values, and were read as numbers: {', '.join(parts[:_MOST_SHOWN])}{more}. If "
        f"so, give {ways}."
    )


def _are_stand_ins(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    # Of short columns numpy's own search takes ten times as long.
    are_known: NDArray[np.bool_] = _STAND_INS.take(np.searchsorted(_STAND_INS, values), mode="clip") == values
    return are_known


def _written(column: Column, number: float) -> str:
    """Return how a number of a column is written."""
    if column.unit:
        return str(column.labels()[int(np.argmax(column.numbers() == number))]).strip()
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number)).removesuffix(".0")


def _codes(values: NDArray[np.float64]) -> list[float]:
    """Return known codes that are far from all others, those beyond a scale, or ends far from the others."""
    is_known = _are_stand_ins(values)
    others = values[~is_known]
    if len(others) < 2:
        return []
    many = len(np.unique(others)) > _LARGEST_SCALE
    known = np.unique(values[is_known]).tolist()
    codes = [one for one in known if _is_away(one, others, 1.0) or (one < 0 <= others.min() and many)]
    return codes or _beyond_a_scale(values) or _far_ends(values)


def _far_ends(values: NDArray[np.float64]) -> list[float]:
    """Return a smallest or largest number that comes several times, far from many different others."""
    ends = []
    for one in (float(values.min()), float(values.max())):
        others = values[values != one]
        times, ranges = len(values) - len(others), _RANGES_OF_NONE if one in (0.0, -1.0) else _RANGES_OF_ANY
        if _FEWEST_ALIKE <= times <= _MOST_OF_ANY * len(values) and _is_away(one, others, ranges):
            ends += [one] if len(np.unique(others)) > _LARGEST_SCALE else []
    return ends


def _is_away(one: float, others: NDArray[np.float64], ranges: float) -> bool:
    low, high = float(others.min()), float(others.max())
    return max(low - one, one - high) > ranges * (high - low)


def _beyond_a_scale(values: NDArray[np.float64]) -> list[float]:
    """Return 8 and 9, and 7 beside them, or -1, at least two beyond the answers of a scale from 1 up."""
    is_code = np.isin(values, _BEYOND_A_SCALE)
    if not is_code.any():
        return []
    answers = np.unique(values[~is_code])
    if len(answers) < _FEWEST_ALIKE or not np.array_equal(answers, np.arange(1, len(answers) + 1)):
        return []
    codes = np.unique(values[is_code])
    is_beyond = ((codes < 0) | (codes > len(answers) + 1)).all() and codes[-1] != 7
    return codes.tolist() if is_beyond else []


def _zeros_of_scales(columns: Mapping[str, NDArray[np.float64]]) -> list[tuple[str, list[float]]]:
    """Return columns with zeros among those of one name and a number whose answers begin at 1."""
    groups: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name, values in columns.items():
        if (match := _NUMBERED.fullmatch(name)) is None:
            continue
        answers = values[~_are_stand_ins(values)]
        is_whole = len(answers) > 0 and (answers == np.round(answers)).all()
        if is_whole and 2 < answers.max() <= _LARGEST_SCALE:
            groups.setdefault(match[1], {})[name] = answers
    zeros = []
    for group in groups.values():
        with_zeros = [(name, [0.0]) for name, one in group.items() if one.min() == 0]
        if len(group) >= _FEWEST_ALIKE and len(with_zeros) <= sum(one.min() == 1 for one in group.values()):
            zeros += with_zeros
    return zeros
