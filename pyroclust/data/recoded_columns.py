"""Columns that are clustered as others: one category of several, one of two parts, a log scale, a ceiling."""

import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short
from pyroclust.data.columns import Column, RawTable
from pyroclust.data.kinds import Kind, KindOfColumn

_NONE, _SEVERAL = "none of these", "several of these"
# Rare answers that are given apart from one another may never meet by chance.
_CHANCE = 1e-3


def one_hot_groups(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, dict[str, str]]:
    """Return, by prefixes, names of columns of which no row has two, where that is no chance, and levels."""
    groups: dict[str, dict[str, str]] = {}
    for name, values in columns.items():
        if np.isin(values, (0, 1)).all() and 0 < values.mean() < 1:
            for prefix, level in _ways_to_divide(name):
                groups.setdefault(prefix, {})[name] = level
    by_prefix: dict[str, dict[str, str]] = {}
    for prefix, parts in sorted(groups.items(), key=lambda one: (-len(one[1]), -len(one[0]), one[0])):
        rows = np.stack([columns[name] for name in parts], -1)
        shares = rows.mean(0)
        by_chance = np.prod(1 - shares) * (1 + (shares / (1 - shares)).sum())
        is_no_chance = rows.any(-1).all() or len(rows) * np.log(by_chance) < np.log(_CHANCE)
        is_new = not any(parts.keys() & others.keys() for others in by_prefix.values())
        if is_new and len({*parts.values()}) == len(parts) > 1 and rows.sum(-1).max() <= 1 and is_no_chance:
            by_prefix[prefix] = parts
    return by_prefix


def one_hot_merged(
    columns: Mapping[str, Column], *, declared: Container[str], names: Container[str]
) -> tuple[dict[str, Column], list[str]]:
    """Put one category, with a note, in the place of columns of 0 and 1 of one prefix."""
    merged, notes = {name: (name, one) for name, one in columns.items()}, []
    numbers = ((name, one.numbers_or_none()) for name, one in columns.items() if name not in declared)
    values = {name: one for name, one in numbers if one is not None}
    for prefix, parts in one_hot_groups(values).items():
        if prefix not in names:
            first, *others = parts
            merged[first] = prefix, _category([values[name] for name in parts], [*parts.values()])
            merged = {name: one for name, one in merged.items() if name not in others}
            names_of_parts = listed(f"'{short(name, 40)}'" for name in parts)
            way = "To keep one apart, name it in --kinds."
            notes.append(f"{names_of_parts} are one category, '{short(prefix, 40)}'. {way}")
    return dict(merged.values()), notes


def one_hot_column(raw: RawTable, name: str, levels: Sequence[str]) -> Column | None:
    """Return a category whose columns of 0 and 1 are there again; ``None`` where some are not."""
    columns = {}
    for level in levels:
        named = zip(raw.names, raw.columns, strict=True)
        numbers = [one.numbers_or_none() for other, one in named if (name, level) in _ways_to_divide(other)]
        if len(numbers) == 1 and numbers[0] is not None:
            columns[level] = numbers[0]
        elif level != _NONE:
            return None
    return _category([*columns.values()], [*columns])


def _category(columns: Sequence[NDArray[np.float64]], levels: Sequence[str]) -> Column:
    rows = np.stack(columns, -1)
    number = np.where(np.isin(rows, (0, 1)).all(-1), rows.sum(-1), np.nan)
    categories = np.array([*levels, _NONE, _SEVERAL], dtype=object)
    which = np.where(number == 1, rows.argmax(-1), len(levels) + (number > 1))
    return Column(pd.Series(categories[which]).mask(np.isnan(number)).astype("category"))


