"""The data of an analysis: the table in its units, and the points as the model sees them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.core.messages import listed
from pyroclust.data import Table
from pyroclust.data.kinds import Kind
from pyroclust.data.recoded_columns import with_point_masses
from pyroclust.data.tables import (
    Graph,
    PointShape,
    Standardised,
    as_vectors,
    indicator_names,
    indicators,
    leading_components,
)

_COMPONENTS = 10


@dataclass(frozen=True)
class AnalysedData:
    """A table, and its points on the scale on which they are clustered."""

    table: Table  # in the units of its source
    points: Standardised  # the same as the model sees them: data * scale + location are the units

    def __repr__(self) -> str:
        return f"AnalysedData({self.table.name}: {self.size_in_words})"

    @property
    def values(self) -> np.ndarray:
        """The points as the model sees them, ``(N, D)``."""
        return self.points.data

    @property
    def shape(self) -> PointShape | None:
        """What a point is where it is no row of columns."""
        return self.table.shape

    @cached_property
    def clustered(self) -> Table:
        """The table in the columns of the points and in units; principal components are numbers."""
        are_those_of_the_table = self.shape is None and len(self.points.columns) == len(self.table.kinds)
        names = ("kinds", "levels", "units", "codes", "parts", "arguments")
        numbers: dict[str, Any] = dict.fromkeys(names, ())
        return replace(
            self.table,
            data=self.values * self.points.scale + self.points.location,
            columns=self.points.columns,
            **({} if are_those_of_the_table else numbers),
        )

    @cached_property
    def complete(self) -> np.ndarray:
        """The points as vectors without gaps, for pictures and for what knows distances alone."""
        if self.shape is not None:
            return self.values
        scale = {"location": self.points.location, "scale": self.points.scale}
        whole = with_point_masses(self.values, self.clustered.parts, **scale)
        return as_vectors(whole, self.clustered)

    @property
    def described_by(self) -> tuple[str, ...]:
        """Names of the columns that describe clusters: one for each category."""
        return indicator_names(self.clustered)

    @property
    def shown(self) -> np.ndarray:
        """The points on the axes of pictures: in the units of the columns where there are at most two."""
        # The first two principal components of columns in different units would be those of one column.
        if isinstance(self.shape, Graph):
            return self.shape.positions
        if self.complete.shape[1] > 2 or not self.clustered.are_numbers:
            return self.complete
        return self.complete * self.points.scale + self.points.location

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Names of the axes of pictures."""
        return ("across", "along") if isinstance(self.shape, Graph) else self.described_by

    @cached_property
    def vectors(self) -> np.ndarray:
        """The points as classical methods take them: images and waveforms by ten principal components."""
        as_they_are = self.shape is None or isinstance(self.shape, Graph)
        return self.complete if as_they_are else leading_components(self.values, _COMPONENTS)

    @property
    def described(self) -> np.ndarray | None:
        """The columns that describe clusters, in units, ``(N, D)``; ``None`` of images and graphs."""
        return None if self.shape is not None else indicators(self.clustered.data, self.clustered)

    @property
    def size_in_words(self) -> str:
        """How many points there are, and what they are."""
        kind = f"rows of {listed(self.points.columns)}" if self.shape is None else str(self.shape)
        return f"{len(self.values):,} {kind}"


@dataclass(frozen=True)
class ColumnOfMissing:
    """The missing cells of one column."""

    name: str
    kind: Kind
    levels: tuple[str, ...]  # its categories, or what stands for no and for yes
    rows: np.ndarray  # places of the cells, (M,)
    draws: np.ndarray  # values by draws of the posterior, in the units of the column, (S, M)
    observed: np.ndarray  # the cells that are there

    @property
    def centre(self) -> np.ndarray:
        """Posterior means, ``(M,)``."""
        return self.draws.mean(0)

    @property
    def interval(self) -> np.ndarray:
        """2.5 % and 97.5 % quantiles, ``(2, M)``."""
        return np.quantile(self.draws, (0.025, 0.975), axis=0)

    @property
    def probabilities(self) -> np.ndarray:
        """Probabilities of the levels, ``(M, L)``; none for numbers and counts."""
        return (self.draws[..., None] == np.arange(len(self.levels))).mean(0)


@dataclass(frozen=True)
class MissingCells:
    """Posterior predictive of the missing cells of a table: none of them was filled in for the clustering."""

    columns: tuple[ColumnOfMissing, ...]  # those that have any
    row_names: tuple[str, ...]
    drawn_by: str  # what the draws are, in words

    def __repr__(self) -> str:
        cells = sum(len(one.rows) for one in self.columns)
        return f"MissingCells({cells} cells in {len(self.columns)} column(s), by {self.drawn_by})"

    def frame(self) -> pd.DataFrame:
        """Return one row a cell: mean and 95 % interval, or the likeliest level and its probability."""
        found: list[dict[str, Any]] = []
        for column in self.columns:
            low, high = column.interval
            for at, row in enumerate(column.rows):
                cell: dict[str, Any] = {"row": self.row_names[row], "column": column.name}
                if column.levels:
                    shares = column.probabilities[at]
                    cell |= {"likeliest": column.levels[shares.argmax()], "probability": shares.max()}
                else:
                    cell |= {"mean": column.centre[at], "low": low[at], "high": high[at]}
                found.append(cell)
        names = ["row", "column", "mean", "low", "high", "likeliest", "probability"]
        return pd.DataFrame(found, columns=names)

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it: how many cells of each column."""
        return {"drawn_by": self.drawn_by, "cells": {one.name: len(one.rows) for one in self.columns}}
