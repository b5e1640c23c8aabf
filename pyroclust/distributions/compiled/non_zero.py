"""The nonzero entries of points of counts, as compiled families take them."""

from typing import NamedTuple

import numpy as np

__all__ = ["NonZero", "non_zero"]


class NonZero(NamedTuple):
    """The nonzero entries of N points of counts.

    Attributes:
        begin: where the entries of each point begin, ``(N + 1,)``.
        column: their columns.
        value: their values.
        total: sum of the counts of each point, ``(N,)``.
    """

    begin: np.ndarray
    column: np.ndarray
    value: np.ndarray
    total: np.ndarray


def non_zero(data: np.ndarray) -> NonZero:
    """List the nonzero counts of points, ``(N, D)``."""
    row, column = np.nonzero(data)
    return NonZero(
        begin=np.searchsorted(row, np.arange(len(data) + 1)),
        column=np.ascontiguousarray(column),
        value=np.rint(data[row, column]).astype(np.int64),
        total=np.rint(data.sum(1)).astype(np.int64),
    )
