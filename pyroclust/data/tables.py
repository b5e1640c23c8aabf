"""Tables of numbers: choosing columns, and refusing what cannot be clustered."""

import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyroclust.arrays import checked_weights
from pyroclust.data.aggregate import aggregated
from pyroclust.data.columns import RawTable
from pyroclust.data.doubts import doubts_of
from pyroclust.data.kinds import (
    Kind,
    KindOfColumn,
    kind_of_column,
    kinds_note,
    looks_note,
    told_kinds,
    values_of_kind,
)
from pyroclust.data.label_notes import about_alike, about_labels, about_partial
from pyroclust.data.looks import footer_note
from pyroclust.data.missing_codes import holds_code, read_codes, suspected_codes, without_codes
from pyroclust.data.one_hot import one_hot_again, one_hot_merged
from pyroclust.data.point_masses import Parts, apart, divide, in_two, masses_note, parts_in, put_back
from pyroclust.data.roles import numbers_in_names, units_of_rows
from pyroclust.data.shapes import PointShape
from pyroclust.delimited import is_numeral
from pyroclust.errors import unknown_name
from pyroclust.text import listed, short, visible

__all__ = ["Table", "chosen_table", "column_named", "table_of_kinds", "written"]

_MOST_SHOWN = 4
# So many columns for each row are probably rows.
_TIMES_ROWS = 5
_ROWS_AS_THEY_ARE = "none"


