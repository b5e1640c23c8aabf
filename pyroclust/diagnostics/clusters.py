"""What the clusters of an estimate are like, what sets them apart, and which rows are nearly alone."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import as_finite_or_missing, check_count, overflow_scale
from pyroclust.diagnostics.labels import (
    checked_labels,
    checked_row_weights,
    cluster_sums,
    flat_and_shares,
    flatten,
    rows_per_point,
)
from pyroclust.diagnostics.limits import LIKELY, STABLE, TELLING_EFFECT
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
    points = draws.shape[-1]
    if estimate.shape != (points,):
        raise ValueError(f"estimate has shape {estimate.shape}, expected ({points},), one label a point")
    data, unit = _scaled(data, points)
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


def _scaled(data: np.ndarray, num_points: int) -> tuple[np.ndarray, float]:
    """Return data in a unit in which their squares are finite, and the unit."""
    data = as_finite_or_missing("data", data)
    if data.ndim != 2 or len(data) != num_points:
        raise ValueError(f"data has shape {data.shape}, expected ({num_points}, D), a row a point")
    unit = overflow_scale(data)
    return data / unit, unit


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


@compiled(allocates=False, fastmath=False)
def _add_shares(labels: np.ndarray, shares: np.ndarray, found: np.ndarray) -> None:
    for s in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            for j in range(found.shape[1]):
                found[i, j] += shares[s, labels[s, i], j]


def membership(
    draws: DrawsLike, partition: np.ndarray, *, row_weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how companions of each point in the draws are divided among clusters of a partition."""
    labels = np.require(flatten(draws), None, ["C", "W"])
    clusters, columns = int(labels.max()) + 1, int(partition.max()) + 1
    found = np.zeros((labels.shape[1], columns))
    step = max(1, _MAX_CELLS // len(found))
    for begin in range(0, len(labels), step):
        some = labels[begin : begin + step]
        counts = cluster_sums(some * columns + partition, row_weights, clusters * columns)
        counts = counts.reshape(len(some), clusters, columns)
        _add_shares(some, counts / np.maximum(counts.sum(2, keepdims=True), 1), found)
    return found / len(labels)


@dataclass(frozen=True)
class ColumnShares:
    """How much of the variance of each column lies between clusters; intervals hold 95 % of the draws.

    Attributes:
        mean: posterior mean of the share, ``(D,)``; around 0 for a column that has nothing to do with the
            clusters, 1 for one that is constant in each.
        low: 2.5 % quantile.
        high: 97.5 % quantile.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def column_shares(
    draws: DrawsLike,
    *,
    data: np.ndarray,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> ColumnShares:
    r"""Say for every column how much of its variance lies between clusters, over posterior draws.

    .. math:: 1 - \frac{\sum_k \sum_{i \in k} (x_{id} - \bar x_{kd})^2 / (N - K)}
        {\sum_i (x_{id} - \bar x_d)^2 / (N - 1)}

    The adjusted coefficient of determination: clusters that have nothing to do with a column have a share of
    0 on average, whatever their number. Missing cells, nan, do not count. Cost O(S N D).

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        data: the points, ``(N, D)``.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> data = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]])
        >>> column_shares(np.array([[0, 0, 1, 1]]), data=data).mean.round(2).tolist()
        [1.0, -0.5]
    """
    labels, share = flat_and_shares(draws, weights)
    points = labels.shape[-1]
    data, times = _scaled(data, points)[0], rows_per_point(row_weights, points)
    data = data - means_of(times[:, None], data)
    total = np.nansum(times[:, None] * data**2, 0)
    step = max(1, _MAX_CELLS // (points * max(1, data.shape[1])))
    found = np.concatenate(
        [_shares(labels[begin : begin + step], data, total, times) for begin in range(0, len(labels), step)]
    )
    return ColumnShares(share @ found, *interval(found, share))


def _shares(draws: np.ndarray, data: np.ndarray, total: np.ndarray, times: np.ndarray) -> np.ndarray:
    lost, columns = np.isnan(data), int(draws.max()) + 1
    some_lost, sizes = lost.any(0), cluster_sums(draws, times, columns)
    between, left = np.empty((2, len(draws), data.shape[1]))
    for d, column in enumerate(np.where(lost, 0.0, data).T):
        cells = cluster_sums(draws, times * ~lost[:, d], columns) if some_lost[d] else sizes
        sums = cluster_sums(draws, times * column, columns)
        between[:, d] = (sums**2 / np.maximum(cells, 1)).sum(-1)
        left[:, d] = cells.sum(-1) - (cells > 0).sum(-1)
    within = np.maximum(total - between, 0.0)
    known = (left > 0) & (total > 0)
    ratio = within * (times @ ~lost - 1) / np.where(known, left * total, 1.0)
    return np.where(known, 1 - ratio, 0.0)


@dataclass(frozen=True)
class ClusterContrasts:
    """What sets each cluster of a partition apart from all other points, column by column.

    Attributes:
        sizes: points of the cluster, ``(K,)``.
        inside: means of its points, ``(K, D)``.
        spread_inside: standard deviations of its points, ``(K, D)``; 0 for a single point.
        outside: means of all other points, ``(K, D)``; nan where there are none.
        effect: difference of the means in units of the standard deviation within clusters, ``(K, D)``: pooled
            over all clusters, so that it can be compared between them; nan where there are no others.
    """

    sizes: np.ndarray
    inside: np.ndarray
    spread_inside: np.ndarray
    outside: np.ndarray
    effect: np.ndarray

    def telling(self, cluster: int) -> list[int]:
        """Return the columns in which a cluster differs by half of the spread or more, the clearest first."""
        size = np.nan_to_num(np.abs(self.effect[cluster]))
        return [int(d) for d in np.argsort(-size, kind="stable") if size[d] >= TELLING_EFFECT]


def cluster_contrasts(
    partition: np.ndarray, *, data: np.ndarray, row_weights: np.ndarray | None = None
) -> ClusterContrasts:
    r"""Compare each cluster of a partition with all points outside of it.

    .. math:: \delta_{kd} = (\bar x_{kd} - \bar x_{\setminus k, d}) / s_d, \qquad
        s_d^2 = \tfrac{1}{N - K} \sum_k \sum_{i \in k} (x_{id} - \bar x_{kd})^2

    Where clusters have no spread at all in a column, that of the column takes its place. Missing cells, nan,
    do not count.

    Args:
        partition: labels, ``(N,)``, such as :func:`~pyroclust.diagnostics.point_estimate`.
        data: the points, ``(N, D)``.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> found = cluster_contrasts(np.array([0, 0, 1, 1]), data=np.array([[0.0], [2.0], [6.0], [8.0]]))
        >>> found.inside.ravel().tolist(), found.effect.round(2).ravel().tolist()
        ([1.0, 7.0], [-4.24, 4.24])
    """
    labels = renumbered(checked_labels("partition", partition)[None])[0]
    if labels.ndim != 1:
        raise ValueError(f"partition has shape {labels.shape}, expected (N,), one label a point")
    data, unit = _scaled(data, len(labels))
    points, clusters = len(data), int(labels.max()) + 1
    every = rows_per_point(row_weights, points)[:, None]
    member = np.eye(clusters)[labels] * every
    sizes = member.sum(0)
    inside, outside = means_of(member, data), means_of(every - member, data)
    squares = (data - inside[labels]) ** 2
    left = (every * ~np.isnan(data)).sum(0) - (~np.isnan(inside)).sum(0)
    spread = np.sqrt(np.nansum(every * squares, 0) / np.maximum(1, left))
    own = np.sqrt(means_of(every, (data - means_of(every, data)) ** 2))[0]
    spread = np.where(spread > 0, spread, np.where(own > 0, own, 1.0))
    return ClusterContrasts(
        sizes.astype(np.int64),
        unit * inside,
        unit * np.sqrt(means_of(member, squares)),
        unit * outside,
        (inside - outside) / spread,
    )


def outlier_probabilities(
    draws: DrawsLike,
    *,
    fewest: int = 2,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return how probable it is that each point is in a cluster of fewer than so many points, ``(N,)``.

    .. math:: P(n_{c_i} < m \mid x) \approx \sum_s w_s \, 1[n^{(s)}_{c_i} < m]

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        fewest: m; 2 for the probability that a point is alone.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Example:
        >>> outlier_probabilities(np.array([[0, 0, 1], [0, 0, 0]])).tolist()
        [0.0, 0.0, 0.5]
    """
    (labels, share), fewest = flat_and_shares(draws, weights), check_count("fewest", fewest, at_least=2)
    found = np.zeros(labels.shape[-1])
    columns, times = int(labels.max()) + 1, checked_row_weights(row_weights, labels.shape[-1])
    step = max(1, _MAX_CELLS // max(columns, labels.shape[-1]))
    for begin in range(0, len(labels), step):
        some = labels[begin : begin + step]
        sizes = np.take_along_axis(cluster_sums(some, times, columns), some, 1)
        found += share[begin : begin + step] @ (sizes < fewest)
    return found


def likely_outliers(
    draws: DrawsLike,
    *,
    fewest: int = 2,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the points that :func:`outlier_probabilities` finds more likely than not, the likeliest first.

    Example:
        >>> likely_outliers(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])).tolist()
        [2]
    """
    found = outlier_probabilities(draws, fewest=fewest, weights=weights, row_weights=row_weights)
    likely = np.flatnonzero(found >= LIKELY)
    return likely[np.argsort(-found[likely], kind="stable")]
