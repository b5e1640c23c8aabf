"""Notes on columns, labels and rows that somebody may have meant otherwise."""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short, visible
from pyroclust.data.columns import RawTable
from pyroclust.data.identifiers import words_of
from pyroclust.data.numerals import MISSING, is_numeral
from pyroclust.data.reading import TRANSPOSED
from pyroclust.data.recoded_columns import FEWEST_ROWS, FEWEST_VALUES, HEAP, heap_of, one_hot_groups
from pyroclust.data.tables import Table

_MOST_VALUES, _ROWS_A_VALUE = 15, 5
_FAR, _SHARE_OF_FAR = 100.0, 0.01
_SAME, _ROUNDED, _MOST_IN_A_SUM, _TIMES_CHANCE = 1e-9, 1e-4, 50, 20
_MOST_SHOWN = 4
# Words that stand for no label in many files, and are labels here.
_NO_LABEL = frozenset(
    ("?", "-", "--", ".", "..", "*", "none", "nil", "missing", "unknown", "n.a.", "unlabelled")
)
_CODE = re.compile("[A-Z]{2}")
_FOOTERS = frozenset(
    (
        *("total", "totals", "subtotal", "sum", "mean", "average", "avg", "median", "gesamt", "insgesamt"),
        *("summe", "mittelwert", "somme", "moyenne", "totale", "media", "promedio"),
    )
)
# So many columns for each row are probably rows.
_TIMES_ROWS = 5
# What columns are called that say how many rows each row stands for; the latter of cells of a table alone.
_FREQUENCIES = {"freq", "frequency", "frequencies", "haeufigkeit", "effectif", "frecuencia", "frequenza"}
_LATITUDES, _LONGITUDES = ("lat", "latitude"), ("lon", "long", "lng", "longitude")
# Degrees of longitude become shorter by more than this share, or places lie on both sides of the date line.
_LEAST_SHRINK, _HALF_A_TURN = 0.8, 180.0
_NUMBERS_OF = {"n", "count", "counts", "anzahl"}
# What columns are called that may hold classes of some rows. Such a one has this share of empty cells, others
# at most a share of that; one of any name, beside which all cells are there, has more.
_CLASSES = frozenset(
    (
        *("class", "classes", "label", "labels", "group", "type", "species", "cluster", "category", "truth"),
        *("diagnosis", "annotation", "klasse", "gruppe", "typ", "diagnose", "classe", "groupe", "espece"),
        *("clase", "grupo", "tipo", "especie", "etiqueta", "gruppo", "specie", "etichetta"),
    )
)
_EMPTY_CLASSES, _EMPTY_BESIDE, _EMPTY_ALONE = 0.2, 0.5, 1 / 3


def doubts_of(
    columns: Mapping[str, NDArray[np.float64]],
    row_names: Sequence[str],
    *,
    groups: Mapping[str, NDArray[np.float64]],
) -> tuple[str, ...]:
    """Return a sentence for each way in which columns of numbers, or of groups, may mislead."""
    heaps, few, far = [], [], []
    for name, values in columns.items():
        shown, present = f"'{short(name, 40)}'", values[~np.isnan(values)]
        distinct, times = np.unique(present, return_counts=True)
        heaps += _heap(shown, distinct, times)
        few += _few_values(shown, distinct, len(present))
        far += _far(shown, values, np.repeat(distinct, times), row_names)
    one_hot = one_hot_groups(groups).values()
    turns = {one for names in one_hot for one in names}
    numbers = {name: one for name, one in groups.items() if np.nanmax(one) == 1 and name not in turns}
    doubts = {
        ": clusters may be patterns of who is there, and how many others there are cannot be told; where "
        "numbers are cut at a limit, give --kinds NAME=censored, and where one value stands apart, "
        "NAME=heaped.": heaps,
        ": clusters may be single values; give answers and counts as they were before they were rescaled, or "
        "take such columns as categories with --kinds NAME=category.": few,
        ": one such cell sets the scale of its column, and hides the groups of all other rows; correct it, "
        "or leave the row out.": far,
        " hold the same numbers, perhaps in other units: together they count twice; leave one out with "
        "--except.": _twins(columns),
        " follow from one another, as a total from its parts; leave one out with --except.": [
            *_sums(columns),
            *_sums(numbers),
        ],
        " hold one category in columns of 0 and 1, where it counts as often: make it one column, as "
        "pandas' from_dummies does.": [listed(f"'{short(name, 40)}'" for name in names) for names in one_hot],
        ": copies make clusters of their own; leave them out, or say how often a row counts with --weight.": (
            _again(np.stack([*columns.values(), *groups.values()], -1)) if columns else []
        ),
        " in every column of numbers: remove it if it is no point.": _totals(columns),
        " were read as a flat map, on which places far to the north, or on both sides of the date line, lie "
        "where they are not; give kilometres of a projection of that part of the earth.": _globe(columns),
        " divide the rows alike: together they count twice; leave one out with --except.": _copies(groups),
    }
    return tuple(f"{listed(some, _MOST_SHOWN)}{what}" for what, some in doubts.items() if some)