@dataclass(frozen=True)
class Table:
    """Points to cluster, in the units of their source.

    Attributes:
        name: what reports call it.
        data: ``(N, D)`` float64, finite, or nan where a cell is missing; of categories and answers the places
            of their ``levels``.
        columns: D names; characters that are not printed are written as escapes.
        labels: N reference labels as text, ``None`` for rows without one; kept for comparison and never used
            for clustering. ``None`` where there are none at all.
        row_names: N names of the points.
        notes: sentences on what was guessed or left out.
        shape: what a point is where it is no row of columns, as :class:`~pyroclust.data.shapes.Images`, the
            columns being its numbers laid flat; ``None`` for rows.
        partial_labels: what is known of the clusters, N labels as text, ``None`` for rows of which nothing is
            known; unlike ``labels`` they are used. ``None`` where there are none at all.
        kinds: of the D columns; numbers where nothing is said.
        levels: of the D columns, their categories as written; empty for numbers and counts.
        units: of the D columns, as they are written behind or before every number, such as ``"%"``, or
            ``"days since 2020-01-31"``; empty where there is none.
        codes: of the D columns, values that were said to stand for missing cells.
        doubts: sentences on columns that may make clusters of their own.
        parts: of each column that was divided, as it is mostly one value, the places of its two parts and
            that value.
        weights: how many equal rows each row stands for, ``(N,)`` int64; ``None`` for one each.
    """

    name: str
    data: NDArray[np.float64]
    columns: tuple[str, ...]
    labels: NDArray[np.object_] | None
    row_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    shape: PointShape | None = None
    partial_labels: NDArray[np.object_] | None = None
    kinds: tuple[Kind, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    units: tuple[str, ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    doubts: tuple[str, ...] = ()
    parts: Parts = ()
    weights: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Columns of which nothing is said are numbers."""
        if not self.kinds:
            object.__setattr__(self, "kinds", (Kind.NUMBER,) * len(self.columns))
        if not self.levels:
            object.__setattr__(self, "levels", ((),) * len(self.columns))
        if not self.units:
            object.__setattr__(self, "units", ("",) * len(self.columns))
        if not self.codes:
            object.__setattr__(self, "codes", ((),) * len(self.columns))

    @property
    def are_numbers(self) -> bool:
        """Whether all columns are numbers."""
        return all(kind is Kind.NUMBER for kind in self.kinds)

    @property
    def has_missing(self) -> bool:
        """Whether a cell holds no number, as it is missing, or held the one value that is kept apart."""
        return bool(np.isnan(self.data).any())

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, ``(N, D)``: without those that held a value that is kept apart."""
        return np.isnan(self.data) & ~apart(self.data, self.parts)

    def written(self) -> tuple[tuple[str, NDArray[Any]], ...]:
        """Return names and values of the columns: numbers, or text where they hold answers or categories.

        Columns that were divided have the value again in the cells that held it.
        """
        return written(put_back(self.data, self.parts), self.columns, self.levels)

    def __repr__(self) -> str:
        """Return the name, the size and the columns."""
        known = set() if self.labels is None else {label for label in self.labels if label is not None}
        labels = "" if self.labels is None else f", {len(known)} reference labels"
        if self.shape is not None:
            return f"Table({self.name!r}: {len(self.data)} {self.shape}{labels})"
        return f"Table({self.name!r}: {len(self.data)} points of {listed(self.columns)}{labels})"


def table_of_kinds(
    raw: RawTable,
    name: str,
    *,
    columns: Sequence[str],
    kinds: Sequence[Kind],
    levels: Sequence[tuple[str, ...]],
    units: Sequence[str] = (),
    codes: Sequence[tuple[str, ...]] = (),
    parts: Parts,
    refuses_unseen: bool = False,
) -> Table:
    """Take columns of a table whose kinds are known, at least one row; unknown categories are missing."""
    name = visible(name)
    if not raw.num_rows:
        raise ValueError(f"{name} has 0 rows, expected at least 1")
    for column, own in zip(columns, levels, strict=True):
        if own and column not in raw.names and (merged := one_hot_again(raw, column, own)) is not None:
            raw = replace(raw, names=(*raw.names, column), columns=(*raw.columns, merged))
    in_parts = parts_in(raw.names, columns, parts)
    found, notes = [], list(raw.notes)
    units, codes = units or ("",) * len(columns), codes or ((),) * len(columns)
    for column, kind, own, unit, code in zip(columns, kinds, levels, units, codes, strict=True):
        whole, value = in_parts.get(column, (column, None))
        cells = raw.columns[column_named(raw, whole, name)]
        if code:
            cells = cells.without(holds_code(cells.labels(), frozenset(code)))
        try:
            if value is None:
                values, unseen = values_of_kind(column, cells, kind, levels=own, unit=unit)
                if unseen:
                    said = f"which no row had that was clustered ({listed(own)} are known)"
                    what = listed(f"'{short(visible(one), 40)}'" for one in unseen)
                    if refuses_unseen:
                        raise ValueError(f"column '{short(column, 60)}' holds {what}, {said}")
                    notes.append(f"In '{short(column, 60)}' {what}, {said}, was read as a missing cell.")
            else:
                numbers = kind_of_column(whole, cells, Kind.NUMBER).values
                values = in_two(numbers, value)[column != whole].values
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        found.append(values)
    rows = raw.row_names or tuple(str(row) for row in range(1, raw.num_rows + 1))
    data = np.stack(found, -1)
    of_columns: dict[str, Any] = {"kinds": tuple(kinds), "levels": tuple(levels), "units": tuple(units)}
    of_columns |= {"codes": tuple(codes), "parts": parts}
    return Table(name, data, tuple(columns), None, rows, tuple(notes), **of_columns)


def written(
    data: NDArray[np.float64], columns: Sequence[str], levels: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, NDArray[Any]], ...]:
    """Return names and values of columns: numbers, or the text of levels, ``None`` where one is missing."""
    found: list[tuple[str, NDArray[Any]]] = []
    for name, names, values in zip(columns, levels, data.T, strict=True):
        if not names:
            found.append((name, values))
            continue
        cells = np.array([*names, None], dtype=object)
        found.append((name, cells[np.nan_to_num(values, nan=len(names)).astype(int)]))
    return tuple(found)


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
    fewest: int = 2,
    kinds: Mapping[str, str] | None = None,
    usual: Kind | None = None,
    masses_apart: bool = False,
) -> Table:
    """Choose columns of a table and check that they can be clustered."""
    name = visible(name)
    codes: dict[str, tuple[str, ...]] = {}
    if missing:
        told_codes = read_codes(missing, raw.names)
        raw = without_codes(raw, told_codes)
        codes = {raw.names[place]: tuple(sorted(values)) for place, values in told_codes.items()}
    if aggregate is not None and aggregate != _ROWS_AS_THEY_ARE:
        raw = aggregated(raw, column_named(raw, aggregate, name))
    labelled = None if label is None else column_named(raw, label, name)
    known = None if partial_labels is None else column_named(raw, partial_labels, name)
    if known is not None and known == labelled:
        raise ValueError(
            f"{name}: column '{_said(raw, known)}' is named by both label and partial_labels, expected two "
            "columns: labels that were used say nothing of how well the rest was found; leave --label out"
        )
    weighed = None if weight is None else column_named(raw, weight, name)
    beside = {labelled, known, weighed}
    if columns is not None:
        places = _named(raw, columns, name)
    elif preferred and not leave_out:
        places = [place for place, one in enumerate(raw.names) if one in preferred and place not in beside]
    else:
        places = [place for place in range(len(raw.names)) if place not in beside]
    gone = set(_named(raw, leave_out, name))
    if columns is not None and gone:
        raise ValueError(f"{name}: columns and leave_out are both told, expected one of them")
    places = [place for place in places if place not in gone]
    for place, what in (
        (labelled, "is the label"),
        (known, "has the partial labels"),
        (weighed, "has the weights"),
    ):
        if place in places:
            raise ValueError(
                f"{name}: column '{_said(raw, place)}' {what} and cannot be clustered too; leave it out of "
                "--columns"
            )
    if not places:
        raise ValueError(f"{name} has no column to cluster; name at least one with --columns")
    notes = [*raw.notes, *_turned_note(raw, places)]
    chosen = tuple(raw.names[place] for place in places)
    if len(set(chosen)) < len(chosen):
        twice = next(one for one in chosen if chosen.count(one) > 1)
        raise ValueError(f"{name}: a column name appears twice, '{short(twice, 60)}'; name each column once")
    if raw.num_rows < fewest:
        raise ValueError(f"{name} has {raw.num_rows} row(s), expected at least {fewest} points to cluster")
    if kinds is None:
        data = _numbers(raw, places, name)
        of_columns: Mapping[str, Any] = {}
        if columns is None and not preferred:
            looks = looks_note(chosen, [raw.columns[place] for place in places])
            notes += [] if looks is None else [looks]
    else:
        told = {column_named(raw, column, name): kind for column, kind in told_kinds(kinds).items()}
        if beside_them := sorted(told.keys() - set(places)):
            raise ValueError(
                f"{name}: kinds has column '{_said(raw, beside_them[0])}', which is not clustered; leave it "
                "out"
            )
        told = told if usual is None else dict.fromkeys(places, usual) | told
        may_go = columns is None and not preferred
        if may_go:
            raw, places, merged = one_hot_merged(raw, places, told)
            notes += merged
            if aggregate is None:
                _refuse_rows_of_units(raw, places, name)
        found = _of_any_kind(raw, places, name, told=told, may_go=may_go, masses_apart=masses_apart)
        raw, places = found.raw, found.places
        chosen = tuple(raw.names[place] for place in places)
        units = tuple(
            "" if own else raw.columns[at].unit for at, own in zip(places, found.levels, strict=True)
        )
        of_columns = {"kinds": found.kinds, "levels": found.levels, "units": units, "parts": found.parts}
        wholes = {chosen[answer]: chosen[number] for number, answer, _ in found.parts}
        of_columns["codes"] = tuple(codes.get(wholes.get(one, one), ()) for one in chosen)
        data = found.data
        notes += [*_units_note(chosen, units), *found.notes]
    numbers = [at for at, kind in enumerate(of_columns.get("kinds", ())) if kind is Kind.NUMBER]
    masses = masses_note([chosen[at] for at in numbers], data[:, numbers])
    suspects = suspected_codes(chosen, [raw.columns[place].numbers_or_none() for place in places])
    notes += filter(None, (masses, suspects, footer_note(_last_texts(raw))))
    labels = None
    if labelled is not None:
        labels = raw.columns[labelled].labels()
        notes += about_labels(labels, _said(raw, labelled), name)
    rows = raw.row_names or tuple(str(row) for row in range(1, raw.num_rows + 1))
    partial = None
    if known is not None:
        partial = raw.columns[known].labels()
        notes += about_partial(partial, _said(raw, known), name)
    doubts = doubts_of([chosen[at] for at in numbers], data[:, numbers], rows)
    weights = None
    if weighed is not None:
        said = _said(raw, weighed)
        how_often = kind_of_column(said, raw.columns[weighed], Kind.NUMBER).values
        weights = checked_weights(f"{name}: column '{said}'", how_often, row_names=rows)
    return Table(
        name,
        data,
        chosen,
        labels,
        rows,
        (*notes, *doubts),
        partial_labels=partial,
        doubts=doubts,
        weights=weights,
        **of_columns,
    )


