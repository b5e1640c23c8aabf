"""Several partitions that represent a posterior with more than one mode."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.draws.co_assignment import paired_draws
from pyroclust.diagnostics.draws.labels import distinct_draws
from pyroclust.diagnostics.draws.losses import (
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
    pairwise_loss,
)
from pyroclust.partitions.raw_labels import DrawsLike

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


_DEFAULT_LOSS = VariationOfInformation()
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
