"""Tables of log gamma functions, by which compiled code looks up the likelihood of edges between blocks."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from pyroclust.core.compiling import compiled

# Entries of a table; what lies beyond is computed.
_LONGEST_TABLE = 1 << 20
# Two laws a model, and room for those of a few models.
_KEPT = 8


class RateTable(NamedTuple):
    r"""Values of :math:`\log \Gamma(x + i)`, i = 0, 1, ..., for the two numbers of a Beta law and their sum.

    Attributes:
        numbers: a, b and a + b, ``(3,)``.
        ones: those of a.
        zeros: those of b.
        both: those of a + b.
    """

    numbers: np.ndarray
    ones: np.ndarray
    zeros: np.ndarray
    both: np.ndarray


@lru_cache(maxsize=_KEPT)
def rate_table(law: tuple[float, float], num_points: int) -> RateTable:
    """Return the table of a law of rates for graphs of so many nodes; all chains and draws share it."""
    values = np.array([law[0], law[1], law[0] + law[1]])
    num_pairs = num_points * (num_points - 1) // 2
    length = np.arange(min(num_pairs + 1, _LONGEST_TABLE), dtype=float)
    found = RateTable(values, *(gammaln(one + length) for one in values))
    for table in found:
        table.flags.writeable = False
    return found


@compiled(allocates=False)
def _log_gamma(table: np.ndarray, start: float, count: int) -> float:
    return table[count] if count < len(table) else math.lgamma(start + count)


@compiled(allocates=False)
def log_edges(table: RateTable, edges: int, pairs: int) -> float:
    """Return the log-probability of certain edges among pairs of nodes, up to a constant of the law."""
    found = _log_gamma(table.ones, table.numbers[0], edges)
    found += _log_gamma(table.zeros, table.numbers[1], pairs - edges)
    return found - _log_gamma(table.both, table.numbers[2], pairs)


@compiled(allocates=False)
def log_no_edges(table: RateTable) -> float:
    """Return that constant: what :func:`log_edges` gives where there are no pairs."""
    return table.ones[0] + table.zeros[0] - table.both[0]