def _turned_note(raw: RawTable, places: Sequence[int]) -> list[str]:
    """Say that features may lie in rows, where there are many more columns than rows with names."""
    first = raw.row_names or raw.columns[0].labels().tolist()
    names = [one for one in first if one and not is_numeral(str(one))]
    if len(places) < _TIMES_ROWS * raw.num_rows or len(set(names)) < raw.num_rows or raw.num_rows < 3:
        return []
    return [
        f"There are {len(places):,} columns and {raw.num_rows:,} rows, which have names such as "
        f"'{short(visible(str(names[0])), 40)}': if rows are what was measured, and columns who, give "
        "--transpose."
    ]


def _refuse_rows_of_units(raw: RawTable, places: Sequence[int], name: str) -> None:
    """Refuse several rows of one unit, which the model would take for independent."""
    there = []
    for place in places:
        values = raw.columns[place].numbers_or_none()
        values = (
            numbers_in_names(raw.columns[place].labels().tolist())
            if values is None
            else values[np.isfinite(values)]
        )
        if values is not None:
            there.append((raw.names[place], values))
    if units := units_of_rows(there):
        ways = [f"--aggregate {shlex.quote(one.column)}" for one in units]
        raise ValueError(
            f"{name} has {listed(map(str, units))}: rows of one are not independent of one another, as the "
            f"model takes them to be; make one row of each with {' or '.join(ways[:_MOST_SHOWN])}, or take "
            f"the rows as they are with --aggregate {_ROWS_AS_THEY_ARE}"
        )


