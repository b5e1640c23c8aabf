"""Weighted k-medoids on a matrix of losses, and the silhouette of the groups."""

import numpy as np

__all__ = ["medoids", "silhouette"]

_STARTS = 5


def medoids(losses: np.ndarray, mass: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    r"""Return the items m that make :math:`\sum_j w_j \min_m L_{mj}` small: the best of five starts.

    Each start is seeded as in k-means++ and improved by the best swap of a medoid with another item until no
    swap helps (PAM). Cost: O(k n^2) a swap.

    Shape:
        losses: ``(n, n)``, row i the losses of item i as a medoid; mass: ``(n,)``; output: ``(number,)``.

    References:
        Kaufman and Rousseeuw (1990), Finding groups in data. https://doi.org/10.1002/9780470316801

    Example:
        >>> positions = np.array([0.0, 0.1, 0.2, 5.0])
        >>> losses = np.abs(positions[:, None] - positions)
        >>> sorted(medoids(losses, np.full(4, 0.25), 2, np.random.default_rng(0)).tolist())
        [1, 3]
    """
    starts = 1 if number == 1 else _STARTS
    found = [_swapped(losses, mass, _seeded(losses, mass, number, rng)) for _ in range(starts)]
    return min(found, key=lambda chosen: float(losses[chosen].min(0) @ mass))


def silhouette(losses: np.ndarray, mass: np.ndarray, groups: np.ndarray) -> float:
    r"""Return the weighted mean of :math:`(b - a) / \max(a, b)` over items.

    For each item, a is the mean loss to its own group, itself included, and b that to the nearest other one.

    Shape:
        losses: ``(n, n)``; mass: ``(n,)``; groups: ``(n,)`` labels from 0, none of them without items.

    References:
        Rousseeuw (1987), Silhouettes. https://doi.org/10.1016/0377-0427(87)90125-7

    Example:
        >>> silhouette(1 - np.eye(2), np.array([0.5, 0.5]), np.array([0, 1]))
        1.0
    """
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


def _swapped(losses: np.ndarray, mass: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    reached = float(losses[chosen].min(0) @ mass)
    while True:
        # What each item pays to the medoids that stay, for every medoid that may go.
        stay = [np.delete(losses[chosen], slot, 0).min(0, initial=np.inf) for slot in range(len(chosen))]
        costs = np.stack([np.minimum(losses, kept) @ mass for kept in stay])
        slot, item = np.unravel_index(costs.argmin(), costs.shape)
        if costs[slot, item] >= reached - 1e-12:
            return chosen
        reached = float(costs[slot, item])
        chosen = chosen.copy()
        chosen[slot] = item
