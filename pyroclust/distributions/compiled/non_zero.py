"""The nonzero entries of points of counts, as compiled families take them."""

from typing import NamedTuple

import numpy as np


class NonZero(NamedTuple):
    """The nonzero entries of N points of counts."""

    begin: np.ndarray  # where the entries of each point begin, (N + 1,)
    column: np.ndarray  # their columns
    value: np.ndarray  # their values
    total: np.ndarray  # sum of the counts of each point, (N,)


def non_zero(data: np.ndarray) -> NonZero:
    """List the nonzero counts of points, ``(N, D)``."""
    row, column = np.nonzero(data)
    return NonZero(
        begin=np.searchsorted(row, np.arange(len(data) + 1)),
        column=np.ascontiguousarray(column),
        value=np.rint(data[row, column]).astype(np.int64),
        total=np.rint(data.sum(1)).astype(np.int64),
    )
