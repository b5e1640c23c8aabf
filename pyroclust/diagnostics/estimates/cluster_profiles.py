"""What each cluster of an estimate is like, and how much of it comes back in the draws."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_finite_or_missing, overflow_scale
from pyroclust.diagnostics.draws.labels import (
    checked_labels,
    cluster_sums,
    flat_and_shares,
    flatten,
    rows_per_point,
)
from pyroclust.diagnostics.limits import STABLE
from pyroclust.partitions.raw_labels import DrawsLike, renumbered

_MAX_CELLS = 4_000_000


@dataclass(frozen=True)
class ClusterProfiles:
    """One row a cluster of an estimate; intervals hold 95 % of the weighted draws.

    In each draw a cluster of the estimate is found again as the cluster that overlaps it most, by the Jaccard
    index.

    Attributes:
        sizes: points of the cluster, ``(K,)``.
        stability: mean Jaccard index of the cluster and its counterparts, ``(K,)``; 1 comes back unchanged.
        share_low: 2.5 % quantile of the counterparts' shares of all points, ``(K,)``.
        share_high: 97.5 % quantile.
        centres: means of the cluster's points, ``(K, D)``, in the units of the data.
        spreads: standard deviations of its points, ``(K, D)``; 0 for a single point.
        centre_low: 2.5 % quantile of the counterparts' means, ``(K, D)``.
        centre_high: 97.5 % quantile.
    """

    sizes: np.ndarray
    stability: np.ndarray
    share_low: np.ndarray
    share_high: np.ndarray
    centres: np.ndarray
    spreads: np.ndarray
    centre_low: np.ndarray
    centre_high: np.ndarray

    @property
    def num_stable(self) -> int:
        """Clusters with a stability of at least 0.75: they come back in most draws."""
        return int((self.stability >= STABLE).sum())


def cluster_profiles(
    draws: DrawsLike,
    estimate: np.ndarray,
    *,
    data: np.ndarray,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> ClusterProfiles:
    r"""Describe the clusters of an estimate, with intervals over posterior draws.

    .. math:: J(A, B) = \frac{|A \cap B|}{|A \cup B|}, \qquad B_s(A) = \arg\max_{B \in c^{(s)}} J(A, B)

    No model is needed: sizes and means of the counterparts B are those of points. For the posterior of a
    model's own parameters given the estimate see :func:`pyroclust.infer.cluster_parameters`. Missing cells,
    nan, do not count. Cost O(S (N D + K K_s)) in blocks.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        estimate: ``(N,)``, such as :func:`~pyroclust.diagnostics.point_estimate`.
        data: the points, ``(N, D)``.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or shapes do not fit.

    References:
        Hennig (2007), Cluster-wise assessment of cluster stability.
        https://doi.org/10.1016/j.csda.2006.11.025

    Example:
        >>> draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
        >>> found = cluster_profiles(draws, draws[0], data=np.array([[0.0], [2.0], [6.0], [8.0]]))
        >>> found.centres.ravel().tolist(), found.stability.round(3).tolist()
        ([1.0, 7.0], [0.889, 0.833])
    """
    draws, share = flat_and_shares(draws, weights)
    estimate = checked_labels("estimate", estimate)
    data = as_finite_or_missing("data", data)
    unit = overflow_scale(data)
    data = data / unit
    points = draws.shape[-1]
    if estimate.shape != (points,) or data.ndim != 2 or len(data) != points:
        raise ValueError(
            f"draws, estimate and data have shapes {draws.shape}, {estimate.shape} and {data.shape}, "
            "expected (S, N), (N,) and (N, D)"
        )
    estimate = renumbered(estimate[None])[0]
    times = rows_per_point(row_weights, points)
    step = max(1, _MAX_CELLS // (points * max(1, data.shape[1])))
    parts = [
        _counterparts(draws[begin : begin + step], estimate, data, times)
        for begin in range(0, len(draws), step)
    ]
    jaccard, sizes, means = (np.concatenate(part) for part in zip(*parts, strict=True))
    member = np.eye(int(estimate.max()) + 1)[estimate] * times[:, None]
    own = member.sum(0)
    centres = means_of(member, data)
    squares = means_of(member, (data - centres[estimate]) ** 2)
    shares = interval(sizes / times.sum(), share)
    places = (unit * one for one in interval(means, share))
    return ClusterProfiles(
        own.astype(np.int64), share @ jaccard, *shares, unit * centres, unit * np.sqrt(squares), *places
    )


def _counterparts(
    draws: np.ndarray, estimate: np.ndarray, data: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Jaccard index ``(S, K)``, size ``(S, K)`` and mean ``(S, K, D)`` of the best match of each."""
    rows, columns = int(estimate.max()) + 1, int(draws.max()) + 1
    shared = cluster_sums(estimate * columns + draws, times, rows * columns).reshape(-1, rows, columns)
    sizes = shared.sum(1)
    either = shared.sum(2)[:, :, None] + sizes[:, None] - shared
    jaccard = shared / either
    best = jaccard.argmax(-1)

    def of_best(values: np.ndarray) -> np.ndarray:
        sums = np.stack([cluster_sums(draws, one * times, columns) for one in values.T], -1)
        return np.take_along_axis(sums, best[..., None], 1)

    size = np.take_along_axis(sizes, best, 1)
    lost = np.isnan(data)
    if lost.any():
        cells = of_best((~lost).astype(float))
        mean = np.where(cells > 0, of_best(np.where(lost, 0.0, data)) / np.maximum(cells, 1), np.nan)
    else:
        mean = of_best(data) / size[..., None]
    return np.take_along_axis(jaccard, best[..., None], 2)[..., 0], size, mean


def means_of(member: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Return the means of the cells that are there of every cluster; nan where there are none."""
    lost = np.isnan(data)
    cells = member.T @ ~lost
    return np.where(cells > 0, member.T @ np.where(lost, 0.0, data) / np.maximum(cells, 1), np.nan)


def _place(reached: np.ndarray, level: float) -> np.ndarray:
    """Return where a level is reached first, in the first dimension."""
    found: np.ndarray = (reached < level * (1 - 1e-12)).sum(0, keepdims=True)
    return np.minimum(found, len(reached) - 1)


def interval(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted 2.5 % and 97.5 % quantiles over the first dimension, of the values that are there."""
    order = values.argsort(0, kind="stable")
    ranked = np.take_along_axis(values, order, 0)
    each = weights[order]
    lost = np.isnan(ranked)
    if lost.any():
        each = np.where(lost, 0.0, each)
        each = each / np.where(each.sum(0) > 0, each.sum(0), 1.0)
        # Missing values stand last, and weigh nothing.
        ranked = np.where(lost, np.nanmax(np.where(lost.all(0), np.inf, ranked), 0), ranked)
        ranked = np.where(np.isinf(ranked), np.nan, ranked)
    reached = each.cumsum(0)
    low, high = (np.take_along_axis(ranked, _place(reached, level), 0)[0] for level in (0.025, 0.975))
    return low, high


def membership(
    draws: DrawsLike, partition: np.ndarray, *, row_weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how companions of each point in the draws are divided among clusters of a partition."""
    labels = flatten(draws)
    size, clusters, columns = len(labels), int(labels.max()) + 1, int(partition.max()) + 1
    counts = cluster_sums(labels * columns + partition, row_weights, clusters * columns)
    counts = counts.reshape(size * clusters, columns)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    # One cluster at a time: all of them at once would take S N J numbers.
    place = np.arange(size)[:, None] * clusters + labels
    return np.stack([shares[:, j][place].mean(0) for j in range(columns)], axis=-1)
