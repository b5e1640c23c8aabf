"""Data sets whose posterior is known: a random law over all partitions of a few points."""

import numpy as np

from pyroclust.partitions import enumerate_partitions


def drawn(
    rng: np.random.Generator,
    *,
    num_datasets: int,
    num_draws: int,
    num_points: int = 4,
    power: float = 1.0,
    evenness: float = 0.3,
) -> tuple[np.ndarray, np.ndarray]:
    """Return true partitions ``(B, N)`` and draws ``(S, B, N)`` from the posterior raised to a power."""
    partitions = enumerate_partitions(num_points).numpy()
    laws = rng.dirichlet(np.full(len(partitions), evenness), size=num_datasets) + 1e-12
    truth = _choose(rng, laws, 1)[0]
    draws = _choose(rng, laws**power, num_draws)
    return partitions[truth], partitions[draws]


def _choose(rng: np.random.Generator, laws: np.ndarray, number: int) -> np.ndarray:
    below = (laws / laws.sum(1, keepdims=True)).cumsum(1)
    places = (rng.random((number, len(laws), 1)) > below).sum(-1)
    return np.minimum(places, laws.shape[1] - 1)
