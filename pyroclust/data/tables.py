"""Tables of points to cluster, points that are no rows of columns, and the scale that models expect."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed, short
from pyroclust.core.numbers import check_count, mean_imputed
from pyroclust.data.kinds import Kind
from pyroclust.data.recoded_columns import Parts, is_point_mass, with_point_masses
from pyroclust.partitions.graph_spectra import node_positions


@dataclass(frozen=True)
class PointShape:
    """What a point is where it is no vector; as text, what all are, as ``images of 28 x 28 pixels``."""

    noun: ClassVar[str]  # what one point is called
    all_of_them: ClassVar[str]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(vars(self).values())

    def fits(self, event_shape: tuple[int, ...]) -> bool:
        """Say whether a model whose points have a shape is for these points."""
        return event_shape == self.event_shape

    def __str__(self) -> str:
        return self.all_of_them.format(*self.event_shape)


@dataclass(frozen=True)
class Images(PointShape):
    """Points that are grey images, pixels in 0..1."""

    height: int
    width: int

    noun = "image"
    all_of_them = "images of {} x {} pixels"


@dataclass(frozen=True)
class Waveforms(PointShape):
    """Points that are pieces of a recording of several channels."""

    num_channels: int
    num_samples: int

    noun = "waveform"
    all_of_them = "waveforms of {} channels and {} samples"


@dataclass(frozen=True, eq=False)
class Graph(PointShape):
    """Points that are the nodes of a graph, each with its row of the adjacency matrix."""

    adjacency: NDArray[np.float64] = field(repr=False)

    noun = "node"
    all_of_them = "nodes of a graph"

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of the row of a node."""
        return (len(self.adjacency),)

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Where the nodes are drawn, ``(N, 2)``."""
        return node_positions(self.adjacency)

    def fits(self, event_shape: tuple[int, ...]) -> bool:
        """Say whether a model is one of graphs, of whatever size."""
        return event_shape == (-1,)


@dataclass(frozen=True)
class Table:
    """Points to cluster, in the units of their source, and what is known of their columns and rows."""

    name: str  # what reports call it
    data: NDArray[np.float64]  # (N, D), nan where a cell is missing; places of levels where there are some
    columns: tuple[str, ...]  # characters that are not printed are written as escapes
    labels: NDArray[np.object_] | None  # (N,), for comparison, and never used for clustering
    row_names: tuple[str, ...]
    notes: tuple[str, ...] = ()  # sentences on what was guessed or left out
    shape: PointShape | None = None  # what a point is where it is no row of columns, which are laid flat
    partial_labels: NDArray[np.object_] | None = None  # (N,), what is known of the clusters, and used
    kinds: tuple[Kind, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()  # categories as written; empty for numbers and counts
    units: tuple[str, ...] = ()  # that numbers are written with, as "%", or "days since 2020-01-31"
    codes: tuple[tuple[str, ...], ...] = ()  # values that were said to stand for missing cells
    doubts: tuple[str, ...] = ()  # sentences on columns that may make clusters of their own
    parts: Parts = ()
    # Once around a circle; floor and ceiling of numbers that are cut.
    arguments: tuple[tuple[float | None, ...], ...] = ()
    weights: NDArray[np.int64] | None = None  # (N,), how many equal rows each row stands for

    def __post_init__(self) -> None:
        usual = {"kinds": Kind.NUMBER, "levels": (), "units": "", "codes": (), "arguments": ()}
        for name, value in usual.items():
            if not getattr(self, name):
                object.__setattr__(self, name, (value,) * len(self.columns))

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
        return np.isnan(self.data) & ~is_point_mass(self.data, self.parts)

    @property
    def imputable(self) -> NDArray[np.bool_]:
        """Which missing cells have a law: successes have none where nobody knows of how many trials."""
        return self.missing & ~np.isin(self.kinds, (Kind.BINOMIAL, Kind.TRIALS))

    def written(self) -> tuple[tuple[str, NDArray[Any]], ...]:
        """Return names and values of the columns: numbers, or text where they hold answers or categories."""
        columns: list[tuple[str, NDArray[Any]]] = []
        whole = with_point_masses(self.data, self.parts)
        for name, levels, values in zip(self.columns, self.levels, whole.T, strict=True):
            if levels:
                texts = np.array([*levels, None], dtype=object)
                values = texts[np.nan_to_num(values, nan=len(levels)).astype(int)]
            columns.append((name, values))
        return tuple(columns)

    def __repr__(self) -> str:
        known = set() if self.labels is None else set(self.labels) - {None}
        labels = "" if self.labels is None else f", {len(known)} reference labels"
        if self.shape is not None:
            return f"Table({self.name!r}: {len(self.data)} {self.shape}{labels})"
        return f"Table({self.name!r}: {len(self.data)} points of {listed(self.columns)}{labels})"


_NUMBERS = Kind.NUMBER, Kind.CENSORED
# Squares of smaller numbers lose digits; a spread below this share of the mean is rounding.
_SMALLEST, _ROUNDING = 1e-150, 1e-12
# Share of the variance that rounding leaves of a direction in which nothing varies.
_NOTHING = 1e-14


@dataclass(frozen=True)
class Standardised:
    """Points as a guide sees them; ``data * scale + location`` are the units of ``columns``."""

    data: NDArray[np.float64]  # (N, D)
    location: NDArray[np.float64]  # (D,), subtracted
    scale: NDArray[np.float64]  # (D,), divided by afterwards
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()  # sentences for the report
    is_raw: bool = False  # the numbers are those of the table, neither shifted nor scaled

    def __repr__(self) -> str:
        return f"Standardised({len(self.data)} points of {listed(self.columns)})"


def standardise(table: Table) -> Standardised:
    """Shift and scale every column of numbers to mean 0 and variance 1 (division by N).

    Counts, answers and categories stay as they are. Missing cells do not count, and stay missing; rows count
    by their weights.

    Raises:
        ValueError: if a column is constant, or so large that its variance overflows.

    Example:
        >>> from pyroclust.data.datasets import read_table
        >>> points = standardise(read_table("galaxies"))
        >>> bool(abs(points.data.std() - 1) < 1e-12), points.location.round().tolist()
        (True, [20831.0])
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        location, scale = _mean_and_spread(table.data, table.weights)
    others = ~np.isin(table.kinds, _NUMBERS)
    location[others], scale[others] = 0.0, 1.0
    for place, name in enumerate(table.columns):
        if others[place]:
            continue
        if (problem := _problem(table.data[:, place], location[place], scale[place])) is not None:
            raise ValueError(f"{table.name}: column '{short(name, 60)}' {problem}")
    points = table.data - location
    points /= scale
    return Standardised(points, location, scale, table.columns)


