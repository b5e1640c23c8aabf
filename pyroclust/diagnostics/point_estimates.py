"""Partitions that stand for a posterior: a point estimate, the credible ball about it, modes."""

from dataclasses import dataclass, replace

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.diagnostics.frequencies import (
    MAX_PAIRED_POINTS,
    count_clusters,
    paired_draws,
    paired_points,
)
from pyroclust.diagnostics.labels import (
    checked_labels,
    checked_row_weights,
    compact,
    distinct_draws,
    flat_and_shares,
    rows_per_point,
)
from pyroclust.diagnostics.losses import (
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
    pairwise_loss,
)
from pyroclust.diagnostics.searches import PartitionSearch, SalsoSearch
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

    Example:
        >>> point_estimate(np.array([[0, 0, 1, 1]] * 8 + [[0, 1, 1, 1]] * 2), seed=0).tolist()
        [0, 0, 1, 1]
    """
    found = distinct_draws(draws, weights=weights)
    row_weights = checked_row_weights(row_weights, found.partitions.shape[1])
    best = search.find(replace(found, row_weights=row_weights), loss=loss, seed=seed)
    return best.astype(np.int64, copy=False)


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
    estimate leaves alone u is its largest co-assignment with any point, above 2000 points with any of 2000
    at random and of the first 2000 that are alone. 0 is certain, 1 is never with its companions. Cost:
    O(S N), and O(S min(N, 4000)) for every point that is alone; there is no matrix.

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
    apart = 1 - _companions(labels, estimate, share, times) / np.maximum(others, 1)
    alone = np.flatnonzero(others == 0)
    apart[alone] = _largest_company(labels, alone, share)
    return np.clip(apart, 0.0, 1.0)


@compiled(allocates=False, fastmath=False)
def _add_companions(
    labels: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    mass: np.ndarray,
    times: np.ndarray,
    row: np.ndarray,
    found: np.ndarray,
) -> None:
    for s in range(len(labels)):
        begin = 0
        for end in ends:
            for point in order[begin:end]:
                row[labels[s, point]] += times[point]
            for point in order[begin:end]:
                found[point] += mass[s] * (row[labels[s, point]] - 1)
            for point in order[begin:end]:
                row[labels[s, point]] = 0
            begin = end


def _companions(labels: np.ndarray, estimate: np.ndarray, mass: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return how many of the other rows of its cluster share a label with each row, on average: O(S N)."""
    order, ends = np.argsort(estimate, kind="stable"), np.cumsum(np.bincount(estimate))
    row, found = np.zeros(len(estimate), np.int64), np.zeros(len(estimate))
    _add_companions(labels, order, ends, mass, times, row, found)
    return found


@compiled(allocates=False, fastmath=False)
def _add_company(
    labels: np.ndarray,
    mass: np.ndarray,
    places: np.ndarray,
    others: np.ndarray,
    shared: np.ndarray,
    found: np.ndarray,
) -> None:
    for p in range(len(places)):
        for i in range(len(others)):
            shared[i] = 0.0
        for s in range(len(labels)):
            label, weight = labels[s, places[p]], mass[s]
            for i in range(len(others)):
                shared[i] += weight * (labels[s, others[i]] == label)
        for i in range(len(others)):
            if others[i] != places[p]:
                found[p] = max(found[p], shared[i])


