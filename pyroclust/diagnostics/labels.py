"""Draws of partitions as label arrays: checked, weighted, renumbered, equal ones merged."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import as_numbers, check_count, check_seed
from pyroclust.core.numbers import checked_weights as counts_of_rows
from pyroclust.diagnostics.importance import importance_weights, stratified_draws
from pyroclust.partitions.draws import Draws
from pyroclust.partitions.raw_labels import DrawsLike, raw_labels


@compiled(allocates=False, fastmath=False)
def _compact(labels: np.ndarray, names: np.ndarray, compacted: np.ndarray, counts: np.ndarray) -> None:
    for s in range(labels.shape[0]):
        for k in range(len(names)):
            names[k] = -1
        found = 0
        for i in range(labels.shape[1]):
            label = labels[s, i]
            if names[label] < 0:
                names[label] = found
                found += 1
            compacted[s, i] = names[label]
        counts[s] = found


@compiled(allocates=False, fastmath=False)
def _is_compact(labels: np.ndarray, counts: np.ndarray) -> bool:
    for s in range(labels.shape[0]):
        found = 0
        for i in range(labels.shape[1]):
            if labels[s, i] > found:
                return False
            found += labels[s, i] == found
        counts[s] = found
    return True


def compact(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the clusters of each row by first appearance as int32, and count them: O(N) a row.

    No copy is made of labels that are int32 and in this order, as those of large tables are.
    """
    counts, as_they_are = np.empty(len(labels), np.int64), labels.dtype == np.int32
    # Read-only or strided arrays would be compiled for once more.
    labels = np.require(labels, np.int32 if as_they_are else np.int64, ["C", "W"])
    if as_they_are and _is_compact(labels, counts):
        return labels, counts
    compacted = np.empty(labels.shape, np.int32)
    _compact(labels, np.empty(int(labels.max(initial=-1)) + 1, np.int32), compacted, counts)
    return compacted, counts


def checked_labels(name: str, assignments: DrawsLike) -> np.ndarray:
    """Return ``assignments``, ``(..., N)``, after checking that they are labels 0 to N - 1.

    They are int64, or int32 where they were of so few bytes: those of a large table are copied as seldom as
    can be.
    """
    labels = _integers(name, assignments)
    return labels.astype(np.int64 if labels.itemsize > 4 else np.int32, copy=False)


def flatten(draws: DrawsLike, *, name: str = "draws") -> np.ndarray:
    """Merge chains and draws, ``(S, N)``."""
    labels = as_chains(draws, name=name)
    return labels.reshape(-1, labels.shape[-1])


def as_chains(draws: DrawsLike, *, name: str = "draws") -> np.ndarray:
    """Give draws a chain dimension where they have none, ``(chains, draws, N)``."""
    labels = checked_labels(name, draws)
    if labels.ndim not in (2, 3):
        raise ValueError(
            f"{name} has shape {labels.shape}, expected (chains, draws, points) or (draws, points)"
        )
    return labels if labels.ndim == 3 else labels[None]


def _integers(name: str, assignments: DrawsLike) -> np.ndarray:
    labels = raw_labels(name, assignments)
    if labels.ndim == 0 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}, expected (..., N) with at least one draw and one point"
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{name} has values of type {labels.dtype}, expected integers, the labels of clusters: "
            "pyroclust.diagnose takes labels of any kind"
        )
    low, high = labels.min(), labels.max()
    if low < 0 or high >= labels.shape[-1]:
        raise ValueError(
            f"{name} has labels from {low} to {high}, expected 0 to {labels.shape[-1] - 1}: renumber them "
            "with pyroclust.partitions.canonical(torch.as_tensor(labels))"
        )
    return labels


