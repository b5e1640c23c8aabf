"""What constraints on a partition changed: which points moved, and how far the uncertainty fell."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from pyroclust.diagnostics.differences.agreement import Marginals, marginals_of_halves
from pyroclust.diagnostics.draws.labels import as_chains, rows_per_point
from pyroclust.partitions.raw_labels import DrawsLike


@dataclass(frozen=True)
class Uncertainty:
    """How unsure a posterior of a partition is."""

    disagreeing: float
    pair_entropy: float
    num_pairs: int
    mean_clusters: float
    cluster_entropy: float

    def __repr__(self) -> str:
        return f"Uncertainty({self.disagreeing:.1f} pairs in doubt, {self.mean_clusters:.2f} clusters)"


@dataclass(frozen=True)
class ConstraintEffect:
    """A posterior beside the same posterior under constraints."""

    change: np.ndarray
    noise: np.ndarray
    points: np.ndarray
    before: Uncertainty
    after: Uncertainty
    clusters_from: int
    counts_before: np.ndarray
    counts_after: np.ndarray
    together_before: np.ndarray
    together_after: np.ndarray

    def __repr__(self) -> str:
        doubt = f"{self.before.disagreeing:.1f} to {self.after.disagreeing:.1f} pairs in doubt"
        return f"ConstraintEffect(changes up to {self.change.max():.2f}, {doubt})"

    def figures(self) -> dict[str, Any]:
        """Return what a JSON file says of it, without matrices."""
        return {
            "change": self.change,
            "noise": self.noise,
            "points": self.points,
            "before": vars(self.before),
            "after": vars(self.after),
            "num_clusters": {
                "values": self.clusters_from + np.arange(len(self.counts_before)),
                "before": self.counts_before,
                "after": self.counts_after,
            },
        }


def constraint_effect(
    before: DrawsLike, after: Marginals, *, row_weights: np.ndarray | None = None
) -> ConstraintEffect:
    """Compare a posterior with the same one given something more, point by point."""
    draws = as_chains(before, name="before")
    num_points = draws.shape[-1]
    if len(after.counts) != num_points + 1:
        raise ValueError(
            f"before has {num_points} points and after {len(after.counts) - 1}, expected equally many"
        )
    free, halves = marginals_of_halves(draws)
    first, second = halves or (free, free)
    points = np.arange(num_points) if after.points is None else after.points
    times = rows_per_point(row_weights, num_points)[points]
    seen = np.flatnonzero((free.counts > 0) | (after.counts > 0))
    counts = slice(int(seen[0]), int(seen[-1]) + 1)
    return ConstraintEffect(
        change=_change(free.together, after.together, times),
        noise=_change(first.together, second.together, times),
        points=points,
        before=uncertainty_of(free, row_weights=times),
        after=uncertainty_of(after, row_weights=times),
        clusters_from=counts.start,
        counts_before=free.counts[counts],
        counts_after=after.counts[counts],
        together_before=free.together,
        together_after=after.together,
    )


def uncertainty_of(found: Marginals, *, row_weights: np.ndarray | None = None) -> Uncertainty:
    """Return how unsure a posterior is of pairs of points, and of the number of clusters."""
    times = np.ones(len(found.together), np.int64) if row_weights is None else row_weights
    first, second = np.triu_indices(len(times), 1)
    pairs, number = found.together[first, second].astype(np.float64), times[first] * times[second]
    values, rows = np.arange(len(found.counts)), int(times.sum())
    return Uncertainty(
        disagreeing=float(number @ (2 * pairs * (1 - pairs))),
        pair_entropy=float(number @ (entr(pairs) + entr((1 - pairs).clip(0)))) / math.log(2),
        num_pairs=rows * (rows - 1) // 2,
        mean_clusters=float(values @ found.counts),
        cluster_entropy=float(entr(found.counts).sum()) / math.log(2),
    )


def _change(before: np.ndarray, after: np.ndarray, times: np.ndarray) -> np.ndarray:
    gap = np.abs(before.astype(np.float64) - after)
    np.fill_diagonal(gap, 0.0)
    found: np.ndarray = gap @ times / max(1, times.sum() - 1)
    return found
