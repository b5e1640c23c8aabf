"""Partitions by their posterior probability, and how spread out the posterior is."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.counts import check_count
from pyroclust.diagnostics.draws.labels import distinct_draws
from pyroclust.partitions.raw_labels import DrawsLike


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
    draws: DrawsLike, *, weights: np.ndarray | None = None, limit: int = 20
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
    posteriors of more than some thirty points: the plug-in is then :math:`\log_2 S`, a number about the
    draws alone, the corrected one nan. Draws of a Markov chain repeat themselves more than independent ones,
    which makes coverage too large.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

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
