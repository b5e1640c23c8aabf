"""What compiled families of counts share: nonzero entries, and tables of rising factorials."""

import math
from typing import NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled, inner

# From here on two terms of Stirling's series are exact in double precision.
_LARGE = 1000.0
# Table entries: half a megabyte at most, and never many times the cost of visiting all points.
_SHORT, _PER_POINT, _LONG = 4096, 8, 65536


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


@compiled(allocates=False)
def log_rising(start: float, count: float) -> float:
    r"""Return :math:`\log \Gamma(x + n) - \log \Gamma(x)` without cancellation at large x."""
    if start < _LARGE:
        return math.lgamma(start + count) - math.lgamma(start)
    end = start + count
    series = (1.0 / end - 1.0 / start) / 12.0 - (1.0 / end**3 - 1.0 / start**3) / 360.0
    return count * math.log(start) + (end - 0.5) * math.log1p(count / start) - count + series


@inner
def tabulate_rising(table: np.ndarray, start: float) -> None:
    """Write the log rising factorials of 0, 1, 2, ... factors."""
    total = 0.0
    for count in range(len(table)):
        table[count] = total
        total += math.log(start + count)


@inner
def look_up(table: np.ndarray, start: float, count: int) -> float:
    """Return a log rising factorial from the table, or beyond its end by the formula."""
    return table[count] if count < len(table) else log_rising(start, float(count))


def table_of(totals: np.ndarray, num_points: int) -> np.ndarray:
    """Return an empty table for counts up to the largest total, or as many as pay."""
    longest = min(max(_SHORT, _PER_POINT * num_points), _LONG)
    return np.zeros(int(min(totals.max() + 1, longest)))
