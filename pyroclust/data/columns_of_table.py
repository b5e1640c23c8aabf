"""How many columns of which kind a table has: what a model of it is made from."""

from dataclasses import dataclass

import numpy as np

from pyroclust.data.kinds import Kind
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table

__all__ = ["ColumnsOfTable"]


@dataclass(frozen=True, kw_only=True)
class ColumnsOfTable:
    """What a table holds, by kinds, as :func:`~pyroclust.models.table_mixture` wants to know it."""

    numbers: int = 0
    count_means: tuple[float, ...] = ()  # of each column of counts
    yes_no: int = 0
    levels: tuple[int, ...] = ()  # how many each other column has
    missing: bool = False

    @classmethod
    def of(cls, table: Table, points: Standardised) -> "ColumnsOfTable":
        """Look at a table; principal components of its columns are numbers."""
        if points.data.shape[1] != len(table.kinds):
            return cls(numbers=points.data.shape[1])
        of_kind = {kind: [at for at, one in enumerate(table.kinds) if one is kind] for kind in Kind}
        return cls(
            numbers=len(of_kind[Kind.NUMBER]),
            # A column of zeros alone has a mean of 0, where the prior needs a scale.
            count_means=tuple(float(np.nanmean(table.data[:, at])) or 1.0 for at in of_kind[Kind.COUNT]),
            yes_no=len(of_kind[Kind.YES_NO]),
            levels=tuple(len(table.levels[at]) for at in of_kind[Kind.CATEGORY]),
            missing=table.has_missing,
        )
