"""The SALSO search: sequentially allocated, then sweetened, from many starts."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.contingency import compact
from pyroclust.diagnostics.counts import count_clusters
from pyroclust.diagnostics.distinct import DistinctDraws
from pyroclust.diagnostics.partition_losses import PartitionLoss
from pyroclust.diagnostics.salso_moves import Problem, State, run_start
from pyroclust.diagnostics.searches import DrawsSearch, LinkageSearch, PartitionSearch, best_of
from pyroclust.threads import num_threads

__all__ = ["SalsoSearch"]

_MAX_LINKAGE_POINTS = 2000
_MAX_CELLS = 250_000_000


@dataclass(frozen=True)
class SalsoSearch(PartitionSearch):
    r"""Allocate items one after another, reallocate each until none moves, dissolve clusters and try again.

    Each start allocates the items in a random order, each to the cluster, or to a new one, with the least
    expected loss so far; then every item goes where the expected loss is least, in sweeps, until none moves
    (sweetening); then random clusters are dissolved and their items allocated anew, kept where that is
    better (zealous updates). Two more starts are the best of the draws and, up to 2000 points, of the cuts
    of the average-linkage tree; every second of the others begins with a random draw instead of an
    allocation. The result is the best of all ends and beginnings by the exact expected loss over all
    distinct draws: never worse than :class:`DrawsSearch` or, up to 2000 points, :class:`LinkageSearch`,
    unless ``max_clusters`` rules theirs out.

    Cost: O(M K) for one item, with M distinct draws and K clusters of the estimate, hence O(N M K) a sweep
    and about a dozen sweeps a start: 3 to 7 seconds of processor time for 1000 points, 1000 draws and 10
    clusters. Starts run in threads; the result depends on the seed alone. Memory: 4 N M bytes, and for every
    thread 4 bytes for each cluster of each draw times ``max_clusters``; where that would be above a gigabyte,
    the starts see a random part of the draws.

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
        if self.num_starts < 1:
            raise ValueError(f"num_starts is {self.num_starts}, expected at least 1")
        if self.max_clusters is not None and self.max_clusters < 1:
            raise ValueError(f"max_clusters is {self.max_clusters}, expected at least 1")
        if self.num_zealous < 0:
            raise ValueError(f"num_zealous is {self.num_zealous}, expected 0 or more")

    def find(self, draws: DistinctDraws, *, loss: PartitionLoss, seed: int) -> np.ndarray:
        """Return the best partition found."""
        clusters = count_clusters(draws.partitions)
        limit = min(draws.partitions.shape[1], self.max_clusters or 4 * int(clusters.max()) + 64)
        rng = np.random.default_rng(seed)
        starts = self._starts(draws, loss, limit, rng)
        problem = _problem(_part(draws, int(clusters.sum()) * limit, rng), loss, limit)
        ends = starts.copy()

        def run(start: int) -> None:
            state = _empty_state(problem, int(seeds[start]))
            run_start(problem, state, starts[start], self.num_zealous)
            ends[start] = state.labels

        seeds = rng.integers(1, 2**63, size=len(starts), dtype=np.uint64)
        with ThreadPoolExecutor(num_threads()) as pool:
            list(pool.map(run, range(len(starts))))
        found = np.concatenate([compact(ends)[0], starts[starts[:, 0] >= 0]])
        return best_of(found.astype(np.int64), draws, loss=loss)

    def _starts(
        self, draws: DistinctDraws, loss: PartitionLoss, limit: int, rng: np.random.Generator
    ) -> np.ndarray:
        points = draws.partitions.shape[1]
        starts = np.full((self.num_starts, points), -1, dtype=np.int64)
        starts[1::2] = draws.partitions[rng.choice(len(draws.mass), len(starts[1::2]), p=draws.mass)]
        quick: list[PartitionSearch] = [DrawsSearch()]
        if points <= _MAX_LINKAGE_POINTS:
            quick.append(LinkageSearch())
        begun = np.stack([search.find(draws, loss=loss, seed=0) for search in quick])
        starts = np.concatenate([begun, starts])
        # Partitions with more clusters than allowed cannot be starts.
        starts[starts.max(-1) >= limit] = -1
        return starts


def _part(draws: DistinctDraws, cells: int, rng: np.random.Generator) -> DistinctDraws:
    if cells <= _MAX_CELLS:
        return draws
    number = max(1, len(draws.mass) * _MAX_CELLS // cells)
    rows = rng.choice(len(draws.mass), number, p=draws.mass)
    return DistinctDraws(draws.partitions[rows], np.full(number, 1 / number), rows, draws.shares)


def _problem(draws: DistinctDraws, loss: PartitionLoss, limit: int) -> Problem:
    labels, counts = compact(draws.partitions)
    points = labels.shape[1]
    terms, form = loss.terms(points), loss.form()
    offsets = np.cumsum(counts) - counts
    rows = (labels + offsets[:, None].astype(np.int32)).T
    sizes = np.bincount(rows.ravel(), minlength=int(counts.sum()))
    return Problem(
        rows=np.ascontiguousarray(rows),
        mass=draws.mass,
        terms=terms,
        steps=np.append(np.diff(terms), 0.0),
        other=np.add.reduceat(terms[sizes], offsets),
        form=form,
        allocation=np.array([form[0], form[1], 1.0, 0.0, 0.0, 0.0]),
        limit=limit,
    )


def _empty_state(problem: Problem, seed: int) -> State:
    # A column for the new cluster, and whole vectors of eight.
    width = 8 * (problem.limit // 8 + 1)
    return State(
        labels=np.full(len(problem.rows), -1, dtype=np.int64),
        sizes=np.zeros(width, dtype=np.uint32),
        counts=np.zeros((int(problem.rows.max()) + 1, width), dtype=np.uint32),
        joint=np.zeros(len(problem.mass)),
        clusters=np.zeros(1, dtype=np.int64),
        costs=np.zeros(width),
        random=np.array([seed], dtype=np.uint64),
    )
