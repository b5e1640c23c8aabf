"""One partition that stands for the posterior, and how sure each point is of its place in it."""

from dataclasses import replace

import numpy as np

from pyroclust.diagnostics.draws.contingency import compact, companions, largest_company
from pyroclust.diagnostics.draws.labels import (
    checked_labels,
    checked_row_weights,
    distinct_draws,
    flat_and_shares,
    rows_per_point,
)
from pyroclust.diagnostics.draws.losses import PartitionLoss, VariationOfInformation
from pyroclust.diagnostics.estimates.salso import SalsoSearch
from pyroclust.diagnostics.estimates.searches import PartitionSearch
from pyroclust.partitions.raw_labels import DrawsLike

_DEFAULT_LOSS = VariationOfInformation()
_DEFAULT_SEARCH = SalsoSearch()


def point_estimate(
    draws: DrawsLike,
    *,
    seed: int,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
    loss: PartitionLoss = _DEFAULT_LOSS,
    search: PartitionSearch = _DEFAULT_SEARCH,
) -> np.ndarray:
    r"""Return the partition with the least posterior expected loss that a search finds, ``(N,)``.

    .. math:: \hat c = \arg\min_c \sum_s w_s \, L(c, c^{(s)})

    Equal draws are merged first, and the expectation is exact over all of them. For the cost see
    :class:`SalsoSearch`; :class:`DrawsSearch` and :class:`LinkageSearch` are quicker, and up to ten points
    :class:`EnumerationSearch` finds the optimum.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        seed: of the search's random choices.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; these stay together.
        loss: the price of a wrong estimate.
        search: how to look for the minimum.

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073
        Dahl, Johnson and Mueller (2022), Search algorithms and loss functions for Bayesian clustering.
        https://doi.org/10.1080/10618600.2022.2069779

    Example:
        >>> point_estimate(np.array([[0, 0, 1, 1]] * 8 + [[0, 1, 1, 1]] * 2), seed=0).tolist()
        [0, 0, 1, 1]
    """
    found = distinct_draws(draws, weights=weights)
    row_weights = checked_row_weights(row_weights, found.partitions.shape[1])
    return search.find(replace(found, row_weights=row_weights), loss=loss, seed=seed)


def point_uncertainty(
    draws: DrawsLike,
    estimate: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return for each point the probability of being apart from its companions in the estimate, ``(N,)``.

    .. math:: u_i = 1 - \frac{1}{|A_i| - 1} \sum_{j \in A_i, j \ne i} P_{ij}

    :math:`A_i` is the point's cluster in the estimate and P the co-assignment matrix. For a point that the
    estimate leaves alone u is its largest co-assignment with any point. 0 is certain, 1 is never with its
    companions. Cost: O(S N), and O(S N) for every point that is alone; there is no matrix.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        estimate: labels, ``(N,)``.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> point_uncertainty(np.array([[0, 0, 0], [0, 0, 1]]), np.array([0, 0, 1])).tolist()
        [0.0, 0.0, 0.5]
    """
    flat, share = flat_and_shares(draws, weights)
    labels = compact(flat)[0]
    estimate = checked_labels("estimate", estimate)
    if estimate.shape != labels.shape[1:]:
        raise ValueError(f"estimate has shape {estimate.shape}, expected ({labels.shape[1]},)")
    times = rows_per_point(row_weights, len(estimate))
    others = np.bincount(estimate, times)[estimate] - 1
    apart = 1 - companions(labels, estimate, share, times) / np.maximum(others, 1)
    alone = np.flatnonzero(others == 0)
    apart[alone] = largest_company(labels, alone, share)
    return np.clip(apart, 0.0, 1.0)
