"""Draws of partitions whose law is known, independent or as slow chains."""

import numpy as np


def restaurant_draws(
    rng: np.random.Generator, shape: tuple[int, ...], *, num_points: int, concentration: float
) -> np.ndarray:
    """Independent draws from a Chinese restaurant process, ``(*shape, num_points)``."""
    total = int(np.prod(shape))
    labels = np.zeros((total, num_points), dtype=np.int64)
    sizes = np.zeros((total, num_points))
    rows = np.arange(total)
    sizes[:, 0] = 1
    for point in range(1, num_points):
        tables = (sizes > 0).sum(1)
        mass = sizes.copy()
        mass[rows, tables] = concentration
        edges = mass.cumsum(1)
        labels[:, point] = (edges < rng.random((total, 1)) * edges[:, -1:]).sum(1)
        sizes[rows, labels[:, point]] += 1
    return labels.reshape(*shape, num_points)


def sticky(rng: np.random.Generator, draws: np.ndarray, *, hold: float) -> np.ndarray:
    """Chains ``(chains, draws, N)`` that repeat their last state with probability ``hold``."""
    chains, length, _ = draws.shape
    moves = rng.random((chains, length)) >= hold
    moves[:, 0] = True
    source = np.maximum.accumulate(np.where(moves, np.arange(length), 0), axis=1)
    return draws[np.arange(chains)[:, None], source]


def gibbs_chains(
    rng: np.random.Generator, starts: np.ndarray, *, length: int, concentration: float, moves: int = 1
) -> np.ndarray:
    """Chains of random-scan Gibbs on the same law, started at ``(chains, N)``; ``moves`` points a draw."""
    labels, (chains, num_points) = starts.copy(), starts.shape
    rows = np.arange(chains)
    kept = np.empty((length, chains, num_points), dtype=np.int64)
    sizes = np.zeros((chains, num_points))
    np.add.at(sizes, (rows[:, None], labels), 1)
    for step in range(length * moves):
        point = rng.integers(num_points, size=chains)
        sizes[rows, labels[rows, point]] -= 1
        mass = sizes.copy()
        mass[rows, (sizes == 0).argmax(1)] = concentration
        edges = mass.cumsum(1)
        labels[rows, point] = (edges < rng.random((chains, 1)) * edges[:, -1:]).sum(1)
        sizes[rows, labels[rows, point]] += 1
        if step % moves == moves - 1:
            kept[step // moves] = labels
    return kept.transpose(1, 0, 2)
