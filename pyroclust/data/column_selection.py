"""From a raw table to one that can be clustered: columns, their kinds, and what is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short, visible
from pyroclust.core.numbers import checked_weights
from pyroclust.data.columns import Column, RawTable
from pyroclust.data.identifiers import ROWS_AS_THEY_ARE, refuse_long, refuse_rows_of_units, unit_columns
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
    half_known_note,
    label_notes,
    na_notes,
    partial_label_notes,
    turned_note,
)
from pyroclust.data.reading import aggregated
from pyroclust.data.recoded_columns import (
    censored_column,
    is_point_mass,
    log_columns,
    log_of,
    one_hot_column,
    one_hot_merged,
    source_of_log,
    split_column,
    split_columns,
)
from pyroclust.data.tables import Table

_MOST_SHOWN = 4
# Between the names of a column of trials and of its successes.
_OF = " of "
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
    label_place, partial_place, weight_place = (
        None if one is None else raw.place_of(one, name) for one in (label, partial_labels, weight)
    )
    if partial_place is not None and partial_place == label_place:
        raise ValueError(
            f"{name}: column '{short(raw.names[partial_place], 60)}' is named by both label and "
            "partial_labels, expected two columns: labels that were used say nothing of how well the rest "
            "was found; leave --label out"
        )
    beside = {
        label_place: "is the label",
        partial_place: "has the partial labels",
        weight_place: "has the weights",
    }
    chosen = _chosen(raw, name, columns=columns, leave_out=leave_out, beside=beside)
    if raw.num_rows < 2:
        raise ValueError(f"{name} has {raw.num_rows} row(s), expected at least 2 points to cluster")
    may_go, num_columns = columns is None, len(chosen)
    checked: dict[str, tuple[Kind, str]] = {}
    for one, kind in checked_kinds(kinds or {}).items():
        names = [raw.names[place] for place in raw.places_in(one, name)]
        checked |= {column: kind for column in names if len(names) == 1 or column in chosen}
    declared = {one: kind for one, (kind, _) in checked.items()}
    trials = _trials(raw, name, checked)
    # A column of trials is no measurement of its own, unless it is asked for.
    if columns is None:
        chosen = {
            one: cells for one, cells in chosen.items() if one in declared or one not in trials.values()
        }
    for column in (one for one in declared if one not in chosen):
        raise ValueError(
            f"{name}: kinds has column '{short(column, 60)}', which is not clustered; leave it out"
        )
    if kinds is None or usual is not None:
        declared = dict.fromkeys(chosen, usual or Kind.NUMBER) | declared
    merged: list[str] = []
    if kinds is not None and may_go:
        chosen, merged = one_hot_merged(chosen, declared=declared, names=raw.names)
        if aggregate is None:
            refuse_long(chosen, name)
            refuse_rows_of_units(chosen, name)
    table = _of_any_kind(
        raw,
        name,
        chosen,
        declared=declared,
        details={one: detail for one, (_, detail) in checked.items()},
        trials=trials,
        may_go=may_go,
        masses_apart=masses_apart,
        codes=codes,
    )
    notes: list[str | None] = [*merged, *table.notes]
    if kinds is not None:
        table = replace(table, doubts=doubts_of_table(table))
        notes.append(frequencies_note(table) if weight is None else None)
        notes.append(half_known_note(table) if partial_labels is None else None)
    elif table.has_missing:
        missing_cells = zip(table.columns, np.isnan(table.data).sum(0), strict=True)
        gaps = [f"{number} in '{short(column, 60)}'" for column, number in missing_cells]
        gaps = [one for one in gaps if not one.startswith("0 ")]
        raise ValueError(
            f"{name} holds missing values ({listed(gaps, _MOST_SHOWN)}); drop or fill those rows first"
        )
    else:
        notes.append(looks_note(chosen) if may_go else None)
    last = [*(raw.row_names or ())[-1:], *(one.last for one in raw.columns)]
    suspects = suspected_codes({column: chosen[column] for column in table.columns if column in chosen})
    notes = [*raw.notes, *turned_note(raw, num_columns), *notes, suspects, footer_note(last)]
    labels = partial = weights = None
    if label_place is not None:
        labels = raw.columns[label_place].labels()
        notes += label_notes(labels, short(raw.names[label_place], 60), name)
    if partial_place is not None:
        partial = raw.columns[partial_place].labels()
        notes += partial_label_notes(partial, short(raw.names[partial_place], 60), name)
    if weight_place is not None:
        weight_name = short(raw.names[weight_place], 60)
        how_often = kind_of_column(weight_name, raw.columns[weight_place], Kind.NUMBER).values
        weights = checked_weights(f"{name}: column '{weight_name}'", how_often, row_names=raw.rows)
    all_notes = tuple(note for note in (*notes, *table.doubts) if note is not None)
    return replace(table, labels=labels, notes=all_notes, partial_labels=partial, weights=weights)


def doubts_of_table(table: Table) -> tuple[str, ...]:
    """Return what is doubtful about the numbers and the groups of a table."""
    answers = {answer for _, answer, _ in table.parts}
    numbers, groups = {}, {}
    for place, (column, kind) in enumerate(zip(table.columns, table.kinds, strict=True)):
        values = table.data[:, place]
        if np.isnan(values).all():
            continue
        if kind is Kind.NUMBER:
            numbers[column] = values
        elif kind in _GROUPS and place not in answers:
            groups[column] = values
    return doubts_of(numbers, table.row_names, groups=groups)


def rows_as_clustered(raw: RawTable, name: str, table: Table, *, refuses_unseen: bool = False) -> Table:
    """Take the columns of a table that was clustered, at least one row; unknown categories are missing."""
    name = visible(name)
    if not raw.num_rows:
        raise ValueError(f"{name} has 0 rows, expected at least 1")
    wholes = {table.columns[number]: (number, value) for number, _, value in table.parts}
    wholes |= {
        table.columns[answer]: (number, value)
        for number, answer, value in table.parts
        if table.columns[answer] not in raw.names
    }
    data: list[NDArray[np.float64]] = []
    notes = [
        *raw.notes,
        *marks_note(raw.by_name, dict(zip(table.columns, table.levels, strict=True))),
    ]
    columns = zip(table.columns, table.kinds, table.levels, table.units, table.codes, strict=True)
    for column, kind, levels, unit, codes in columns:
        if kind is Kind.TRIALS:
            # They follow their successes.
            successes = table.columns[len(data) - 1]
            source = column.removesuffix(f"{_OF}{successes}")
            counted = raw.columns[raw.place_of(source, name)]
            try:
                trials = kind_of_column(source, without_values(counted, codes)[0] if codes else counted, kind)
                pair = _with_trials(successes, KindOfColumn(Kind.BINOMIAL, data[-1]), trials)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            data[-1:] = [one.values for one in pair]
            continue
        number, value = wholes.get(column, (None, None))
        cells = one_hot_column(raw, column, levels) if levels and column not in raw.names else None
        amount = source_of_log(column) if column not in raw.names else None
        if amount is not None:
            cells = raw.columns[raw.place_of(amount, name)]
        elif cells is None or number is not None:
            cells = raw.columns[raw.place_of(column if number is None else table.columns[number], name)]
        if codes:
            cells = without_values(cells, codes)[0]
        try:
            if number is not None and value is not None:
                numbers = kind_of_column(table.columns[number], cells, Kind.NUMBER).values
                values = split_column(numbers, value)[kind is Kind.YES_NO].values
            else:
                values, unseen = values_of_kind(column, cells, kind, levels=levels, unit=unit)
                values = values if amount is None else log_of(amount, values)
                if unseen:
                    what = listed(f"'{short(visible(one), 40)}'" for one in unseen)
                    why = f"which no row had that was clustered ({listed(levels)} are known)"
                    if refuses_unseen:
                        raise ValueError(f"column '{short(column, 60)}' holds {what}, {why}")
                    notes.append(f"In '{short(column, 60)}' {what}, {why}, was read as a missing cell.")
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        data.append(values)
    rows = replace(table, name=name, data=np.stack(data, -1), row_names=raw.rows, notes=tuple(notes))
    return replace(rows, labels=None, partial_labels=None, weights=None, doubts=())


def _chosen(
    raw: RawTable,
    name: str,
    *,
    columns: Sequence[str] | None,
    leave_out: Sequence[str],
    beside: Mapping[int | None, str],
) -> dict[str, Column]:
    """Return the columns that are clustered, by their names; those beside them are none."""
    if columns is not None:
        places = _places(raw, columns, name)
    else:
        places = [place for place in range(len(raw.names)) if place not in beside]
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
    declared: Mapping[str, Kind],
    details: Mapping[str, str],
    trials: Mapping[str, str],
    may_go: bool,
    masses_apart: bool,
    codes: Mapping[str, tuple[str, ...]],
) -> Table:
    """Find out what columns hold, numbers first, with notes on that."""
    kinds: dict[str, KindOfColumn] = {}
    for column, cells in columns.items():
        try:
            kinds[column] = kind_of_column(
                column,
                cells,
                declared.get(column),
                detail=details.get(column, ""),
                may_go=may_go and column not in declared,
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    clustered = {column: one for column, one in kinds.items() if one.kind is not None}
    left_out = {column: one.why for column, one in kinds.items() if one.kind is None}
    if not clustered:
        # Of a table that is nothing but such columns they are all there is.
        clustered = {column: kind_of_column(column, cells, Kind.NUMBER) for column, cells in columns.items()}
        left_out = {}
    kept_whole = declared if masses_apart else None
    try:
        clustered, wholes, divided = split_columns(
            clustered, kept_whole=kept_whole, names={*raw.names, *columns}
        )
        kept = None if kept_whole is None else {*kept_whole, *(whole for whole, _ in wholes.values())}
        clustered, logs, on_log_scale = log_columns(clustered, kept_whole=kept, names=raw.names)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    columns = {**columns, **{one: columns[source] for one, source in logs.items()}}
    divided += on_log_scale
    if kept is not None:
        clustered, cut = censored_column(clustered, kept_whole=kept)
        divided += cut
    pairs: dict[str, int] = {}
    for successes, source in trials.items():
        added = f"{source}{_OF}{successes}"
        pairs[successes] = pairs[added] = len(pairs)
        columns = {**columns, added: raw.by_name[source]}
        try:
            found = kind_of_column(source, columns[added], Kind.TRIALS)
            clustered[successes], clustered[added] = _with_trials(successes, clustered[successes], found)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def order(column: str) -> tuple[int, float]:
        # Models of counts take them by their means.
        one, kind = clustered[column], clustered[column].kind
        if column in pairs:
            return [*Kind].index(Kind.BINOMIAL), pairs[column]
        by = next(iter(one.arguments), None) or 0.0
        if kind in (Kind.COUNT, Kind.OVERDISPERSED):
            by = float(np.nanmean(one.values))
        return [*Kind].index(kind), by

    names = sorted(clustered, key=order)
    clustered = {column: clustered[column] for column in names}
    data = np.stack([one.values for one in clustered.values()], -1)
    parts = tuple(
        (names.index(whole), names.index(answer), value) for answer, (whole, value) in wholes.items()
    )
    is_missing = np.isnan(data) & ~is_point_mass(data, parts)
    num_missing = is_missing.sum(0)
    # A cell that is missing is so in both parts of its column, and successes without trials are.
    missing = {
        column: int(one)
        for column, one in zip(names, num_missing, strict=True)
        if column not in wholes and clustered[column].kind is not Kind.TRIALS
    }
    sources = {answer: whole for answer, (whole, _) in wholes.items()} | logs
    units = {column: "" if one.levels else columns[column].unit for column, one in clustered.items()}
    notes = [
        _units_note(units),
        *marks_note(columns, {column: one.levels for column, one in clustered.items()}),
        kinds_note(clustered),
        *divided,
        _left_note(left_out),
        _missing_note(missing, raw.num_rows),
    ]
    if empty := [raw.rows[row] for row in np.flatnonzero(is_missing.all(1)).tolist()]:
        notes.append(
            f"{len(empty):,} row(s) hold no value at all ({listed(empty, _MOST_SHOWN)}), and were read as "
            "points of which nothing is known: remove them if they are none."
        )
    for column, one in clustered.items():
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
        kinds=tuple(one.kind for one in clustered.values() if one.kind is not None),
        levels=tuple(one.levels for one in clustered.values()),
        units=tuple(units.values()),
        codes=tuple(
            (
                *codes.get(source, ()),
                *(mark for mark in columns[source].missing_marks if mark not in clustered[column].levels),
            )
            for column, source in ((one, sources.get(one, one)) for one in names)
        ),
        parts=parts,
        arguments=tuple(one.arguments for one in clustered.values()),
    )


def _trials(raw: RawTable, name: str, checked: Mapping[str, tuple[Kind, str]]) -> dict[str, str]:
    """Return the names of the columns of trials by those of successes."""
    found = {}
    for column, (kind, detail) in checked.items():
        if kind is Kind.BINOMIAL:
            if not detail:
                raise ValueError(
                    f"{name}: column '{short(column, 60)}' is told to be binomial, expected the column of "
                    "the numbers of trials in brackets, as in binomial(total)"
                )
            found[column] = raw.names[raw.place_of(detail, name)]
            if found[column] == column:
                raise ValueError(f"{name}: column '{short(column, 60)}' cannot be its own number of trials")
            if (added := f"{found[column]}{_OF}{column}") in raw.names:
                raise ValueError(
                    f"{name}: the trials of '{short(column, 60)}' would be called '{short(added, 60)}', "
                    "which is a column; call that otherwise"
                )
    return found


def _with_trials(
    column: str, successes: KindOfColumn, trials: KindOfColumn
) -> tuple[KindOfColumn, KindOfColumn]:
    """Return successes and trials, both missing where one of them is, checked."""
    is_missing = np.isnan(successes.values) | np.isnan(trials.values)
    if (is_more := successes.values > trials.values).any():
        row = int(is_more.argmax())
        raise ValueError(
            f"column '{short(column, 60)}' holds {successes.values[row]:g} successes in "
            f"{trials.values[row]:g} trials, expected at most as many"
        )
    both = (replace(one, values=np.where(is_missing, np.nan, one.values)) for one in (successes, trials))
    return next(both), next(both)


def _units_note(units: Mapping[str, str]) -> str | None:
    parts = []
    for unit in dict.fromkeys(filter(None, units.values())):
        some = [f"'{short(name, 40)}'" for name, one in units.items() if one == unit]
        parts.append(f"{listed(some, _MOST_SHOWN)} in {unit}")
    return f"Read as numbers: {'; '.join(parts)}." if parts else None


def _left_note(left_out: Mapping[str, str]) -> str | None:
    if not left_out:
        return None
    reasons = "; ".join(f"'{short(name, 60)}': {why}" for name, why in list(left_out.items())[:_MOST_SHOWN])
    further = [f"'{short(name, 60)}'" for name in list(left_out)[_MOST_SHOWN:]]
    more = f"; and {listed(further)}" if further else ""
    return f"Left out, and not clustered: {reasons}{more}. To cluster such a column, name it in --columns."


def _missing_note(num_missing: Mapping[str, int], num_rows: int) -> str | None:
    counts = [f"{number:,} in '{short(name, 40)}'" for name, number in num_missing.items() if number]
    if not counts:
        return None
    return (
        f"{sum(num_missing.values()):,} of {num_rows * len(num_missing):,} cells are missing "
        f"({listed(counts, _MOST_SHOWN)}). They are integrated out: a missing cell says nothing of its row, "
        "and none is filled in."
    )
