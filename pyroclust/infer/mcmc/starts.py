"""Where chains start."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pyroclust.partitions import canonical, check_label_vectors


class Starts(Protocol):
    """Chooses the first partition of every chain."""

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return labels, ``(num_chains, num_points)`` int64."""
        ...


@dataclass(frozen=True)
class OneCluster:
    """Start every chain with all points in one cluster.

    Example:
        >>> OneCluster()(3, 2, generator=np.random.default_rng(0)).tolist()
        [[0, 0, 0], [0, 0, 0]]
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return zeros, ``(num_chains, num_points)``."""
        return np.zeros((num_chains, num_points), dtype=np.int64)


@dataclass(frozen=True)
class Singletons:
    """Start every chain with each point in its own cluster; the first sweep costs O(N^2).

    Example:
        >>> Singletons()(3, 1, generator=np.random.default_rng(0)).tolist()
        [[0, 1, 2]]
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return 0, 1, ..., N - 1 for each chain, ``(num_chains, num_points)``."""
        return np.tile(np.arange(num_points), (num_chains, 1))


@dataclass(frozen=True)
class Overdispersed:
    """Start chains far apart: points thrown at random into 1 to N clusters, the number log-uniform.

    Several chains of one run get one stratum of the log-uniform law each, from few clusters to many.

    Example:
        >>> Overdispersed()(5, 2, generator=np.random.default_rng(0)).shape
        (2, 5)
    """

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return labels, ``(num_chains, num_points)``."""
        level = (np.arange(num_chains) + generator.random(num_chains)) / num_chains
        clusters = np.minimum(np.exp(level * np.log(num_points + 1.0)).astype(np.int64), num_points)
        return (generator.random((num_chains, num_points)) * clusters[:, None]).astype(np.int64)


class FromDraws:
    """Start each chain at its own row of given partitions, for instance draws of a guide.

    Rows are chosen at random without replacement; with as many rows as chains every row is used once.

    Args:
        draws: labels, ``(S, N)`` integers, a tensor or an array.

    Raises:
        ValueError: if the draws have another shape, or are not integers.

    Example:
        >>> FromDraws(np.array([[0, 0, 1]]))(3, 1, generator=np.random.default_rng(0)).tolist()
        [[0, 0, 1]]
    """

    def __init__(self, draws: Tensor | np.ndarray) -> None:
        labels = torch.from_numpy(draws) if isinstance(draws, np.ndarray) else draws
        check_label_vectors("draws", labels)
        if labels.dim() != 2:
            raise ValueError(f"draws has shape {tuple(labels.shape)}, expected (draws, points)")
        self.draws = canonical(labels)

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return rows of the draws, ``(num_chains, num_points)``.

        Raises:
            ValueError: if there are fewer rows than chains, or the rows have another number of points.
        """
        if self.draws.shape[0] < num_chains or self.draws.shape[1] != num_points:
            raise ValueError(
                f"draws has shape {tuple(self.draws.shape)}, "
                f"expected at least {num_chains} rows of {num_points} points"
            )
        rows = generator.permutation(len(self.draws))[:num_chains]
        return self.draws.cpu().numpy()[rows]


@dataclass(frozen=True)
class _SamePartition:
    assignments: Tensor

    def __call__(self, num_points: int, num_chains: int, *, generator: np.random.Generator) -> np.ndarray:
        if self.assignments.shape != (num_points,):
            raise ValueError(f"init has shape {tuple(self.assignments.shape)}, expected ({num_points},)")
        return np.tile(canonical(self.assignments).cpu().numpy(), (num_chains, 1))


def as_starts(init: Starts | Tensor) -> Starts:
    """Turn label vectors into starts: ``(N,)`` for every chain, ``(S, N)`` as :class:`FromDraws`."""
    if not isinstance(init, Tensor):
        if not callable(init) or isinstance(init, type):
            raise ValueError(
                f"init is of type {type(init).__name__}, expected a tensor of labels or starts such as "
                "OneCluster(): call torch.as_tensor on labels first"
            )
        return init
    return _SamePartition(init) if init.dim() == 1 else FromDraws(init)