def _ways_to_divide(name: str) -> list[tuple[str, str]]:
    """Return the ways to divide a name in a prefix and the rest."""
    marks = re.finditer(r"[_.=:/ -]+", name)
    ends = ((name[: one.start()].strip(), name[one.end() :].strip()) for one in marks)
    return [(prefix, rest) for prefix, rest in ends if prefix and rest]


Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""Of each column that was divided the places of its numbers and of its answers, and the value kept apart."""

_FEWEST = 10
_IS = " is "


def split_columns(
    columns: Mapping[str, KindOfColumn], *, kept_whole: Container[str] | None, names: Container[str]
) -> tuple[dict[str, KindOfColumn], dict[str, tuple[str, float]], list[str]]:
    """Divide columns that are mostly one value in two; say, by names of answers, which and the value."""
    divided, wholes, split, unsplit = dict(columns), dict[str, tuple[str, float]](), list[str](), list[str]()
    for whole, one in columns.items():
        is_said = one.kind is Kind.HEAPED
        find = _most_frequent if is_said else _mass_of
        value = find(one.values) if is_said or one.kind is Kind.NUMBER else None
        if value is None:
            continue
        num_present, answer = (~np.isnan(one.values)).sum(), f"{whole}{_IS}{value:g}"
        words = f"'{short(whole, 40)}' ({value:g}: {(one.values == value).sum():,} of {num_present:,})"
        is_kept = not is_said and (kept_whole is None or whole in kept_whole)
        # The name has to say the value exactly.
        cannot = float(f"{value:g}") != value or answer in names
        if cannot and is_said:
            raise ValueError(
                f"column '{short(whole, 60)}' is told to be heaped, but its value {value!r} has more digits "
                f"than a name, or '{short(answer, 60)}' is a column: round it, or call that otherwise"
            )
        if is_kept or cannot:
            unsplit.append(words)
            continue
        split.append(words)
        divided[whole], divided[answer] = split_column(one.values, value)
        wholes[answer] = whole, value
    ways = {
        "Such a column is divided in two: whether a cell holds it, and the number where it does not. To keep "
        "one whole, give --kinds NAME=number.": split,
        "Normal clusters shrink onto such rows, and chains may not find such clusters, or not leave them. "
        "Divide such a column in two: whether a cell holds that value, and the number where it does not "
        "(docs/tables.md).": unsplit,
    }
    begin = "Many cells hold one value in"
    return divided, wholes, [f"{begin} {listed(some)}. {way}" for way, some in ways.items() if some]


_LOG = re.compile(r"log10\((.*)\)", re.DOTALL)
# Amounts such as prices, incomes, populations and durations: they reach over a factor of this, with such a
# skewness, and their logarithms are not skewed, and nearer to two normal groups.
_LEAST_RATIO, _LEAST_SKEWNESS, _MOST_SKEWNESS_OF_LOGS = 20.0, 2.0, 1.0
# Two groups are looked for among so many quantiles, from such cuts; neither is narrower than so many standard
# deviations of all.
_QUANTILES, _CUTS, _STEPS, _NARROWEST = 1000, (0.5, 0.75, 0.9), 60, 0.05


def log_columns(
    columns: Mapping[str, KindOfColumn], *, kept_whole: Container[str] | None, names: Container[str]
) -> tuple[dict[str, KindOfColumn], dict[str, str], list[str]]:
    """Take logarithms of skewed amounts, under names that say so; return too from which columns they are."""
    found, sources, words = dict[str, KindOfColumn](), dict[str, str](), []
    for name, one in columns.items():
        is_free = kept_whole is not None and name not in kept_whole and one.kind is Kind.NUMBER
        as_log = f"log10({name})"
        if one.kind is not Kind.LOG and not (is_free and as_log not in names and _is_amount(one.values)):
            found[name] = one
            continue
        found[as_log], sources[as_log] = KindOfColumn(Kind.NUMBER, log_of(name, one.values)), name
        if one.kind is Kind.NUMBER:
            words.append(
                f"'{short(name, 40)}' ({np.nanmin(one.values):,.10g} to {np.nanmax(one.values):,.10g})"
            )
    note = (
        "Taken on a log scale, as such numbers are positive and skewed, and their logarithms are not: "
        f"{listed(words)}. To take one as it is, give --kinds NAME=number."
    )
    return found, sources, [note] * bool(words)


def source_of_log(name: str) -> str | None:
    """Return of which column a name is that of the logarithms."""
    match = _LOG.fullmatch(name)
    return None if match is None else match[1]


def log_of(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return decadic logarithms."""
    if (lowest := np.nanmin(values, initial=np.inf)) <= 0:
        raise ValueError(
            f"column '{short(name, 60)}' is on a log scale, and holds {lowest:g}, expected numbers above 0"
        )
    return np.log10(values)


def _is_amount(values: NDArray[np.float64]) -> bool:
    present = values[~np.isnan(values)]
    if len(present) < FEWEST_ROWS or present.min() <= 0 or len(np.unique(present)) < FEWEST_VALUES:
        return False
    if present.max() < _LEAST_RATIO * present.min():
        return False
    logs = np.log(present)
    if _skewness(present) <= _LEAST_SKEWNESS or abs(_skewness(logs)) >= _MOST_SKEWNESS_OF_LOGS:
        return False
    # A few large values among many small ones are skewed, too.
    return _log_density_of_two(logs) - logs.mean() > _log_density_of_two(present)


def _log_density_of_two(values: NDArray[np.float64]) -> float:
    """Return the highest mean log density of values under two normal groups, by EM."""
    places = np.linspace(0, len(values) - 1, min(len(values), _QUANTILES)).round().astype(int)
    x = (np.sort(values)[places] - values.mean()) / values.std()
    upper = np.stack([np.arange(len(x)) >= cut * len(x) for cut in _CUTS]).astype(float)
    log_density = np.zeros_like(upper)
    for _ in range(_STEPS):
        shares = np.stack([1 - upper, upper], 1)
        sizes = shares.sum(-1, keepdims=True) + 1e-9
        centres = (shares * x).sum(-1, keepdims=True) / sizes
        variances = (shares * (x - centres) ** 2).sum(-1, keepdims=True) / sizes
        variances = np.maximum(variances, _NARROWEST**2)
        of_groups = np.log(sizes / len(x)) - 0.5 * (
            np.log(2 * np.pi * variances) + (x - centres) ** 2 / variances
        )
        log_density = np.logaddexp(*of_groups.swapaxes(0, 1))
        upper = np.exp(of_groups[:, 1] - log_density)
    return float(log_density.mean(-1).max() - np.log(values.std()))


