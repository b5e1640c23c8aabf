"""What missing cells may hold, by draws of the posterior."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.data.kinds import Kind

__all__ = ["ColumnOfMissing", "MissingCells"]


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