def _heap(shown: str, distinct: NDArray[np.float64], times: NDArray[np.int64]) -> list[str]:
    if (most := heap_of(distinct, times)) is None:
        return []
    end = {0: ", its smallest value", len(distinct) - 1: ", its largest value"}.get(most, "")
    share = times[most] / times.sum()
    return [f"{100 * share:.0f} % of the rows have {distinct[most]:g} in {shown}{end}"]


def _few_values(shown: str, distinct: NDArray[np.float64], num_rows: int) -> list[str]:
    number = len(distinct)
    is_few = 2 <= number <= _MOST_VALUES and num_rows >= _ROWS_A_VALUE * number
    # Whole numbers are seen as what they are where kinds are found out.
    if not is_few or (distinct == np.round(distinct)).all():
        return []
    return [f"{shown} has {number} different values in {num_rows:,} rows"]


def _far(
    shown: str, values: NDArray[np.float64], ranked: NDArray[np.float64], row_names: Sequence[str]
) -> list[str]:
    number = len(ranked)
    if number < FEWEST_ROWS:
        return []
    low, middle, high = np.interp(np.array([0.05, 0.5, 0.95]) * (number - 1), np.arange(number), ranked)
    distance = np.abs(values - middle)
    number_far = (distance > _FAR * (high - low)).sum()
    if high == low or not 0 < number_far <= max(1, _SHARE_OF_FAR * number):
        return []
    row = int(np.nanargmax(distance))
    cell = f"row {short(row_names[row], 30)} has {values[row]:g} in {shown}"
    return [f"{cell}, where others are {low:g} to {high:g}"]