def _mean_and_spread(
    data: NDArray[np.float64], weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if weights is not None:
        present = ~np.isnan(data) * weights[:, None]
        with np.errstate(divide="ignore"):
            mean = np.where(present, data, 0.0).T @ weights / present.sum(0)
            squares = np.where(present, data - mean, 0.0) ** 2
            return mean, np.sqrt(squares.T @ weights / present.sum(0))
    # Columns without any value are refused afterwards, in a sentence instead of numpy's warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(data, 0), np.nanstd(data, 0)


def _problem(values: NDArray[np.float64], centre: float, spread: float) -> str | None:
    """Say why a column cannot be standardised; ``None`` where it can."""
    values = values[~np.isnan(values)]
    if not len(values):
        return "holds no value; leave it out with --columns"
    if (values == values[0]).all():
        return "is constant and cannot be standardised; leave it out with --columns"
    if not np.isfinite(spread):
        return "is too large for its variance; rescale it first"
    if spread < _SMALLEST:
        return "is too small for its variance; rescale it first"
    if spread <= _ROUNDING * abs(centre):
        return (
            "varies by hardly more than rounding; subtract a constant from it, or leave it out with --columns"
        )
    return None


def unscaled(table: Table) -> Standardised:
    """Take the numbers as they are, for guides whose model fixes the scale of the data."""
    dim = table.data.shape[1]
    return Standardised(table.data, np.zeros(dim), np.ones(dim), table.columns, is_raw=True)


def principal_components(points: Standardised, num_components: int) -> Standardised:
    """Project points on their first principal components."""
    from sklearn.decomposition import PCA

    num_points, dim = points.data.shape
    if np.isnan(points.data).any():
        raise ValueError(
            f"pca is {num_components}, but cells are missing, and principal components need all: leave "
            "pca or these rows out"
        )
    num_components = check_count("pca", num_components, at_least=0)
    if not 1 <= num_components <= min(num_points, dim):
        raise ValueError(
            f"pca is {num_components}, expected 1 to {min(num_points, dim)} "
            f"for {num_points} points in {dim} column(s)"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        decomposition = PCA(num_components, svd_solver="full").fit(points.data)
        turned = points.data @ decomposition.components_.T
    scores = turned if points.is_raw else decomposition.transform(points.data)
    shares = decomposition.explained_variance_ratio_
    if not (shares > _NOTHING).all():
        raise ValueError(
            f"pca is {num_components}, but the columns vary in {(shares > _NOTHING).sum()} direction(s) "
            "only, expected no more components than that"
        )
    # One number for all: distances keep their proportions, and the first component stays the widest.
    common = 1.0 if points.is_raw else float(np.sqrt(scores.var(0).mean()))
    variances = ", ".join(f"{share:.1%}" for share in shares)
    kind = "columns as they are" if points.is_raw else "standardised columns"
    note = (
        f"{num_components} principal component(s) of {dim} {kind} ({listed(points.columns)}) were clustered; "
        f"they keep {variances} of the variance."
    )
    return Standardised(
        data=scores / common,
        location=np.zeros(num_components),
        scale=np.full(num_components, common),
        columns=tuple(f"PC{i}" for i in range(1, num_components + 1)),
        notes=(*points.notes, note),
        is_raw=points.is_raw,
    )


def indicators(data: NDArray[np.float64], table: Table) -> NDArray[np.float64]:
    """Return rows with a column of 0 and 1 for each category, and shares in place of successes and trials.

    Places on a circle are their cosine and sine, ordered answers the numbers that they are written as, or
    their ranks from 1, and all other columns as they are.
    """
    parts: list[NDArray[np.float64]] = []
    for place, (kind, levels) in enumerate(zip(table.kinds, table.levels, strict=True)):
        column = data[..., place : place + 1]
        if kind is Kind.CATEGORY:
            column = np.where(np.isnan(column), np.nan, column == np.arange(len(levels)))
        elif kind is Kind.ORDERED:
            column = np.append(_ranks(levels), np.nan)[np.nan_to_num(column, nan=len(levels)).astype(int)]
        elif kind is Kind.CIRCULAR:
            angle = column * (2 * np.pi / (table.arguments[place][0] or 1.0))
            column = np.concatenate([np.cos(angle), np.sin(angle)], -1)
        elif kind is Kind.TRIALS:
            with np.errstate(invalid="ignore"):
                parts[-1] = parts[-1] / column
            continue
        parts.append(column)
    return np.concatenate(parts, -1) if {Kind.ORDERED, *_WIDTHS} & {*table.kinds} else data


def _ranks(levels: tuple[str, ...]) -> NDArray[np.float64]:
    try:
        return np.array([float(one) for one in levels])
    except ValueError:
        return np.arange(1.0, len(levels) + 1)


# How many columns of vectors a column becomes, by its number of levels.
_WIDTHS: dict[Kind, Callable[[int], int]] = {
    Kind.CATEGORY: lambda levels: levels,
    Kind.CIRCULAR: lambda levels: 2,
    Kind.TRIALS: lambda levels: 0,
}


def indicator_names(table: Table) -> tuple[str, ...]:
    """Return the names of the columns of :func:`indicators`."""
    names: list[str] = []
    for column, kind, levels in zip(table.columns, table.kinds, table.levels, strict=True):
        if kind is Kind.CIRCULAR:
            names += [f"{column} (cosine)", f"{column} (sine)"]
        if kind is Kind.BINOMIAL:
            names.append(f"{column} (share)")
        if kind in (Kind.CIRCULAR, Kind.BINOMIAL, Kind.TRIALS):
            continue
        shown = {Kind.YES_NO: levels[1:], Kind.ORDERED: ()}.get(kind, levels)
        names += [f"{column} = {one}" for one in shown] or [column]
    return tuple(names)


def as_vectors(data: NDArray[np.float64], table: Table) -> NDArray[np.float64]:
    """Return complete vectors of rows, for pictures and methods of distances: gaps are at the means."""
    wide = mean_imputed(indicators(data, table))
    if table.are_numbers:
        return wide
    centred = wide - wide.mean(-2, keepdims=True)
    spread = np.sqrt((centred**2).mean(-2, keepdims=True))
    columns = zip(table.kinds, table.levels, strict=True)
    sizes = [_WIDTHS[kind](len(levels)) if kind in _WIDTHS else 1 for kind, levels in columns]
    # A category, and a place on a circle, counts as one column does.
    scaled = centred / np.where(spread > 0, spread, 1.0) / np.sqrt(np.repeat(sizes, sizes))
    are_numbers = np.repeat(np.isin(table.kinds, _NUMBERS), sizes)
    return np.where(are_numbers, wide, scaled)


def leading_components(points: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return the leading principal components of points as they are, ``(N, min(most, N - 1, D))``."""
    from sklearn.decomposition import PCA

    num_points, dim = points.shape
    decomposition = PCA(max(1, min(most, num_points - 1, dim)), svd_solver="full")
    scores: NDArray[np.float64] = decomposition.fit_transform(points)
    return scores


@dataclass(frozen=True, kw_only=True)
class ColumnsOfTable:
    """What a table holds, by kinds, as :func:`~pyroclust.models.table_mixture` wants to know it."""

    numbers: int = 0
    count_means: tuple[float, ...] = ()  # of each column of counts
    yes_no: int = 0
    levels: tuple[int, ...] = ()  # how many each column of categories has
    ordered: tuple[int, ...] = ()  # how many each column of ordered answers has
    overdispersed_means: tuple[float, ...] = ()  # of each column of overdispersed counts
    periods: tuple[float, ...] = ()  # of each column of places on a circle
    limits: tuple[tuple[float | None, ...], ...] = ()  # of each column that is cut, as points have them
    trials: tuple[tuple[int, ...], ...] = ()  # numbers that each column of successes has
    missing: bool = False

    @classmethod
    def of(cls, table: Table, points: Standardised) -> "ColumnsOfTable":
        """Look at a table; principal components of its columns are numbers."""
        if points.data.shape[1] != len(table.kinds):
            return cls(numbers=points.data.shape[1])
        of_kind = {kind: [at for at, one in enumerate(table.kinds) if one is kind] for kind in Kind}
        # A column of zeros alone has a mean of 0, where the prior needs a scale.
        means = {
            kind: tuple(float(np.nanmean(table.data[:, at])) or 1.0 for at in of_kind[kind])
            for kind in (Kind.COUNT, Kind.OVERDISPERSED)
        }
        return cls(
            numbers=len(of_kind[Kind.NUMBER]),
            count_means=means[Kind.COUNT],
            yes_no=len(of_kind[Kind.YES_NO]),
            levels=tuple(len(table.levels[at]) for at in of_kind[Kind.CATEGORY]),
            ordered=tuple(len(table.levels[at]) for at in of_kind[Kind.ORDERED]),
            overdispersed_means=means[Kind.OVERDISPERSED],
            periods=tuple(table.arguments[at][0] or 1.0 for at in of_kind[Kind.CIRCULAR]),
            limits=tuple(
                tuple(
                    None if one is None else float((one - points.location[at]) / points.scale[at])
                    for one in table.arguments[at]
                )
                for at in of_kind[Kind.CENSORED]
            ),
            trials=tuple(_quantiles(table.data[:, at]) for at in of_kind[Kind.TRIALS]),
            missing=table.has_missing,
        )


def _quantiles(values: NDArray[np.float64]) -> tuple[int, ...]:
    """Return some of the numbers of trials that there are, for simulations."""
    present = values[~np.isnan(values)]
    some = np.quantile(present, np.linspace(0, 1, 9), method="nearest") if len(present) else [1]
    return tuple(int(one) for one in some)