def labels_and_weights(
    name: str, draws: DrawsLike, weights: Any = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the labels that an object holds, and its own weights where it has some and none are given."""
    if isinstance(draws, Draws) and draws.log_weights is not None:
        if weights is not None:
            raise ValueError(f"weights are given, but {name} are draws with log_weights: leave weights out")
        return draws.flat, normalised_weights(draws)
    labels = raw_labels(name, draws)
    if weights is None:
        return labels, None
    numbers = as_numbers("weights", weights)
    if labels.ndim == 3 and numbers.ndim > 1 and numbers.shape[:2] != labels.shape[:2]:
        raise ValueError(f"weights has shape {numbers.shape}, expected {labels.shape[:2]}, (chains, draws)")
    return labels, numbers


def flat_and_shares(draws: DrawsLike, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return draws as ``(S, N)``, and the share of each, which sum to 1."""
    draws, weights = labels_and_weights("draws", draws, weights)
    labels = flatten(draws)
    return labels, checked_weights(weights, len(labels))


def normalised_weights(draws: Draws) -> np.ndarray:
    """Return weights that sum to 1, of all chains one after the other, ``(S,)``; equal ones without any.

    Of independent draws of a guide, those with log q, they are Pareto-smoothed; particles, whose weights
    depend on one another, keep theirs.
    """
    if draws.log_weights is None:
        return np.full(draws.num_draws, 1 / draws.num_draws)
    if draws.log_prob is not None:
        return importance_weights(draws.log_weights)
    return np.asarray(softmax(draws.log_weights.reshape(-1)))


def checked_weights(weights: np.ndarray | None, num_draws: int) -> np.ndarray:
    """Return normalised weights of the draws, ``(S,)``, equal ones for ``None``."""
    if weights is None:
        return np.full(num_draws, 1 / num_draws)
    flat = np.asarray(weights, dtype=np.float64).reshape(-1)
    if len(flat) != num_draws:
        raise ValueError(f"weights has {len(flat)} entries, expected {num_draws}, one a draw")
    if not np.isfinite(flat).all() or flat.min() < 0 or flat.max() <= 0:
        raise ValueError("weights must be finite, not negative and not all zero")
    with np.errstate(over="ignore"):
        total = flat.sum()
    # The sum of the largest numbers is not finite.
    return flat / total if np.isfinite(total) else flat / flat.max() / (flat / flat.max()).sum()


def checked_row_weights(row_weights: Any, num_points: int) -> np.ndarray | None:
    """Return how many equal rows each point stands for, ``(N,)`` int64; ``None`` where each is one."""
    if row_weights is None:
        return None
    return counts_of_rows("row_weights", row_weights, num_rows=num_points)


def rows_per_point(row_weights: Any, num_points: int) -> np.ndarray:
    """Return how many equal rows each point stands for, ``(N,)`` int64."""
    times = checked_row_weights(row_weights, num_points)
    return np.ones(num_points, np.int64) if times is None else times


@compiled(allocates=False, fastmath=False)
def _add_values(labels: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    for s in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            sums[s, labels[s, i]] += values[i]


def cluster_sums(labels: np.ndarray, values: np.ndarray | None, number: int) -> np.ndarray:
    """Sum values of the points ``(N,)`` over the clusters of each draw ``(S, N)``; ``None`` counts points."""
    kind = np.int64 if values is None else np.float64
    values = np.ones(labels.shape[1], kind) if values is None else np.require(values, kind, ["C", "W"])
    sums = np.zeros((len(labels), number), kind)
    _add_values(np.require(labels, None, ["C", "W"]), values, sums)
    return sums


def resample(draws: Draws, num_draws: int, *, seed: int) -> Draws:
    """Draw from weighted draws by their weights, stratified: equal ones, in one chain and random order.

    Example:
        >>> draws = Draws(assignments=np.array([[[0, 0], [0, 1]]]), log_weights=np.array([[0.0, -np.inf]]))
        >>> resample(draws, 3, seed=0).assignments.tolist()
        [[[0, 0], [0, 0], [0, 0]]]
    """
    num_draws, generator = check_count("num_draws", num_draws), np.random.default_rng(check_seed(seed))
    check_memory(
        2 * 8 * num_draws * draws.num_points, f"num_draws is {num_draws}: partitions", remedy="draw fewer"
    )
    rows = stratified_draws(normalised_weights(draws), generator.random(num_draws))
    rows = generator.permutation(rows)

    def kept(values: np.ndarray) -> np.ndarray:
        return values.reshape(1, -1, *values.shape[2:])[:, rows]

    return replace(
        draws,
        assignments=kept(draws.assignments),
        log_joint=None if draws.log_joint is None else kept(draws.log_joint),
        log_prob=None,
        log_weights=None,
        parameters={name: kept(values) for name, values in draws.parameters.items()},
    )


@dataclass(frozen=True)
class DistinctDraws:
    """The partitions among draws, each once, the heaviest first."""

    partitions: np.ndarray  # (M, N) canonical
    mass: np.ndarray  # (M,), sums to 1
    members: np.ndarray  # (S,), the partition of each draw
    shares: np.ndarray  # (S,), the normalised weight of each draw
    row_weights: np.ndarray | None = None  # (N,), how many equal rows each point stands for


def distinct_draws(draws: DrawsLike, *, weights: np.ndarray | None = None) -> DistinctDraws:
    """Merge draws of the same partition; the order does not depend on the order of the draws."""
    flat, shares = flat_and_shares(draws, weights)
    labels, _ = compact(flat)
    place, first, _ = equal_rows(labels)
    mass = np.bincount(place, weights=shares)
    mass = mass / mass.sum()
    # Equal up to the rounding of sums: then the order is that of the labels.
    order = np.argsort(-mass.round(12), kind="stable")
    partitions = labels[first[order]].astype(flat.dtype, copy=False)
    return DistinctDraws(partitions, mass[order], np.argsort(order)[place], shares)


@compiled(allocates=False, fastmath=False)
def _differ(rows: np.ndarray, order: np.ndarray, is_new: np.ndarray) -> None:
    for at in range(1, len(order)):
        one, before, i = order[at], order[at - 1], 0
        while i < rows.shape[1] and rows[one, i] == rows[before, i]:
            i += 1
        is_new[at] = i < rows.shape[1]


def equal_rows(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which group of equal rows each row belongs to, the first row of each group, and its size."""
    rows = np.ascontiguousarray(labels)
    # numpy.unique would copy them all.
    order = np.argsort(rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0], kind="stable")
    is_new, place = np.ones(len(rows), np.bool_), np.empty(len(rows), np.int64)
    _differ(rows, order, is_new)
    place[order] = np.cumsum(is_new) - 1
    return place, order[is_new], np.bincount(place)