def _units_note(names: Sequence[str], units: Sequence[str]) -> list[str]:
    said = []
    for unit in dict.fromkeys(filter(None, units)):
        some = [f"'{short(name, 40)}'" for name, one in zip(names, units, strict=True) if one == unit]
        said.append(f"{listed(some, _MOST_SHOWN)} in {unit}")
    return [f"Read as numbers: {'; '.join(said)}."] if said else []


@dataclass(frozen=True)
class _Found:
    """Columns of any kind, numbers first, and what to say of them; ``raw`` has both parts of divided ones."""

    raw: RawTable
    places: list[int]
    data: NDArray[np.float64]
    kinds: tuple[Kind, ...]
    levels: tuple[tuple[str, ...], ...]
    parts: Parts
    notes: list[str]


def _of_any_kind(
    raw: RawTable,
    places: Sequence[int],
    name: str,
    *,
    told: Mapping[int, Kind],
    may_go: bool,
    masses_apart: bool,
) -> _Found:
    found: dict[int, KindOfColumn] = {}
    for place in places:
        try:
            found[place] = kind_of_column(
                raw.names[place], raw.columns[place], told.get(place), may_go=may_go and place not in told
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    left = {place: one.why for place, one in found.items() if one.kind is None}
    if len(left) == len(found):
        # Of a table that is nothing but such columns they are all there is.
        found = {place: _as_number(raw, place, name) for place in places}
        left = {}
    raw, divided, said = divide(raw, found, told) if masses_apart else (raw, (), None)
    order = [place for kind in Kind for place in found if found[place].kind is kind]
    counts = [place for place in order if found[place].kind is Kind.COUNT]
    if counts:
        # Models of counts take them by their means.
        at = order.index(counts[0])
        counts.sort(key=lambda place: float(np.nanmean(found[place].values)))
        order[at : at + len(counts)] = counts
    data = np.stack([found[place].values for place in order], -1)
    of_kind = tuple(kind for place in order if (kind := found[place].kind) is not None)
    levels = tuple(found[place].levels for place in order)
    names = [raw.names[place] for place in order]
    parts = tuple((order.index(number), order.index(answer), value) for number, answer, value in divided)
    lost = np.isnan(data) & ~apart(data, parts)
    # A cell that is missing is so in both parts of its column.
    whole = np.delete(np.arange(len(names)), [place for _, place, _ in parts])
    missing = _missing_note([names[at] for at in whole], lost[:, whole])
    notes = [kinds_note(names, of_kind, levels), said, _left_note(raw, left), missing]
    for column, own in zip(names, levels, strict=True):
        notes += about_alike(own, short(column, 60))
    kept = [note for note in notes if note is not None]
    return _Found(raw, order, data, of_kind, levels, parts, kept)


def _as_number(raw: RawTable, place: int, name: str) -> KindOfColumn:
    return KindOfColumn(Kind.NUMBER, _numbers(raw, [place], name)[:, 0])


def _left_note(raw: RawTable, left: Mapping[int, str]) -> str | None:
    if not left:
        return None
    said = "; ".join(f"'{_said(raw, place)}': {why}" for place, why in list(left.items())[:_MOST_SHOWN])
    others = [f"'{_said(raw, place)}'" for place in list(left)[_MOST_SHOWN:]]
    more = f"; and {listed(others)}" if others else ""
    return f"Left out, and not clustered: {said}{more}. To cluster such a column, name it in --columns."


def _missing_note(names: Sequence[str], missing: NDArray[np.bool_]) -> str | None:
    lost = missing.sum(0)
    if not lost.any():
        return None
    counts = [f"{count:,} in '{short(one, 40)}'" for one, count in zip(names, lost, strict=True) if count]
    return (
        f"{int(lost.sum()):,} of {missing.size:,} cells are missing ({listed(counts, _MOST_SHOWN)}). They "
        "are integrated out: a missing cell says nothing of its row, and none is filled in."
    )


def _last_texts(raw: RawTable) -> list[str | None]:
    """Return the name and the texts of the last row."""
    return [*(() if raw.row_names is None else raw.row_names[-1:]), *(one.last() for one in raw.columns)]


def _said(raw: RawTable, place: int | None) -> str:
    return "" if place is None else short(raw.names[place], 60)


def _named(raw: RawTable, columns: Sequence[str], name: str) -> list[int]:
    if isinstance(columns, str):
        raise ValueError(f"columns is the text '{short(visible(columns), 60)}', expected a list of names")
    return [column_named(raw, column, name) for column in columns]


def column_named(raw: RawTable, column: object, name: str) -> int:
    """Return the place of a column."""
    wanted = visible(str(column)).strip()
    places = [place for place, one in enumerate(raw.names) if one == wanted]
    if not places:
        # Letters with accents have two forms that look alike.
        form = unicodedata.normalize("NFC", wanted)
        places = [place for place, one in enumerate(raw.names) if unicodedata.normalize("NFC", one) == form]
    if not places:
        hint = ""
        if any("," in one and wanted in one.split(",") for one in raw.names):
            hint = "; put quotes around a name with a comma"
        raise ValueError(f"{name}: {unknown_name('column', wanted, raw.names)}{hint}")
    if len(places) > 1:
        raise ValueError(f"{name}: a column name appears twice, '{short(wanted, 60)}'; rename one of them")
    return places[0]


def _numbers(raw: RawTable, places: Sequence[int], name: str) -> NDArray[np.float64]:
    data = np.empty((raw.num_rows, len(places)))
    for at, place in enumerate(places):
        try:
            data[:, at] = raw.columns[place].numbers()
        except ValueError as error:
            column = _said(raw, place)
            raise ValueError(
                f"{name}: column '{column}' holds {error}, not only real numbers; "
                "choose columns with --columns, or keep it as reference labels with --label "
                f"{shlex.quote(column)}"
            ) from None
    bad = (~np.isfinite(data)).sum(0)
    if bad.any():
        counts = zip(places, bad, strict=True)
        lost = [f"{count} in '{_said(raw, place)}'" for place, count in counts if count]
        where = ", ".join(lost[:_MOST_SHOWN]) + (
            f" and {len(lost) - _MOST_SHOWN:,} more columns" if len(lost) > _MOST_SHOWN else ""
        )
        raise ValueError(f"{name} holds missing or infinite values ({where}); drop or fill those rows first")
    return data
