"""Searches for the partition of least expected loss: quick ones, the exhaustive one, and SALSO."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pyroclust.core.compiling import compiled, inner
from pyroclust.core.machine import each_in_threads
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.frequencies import (
    MAX_PAIRED_POINTS,
    average_linkage,
    co_assignment,
    count_clusters,
    cuts,
)
from pyroclust.diagnostics.labels import DistinctDraws, cluster_sums, equal_rows, rows_per_point
from pyroclust.diagnostics.losses import PartitionLoss, all_losses, compact

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
    # Labels and masses were checked where they came in.
    losses = all_losses(candidates, draws.partitions, loss, draws.row_weights)
    expected = np.concatenate([block @ draws.mass for block in losses])
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


# What numba compiles to 64-bit integers, by the names that numpy gives them.
Index: TypeAlias = "int | np.signedinteger[Any]"

_BETTER = 1e-12
_MAX_SWEEPS = 200


class Problem(NamedTuple):
    """Draws and a loss, as the search reads them."""

    rows: np.ndarray
    mass: np.ndarray
    weights: np.ndarray
    terms: np.ndarray
    other: np.ndarray
    form: np.ndarray
    limit: int


class State(NamedTuple):
    """A partition of the items and its contingency tables with all draws; clusters are 0 to clusters - 1."""

    labels: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray
    joint: np.ndarray
    clusters: np.ndarray
    costs: np.ndarray
    order: np.ndarray
    chosen: np.ndarray
    random: np.ndarray


@inner(fastmath=False)
def _below(random: np.ndarray, bound: Index) -> np.int64:
    # Marsaglia's xorshift: a state of its own, so that threads do not share one.
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64((x >> np.uint64(16)) % np.uint64(bound))


@inner(fastmath=False)
def _shuffle(random: np.ndarray, items: np.ndarray, number: Index) -> None:
    for last in range(number - 1, 0, -1):
        other = _below(random, last + 1)
        items[last], items[other] = items[other], items[last]


@inner(fastmath=False)
def _gain(terms: np.ndarray, count: Index, weight: Index) -> float:
    return terms[count + weight] - terms[count]


@inner(fastmath=False)
def _add(problem: Problem, state: State, item: Index, cluster: Index) -> None:
    weight = problem.weights[item]
    for s in range(len(problem.mass)):
        row = problem.rows[item, s]
        state.joint[s] += _gain(problem.terms, state.counts[row, cluster], weight)
        state.counts[row, cluster] += weight
    state.labels[item] = cluster
    state.sizes[cluster] += weight
    state.clusters[0] = max(state.clusters[0], cluster + 1)


@inner(fastmath=False)
def _remove(problem: Problem, state: State, item: Index) -> None:
    cluster, weight = state.labels[item], problem.weights[item]
    for s in range(len(problem.mass)):
        row = problem.rows[item, s]
        state.counts[row, cluster] -= weight
        state.joint[s] -= _gain(problem.terms, state.counts[row, cluster], weight)
    state.labels[item] = -1
    state.sizes[cluster] -= weight
    if state.sizes[cluster] == 0:
        last = state.clusters[0] - 1
        state.clusters[0] = last
        if cluster != last:
            state.sizes[cluster], state.sizes[last] = state.sizes[last], 0
            for row in range(len(state.counts)):
                state.counts[row, cluster] = state.counts[row, last]
                state.counts[row, last] = 0
            for i in range(len(state.labels)):
                if state.labels[i] == last:
                    state.labels[i] = cluster


@inner(fastmath=False)
def _ratio(form: np.ndarray, joint: float, own: float, other: float) -> float:
    below = form[2] + form[3] * joint + form[4] * (own + other) + form[5] * own * other
    above = form[0] * own + form[1] * other - 2 * joint
    return above / below if abs(below) > 1e-12 else 0.0


@inner(fastmath=False)
def _loss(problem: Problem, state: State) -> float:
    own, total = 0.0, 0.0
    for k in range(state.clusters[0]):
        own += problem.terms[state.sizes[k]]
    for s in range(len(problem.mass)):
        total += problem.mass[s] * _ratio(problem.form, state.joint[s], own, problem.other[s])
    return total


@inner(fastmath=False)
def _ratio_costs(problem: Problem, state: State, form: np.ndarray, item: Index, width: int) -> float:
    """Fill ``costs`` where the loss of each draw is a ratio; return the cost of the item's own cluster."""
    current, stay, own = state.labels[item], 0.0, 0.0
    costs, terms, sizes, weight = state.costs, problem.terms, state.sizes, problem.weights[item]
    for k in range(state.clusters[0]):
        own += terms[sizes[k]]
    if current >= 0:
        own -= _gain(terms, sizes[current] - weight, weight)
    for s in range(len(problem.mass)):
        counts, mass = state.counts[problem.rows[item, s]], problem.mass[s]
        joint, other = state.joint[s], problem.other[s]
        if current >= 0:
            joint -= _gain(terms, counts[current] - weight, weight)
            before = own + _gain(terms, sizes[current] - weight, weight)
            stay += mass * _ratio(form, state.joint[s], before, other)
        for k in range(width):
            there, here = _gain(terms, counts[k], weight), _gain(terms, sizes[k], weight)
            costs[k] += mass * _ratio(form, joint + there, own + here, other)
    return stay


