"""Effective sample sizes of whether pairs of points share a cluster."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.convergence import bulk_ess
from pyroclust.diagnostics.membership import as_chains

__all__ = ["CoMembershipEss", "co_membership_ess"]


@dataclass(frozen=True)
class CoMembershipEss:
    """Effective draws of the co-memberships of some pairs of points.

    Attributes:
        pairs: the points of each pair, the smaller index first, ``(P, 2)``.
        ess: bulk effective draws of each pair's indicator, ``(P,)``; nan where it is constant, or where a
            chain has fewer than four draws.
        num_constant: how many pairs are together in every draw or apart in every draw: these say nothing.
        min: the fewest effective draws of a pair that varies, 0 where one is undefined, inf when none varies.
        median: the median over the pairs that vary, counted likewise.
    """

    pairs: np.ndarray
    ess: np.ndarray
    num_constant: int
    min: float
    median: float


def co_membership_ess(draws: np.ndarray, *, num_pairs: int = 100, seed: int) -> CoMembershipEss:
    """Return the bulk effective draws of the indicators that random pairs of points share a cluster.

    The number of clusters and other functionals can mix well while some points hardly move: this looks at the
    co-assignment matrix itself. Cost: O(chains draws P) and a Fourier transform a pair.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``.

    Args:
        draws: posterior draws.
        num_pairs: how many pairs of points, drawn without replacement; all pairs where there are fewer.
        seed: of the pairs.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or ``num_pairs`` is not positive.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> found = co_membership_ess(np.random.default_rng(0).integers(2, size=(4, 100, 5)), seed=0)
        >>> len(found.pairs), found.num_constant, found.min > 200
        (10, 0, True)
    """
    if num_pairs < 1:
        raise ValueError(f"num_pairs is {num_pairs}, expected at least 1")
    draws = as_chains(draws)
    pairs = _random_pairs(draws.shape[-1], num_pairs, seed)
    together = (draws[..., pairs[:, 0]] == draws[..., pairs[:, 1]]).astype(np.float64)
    constant = (together == together[:1, :1]).all((0, 1))
    found = bulk_ess(together)
    moving = np.nan_to_num(found[~constant], nan=0.0)
    fewest, middle = (moving.min(), np.median(moving)) if moving.size else (math.inf, math.inf)
    return CoMembershipEss(pairs, found, int(constant.sum()), float(fewest), float(middle))


def _random_pairs(num_points: int, num_pairs: int, seed: int) -> np.ndarray:
    total = num_points * (num_points - 1) // 2
    code = np.random.default_rng(seed).choice(total, size=min(num_pairs, total), replace=False)
    # Pair (i, j) with i < j has the number j (j - 1) / 2 + i.
    larger = ((1 + np.sqrt(8.0 * code + 1)) / 2).astype(np.int64)
    smaller = code - larger * (larger - 1) // 2
    return np.stack([smaller, larger], axis=-1)
