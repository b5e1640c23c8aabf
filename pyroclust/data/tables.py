"""Tables of numbers to cluster, with what is known of their columns and rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.kinds import Kind
from pyroclust.data.point_masses import Parts, apart, put_back
from pyroclust.data.shapes import PointShape
from pyroclust.text import listed

__all__ = ["Table"]


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
        usual = {"kinds": Kind.NUMBER, "levels": (), "units": "", "codes": ()}
        for field, value in usual.items():
            if not getattr(self, field):
                object.__setattr__(self, field, (value,) * len(self.columns))

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
        found: list[tuple[str, NDArray[Any]]] = []
        whole = put_back(self.data, self.parts)
        for name, levels, values in zip(self.columns, self.levels, whole.T, strict=True):
            if levels:
                texts = np.array([*levels, None], dtype=object)
                values = texts[np.nan_to_num(values, nan=len(levels)).astype(int)]
            found.append((name, values))
        return tuple(found)

    def __repr__(self) -> str:
        known = set() if self.labels is None else set(self.labels) - {None}
        labels = "" if self.labels is None else f", {len(known)} reference labels"
        if self.shape is not None:
            return f"Table({self.name!r}: {len(self.data)} {self.shape}{labels})"
        return f"Table({self.name!r}: {len(self.data)} points of {listed(self.columns)}{labels})"
