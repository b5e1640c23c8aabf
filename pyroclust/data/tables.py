"""Tables of points to cluster, with what is known of columns and rows; points that are no rows of columns."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed
from pyroclust.data.kinds import Kind
from pyroclust.data.point_masses import Parts, is_point_mass, with_point_masses
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
    weights: NDArray[np.int64] | None = None  # (N,), how many equal rows each row stands for

    def __post_init__(self) -> None:
        usual = {"kinds": Kind.NUMBER, "levels": (), "units": "", "codes": ()}
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
