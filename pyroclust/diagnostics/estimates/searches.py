"""Searches for the partition of least expected loss: the quick ones and the exhaustive one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pyroclust.core.numbers import check_count
from pyroclust.diagnostics.draws.co_assignment import average_linkage, co_assignment, cuts
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.diagnostics.draws.labels import DistinctDraws
from pyroclust.diagnostics.draws.losses import PartitionLoss

MAX_ENUMERATED_POINTS = 10


class PartitionSearch(ABC):
    """A way to look for a partition with a small posterior expected loss."""

    @abstractmethod
    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the best partition found, ``(N,)`` canonical.

        Args:
            draws: the posterior, equal draws merged.
            loss: whose posterior expectation is to be small, the partition as its first argument.
            seed: of random choices; a search without any ignores it.
        """


@dataclass(frozen=True)
class DrawsSearch(PartitionSearch):
    """Try the heaviest ``max_candidates`` distinct draws: cost O(max_candidates M N) for M distinct draws."""

    max_candidates: int = 300

    def __post_init__(self) -> None:
        check_count("max_candidates", self.max_candidates)

    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the draw with the least expected loss."""
        return best_of(draws.partitions[: self.max_candidates], draws, loss=loss)


@dataclass(frozen=True)
class LinkageSearch(PartitionSearch):
    """Try the cuts of the average-linkage tree of the co-assignment matrix: the quick search.

    From one cluster to two more than any draw has. Cost: the co-assignment matrix, O(N^2 log N) for the
    tree and O(K M N) for the losses.

    References:
        Medvedovic and Sivaganesan (2002), Bayesian infinite mixture model based clustering of gene
        expression profiles. https://doi.org/10.1093/bioinformatics/18.9.1194
    """

    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the cut with the least expected loss."""
        return best_of(_linkage_cuts(draws), draws, loss=loss)


@dataclass(frozen=True)
class EnumerationSearch(PartitionSearch):
    """Try every partition of at most 10 points: the optimum, at cost O(Bell(N) M N); Bell(10) = 115975.

    Example:
        >>> from pyroclust.diagnostics import point_estimate
        >>> draws = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]])
        >>> point_estimate(draws, seed=0, search=EnumerationSearch()).tolist()
        [0, 1, 2]
    """

    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the partition with the least expected loss.

        Raises:
            ValueError: if there are more than 10 points.
        """
        points = draws.partitions.shape[1]
        if points > MAX_ENUMERATED_POINTS:
            raise ValueError(
                f"draws have {points} points, expected at most {MAX_ENUMERATED_POINTS} to try every "
                "partition: use SalsoSearch"
            )
        return best_of(_every_partition(points), draws, loss=loss)


def best_of(candidates: np.ndarray, draws: DistinctDraws, *, loss: PartitionLoss) -> np.ndarray:
    """Return the candidate with the least expected loss, the first where several have it."""
    expected = loss.expected(candidates, draws.partitions, weights=draws.mass, row_weights=draws.row_weights)
    return candidates[np.flatnonzero(expected <= expected.min() + 1e-12)[0]]


def _linkage_cuts(draws: DistinctDraws) -> np.ndarray:
    points = draws.partitions.shape[1]
    if points == 1:
        return np.zeros((1, 1), dtype=np.int64)
    tree = average_linkage(co_assignment(draws.partitions, weights=draws.mass))
    most = min(points, int(count_clusters(draws.partitions).max()) + 2)
    return cuts(tree, most)


@lru_cache(maxsize=MAX_ENUMERATED_POINTS)
def _every_partition(num_points: int) -> np.ndarray:
    labels = np.zeros((1, 1), dtype=np.int64)
    for _ in range(num_points - 1):
        children = labels.max(-1) + 2
        parents = np.repeat(labels, children, axis=0)
        child = np.arange(len(parents)) - np.repeat(children.cumsum() - children, children)
        labels = np.concatenate([parents, child[:, None]], -1)
    return labels