def _largest_company(labels: np.ndarray, places: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the largest co-assignment of each of some points with any other."""
    found = np.zeros(len(places))
    if len(places):
        others = np.union1d(paired_points(labels.shape[1]), places[:MAX_PAIRED_POINTS])
        _add_company(labels, mass, places, others, np.empty(len(others)), found)
    return found


# Losses are sums of some hundred terms: equal ones differ by less than this.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CredibleBall:
    """The draws nearest to an estimate, and the partitions at the edges.

    Attributes:
        estimate: ``(N,)``, the centre.
        level: the probability that was asked for.
        radius: the largest loss in the ball.
        coverage: the probability of the ball, at least the level.
        horizontal: ``(H, N)``, the partitions of the ball farthest from the estimate.
        upper: ``(U, N)``, those with the fewest clusters, of these the farthest.
        lower: ``(L, N)``, those with the most clusters, of these the farthest.
        distances: ``(S,)``, the loss of each draw.
    """

    estimate: np.ndarray
    level: float
    radius: float
    coverage: float
    horizontal: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    distances: np.ndarray

    def holds(self, losses: np.ndarray) -> np.ndarray:
        """Say which partitions lie inside, by their losses to the estimate."""
        return np.asarray(losses) <= self.radius + _ROUNDING

    def __repr__(self) -> str:
        return f"CredibleBall({100 * self.level:g} %, radius {self.radius:.3g}, {len(self.distances)} draws)"


def credible_ball(
    draws: DrawsLike,
    estimate: np.ndarray,
    *,
    level: float = 0.95,
    loss: PartitionLoss = _DEFAULT_LOSS,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> CredibleBall:
    r"""Return the smallest ball around an estimate that holds a share of the draws.

    .. math::
        B_\varepsilon = \{c : L(\hat c, c) \le \varepsilon\}, \qquad
        \varepsilon^* = \min \{\varepsilon : \sum_s w_s 1[c^{(s)} \in B_\varepsilon] \ge \text{level}\}

    Draws at equal distance are in the ball together. Cost O(S N) in compiled code.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        estimate: the centre, ``(N,)``, such as :func:`point_estimate`.
        level: probability that the ball is to hold, above 0 and at most 1.
        loss: distance from the estimate, its first argument.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if labels, shapes or weights do not fit, or the level is not in (0, 1].

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073

    Example:
        >>> ball = credible_ball(np.array([[0, 0]] * 9 + [[0, 1]]), np.array([0, 0]), level=0.9)
        >>> ball.radius, round(ball.coverage, 3), ball.lower.tolist()
        (0.0, 0.9, [[0, 0]])
    """
    level = check_number("level", level, above=0, at_most=1)
    found = distinct_draws(draws, weights=weights)
    estimate = checked_labels("estimate", estimate)
    if estimate.shape != found.partitions.shape[1:]:
        raise ValueError(f"estimate has shape {estimate.shape}, expected ({found.partitions.shape[1]},)")
    distances = loss(estimate, found.partitions, row_weights=row_weights)
    order = np.argsort(distances, kind="stable")
    reached = int(np.searchsorted(found.mass[order].cumsum(), level - _ROUNDING))
    radius = distances[order[min(reached, len(order) - 1)]]
    inside = (distances <= radius + _ROUNDING) & (found.mass > 0)
    partitions, away = found.partitions[inside], distances[inside]
    clusters = count_clusters(partitions)
    return CredibleBall(
        estimate=estimate,
        level=level,
        radius=float(away.max()),
        coverage=float(min(1.0, found.mass[inside].sum())),
        horizontal=_farthest(partitions, away),
        upper=_farthest(partitions[clusters == clusters.min()], away[clusters == clusters.min()]),
        lower=_farthest(partitions[clusters == clusters.max()], away[clusters == clusters.max()]),
        distances=distances[found.members],
    )


def _farthest(partitions: np.ndarray, distances: np.ndarray) -> np.ndarray:
    return partitions[distances >= distances.max() - _ROUNDING]


_STARTS = 5


def medoids(losses: np.ndarray, mass: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    r"""Return the items m that make :math:`\sum_j w_j \min_m L_{mj}` small: the best of five starts."""
    starts = 1 if number == 1 else _STARTS
    found = [_swapped(losses, mass, _seeded(losses, mass, number, rng)) for _ in range(starts)]
    return min(found, key=lambda chosen: float(losses[chosen].min(0) @ mass))


def silhouette(losses: np.ndarray, mass: np.ndarray, groups: np.ndarray) -> float:
    r"""Return the weighted mean of :math:`(b - a) / \max(a, b)` over items."""
    belongs = np.eye(int(groups.max()) + 1)[groups] * mass[:, None]
    means = losses @ (belongs / belongs.sum(0))
    items = np.arange(len(groups))
    own = means[items, groups]
    means[items, groups] = np.inf
    other = means.min(-1)
    largest = np.maximum(own, other)
    return float(mass @ ((other - own) / np.where(largest > 0, largest, 1.0)))


def _seeded(losses: np.ndarray, mass: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    chosen = [int(rng.choice(len(mass), p=mass))]
    while len(chosen) < number:
        chance = mass * losses[chosen].min(0)
        # Items equal under the loss: any other item will do.
        chance = chance if chance.sum() > 0 else np.isin(np.arange(len(mass)), chosen, invert=True) * 1.0
        chosen.append(int(rng.choice(len(mass), p=chance / chance.sum())))
    return np.array(chosen)


@compiled
def _swap_costs(losses: np.ndarray, stay: np.ndarray, mass: np.ndarray, costs: np.ndarray) -> None:
    for item in range(len(losses)):
        for slot in range(len(stay)):
            cost = 0.0
            for j in range(len(mass)):
                cost += min(losses[item, j], stay[slot, j]) * mass[j]
            costs[slot, item] = cost


def _swapped(losses: np.ndarray, mass: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    reached = float(losses[chosen].min(0) @ mass)
    while True:
        # What each item pays to the medoids that stay, for every medoid that may go.
        stay = [np.delete(losses[chosen], slot, 0).min(0, initial=np.inf) for slot in range(len(chosen))]
        costs = np.zeros((len(chosen), len(losses)))
        _swap_costs(losses, np.stack(stay), mass, costs)
        slot, item = np.unravel_index(costs.argmin(), costs.shape)
        if costs[slot, item] >= reached - 1e-12:
            return chosen
        reached = float(costs[slot, item])
        chosen = chosen.copy()
        chosen[slot] = item


MAX_MODES = 6
MIN_SILHOUETTE = 0.5
MIN_WEIGHT = 0.05
MIN_GAP = 0.05


@dataclass(frozen=True)
class PartitionModes:
    """Drawn partitions and the share of the posterior around each.

    Attributes:
        partitions: ``(M, N)`` canonical, the heaviest first.
        weights: ``(M,)``, the probability of the draws nearest to each, sums to 1.
        members: ``(S,)``, the nearest mode of each draw.
        spread: ``(M,)``, the mean loss between a mode and its draws.
    """

    partitions: np.ndarray
    weights: np.ndarray
    members: np.ndarray
    spread: np.ndarray


def partition_modes(
    draws: DrawsLike,
    *,
    seed: int,
    num_modes: int | None = None,
    loss: PartitionLoss = _DEFAULT_LOSS,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> PartitionModes:
    r"""Group draws around a few of them: weighted k-medoids.

    .. math:: \min_{m_1 \dots m_k} \sum_s w_s \, \min_j L(m_j, c^{(s)})

    Seeded as in k-means++, improved by swaps until none helps, the best of five starts. Where no number is
    given, it is the one from 2 to 6 with the largest mean silhouette, provided that this is at least 0.5,
    that each mode holds at least 5 % of the posterior, and that each two are at least 0.05 apart in
    normalised variation of information; otherwise one mode is enough. Medoids are sought
    among at most 1000 distinct draws, above 1000 points among :math:`\sqrt{10^9 / N}`, and then all
    draws go to the nearest.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        seed: of the starts, and of the random draws where there are too many.
        num_modes: how many modes; chosen by default.
        loss: distance, the mode as its first argument.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    References:
        Kaufman and Rousseeuw (1990), Finding groups in data. https://doi.org/10.1002/9780470316801
        Rousseeuw (1987), Silhouettes. https://doi.org/10.1016/0377-0427(87)90125-7

    Example:
        >>> found = partition_modes(np.array([[0, 0, 1, 1]] * 3 + [[0, 1, 0, 1]]), seed=0)
        >>> found.partitions.tolist(), found.weights.tolist()
        ([[0, 0, 1, 1], [0, 1, 0, 1]], [0.75, 0.25])
    """
    found = distinct_draws(draws, weights=weights)
    rng = np.random.default_rng(check_seed(seed))
    partitions, mass = _sample(found.partitions, found.mass, rng)
    if num_modes is not None:
        hint = "there are no more distinct draws"
        num_modes = check_count("num_modes", num_modes, at_most=len(partitions), hint=hint)
    losses = pairwise_loss(partitions, partitions, loss=loss, row_weights=row_weights)
    if num_modes is None:
        chosen = _choice(partitions, mass, losses, rng, row_weights)
    else:
        chosen = medoids(losses, mass, num_modes, rng)
    modes = partitions[chosen]
    away = pairwise_loss(modes, found.partitions, loss=loss, row_weights=row_weights)
    nearest = away.argmin(0)
    weight = np.bincount(nearest, weights=found.mass, minlength=len(modes))
    spread = np.bincount(nearest, weights=found.mass * away.min(0), minlength=len(modes))
    order = np.argsort(-weight, kind="stable")
    return PartitionModes(
        partitions=modes[order],
        weights=weight[order] / weight.sum(),
        members=np.argsort(order)[nearest][found.members],
        spread=(spread / np.where(weight > 0, weight, 1.0))[order],
    )


def _sample(
    partitions: np.ndarray, mass: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    most = paired_draws(partitions.shape[1])
    if (mass > 0).sum() <= most:
        return partitions[mass > 0], mass[mass > 0]
    rows, counts = np.unique(rng.choice(len(mass), most, p=mass), return_counts=True)
    return partitions[rows], counts / most


def _choice(
    partitions: np.ndarray,
    mass: np.ndarray,
    losses: np.ndarray,
    rng: np.random.Generator,
    row_weights: np.ndarray | None,
) -> np.ndarray:
    best, highest = medoids(losses, mass, 1, rng), MIN_SILHOUETTE
    for number in range(2, min(MAX_MODES, len(partitions)) + 1):
        chosen = medoids(losses, mass, number, rng)
        nearest = losses[chosen].argmin(0)
        width = silhouette(losses, mass, nearest)
        shares = np.bincount(nearest, weights=mass)
        if width >= highest and _apart(partitions[chosen], shares, row_weights):
            best, highest = chosen, width
    return best


def _apart(modes: np.ndarray, weights: np.ndarray, row_weights: np.ndarray | None) -> bool:
    loss = NormalisedVariationOfInformation()
    gaps = pairwise_loss(modes, modes, loss=loss, row_weights=row_weights)
    np.fill_diagonal(gaps, 1.0)
    return bool(gaps.min() >= MIN_GAP and weights.min() >= MIN_WEIGHT)