def _skewness(values: NDArray[np.float64]) -> float:
    return float((((values - values.mean()) / values.std()) ** 3).mean())


def censored_column(
    columns: Mapping[str, KindOfColumn], *, kept_whole: Container[str]
) -> tuple[dict[str, KindOfColumn], list[str]]:
    """Say that the one column of numbers ends at a ceiling that many cells hold, with a note on it."""
    # Beside other numbers it would be independent of them within a cluster, as tests of pupils are not.
    numbers = [name for name, one in columns.items() if one.kind is Kind.NUMBER]
    if len(numbers) != 1 or numbers[0] in kept_whole:
        return {**columns}, []
    name, values = numbers[0], columns[numbers[0]].values
    distinct, times = np.unique(values[~np.isnan(values)], return_counts=True)
    if heap_of(distinct, times) != len(distinct) - 1:
        return {**columns}, []
    ceiling = float(distinct[-1])
    note = (
        f"'{short(name, 40)}' was read as cut at {ceiling:g}, which {times[-1]:,} of {times.sum():,} cells "
        "hold: the numbers behind these lie there or beyond, and are normal within a cluster. To take it as "
        "it is, give --kinds NAME=number; as one value beside numbers, --kinds NAME=heaped."
    )
    return {**columns, name: KindOfColumn(Kind.CENSORED, values, arguments=(None, ceiling))}, [note]


# Of so many rows and values one value is a heap that holds this share, and so many times what others do.
FEWEST_ROWS, FEWEST_VALUES, HEAP, _TIMES_OTHERS = 30, 20, 0.1, 5


def heap_of(distinct: NDArray[np.float64], times: NDArray[np.int64]) -> int | None:
    """Return the place of a value that far more cells hold than others; ``None`` where there is none."""
    if times.sum() < FEWEST_ROWS or len(distinct) < FEWEST_VALUES:
        return None
    most = int(times.argmax())
    others = np.delete(times, most)
    is_heap = times[most] >= max(HEAP * times.sum(), _TIMES_OTHERS * np.quantile(others, 0.9))
    return most if is_heap else None


def split_column(values: NDArray[np.float64], value: float) -> tuple[KindOfColumn, KindOfColumn]:
    """Return the numbers that are not the value, nan elsewhere, and whether a cell is it."""
    # Given its cluster, a cell is the value with a probability, or else a number with a density: where a cell
    # is missing its factor is 1, and so the two columns have the density of the one.
    is_value = values == value
    numbers = np.where(is_value, np.nan, values)
    answers = np.where(np.isnan(values), np.nan, is_value)
    return KindOfColumn(Kind.NUMBER, numbers), KindOfColumn(Kind.YES_NO, answers, ("no", "yes"))


def is_point_mass(data: NDArray[np.float64], parts: Parts) -> NDArray[np.bool_]:
    """Say which cells hold no number because they hold the value that is kept apart, and so miss nothing."""
    is_mass = np.zeros(data.shape, dtype=bool)
    for at, place, _ in parts:
        is_mass[:, at] = np.isnan(data[:, at]) & (data[:, place] == 1)
    return is_mass


def with_point_masses(
    data: NDArray[np.float64],
    parts: Parts,
    *,
    location: float | NDArray[np.float64] = 0.0,
    scale: float | NDArray[np.float64] = 1.0,
) -> NDArray[np.float64]:
    """Return columns that were divided with the value in the cells that held it."""
    masses = np.zeros(data.shape[1])
    for at, _, value in parts:
        masses[at] = value
    return np.where(is_point_mass(data, parts), (masses - location) / scale, data)


def parts_by_name(columns: Sequence[str], kinds: Sequence[Kind]) -> Parts:
    """Return what was divided in folders that do not say so."""
    parts, columns_and_kinds = [], list(enumerate(zip(columns, kinds, strict=True)))
    numbers = {name: place for place, (name, kind) in columns_and_kinds if kind is Kind.NUMBER}
    for place, (name, kind) in columns_and_kinds:
        whole, _, text = name.rpartition(_IS)
        if kind is Kind.YES_NO and whole in numbers:
            with suppress(ValueError):
                parts.append((numbers[whole], place, float(text)))
    return tuple(parts)


def _most_frequent(values: NDArray[np.float64]) -> float | None:
    distinct, times = np.unique(values[~np.isnan(values)], return_counts=True)
    if not len(distinct):
        raise ValueError("a column that is told to be heaped holds no value; leave it out")
    return float(distinct[times.argmax()])


def _mass_of(values: NDArray[np.float64]) -> float | None:
    """Return the value of more than half of the cells, and at least ten; ``None`` where there is none."""
    present = values[~np.isnan(values)]
    if len(present) < _FEWEST:
        return None
    # What more than half of the cells hold is in the middle of all.
    value = float(np.partition(present, len(present) // 2)[len(present) // 2])
    number = (present == value).sum()
    is_mass = number >= _FEWEST and 2 * number > len(present) and len(np.unique(present)) > 2
    return value if is_mass else None
