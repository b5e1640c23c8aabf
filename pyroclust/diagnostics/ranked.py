"""Partitions by their posterior probability."""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.distinct import distinct_draws

__all__ = ["RankedPartitions", "ranked_partitions"]


@dataclass(frozen=True)
class RankedPartitions:
    """The likeliest partitions among draws.

    Attributes:
        partitions: ``(M, N)`` canonical int64, the likeliest first.
        probabilities: ``(M,)``, falling.
        num_distinct: how many different partitions were drawn.
        rest: probability of the drawn partitions that are not listed.
    """

    partitions: np.ndarray
    probabilities: np.ndarray
    num_distinct: int
    rest: float


def ranked_partitions(
    draws: np.ndarray, *, weights: np.ndarray | None = None, limit: int = 20
) -> RankedPartitions:
    r"""Return the drawn partitions by their share of the draws, :math:`\sum_s w_s 1[c^{(s)} = c]`.

    The shares estimate posterior probabilities where partitions come back: with many points every draw is
    another partition, ``num_distinct`` is the number of draws and the ranking says nothing.

    Args:
        draws: posterior draws.
        weights: importance weights of the draws; equal by default.
        limit: how many partitions to list at most.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, the weights do not fit, or the limit is
            below one.

    Example:
        >>> found = ranked_partitions(np.array([[0, 1], [0, 0], [1, 0], [0, 1]]), limit=1)
        >>> found.partitions.tolist(), found.probabilities.tolist(), found.num_distinct, found.rest
        ([[0, 1]], [0.75], 2, 0.25)
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}, expected at least 1")
    found = distinct_draws(draws, weights=weights)
    listed = found.mass[:limit]
    return RankedPartitions(
        found.partitions[:limit], listed, len(found.mass), float(found.mass[limit:].sum())
    )
