"""What is said of the rows of a table: what each is of, how many it stands for, and what is refused."""

import shlex
from collections.abc import Mapping

import numpy as np

from pyroclust.core.text import listed, short, visible
from pyroclust.data.columns import Column, RawTable
from pyroclust.data.delimited.numerals import is_numeral
from pyroclust.data.frames import TURNED
from pyroclust.data.roles import names_things, numbers_in_names, words_of
from pyroclust.data.tables import Table

__all__ = [
    "ROWS_AS_THEY_ARE",
    "frequencies_note",
    "refuse_long",
    "refuse_rows_of_units",
    "turned_note",
    "units_in",
]

ROWS_AS_THEY_ARE = "none"
"""What ``aggregate`` is where rows are to be taken as independent."""

_MOST_SHOWN = 4
# So many columns for each row are probably rows.
_TIMES_ROWS = 5
# What columns are called that say how many rows each row stands for; the latter of cells of a table alone.
_FREQUENCIES = {"freq", "frequency", "frequencies", "haeufigkeit", "effectif", "frecuencia", "frequenza"}
_NUMBERS_OF = {"n", "count", "counts", "anzahl"}
# Names of columns of tables that have a row for each value.
_QUANTITIES, _VALUES = ("variable", "name", "key", "measure", "parameter", "indicator"), ("value", "values")


def turned_note(raw: RawTable, num_columns: int) -> list[str]:
    """Say that features may lie in rows, where there are many more columns than rows with names."""
    if TURNED in raw.notes or raw.num_rows < 3 or num_columns < _TIMES_ROWS * raw.num_rows:
        return []
    first = raw.row_names or raw.columns[0].labels().tolist()
    names = [one for one in first if one and not is_numeral(one)]
    if len(set(names)) < raw.num_rows:
        return []
    return [
        f"There are {num_columns:,} columns and {raw.num_rows:,} rows, which have names such as "
        f"'{short(visible(names[0]), 40)}': if rows are what was measured, and columns who, give --transpose."
    ]


def refuse_long(columns: Mapping[str, Column], name: str) -> None:
    """Refuse a row for each value, with a column that says which quantity it is of."""
    numbers = {one: column.numbers_or_none() for one, column in columns.items()}
    measured = [one for one, own in numbers.items() if own is not None and not names_things(one, own)]
    if len(measured) != 1 or measured[0].casefold() not in _VALUES:
        return
    for quantity in (one for one in columns if numbers[one] is None and one.casefold() in _QUANTITIES):
        cells = columns[quantity].labels()
        if 2 * len(set(cells)) <= len(cells):
            value, way = measured[0], f"--aggregate {ROWS_AS_THEY_ARE}"
            raise ValueError(
                f"{name} has a row for each number in '{value}', and '{quantity}' says of what, expected a "
                "row for each point and a column for each quantity: pivot it, as pandas' "
                f"pivot(columns='{quantity}', values='{value}') does; or take the rows as they are with {way}"
            )


def refuse_rows_of_units(columns: Mapping[str, Column], name: str) -> None:
    """Refuse several rows of one unit, which the model would take for independent."""
    if units := units_in(columns):
        ways = [f"--aggregate {shlex.quote(column)}" for column in list(units)[:_MOST_SHOWN]]
        raise ValueError(
            f"{name} has {listed(units.values())}: rows of one are not independent of one another, as the "
            f"model takes them to be; make one row of each with {' or '.join(ways)}, or take the rows as "
            f"they are with --aggregate {ROWS_AS_THEY_ARE}"
        )


def units_in(columns: Mapping[str, Column]) -> dict[str, str]:
    """Return columns that say what rows are of, where several rows are of one, with how many there are."""
    found: list[tuple[int, str, str]] = []
    for name, column in columns.items():
        own = column.numbers_or_none()
        every = numbers_in_names(column.labels().tolist()) if own is None else own
        values = np.empty(0) if every is None else every[np.isfinite(every)]
        number = len(np.unique(values))
        if 2 * number <= len(values) and names_things(name, values):
            found.append((-number, name, f"{len(values):,} rows of {number:,} '{name}'"))
    return {name: said for _, name, said in sorted(found, key=lambda one: one[0])}


def frequencies_note(table: Table) -> str | None:
    """Say which column may tell how many rows each stands for, where all others are different categories."""
    rows = table.data[:, [bool(levels) for levels in table.levels]]
    others = [column for column, levels in zip(table.columns, table.levels, strict=True) if not levels]
    if len(others) != 1 or not rows.shape[1]:
        return None
    values, words = table.data[:, table.columns.index(others[0])], words_of(others[0])
    are_cells = len(np.unique(rows, axis=0)) == len(rows)
    are_counts = bool((values == np.round(values)).all() and (values >= 0).all())
    names = _FREQUENCIES | (_NUMBERS_OF if are_cells else set())
    if not are_counts or len(words) != 1 or words[0] not in names:
        return None
    return (
        f"'{short(others[0], 60)}' may say how many equal rows each row stands for, and was read as a "
        f"measurement: if so, give --weight {shlex.quote(others[0])}, without rows of 0."
    )