@inner(fastmath=False)
def _best_cluster(problem: Problem, state: State, form: "np.ndarray | None", item: Index) -> int:
    """Return the cheapest cluster of an item, the next number for a new one; its own unless worse."""
    current, clusters, stay = state.labels[item], state.clusters[0], 0.0
    costs, terms, weight = state.costs, problem.terms, problem.weights[item]
    # Whole vectors: the columns beyond the last cluster are zeros.
    width = 8 * ((clusters + 8) // 8)
    for k in range(width):
        costs[k] = 0.0
    # Of two ways numba compiles the one that is asked for, by the type of the form.
    if form is None:
        price = problem.form[0]
        for s in range(len(problem.mass)):
            counts, mass = state.counts[problem.rows[item, s]], problem.mass[s]
            for k in range(width):
                costs[k] += mass * _gain(terms, counts[k], weight)
            if current >= 0:
                stay += mass * _gain(terms, counts[current] - weight, weight)
        for k in range(width):
            costs[k] = price * _gain(terms, state.sizes[k], weight) - 2 * costs[k]
        if current >= 0:
            stay = price * _gain(terms, state.sizes[current] - weight, weight) - 2 * stay
    else:
        stay = _ratio_costs(problem, state, form, item, width)
    best, least = current, stay - _BETTER if current >= 0 else np.inf
    for k in range(min(clusters + 1, problem.limit)):
        if k != current and costs[k] < least:
            best, least = k, costs[k]
    return best


@inner(fastmath=False)
def _visit(
    problem: Problem, state: State, form: "np.ndarray | None", items: np.ndarray, number: Index
) -> bool:
    """Move each of some items to its cheapest cluster; return whether one moved."""
    moved = False
    for place in range(number):
        item = items[place]
        best = _best_cluster(problem, state, form, item)
        own, clusters = state.labels[item], state.clusters[0]
        if best != own:
            if own >= 0:
                _remove(problem, state, item)
                # The last cluster takes the number of one that is gone.
                if state.clusters[0] < clusters and best == clusters - 1:
                    best = own
            _add(problem, state, item, best)
            moved = True
    return moved


@inner(fastmath=False)
def _dissolve(problem: Problem, state: State) -> np.int64:
    """Choose a random cluster and take its items out of it, in random order; return how many."""
    # A plain 0 would be a type of its own, for which numba compiles all that is called with it once more.
    number = np.int64(0)
    cluster = _below(state.random, state.clusters[0])
    for item in range(len(state.labels)):
        if state.labels[item] == cluster:
            state.chosen[number] = item
            number += 1
    _shuffle(state.random, state.chosen, number)
    for place in range(number):
        _remove(problem, state, state.chosen[place])
    return number


@inner(fastmath=False)
def _unite(problem: Problem, state: State, number: Index) -> None:
    """Put the chosen items back into a cluster of their own."""
    for place in range(number):
        _remove(problem, state, state.chosen[place])
    home = state.clusters[0]
    for place in range(number):
        _add(problem, state, state.chosen[place], home)


@inner(fastmath=False)
def _clear(state: State, seed: Any) -> None:
    state.random[0], state.clusters[0] = seed, 0
    for i in range(len(state.labels)):
        state.labels[i], state.order[i] = -1, i
    for s in range(len(state.joint)):
        state.joint[s] = 0.0
    for k in range(len(state.sizes)):
        state.sizes[k] = 0
    for row in range(len(state.counts)):
        for k in range(len(state.sizes)):
            state.counts[row, k] = 0


@compiled(allocates=False, fastmath=False)
def run_starts(
    problem: Problem,
    state: State,
    form: np.ndarray | None,
    ends: np.ndarray,
    seeds: np.ndarray,
    attempts: int,
) -> None:
    """Search from each of some starts, one after the other, and replace it by its end."""
    for start in range(len(ends)):
        _clear(state, seeds[start])
        _run_start(problem, state, form, ends[start], attempts)
        for item in range(len(state.labels)):
            ends[start, item] = state.labels[item]


@inner(fastmath=False)
def _run_start(
    problem: Problem, state: State, form: "np.ndarray | None", initial: np.ndarray, attempts: int
) -> None:
    """Search from one start, the items without a label allocated one after another in random order."""
    order, chosen = state.order, state.chosen
    _shuffle(state.random, order, len(order))
    number, before = np.int64(0), np.inf
    for point in range(len(initial)):
        if initial[point] >= 0:
            _add(problem, state, point, initial[point])
        if initial[order[point]] < 0:
            chosen[number] = order[point]
            number += 1
    for attempt in range(attempts + 1):
        # Zealous updates: dissolve a random cluster and allocate its items anew; undo what does not help.
        if attempt > 0:
            before = _loss(problem, state)
            number = _dissolve(problem, state)
        _visit(problem, state, None, chosen, number)
        if attempt > 0 and not _loss(problem, state) < before - _BETTER:
            _unite(problem, state, number)
            continue
        for _ in range(_MAX_SWEEPS):
            _shuffle(state.random, order, len(order))
            if not _visit(problem, state, form, order, len(order)):
                break


_MAX_CELLS = 250_000_000
# Up to so many points all starts are made and see all draws, and above at least so many draws, as long as
# about a dozen sweeps of all of them compare no more counts than these: some processor seconds.
_ALL_SEARCHED, _FEWEST_SEARCHED, _SWEEPS_A_START, _MOST_COMPARED = 1000, 250, 12, 4_000_000_000
# Beyond, the best of the draws is sought among those whose losses look at so many labels.
_FEWEST_CANDIDATES, _FEWEST_AT_ALL, _MOST_LABELS = 10, 50, 2_000_000_000
_LABELS_FOR_THREADS = 20_000


@dataclass(frozen=True)
class SalsoSearch(PartitionSearch):
    """Allocate items one after another, reallocate each until none moves, dissolve clusters and try again.

    Each start allocates the items in a random order, each to the cluster, or to a new one, with the least
    expected loss so far; then every item goes where the expected loss is least, in sweeps, until none moves;
    then random clusters are dissolved and their items allocated anew, kept where that is better. Two more
    starts are the best of the draws and, up to 2000 points, of the cuts of the average-linkage tree; every
    second of the others begins with a random draw. The result is the best of all ends and beginnings by the
    exact expected loss over all distinct draws: never worse than :class:`DrawsSearch` or, up to 2000 points,
    :class:`LinkageSearch`, unless ``max_clusters`` rules theirs out.

    Points that all draws have together are one item for the losses that are no ratios. Cost: O(N M K) a
    sweep, with N items, M distinct draws and K clusters of the estimate, and about a dozen sweeps a start, in
    threads: 3 to 7 seconds of processor time for 1000 points, 1000 draws and 10 clusters. Where
    tables would be above a gigabyte, the starts see a random part of the draws; above 1000 points they see
    1000 / N of them, at least 250. All ends are still compared over all draws. Of large tables there are as
    many starts as a quarter of a minute allows; of a million points the best of some draws is improved alone,
    by the sight of 50 draws or a few more.

    Attributes:
        num_starts: how many starts, besides the one or two from quicker searches.
        max_clusters: the most clusters of the estimate; by default four times as many as any draw has, and 64
            more.
        num_zealous: clusters dissolved per start.

    References:
        Dahl, Johnson and Mueller (2022), Search algorithms and loss functions for Bayesian clustering.
        https://doi.org/10.1080/10618600.2022.2069779

    Example:
        >>> from pyroclust.diagnostics import point_estimate
        >>> draws = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]])
        >>> point_estimate(draws, seed=0, search=SalsoSearch(num_starts=4)).tolist()
        [0, 1, 2]
    """

    num_starts: int = 16
    max_clusters: int | None = None
    num_zealous: int = 10

    def __post_init__(self) -> None:
        check_count("num_starts", self.num_starts)
        if self.max_clusters is not None:
            check_count("max_clusters", self.max_clusters)
        check_count("num_zealous", self.num_zealous, at_least=0)

    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the best partition found."""
        clusters = count_clusters(draws.partitions)
        limit = min(draws.partitions.shape[1], self.max_clusters or 4 * int(clusters.max()) + 64)
        rng = np.random.default_rng(check_seed(seed))
        starts = self._starts(draws, loss, limit, rng)
        part = _part(draws, int(clusters.sum()) * limit, rng)
        items, first, part = _joined(part, loss)
        problem = _problem(part, loss, limit)
        ends, form = np.ascontiguousarray(starts[:, first]), problem.form if problem.form[3:].any() else None
        # Few labels are not worth a thread.
        step = 1 if part.partitions.size > _LABELS_FOR_THREADS else len(starts)

        def run(begin: int) -> None:
            some = slice(begin, begin + step)
            run_starts(problem, _empty_state(problem), form, ends[some], seeds[some], self.num_zealous)

        seeds = rng.integers(1, 2**63, size=len(starts), dtype=np.uint64)
        each_in_threads(run, range(0, len(starts), step))
        found = np.concatenate([compact(ends[:, items])[0], starts[starts[:, 0] >= 0]])
        return best_of(found, draws, loss=loss)

    def _starts(
        self, draws: DistinctDraws, loss: PartitionLoss, limit: int, rng: np.random.Generator
    ) -> np.ndarray:
        points = draws.partitions.shape[1]
        number, candidates = self.num_starts, DrawsSearch.max_candidates
        if points > _ALL_SEARCHED:
            number = min(number, _most_draws(draws) // min(len(draws.mass), _FEWEST_SEARCHED))
            candidates = min(candidates, max(_FEWEST_CANDIDATES, _MOST_LABELS // draws.partitions.size))
        starts = np.full((number, points), -1, dtype=np.int64)
        starts[1::2] = draws.partitions[rng.choice(len(draws.mass), len(starts[1::2]), p=draws.mass)]
        quick: list[PartitionSearch] = [DrawsSearch(candidates)]
        if points <= MAX_PAIRED_POINTS:
            quick.append(LinkageSearch())
        begun = np.stack([search.find(draws, loss=loss, seed=0) for search in quick])
        starts = np.concatenate([begun, starts])
        # Partitions with more clusters than allowed cannot be starts.
        starts[starts.max(-1) >= limit] = -1
        return starts


def _most_draws(draws: DistinctDraws) -> int:
    """Return of how many draws a start, or how many starts of one draw, may be."""
    clusters = int(count_clusters(draws.partitions).max())
    return _MOST_COMPARED // (_SWEEPS_A_START * draws.partitions.shape[1] * clusters)


def _part(draws: DistinctDraws, cells: int, rng: np.random.Generator) -> DistinctDraws:
    """Return those of the distinct draws that the starts see."""
    num_draws, num_points = draws.partitions.shape
    by_points = max(_FEWEST_SEARCHED, num_draws * _ALL_SEARCHED // num_points)
    if num_points > _ALL_SEARCHED:
        by_points = min(by_points, max(_FEWEST_AT_ALL, _most_draws(draws)))
    number = max(1, min(num_draws, by_points, num_draws * _MAX_CELLS // cells))
    if number == num_draws:
        return draws
    rows = rng.choice(len(draws.mass), number, p=draws.mass)
    return replace(draws, partitions=draws.partitions[rows], mass=np.full(number, 1 / number), members=rows)


def _joined(draws: DistinctDraws, loss: PartitionLoss) -> tuple[np.ndarray, np.ndarray, DistinctDraws]:
    """Make points that are together in all draws one item; return those of the points, and a point of each.

    Of a loss that is no ratio some optimum keeps them together: in the share of the points of one item that
    are moved to another cluster it is concave, as no cell of a table is larger than the cluster.
    """
    points = draws.partitions.shape[1]
    if loss.form()[3:].any():
        return np.arange(points), np.arange(points), draws
    items, first, _ = equal_rows(draws.partitions.T)
    weights = np.bincount(items, rows_per_point(draws.row_weights, points)).astype(np.int64)
    return items, first, replace(draws, partitions=draws.partitions[:, first], row_weights=weights)


def _problem(draws: DistinctDraws, loss: PartitionLoss, limit: int) -> Problem:
    labels, counts = compact(draws.partitions)
    weights = rows_per_point(draws.row_weights, labels.shape[1])
    terms, form = loss.terms(int(weights.sum())), loss.form()
    offsets = np.cumsum(counts) - counts
    rows = (labels + offsets[:, None].astype(np.int32)).T
    table = cluster_sums(labels, weights, int(counts.max()))
    sizes = table[np.arange(table.shape[1]) < counts[:, None]].astype(np.int64)
    return Problem(
        rows=np.ascontiguousarray(rows),
        mass=draws.mass,
        weights=weights,
        # An item is priced as if it came to its own cluster once more.
        terms=np.append(terms, np.zeros(weights.max())),
        other=np.add.reduceat(terms[sizes], offsets),
        form=form,
        limit=limit,
    )


def _empty_state(problem: Problem) -> State:
    # A column for the new cluster, and whole vectors of eight.
    width = 8 * (problem.limit // 8 + 1)
    return State(
        labels=np.zeros(len(problem.rows), dtype=np.int64),
        sizes=np.zeros(width, dtype=np.uint32),
        counts=np.zeros((int(problem.rows.max()) + 1, width), dtype=np.uint32),
        joint=np.zeros(len(problem.mass)),
        clusters=np.zeros(1, dtype=np.int64),
        costs=np.zeros(width),
        order=np.zeros(len(problem.rows), dtype=np.int64),
        chosen=np.zeros(len(problem.rows), dtype=np.int64),
        random=np.zeros(1, dtype=np.uint64),
    )
