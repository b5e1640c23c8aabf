"""Numbers and marks that stand for a missing answer: those that are told, and those that look like it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.columns import RawTable
from pyroclust.delimited import MISSING, Cells, is_numeral
from pyroclust.errors import unknown_name
from pyroclust.text import listed, short, visible

__all__ = ["holds_code", "read_codes", "suspected_codes", "without_codes", "without_marks"]

_RANGE = ".."
_NUMBERED = re.compile(r"(.+?)[\W_]*\d+")
_FEWEST_ALIKE, _LARGEST_SCALE = 3, 11
_MOST_SHOWN = 8
# Numbers that programs and people write where there is none.
_STAND_INS = (
    *(sign * (10.0**digits - 1) for sign in (-1, 1) for digits in range(2, 10)),
    *(-9.0, -32768.0, 65535.0, -1e30, 1e30, 1e20),
    *(-7.0, -8.0, -77.0, -88.0, 66.0, 77.0, 88.0, 777.0, 888.0, 98.0, 998.0, 9998.0, 97.0, 997.0, 9997.0),
    *(9.969209968386869e36, -1.7976931348623157e308, -3.4028234663852886e38),
)
# Beyond the answers of a scale that begins at 1.
_BEYOND_A_SCALE = (7.0, 8.0, 9.0)
_MARKS = frozenset(
    [
        "?",
        ".",
        "..",
        "-",
        "--",
        "–",
        "—",
        "*",
        "n.a.",
        "na",
        "missing",
        "unknown",
        "refused",
        "k.a.",
        "fehlt",
        "inconnu",
        "manquant",
        "s/d",
        "n.d.",
        "nd",
        "#n/a!",
    ]
) | {"n. a.", "k. a.", "not available", "not applicable", "no answer", "keine angabe", "sin datos"}
# Of other numbers no less than this many of their ranges away.
_RANGES = 1.0


def read_codes(told: Sequence[str], names: Sequence[str]) -> dict[int, frozenset[str]]:
    """Return which cells of which columns are missing: of all, of one, or of those from one to another."""
    if isinstance(told, str):
        raise ValueError(f"missing is the text '{short(visible(told), 40)}', expected a list such as ['99']")
    found: dict[int, set[str]] = {}
    for one in map(str, told):
        where, has_name, value = one.rpartition("=")
        if not value.strip():
            raise ValueError(
                f"missing is '{short(visible(one), 40)}', expected a value, as in 99 or income=99"
            )
        places = range(len(names))
        if has_name:
            first, is_range, last = where.partition(_RANGE)
            begin, end = (_place(name, names) for name in (first, last if is_range else first))
            if end < begin:
                raise ValueError(
                    f"missing is '{short(visible(one), 40)}', and '{last}' stands before '{first}'"
                )
            places = range(begin, end + 1)
        for place in places:
            found.setdefault(place, set()).add(value.strip())
    return {place: frozenset(values) for place, values in found.items()}


def without_codes(raw: RawTable, codes: Mapping[int, frozenset[str]]) -> RawTable:
    """Return a table in which cells that hold a code are empty, with a note of how many they are."""
    columns, said = list(raw.columns), []
    for place, values in codes.items():
        is_code = holds_code(columns[place].labels(), values)
        if is_code.any():
            columns[place] = columns[place].without(is_code)
            said.append(f"{int(is_code.sum()):,} in '{short(raw.names[place], 40)}'")
    if codes and not said:
        every = sorted(set().union(*codes.values()))
        raise ValueError(f"missing is {listed(every)}, and no cell holds it; leave it out")
    notes = (*raw.notes, f"Read as missing, as was said: {listed(said, _MOST_SHOWN)}.") if said else raw.notes
    return replace(raw, columns=tuple(columns), notes=notes)


def without_marks(names: Sequence[str], columns: Sequence[Cells]) -> tuple[list[Cells], list[str]]:
    """Empty the cells of columns of numbers that hold a mark for a missing one, and say so."""
    found, said = list(columns), []
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        if column.plain is not None:
            continue
        cells = [cell.strip() for cell in column]
        numbers = sum(map(is_numeral, cells))
        marks = dict.fromkeys(cell for cell in cells if cell not in MISSING and not is_numeral(cell))
        if not marks or 2 * numbers < len(cells) or any(cell.casefold() not in _MARKS for cell in marks):
            continue
        found[place] = Cells(["" if cell.strip() in marks else cell for cell in column])
        said.append(f"{listed(f'“{mark}”' for mark in marks)} in '{short(visible(name), 40)}'")
    return found, [f"Read as missing among numbers: {listed(said, _MOST_SHOWN)}."] if said else []


def suspected_codes(names: Sequence[str], columns: Sequence[NDArray[np.float64] | None]) -> str | None:
    """Say which numbers may stand for missing ones: far from all others, or 0 where a scale begins at 1."""
    found: list[tuple[str, str, int]] = []
    for name, values in zip(names, columns, strict=True):
        if values is None:
            continue
        values = values[np.isfinite(values)]
        is_code = np.isin(values, _STAND_INS)
        if is_code.sum() <= len(values) - 2:
            codes = [one for one in np.unique(values[is_code]) if _is_apart(one, values[~is_code])]
            codes = codes or _beyond_a_scale(values)
            found += [(name, f"{one:g}", int((values == one).sum())) for one in codes]
    found += _zeros_of_scales(names, columns)
    if not found:
        return None
    said = [f"{code} ({times:,} in '{short(name, 40)}')" for name, code, times in found]
    more = f" and {len(said) - _MOST_SHOWN:,} more" if len(said) > _MOST_SHOWN else ""
    every = {one for _, one, _ in found}
    names_them = len(found) == 1 or len(every) > 1 or "0" in every
    how = [f"{name}={code}" for name, code, _ in found] if names_them else every
    ways = " ".join(f"--missing {shlex.quote(one)}" for one in list(how)[:_MOST_SHOWN])
    ways += " and so on" if len(how) > _MOST_SHOWN else ""
    return (
        f"May stand for missing values, and were read as numbers: {', '.join(said[:_MOST_SHOWN])}{more}. If "
        f"so, give {ways}."
    )


def _is_apart(one: float, others: NDArray[np.float64]) -> bool:
    """Say whether a number is far from others, or below zero where no other is."""
    low, high = float(others.min()), float(others.max())
    distance = max(low - one, one - high)
    return distance > _RANGES * (high - low) or (one < 0 <= low and len(np.unique(others)) > _LARGEST_SCALE)


def _beyond_a_scale(values: NDArray[np.float64]) -> list[float]:
    """Return 9, and 7 and 8 beside it, at least two above the last answer of a scale that begins at 1."""
    is_code = np.isin(values, _BEYOND_A_SCALE)
    answers = np.unique(values[~is_code])
    if len(answers) < _FEWEST_ALIKE or not np.array_equal(answers, np.arange(1, len(answers) + 1)):
        return []
    codes = np.unique(values[is_code])
    return codes.tolist() if len(codes) and codes[0] > len(answers) + 1 and codes[-1] == 9 else []


def _zeros_of_scales(
    names: Sequence[str], columns: Sequence[NDArray[np.float64] | None]
) -> list[tuple[str, str, int]]:
    """Return columns with zeros among those of one name and a number whose answers begin at 1."""
    groups: dict[str, list[tuple[str, NDArray[np.float64]]]] = {}
    for name, values in zip(names, columns, strict=True):
        match = _NUMBERED.fullmatch(name)
        if match is None or values is None:
            continue
        there = values[np.isfinite(values) & ~np.isin(values, _STAND_INS)]
        if len(there) and (there == np.round(there)).all() and 2 < there.max() <= _LARGEST_SCALE:
            groups.setdefault(match[1], []).append((name, there))
    found = []
    for group in groups.values():
        zero = [(name, int((values == 0).sum())) for name, values in group if values.min() == 0]
        begin = sum(values.min() == 1 for _, values in group)
        if len(group) >= _FEWEST_ALIKE and 0 < len(zero) <= begin:
            found += [(name, "0", times) for name, times in zero]
    return found


def _place(name: str, names: Sequence[str]) -> int:
    wanted = visible(name).strip()
    if wanted not in names:
        raise ValueError(f"missing: {unknown_name('column', wanted, names)}")
    return list(names).index(wanted)


def holds_code(cells: NDArray[np.object_], values: frozenset[str]) -> NDArray[np.bool_]:
    """Say which cells hold one of some values, written alike or equal as numbers."""
    numbers = {number for one in values if (number := _number(one)) is not None}

    def is_code(cell: str | None) -> bool:
        return cell is not None and (cell.strip() in values or (bool(numbers) and _number(cell) in numbers))

    return np.array([is_code(cell) for cell in cells], dtype=bool)


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
