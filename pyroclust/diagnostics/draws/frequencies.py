"""Numbers of clusters and partitions by their posterior probability, and how spread out these are."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_numbers, check_count
from pyroclust.diagnostics.draws.labels import distinct_draws, flat_and_shares
from pyroclust.partitions.raw_labels import DrawsLike

_SUMS_TO_1 = 1e-6


def count_clusters(assignments: np.ndarray) -> np.ndarray:
    """Count the distinct labels of each label vector."""
    ranked = np.sort(assignments, axis=-1)
    return 1 + (ranked[..., 1:] != ranked[..., :-1]).sum(-1)


def cluster_count_posterior(
    draws: DrawsLike, *, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of clusters that occur, rising, and the probability of each.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.

    Example:
        >>> values, probabilities = cluster_count_posterior(np.array([[0, 0], [0, 1], [0, 1], [0, 1]]))
        >>> values.tolist(), probabilities.tolist()
        ([1, 2], [0.25, 0.75])
    """
    labels, share = flat_and_shares(draws, weights)
    values, place = np.unique(count_clusters(labels), return_inverse=True)
    mass = np.bincount(place, weights=share)
    return values, mass / mass.sum()


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    r"""Return the total variation of two probability vectors, :math:`\tfrac12 \sum_v |p_v - q_v|`.

    Raises:
        ValueError: if the shapes differ, or one is no probability vector.

    Example:
        >>> total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25]))
        0.25
    """
    first, second = as_numbers("p", p), as_numbers("q", q)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"p and q have shapes {first.shape} and {second.shape}, expected equal ones, (V,)")
    for name, values in (("p", first), ("q", second)):
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()
        if not ((values >= 0).all() and abs(total - 1) <= _SUMS_TO_1):
            raise ValueError(
                f"{name} sums to {total:.6g}, expected probabilities, none negative, that sum to 1"
            )
    return float(np.abs(first - second).sum() / 2)


@dataclass(frozen=True)
class RankedPartitions:
    """The likeliest partitions among draws.

    Attributes:
        partitions: ``(M, N)`` canonical, the likeliest first.
        probabilities: ``(M,)``, falling.
        num_distinct: how many different partitions were drawn.
        rest: probability of the drawn partitions that are not listed.
    """

    partitions: np.ndarray
    probabilities: np.ndarray
    num_distinct: int
    rest: float


def ranked_partitions(
    draws: DrawsLike, *, weights: np.ndarray | None = None, limit: int = 20
) -> RankedPartitions:
    r"""Return the drawn partitions by their share of the draws, :math:`\sum_s w_s 1[c^{(s)} = c]`.

    The shares estimate posterior probabilities where partitions come back: with many points every draw is
    another partition, and the ranking says nothing.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.
        limit: how many partitions to list at most.

    Example:
        >>> found = ranked_partitions(np.array([[0, 1], [0, 0], [1, 0], [0, 1]]), limit=1)
        >>> found.partitions.tolist(), found.probabilities.tolist(), found.num_distinct, found.rest
        ([[0, 1]], [0.75], 2, 0.25)
    """
    limit = check_count("limit", limit)
    found = distinct_draws(draws, weights=weights)
    listed = found.mass[:limit]
    return RankedPartitions(
        found.partitions[:limit], listed, len(found.mass), float(found.mass[limit:].sum())
    )


@dataclass(frozen=True)
class PartitionEntropy:
    """Two estimates of an entropy, in bits, and how much of the posterior was seen.

    Attributes:
        plug_in: the entropy of the shares of the draws; too small, by much where coverage is low.
        corrected: Chao and Shen's estimate; nan where no partition was drawn twice.
        coverage: Good and Turing's estimate of the probability that the next draw is a partition already
            drawn; 0 where no partition was drawn twice, and then both entropies are meaningless.
        num_distinct: how many different partitions were drawn.
    """

    plug_in: float
    corrected: float
    coverage: float
    num_distinct: int


def partition_entropy(draws: DrawsLike, *, weights: np.ndarray | None = None) -> PartitionEntropy:
    r"""Estimate the entropy of the posterior over partitions, in bits.

    .. math::
        \hat H = -\sum_c \hat p_c \log_2 \hat p_c, \qquad
        \hat H_{CS} = -\sum_c \frac{C \hat p_c \log_2 (C \hat p_c)}{1 - (1 - C \hat p_c)^n}

    The coverage C is one minus the share of the partitions that were drawn once, and n the number of draws
    (with weights :math:`1 / \sum_s w_s^2`). Meaningless where all draws are different, as they are for most
    posteriors of more than some thirty points. Draws of a Markov chain repeat themselves more than
    independent ones, which makes coverage too large.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        weights: of the draws, ``(S,)``; equal by default.

    References:
        Chao and Shen (2003), Nonparametric estimation of Shannon's index of diversity when there are unseen
        species in sample. https://doi.org/10.1023/A:1026096204727

    Example:
        >>> found = partition_entropy(np.array([[0, 1], [0, 0], [1, 0], [0, 0]]))
        >>> found.plug_in, found.coverage, found.num_distinct
        (1.0, 1.0, 2)
    """
    found = distinct_draws(draws, weights=weights)
    drawn = found.mass > 0
    mass = found.mass[drawn]
    times = np.bincount(found.members[found.shares > 0], minlength=len(drawn))[drawn]
    coverage = min(1.0, float(mass[times > 1].sum()))
    corrected = float("nan")
    if coverage > 0:
        share = coverage * mass
        number = 1 / (found.shares**2).sum()
        # One less a power, exact for the smallest shares too.
        with np.errstate(divide="ignore"):
            seen = -np.expm1(number * np.log1p(-share))
        corrected = float(-(share * np.log2(share) / seen).sum()) + 0.0
    return PartitionEntropy(float(-(mass * np.log2(mass)).sum()) + 0.0, corrected, coverage, len(mass))
