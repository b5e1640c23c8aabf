"""Whether clusters are split, or would be, because they are skewed, heavy-tailed or overdispersed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from pyroclust.diagnostics.limits import LIKELY, is_large_gain

# Rows of a table that are looked at, neighbours of a cluster, and groups that are named.
_MOST_ROWS, _NEIGHBOURS, _MOST_GROUPS = 5000, 3, 20
# Of rows a cluster needs so many for each column, and so many more.
_ROWS_A_COLUMN, _FEWEST_ROWS = 2, 6
# Johnson's S_U for each column: inverse scales and places of the sinh, in standard deviations.
_INVERSE_SCALES = np.array([0.15, 0.3, 0.6, 1.2, 2.5, 5.0])
_PLACES = np.array([-3.0, -2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0, 3.0])
_DEGREES = np.array([1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0])
_ROUNDS, _SETTLED, _RIDGE = 25, 0.05, 1e-6


HEAVY, SKEWED, OVERDISPERSED = "heavy-tailed", "skewed", "overdispersed"


@dataclass(frozen=True)
class OtherShape:
    """One cluster, or several as one, as a single cluster of another shape."""

    clusters: tuple[int, ...]
    rows: int
    gain: float
    shape: str


@dataclass(frozen=True)
class SplitClusters:
    """What other shapes gain."""

    groups: tuple[OtherShape, ...]
    num_clusters: int
    num_columns: int

    def __repr__(self) -> str:
        best = self.groups[0]
        return f"SplitClusters(clusters {best.clusters}: {best.gain:.1f} nats)"

    @property
    def joined(self) -> tuple[tuple[tuple[int, ...], str], ...]:
        """Groups that gain more than the limit, with their shapes."""
        found: list[tuple[set[int], str]] = []
        for group in self.groups:
            if is_large_gain(group.gain):
                clusters, shape = set(group.clusters), group.shape
                for other in [one for one in found if one[0] & clusters]:
                    found.remove(other)
                    clusters, shape = clusters | other[0], other[1]
                found.append((clusters, shape))
        return tuple((tuple(sorted(clusters)), shape) for clusters, shape in found)

    @property
    def num_left(self) -> int:
        """Number of clusters where each of these groups is one."""
        return self.num_clusters - sum(len(clusters) - 1 for clusters, _ in self.joined)

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        return {"groups": [asdict(one) for one in self.groups], "num_left": self.num_left}


def split_clusters(
    assignments: np.ndarray,
    *,
    draws: np.ndarray,
    data: np.ndarray,
    log_joint: Callable[[np.ndarray, np.ndarray], np.ndarray],
    is_independent: bool,
) -> SplitClusters | None:
    """Say whether a skewed or heavy-tailed cluster explains rows better than normal ones do."""
    every = slice(None, None, -(-len(data) // _MOST_ROWS))
    rows, labels, drawn = data[every], assignments[every], draws[:, every]
    pairs = list(_neighbours(rows, labels))
    merged = [np.where(labels == second, first, labels) for first, second in pairs]
    log_joints = log_joint(rows, np.stack([labels, *merged])) if merged else np.zeros(1)
    losses = np.minimum(0.0, log_joints[1:] - log_joints[0])
    groups: list[tuple[tuple[int, ...], float]] = [((int(k),), 0.0) for k in np.unique(labels)]
    groups += [(pair, float(loss)) for pair, loss in zip(pairs, losses, strict=True)]
    found = []
    for clusters, loss in groups:
        members = np.isin(labels, clusters)
        of_draws = drawn[:, members]
        if len(clusters) == 1 and (of_draws.min(1) != of_draws.max(1)).mean() <= LIKELY:
            continue
        if members.sum() < _ROWS_A_COLUMN * data.shape[1] + _FEWEST_ROWS or loss == -math.inf:
            continue
        gain, shape = _gain(rows[members], is_independent=is_independent)
        number = int(np.isin(assignments, clusters).sum())
        found.append(OtherShape(clusters, number, gain + loss, shape))
    found.sort(key=lambda one: -one.gain)
    if not found:
        return None
    return SplitClusters(tuple(found[:_MOST_GROUPS]), int(assignments.max()) + 1, data.shape[1])


def overdispersed_clusters(
    assignments: np.ndarray,
    *,
    data: np.ndarray,
    log_joint: Callable[[np.ndarray, np.ndarray], np.ndarray],
    log_joint_of_others: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> SplitClusters | None:
    """Say whether counts that vary more than Poisson counts explain rows better, and by fewer clusters.

    Clusters are joined one after the other, as long as that is better for such counts, whose log joint
    density of rows and partitions ``(S, N)`` is that of the others.
    """
    every = slice(None, None, -(-len(data) // _MOST_ROWS))
    rows, (present, labels) = data[every], np.unique(assignments[every], return_inverse=True)
    if len(present) > _MOST_GROUPS:
        return None
    group_of, best = np.arange(len(present)), float(log_joint_of_others(rows, labels[None])[0])
    while group_of.max() > 0:
        pairs = [(k, other) for other in range(group_of.max() + 1) for k in range(other)]
        joined = [np.where(group_of == other, k, group_of - (group_of > other)) for k, other in pairs]
        scores = log_joint_of_others(rows, np.stack([one[labels] for one in joined]))
        if scores.max() <= best:
            break
        best, group_of = float(scores.max()), joined[int(scores.argmax())]
    gain, sizes = best - float(log_joint(rows, labels[None])[0]), np.bincount(assignments)
    members = [present[group_of == k] for k in range(group_of.max() + 1)]
    groups = [OtherShape(tuple(one.tolist()), int(sizes[one].sum()), gain, OVERDISPERSED) for one in members]
    return SplitClusters(tuple(groups), len(sizes), data.shape[1])


def _neighbours(rows: np.ndarray, labels: np.ndarray) -> Iterator[tuple[int, int]]:
    """Return pairs of clusters whose means are near in the spread of one of them, each pair once."""
    present = np.unique(labels)
    sizes = np.array([(labels == k).sum() for k in present])
    means = np.stack([rows[labels == k].mean(0) for k in present])
    spreads = np.stack([rows[labels == k].var(0) for k in present])
    # Single rows have no spread of their own.
    spreads = (sizes[:, None] * spreads + spreads.mean(0) + _RIDGE) / (sizes[:, None] + 1)
    apart = ((means[:, None] - means) ** 2 / np.maximum(spreads[:, None], spreads)).sum(-1)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(present) - 1)]
    pairs = {(min(k, other), max(k, other)) for k, near in enumerate(nearest) for other in near}
    return ((int(present[k]), int(present[other])) for k, other in sorted(pairs))


def _gain(rows: np.ndarray, *, is_independent: bool) -> tuple[float, str]:
    """Return what the better of two shapes gains on one normal cluster, and which it is."""
    rows = rows[:, rows.std(0) > _RIDGE]
    number, columns = rows.shape
    if not columns:
        return -math.inf, HEAVY
    rows = (rows - rows.mean(0)) / rows.std(0)
    normal, log_n = _log_normal(rows, is_independent=is_independent), math.log(number)
    heavy = _log_student(rows, is_independent=is_independent) - normal - log_n / 2
    skewed = _log_skewed(rows, is_independent=is_independent) - normal - columns * log_n
    return max(heavy, skewed), HEAVY if heavy >= skewed else SKEWED


def _root(covariance: np.ndarray, *, is_independent: bool) -> np.ndarray:
    """Return the Cholesky factor of a covariance; of its diagonal where columns are independent."""
    diagonal = np.diag(np.diag(covariance))
    return np.linalg.cholesky((diagonal if is_independent else covariance) + _RIDGE * diagonal)


def _log_normal(rows: np.ndarray, *, is_independent: bool) -> float:
    number, columns = rows.shape
    centred = rows - rows.mean(0)
    root = _root(centred.T @ centred / number, is_independent=is_independent)
    return -number * (columns / 2 * (1 + math.log(2 * math.pi)) + float(np.log(np.diag(root)).sum()))


def _log_skewed(rows: np.ndarray, *, is_independent: bool) -> float:
    """Return the largest log-likelihood of S_U on a grid, column by column."""
    number, columns = rows.shape
    inverse, place = (one.ravel() for one in np.meshgrid(_INVERSE_SCALES, _PLACES))
    normal, log_slopes = np.empty_like(rows), 0.0
    for d in range(columns):
        scaled = inverse[:, None] * (rows[:, d] - place[:, None])
        bent = np.arcsinh(scaled)
        slopes = number * np.log(inverse) - np.log1p(scaled**2).sum(1) / 2
        best = int((slopes - number * np.log(bent.std(1))).argmax())
        normal[:, d] = bent[best]
        log_slopes += float(slopes[best])
    return _log_normal(normal, is_independent=is_independent) + log_slopes


def _log_student(rows: np.ndarray, *, is_independent: bool) -> float:
    """Return the largest log-likelihood of a Student-t, by the EM algorithm."""
    number, columns = rows.shape
    centre, covariance, degrees = np.median(rows, 0), rows.T @ rows / number, 4.0
    constant = gammaln((_DEGREES + columns) / 2) - gammaln(_DEGREES / 2)
    constant -= columns / 2 * np.log(_DEGREES * math.pi)
    best = -math.inf
    for _ in range(_ROUNDS):
        root = _root(covariance, is_independent=is_independent)
        squares = (np.linalg.solve(root, (rows - centre).T) ** 2).sum(0)
        tails = (_DEGREES + columns) / 2 * np.log1p(squares[:, None] / _DEGREES).sum(0)
        log_likelihood = number * (constant - np.log(np.diag(root)).sum()) - tails
        last, best = best, max(best, float(log_likelihood.max()))
        if best - last < _SETTLED:
            break
        degrees = _DEGREES[log_likelihood.argmax()]
        weights = (degrees + columns) / (degrees + squares)
        centre = weights @ rows / weights.sum()
        centred = rows - centre
        covariance = (weights[:, None] * centred).T @ centred / number
    return best
