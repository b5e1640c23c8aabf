"""From a table as it was found to one that can be clustered: columns, their kinds, and what is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.arrays import checked_weights
from pyroclust.core.text import listed, short, visible
from pyroclust.data.columns import Column, RawTable
from pyroclust.data.frames import aggregated
from pyroclust.data.kinds import (
    Kind,
    KindOfColumn,
    checked_kinds,
    kind_of_column,
    kinds_note,
    looks_note,
    values_of_kind,
)
from pyroclust.data.missing_codes import marks_note, suspected_codes, without_codes, without_values
from pyroclust.data.notes import (
    alike_notes,
    doubts_of,
    footer_note,
    frequencies_note,
    label_notes,
    na_notes,
    partial_label_notes,
    turned_note,
)
from pyroclust.data.one_hot import one_hot_column, one_hot_merged
from pyroclust.data.point_masses import is_point_mass, split_column, split_columns
from pyroclust.data.roles import ROWS_AS_THEY_ARE, refuse_long, refuse_rows_of_units, unit_columns
from pyroclust.data.tables import Table

_MOST_SHOWN = 4
_GROUPS = (Kind.YES_NO, Kind.CATEGORY)


def chosen_table(
    raw: RawTable,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    label: str | None = None,
    partial_labels: str | None = None,
    aggregate: str | None = None,
    missing: Sequence[str] = (),
    weight: str | None = None,
    preferred: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    usual: Kind | None = None,
    masses_apart: bool = False,
) -> Table:
    """Choose columns of a table and check that they can be clustered."""
    name, codes = visible(name), dict[str, tuple[str, ...]]()
    if missing:
        raw, codes = without_codes(raw, missing)
    if kinds is not None:
        units = {one: column for one, column in raw.index.items() if unit_columns({one: column})}
        raw = replace(raw, names=(*units, *raw.names), columns=(*units.values(), *raw.columns))
    if aggregate is not None and aggregate != ROWS_AS_THEY_ARE:
        raw = aggregated(raw, raw.place_of(aggregate, name))
    labelled, known, weighed = (
        None if one is None else raw.place_of(one, name) for one in (label, partial_labels, weight)
    )
    if known is not None and known == labelled:
        raise ValueError(
            f"{name}: column '{short(raw.names[known], 60)}' is named by both label and partial_labels, "
            "expected two columns: labels that were used say nothing of how well the rest was found; leave "
            "--label out"
        )
    beside = {labelled: "is the label", known: "has the partial labels", weighed: "has the weights"}
    chosen = _chosen(raw, name, columns=columns, leave_out=leave_out, preferred=preferred, beside=beside)
    if raw.num_rows < 2:
        raise ValueError(f"{name} has {raw.num_rows} row(s), expected at least 2 points to cluster")
    may_go, num_columns = columns is None and not preferred, len(chosen)
    told = {raw.names[raw.place_of(one, name)]: kind for one, kind in checked_kinds(kinds or {}).items()}
    for column in (one for one in told if one not in chosen):
        raise ValueError(
            f"{name}: kinds has column '{short(column, 60)}', which is not clustered; leave it out"
        )
    if kinds is None or usual is not None:
        told = dict.fromkeys(chosen, usual or Kind.NUMBER) | told
    merged: list[str] = []
    if kinds is not None and may_go:
        chosen, merged = one_hot_merged(chosen, told=told, names=raw.names)
        if aggregate is None:
            refuse_long(chosen, name)
            refuse_rows_of_units(chosen, name)
    table = _of_any_kind(raw, name, chosen, told=told, may_go=may_go, masses_apart=masses_apart, codes=codes)
    notes: list[str | None] = [*merged, *table.notes]
    every = list(zip(table.columns, table.kinds, table.data.T, strict=True))
    if kinds is not None:
        numbers = {column: values for column, kind, values in every if kind is Kind.NUMBER}
        groups = {column: values for column, kind, values in every if column in chosen and kind in _GROUPS}
        table = replace(table, doubts=doubts_of(numbers, raw.rows, groups=groups))
        notes.append(frequencies_note(table) if weight is None else None)
    elif table.has_missing:
        lost = [f"{int(np.isnan(one).sum())} in '{short(column, 60)}'" for column, _, one in every]
        lost = [one for one in lost if not one.startswith("0 ")]
        raise ValueError(
            f"{name} holds missing values ({listed(lost, _MOST_SHOWN)}); drop or fill those rows first"
        )
    else:
        notes.append(looks_note(chosen) if may_go else None)
    last = [*(raw.row_names or ())[-1:], *(one.last for one in raw.columns)]
    suspects = suspected_codes({column: chosen[column] for column in table.columns if column in chosen})
    notes = [*raw.notes, *turned_note(raw, num_columns), *notes, suspects, footer_note(last)]
    labels = partial = weights = None
    if labelled is not None:
        labels = raw.columns[labelled].labels()
        notes += label_notes(labels, short(raw.names[labelled], 60), name)
    if known is not None:
        partial = raw.columns[known].labels()
        notes += partial_label_notes(partial, short(raw.names[known], 60), name)
    if weighed is not None:
        said = short(raw.names[weighed], 60)
        how_often = kind_of_column(said, raw.columns[weighed], Kind.NUMBER).values
        weights = checked_weights(f"{name}: column '{said}'", how_often, row_names=raw.rows)
    kept = tuple(note for note in (*notes, *table.doubts) if note is not None)
    return replace(table, labels=labels, notes=kept, partial_labels=partial, weights=weights)


def rows_as_clustered(raw: RawTable, name: str, like: Table, *, refuses_unseen: bool = False) -> Table:
    """Take the columns of a table that was clustered, at least one row; unknown categories are missing."""
    name = visible(name)
    if not raw.num_rows:
        raise ValueError(f"{name} has 0 rows, expected at least 1")
    wholes = {like.columns[number]: (number, value) for number, _, value in like.parts}
    wholes |= {
        like.columns[answer]: (number, value)
        for number, answer, value in like.parts
        if like.columns[answer] not in raw.names
    }
    found: list[NDArray[np.float64]] = []
    notes = [*raw.notes, *marks_note(raw.by_name, dict(zip(like.columns, like.levels, strict=True)))]
    every = zip(like.columns, like.kinds, like.levels, like.units, like.codes, strict=True)
    for column, kind, levels, unit, codes in every:
        number, value = wholes.get(column, (None, None))
        cells = one_hot_column(raw, column, levels) if levels and column not in raw.names else None
        if cells is None or number is not None:
            cells = raw.columns[raw.place_of(column if number is None else like.columns[number], name)]
        if codes:
            cells = without_values(cells, codes)[0]
        try:
            if number is not None and value is not None:
                numbers = kind_of_column(like.columns[number], cells, Kind.NUMBER).values
                values = split_column(numbers, value)[kind is Kind.YES_NO].values
            else:
                values, unseen = values_of_kind(column, cells, kind, levels=levels, unit=unit)
                if unseen:
                    what = listed(f"'{short(visible(one), 40)}'" for one in unseen)
                    said = f"which no row had that was clustered ({listed(levels)} are known)"
                    if refuses_unseen:
                        raise ValueError(f"column '{short(column, 60)}' holds {what}, {said}")
                    notes.append(f"In '{short(column, 60)}' {what}, {said}, was read as a missing cell.")
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        found.append(values)
    rows = replace(like, name=name, data=np.stack(found, -1), row_names=raw.rows, notes=tuple(notes))
    return replace(rows, labels=None, partial_labels=None, weights=None, doubts=())


def _chosen(
    raw: RawTable,
    name: str,
    *,
    columns: Sequence[str] | None,
    leave_out: Sequence[str],
    preferred: Sequence[str],
    beside: Mapping[int | None, str],
) -> dict[str, Column]:
    """Return the columns that are clustered, by their names; those beside them are none."""
    if columns is not None:
        places = _places(raw, columns, name)
    else:
        free = (place for place in range(len(raw.names)) if place not in beside)
        places = [at for at in free if not preferred or leave_out or raw.names[at] in preferred]
    if gone := _places(raw, leave_out, name):
        if columns is not None:
            raise ValueError(f"{name}: columns and leave_out are both told, expected one of them")
        places = [place for place in places if place not in gone]
    for place, what in beside.items():
        if place is not None and place in places:
            raise ValueError(
                f"{name}: column '{short(raw.names[place], 60)}' {what} and cannot be clustered too; "
                "leave it out of --columns"
            )
    if not places:
        raise ValueError(f"{name} has no column to cluster; name at least one with --columns")
    chosen = {raw.names[place]: raw.columns[place] for place in places}
    if len(chosen) < len(places):
        names = [raw.names[place] for place in places]
        twice = next(one for one in names if names.count(one) > 1)
        raise ValueError(f"{name}: a column name appears twice, '{short(twice, 60)}'; name each column once")
    return chosen


def _places(raw: RawTable, columns: Sequence[str], name: str) -> list[int]:
    if isinstance(columns, str):
        raise ValueError(f"columns is the text '{short(visible(columns), 60)}', expected a list of names")
    return [raw.place_of(column, name) for column in columns]


def _of_any_kind(
    raw: RawTable,
    name: str,
    columns: Mapping[str, Column],
    *,
    told: Mapping[str, Kind],
    may_go: bool,
    masses_apart: bool,
    codes: Mapping[str, tuple[str, ...]],
) -> Table:
    """Find out what columns hold, numbers first, with notes on that."""
    every: dict[str, KindOfColumn] = {}
    for column, cells in columns.items():
        try:
            every[column] = kind_of_column(
                column, cells, told.get(column), may_go=may_go and column not in told
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    found = {column: one for column, one in every.items() if one.kind is not None}
    left = {column: one.why for column, one in every.items() if one.kind is None}
    if not found:
        # Of a table that is nothing but such columns they are all there is.
        found = {column: kind_of_column(column, cells, Kind.NUMBER) for column, cells in columns.items()}
        left = {}
    kept = told if masses_apart else None
    found, wholes, divided = split_columns(found, kept=kept, names={*raw.names, *columns})

    def order(column: str) -> tuple[int, float]:
        # Models of counts take them by their means.
        one, kind = found[column], found[column].kind
        return [*Kind].index(kind), float(np.nanmean(one.values)) if kind is Kind.COUNT else 0.0

    names = sorted(found, key=order)
    found = {column: found[column] for column in names}
    data = np.stack([one.values for one in found.values()], -1)
    parts = tuple(
        (names.index(whole), names.index(answer), value) for answer, (whole, value) in wholes.items()
    )
    is_lost = np.isnan(data) & ~is_point_mass(data, parts)
    lost = is_lost.sum(0)
    # A cell that is missing is so in both parts of its column.
    missing = {column: int(one) for column, one in zip(names, lost, strict=True) if column not in wholes}
    units = {column: "" if one.levels else columns[column].unit for column, one in found.items()}
    notes = [
        _units_note(units),
        *marks_note(columns, {column: one.levels for column, one in found.items()}),
        kinds_note(found),
        *divided,
        _left_note(left),
        _missing_note(missing, raw.num_rows),
    ]
    if empty := [raw.rows[row] for row in np.flatnonzero(is_lost.all(1)).tolist()]:
        notes.append(
            f"{len(empty):,} row(s) hold no value at all ({listed(empty, _MOST_SHOWN)}), and were read as "
            "points of which nothing is known: remove them if they are none."
        )
    for column, one in found.items():
        notes += alike_notes(one.levels, short(column, 60))
        notes += (
            na_notes(columns[column].labels(), one.levels, column) if one.levels and column in columns else []
        )
    return Table(
        name,
        data,
        tuple(names),
        None,
        raw.rows,
        tuple(note for note in notes if note is not None),
        kinds=tuple(one.kind for one in found.values() if one.kind is not None),
        levels=tuple(one.levels for one in found.values()),
        units=tuple(units.values()),
        codes=tuple(
            (*codes.get(one, ()), *(mark for mark in columns[one].lost if mark not in found[one].levels))
            for one in (wholes.get(column, (column, 0.0))[0] for column in names)
        ),
        parts=parts,
    )


def _units_note(units: Mapping[str, str]) -> str | None:
    said = []
    for unit in dict.fromkeys(filter(None, units.values())):
        some = [f"'{short(name, 40)}'" for name, one in units.items() if one == unit]
        said.append(f"{listed(some, _MOST_SHOWN)} in {unit}")
    return f"Read as numbers: {'; '.join(said)}." if said else None


def _left_note(left: Mapping[str, str]) -> str | None:
    if not left:
        return None
    said = "; ".join(f"'{short(name, 60)}': {why}" for name, why in list(left.items())[:_MOST_SHOWN])
    others = [f"'{short(name, 60)}'" for name in list(left)[_MOST_SHOWN:]]
    more = f"; and {listed(others)}" if others else ""
    return f"Left out, and not clustered: {said}{more}. To cluster such a column, name it in --columns."


def _missing_note(lost: Mapping[str, int], num_rows: int) -> str | None:
    counts = [f"{number:,} in '{short(name, 40)}'" for name, number in lost.items() if number]
    if not counts:
        return None
    return (
        f"{sum(lost.values()):,} of {num_rows * len(lost):,} cells are missing "
        f"({listed(counts, _MOST_SHOWN)}). They are integrated out: a missing cell says nothing of its row, "
        "and none is filled in."
    )