def _copies(groups: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Return columns whose categories are those of an earlier one under other names."""
    seen: dict[bytes, str] = {}
    copies = []
    for name, values in groups.items():
        codes, different = pd.factorize(values, use_na_sentinel=False)
        if len(different) > 1 and len(values) >= FEWEST_ROWS:
            other = seen.setdefault(codes.tobytes(), name)
            copies += [f"'{short(other, 40)}' and '{short(name, 40)}'"] if other != name else []
    return copies


def _sums(columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Return columns that others say to a hundredth of their spread; those of two alike are twins."""
    whole = {name: one for name, one in columns.items() if not np.isnan(one).any() and np.ptp(one) > 0}
    if not 2 <= len(whole) <= _MOST_IN_A_SUM or len(next(iter(whole.values()))) < 3 * len(whole):
        return []
    with np.errstate(all="ignore"):
        correlations = np.corrcoef([*whole.values()])
    alone = ~(np.abs(np.triu(correlations, 1)) > 1 - _SAME).any(0)
    # The diagonal of the inverse is one over the share of the variance that others do not say.
    inverse = np.linalg.inv(correlations[np.ix_(alone, alone)] + 1e-12 * np.eye(alone.sum()))
    inverse_shares = zip(np.array([*whole], dtype=object)[alone], np.diag(inverse), strict=True)
    names = [f"'{short(name, 40)}'" for name, one in inverse_shares if one > 1 / _ROUNDED]
    return names if len(names) > 1 else []


def _again(rows: NDArray[np.float64]) -> list[str]:
    """Say how many rows come again in all columns, where some measure and that is no chance."""
    number, shares = len(rows), [np.unique(one, return_counts=True)[1] / len(rows) for one in rows.T]
    _, times = np.unique(pd.util.hash_pandas_object(pd.DataFrame(rows), index=False), return_counts=True)
    by_chance = np.prod([(one**2).sum() - 1 / number for one in shares]) * number**2
    again, pairs = number - len(times), (times * (times - 1)).sum()
    is_copied, measured = np.gcd.reduce(times) > 1, sum(len(one) >= FEWEST_VALUES for one in shares)
    if number < FEWEST_ROWS or measured < (1 if is_copied else 2):
        return []
    if not is_copied and (again < HEAP * number or pairs < _TIMES_CHANCE * by_chance):
        return []
    return [f"{again:,} of {number:,} rows come again in all columns"]


def _totals(columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Say where the last row holds the sums of all others in each column of numbers, or their means."""
    varying = [one for one in columns.values() if len(np.unique(one[np.isfinite(one)])) > 2]
    for how in (np.nansum, np.nanmean):
        ends = [(one[-1], how(one[:-1])) for one in varying]
        if len(ends) > 1 and all(np.isclose(last, other, rtol=_SAME, atol=0) for last, other in ends):
            return ["The last row holds the totals or means of the others"]
    return []


def _globe(columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Return pairs of latitudes and longitudes that reach so far that a flat map is another thing."""
    named = {word: name for name in columns for word in words_of(name)}
    latitude, longitude = (
        next((named[one] for one in words if one in named), None) for words in (_LATITUDES, _LONGITUDES)
    )
    if latitude is None or longitude is None:
        return []
    (south, north), (west, east) = (
        (np.nanmin(columns[name]), np.nanmax(columns[name])) for name in (latitude, longitude)
    )
    if not -90 <= south <= north <= 90 or not -180 <= west <= east <= 360:
        return []
    shrink = np.cos(np.deg2rad([south, north]))
    is_flat = east - west < _HALF_A_TURN and shrink.min() > _LEAST_SHRINK * shrink.max()
    return [] if is_flat else [f"'{short(latitude, 40)}' and '{short(longitude, 40)}'"]


def _twins(columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    names, scaled = [], []
    for name, values in columns.items():
        if not np.isnan(values).any() and len(np.unique(values)) > 2:
            names.append(f"'{short(name, 40)}'")
            scaled.append((values - values.mean()) / (values.std() * np.sqrt(len(values))))
    if not names:
        return []
    rows = np.array(scaled)
    # Weighted alike, the same numbers have the same sum, but for its sign.
    order = np.argsort(np.abs(rows @ np.random.default_rng(0).normal(size=rows.shape[1])))
    pairs: list[tuple[int, int]] = []
    for step in range(1, _MOST_SHOWN + 1):
        one, other = order[:-step], order[step:]
        alike = np.abs(np.einsum("ij,ij->i", rows[one], rows[other])) > 1 - _SAME
        pairs += zip(one[alike].tolist(), other[alike].tolist(), strict=True)
    return [f"{names[min(pair)]} and {names[max(pair)]}" for pair in sorted(pairs, key=sorted)]


def label_notes(labels: NDArray[np.object_], column: str, name: str) -> list[str]:
    """Return notes on labels that are missing, or that somebody may have meant otherwise."""
    classes, num_missing = _classes(labels)
    if not classes:
        raise ValueError(f"{name}: column '{column}' holds no label; leave --label out")
    named = _that_stand_for_none(classes)
    notes = {
        f"{num_missing:,} of {len(labels):,} rows have no label in '{column}': they are clustered, and left "
        "out where a clustering is compared with the labels.": num_missing > 0,
        f"In '{column}' {named} is the name of a class like any other; a row without a label has an empty "
        "cell.": named != "",
        f"In '{column}' all labels are the same one, “{short(visible(classes[0]), 30)}”.": len(classes) == 1,
        f"In '{column}' every row has a label of its own: it looks like an identifier.": (
            len(classes) == len(labels) > 2
        ),
    }
    return [*(note for note, is_so in notes.items() if is_so), *alike_notes(classes, column)]


def partial_label_notes(labels: NDArray[np.object_], column: str, name: str) -> list[str]:
    """Return notes on partial labels that somebody may have meant otherwise."""
    classes, num_missing = _classes(labels)
    shown = f"{name}: column '{column}'"
    if not classes:
        raise ValueError(f"{shown} holds no label, expected some rows with one; leave --partial-labels out")
    if len(classes) == len(labels):
        raise ValueError(
            f"{shown} gives every row a label of its own, expected empty cells where nothing is known: name "
            "another column with --partial-labels"
        )
    if named := _that_stand_for_none(classes):
        raise ValueError(
            f"{shown} holds {named}, which would be a class like any other, expected empty cells where "
            "nothing is known: empty these cells"
        )
    notes = alike_notes(classes, column)
    if len(labels) < 2 * min(2 * len(classes), len(labels) - num_missing):
        notes.append(
            f"In '{column}' {len(classes):,} labels are known of {len(labels) - num_missing:,} rows, as of a "
            "measurement: rows of different labels are kept apart."
        )
    return notes


def _classes(labels: NDArray[np.object_]) -> tuple[list[str], int]:
    """Return the different labels, and how many rows have none."""
    known = [label for label in labels if label is not None]
    return list(dict.fromkeys(known)), len(labels) - len(known)


def _that_stand_for_none(classes: Sequence[str]) -> str:
    return listed(f"“{one}”" for one in classes if one in MISSING or _plain(one) in _NO_LABEL)


def alike_notes(classes: Iterable[str], column: str, what: str = "classes") -> list[str]:
    """Return a note on two texts that differ in no more than spaces, capitals or zeros."""
    seen: dict[object, str] = {}
    for label in classes:
        key: object = _plain(label)
        with suppress(ValueError):
            key = float(label)
        if (other := seen.setdefault(key, label)) is not label:
            one, two = (short(visible(alike), 30) for alike in (other, label))
            return [f"In '{column}' “{one}” and “{two}” are two {what}, as written."]
    return []


def na_notes(cells: NDArray[np.object_], levels: Sequence[str], column: str) -> list[str]:
    """Return a note on cells that are missing as they hold NA, where all else are codes of two letters."""
    num_missing = sum(cell is not None and cell.strip() == "NA" for cell in cells)
    if not num_missing or "NA" in levels or not all(map(_CODE.fullmatch, levels or ("",))):
        return []
    return [
        f"In '{short(column, 60)}' {num_missing:,} cell(s) written NA were read as missing, beside codes "
        f"such as {levels[0]}: if NA is a code too, give --missing {shlex.quote(f'{column}=')}."
    ]


def footer_note(last: Sequence[str]) -> str | None:
    """Say where the last row looks like a total of the others."""
    for text in last:
        words = text.strip(" :.").casefold().split()
        if words and len(words) <= 3 and _FOOTERS & {words[0], words[-1]}:
            shown = short(visible(text.strip()), 30)
            return f"The last row, with “{shown}”, was read as a point: if it is no point, remove it."
    return None


def _plain(label: str) -> str:
    """Return what is seen of a label: no forms of letters, capitals, repeated or invisible characters."""
    seen = unicodedata.normalize("NFKC", label).casefold()
    return " ".join("".join(one for one in seen if unicodedata.category(one) != "Cf").split())


def turned_note(raw: RawTable, num_columns: int) -> list[str]:
    """Say that features may lie in rows, where there are many more columns than rows with names."""
    if TRANSPOSED in raw.notes or raw.num_rows < 3 or num_columns < _TIMES_ROWS * raw.num_rows:
        return []
    first = raw.row_names or raw.columns[0].labels().tolist()
    names = [one for one in first if one and not is_numeral(one)]
    if len(set(names)) < raw.num_rows:
        return []
    return [
        f"There are {num_columns:,} columns and {raw.num_rows:,} rows, which have names such as "
        f"'{short(visible(names[0]), 40)}': if rows are what was measured, and columns who, give --transpose."
    ]


def half_known_note(table: Table) -> str | None:
    """Say which answers or categories may be what is known of the clusters: one column is often empty."""
    num_empty = table.missing.sum(0)
    place = int(num_empty.argmax())
    name, share = table.columns[place], float(num_empty[place]) / len(table.data)
    most_beside = float(np.delete(num_empty, place).max(initial=0)) / len(table.data)
    is_class = share >= _EMPTY_CLASSES and most_beside <= _EMPTY_BESIDE * share
    if not _CLASSES & {*words_of(name)}:
        is_class = share >= _EMPTY_ALONE and most_beside == 0
    if not is_class or not table.levels[place]:
        return None
    told = shlex.quote(name)
    return (
        f"'{short(name, 60)}' is empty in {num_empty[place]:,} of {len(table.data):,} rows, and was read as "
        f"a measurement like any other: if it holds what is known of the clusters, give --partial-labels "
        f"{told}; if it is to be compared with them, --label {told}."
    )


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
