"""Partitions drawn from foreseeing scorers, and scored, in compiled code."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import types
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.distributions.compiled.pointers import Address, address_of, caller
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.nn.compiled.filter import array_of, in_threads, threads_for
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.foresight_loops import ASKED, FOUND, OWN, Decisions, Foreseer, add_up_ahead
from pyroclust.nn.compiled.networks import Head, Scratch, add_state, judge, share

# Fewer candidates than this are not worth a thread.
_CANDIDATES_A_THREAD = 1 << 8
# Draws at once, but for those of one data set: the rows of more do not stay in the cache.
_DRAWS_AT_ONCE = 1 << 13
# Room for clusters at first.
_CLUSTERS = 6


class Points(NamedTuple):
    """Data sets laid end to end, in visiting order."""

    num_points: int  # N, of each
    moments: np.ndarray  # (B N, F), that clusters sum up
    context: np.ndarray  # (B N, W) float32


class Prefixes(NamedTuple):
    """Partitions of the first points: P rows with room for K clusters each."""

    room: int  # K
    dataset: np.ndarray  # (P,)
    clusters: np.ndarray  # (P,)
    counts: np.ndarray  # (P K,), points of clusters
    moments: np.ndarray  # (P K, F), sums over them
    state: np.ndarray  # (P K, S) float32: what clusters add to head and pool, W each, and what else is kept
    pooled: np.ndarray  # (P, W)
    log_prob: np.ndarray  # (P,)
    label: np.ndarray  # (P,), cluster of the last point, which is still to be put there
    log_probs: np.ndarray  # (P, K + 1), of the candidates
    sums: np.ndarray  # (P, K + 1), of their probabilities, so far
    child: np.ndarray  # (P, K + 1), the row of each candidate that was drawn, -1 for others

    @classmethod
    def empty(cls, rows: int, room: int, moments: int, width: int, state: int) -> "Prefixes":
        """Make rows for as many prefixes, with room for as many clusters each."""
        return cls(
            room,
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows * room),
            np.zeros((rows * room, moments)),
            np.zeros((rows * room, state), np.float32),
            np.zeros((rows, width)),
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.zeros((rows, room + 1)),
            np.zeros((rows, room + 1)),
            np.zeros((rows, room + 1), np.int64),
        )

    def enlarged(self, rows: int, room: int) -> "Prefixes":
        """Return the same with room for more rows and clusters."""
        had = len(self.clusters)
        new = self.empty(rows, room, self.moments.shape[1], self.pooled.shape[1], self.state.shape[1])
        for name in ("dataset", "clusters", "pooled", "log_prob", "label", "log_probs", "child"):
            one = getattr(self, name)
            getattr(new, name)[:had][..., : one.shape[-1]] = one
        for name in ("counts", "moments", "state"):
            one, target = (
                getattr(each, name).reshape(len(each.clusters), each.room, -1) for each in (self, new)
            )
            target[:had, : self.room] = one
        return new


class Tree(NamedTuple):
    """Draws, and which of the prefixes each of them extends."""

    number: np.ndarray  # (3,), rows in use, those of the next step, and most clusters of one
    prefix: np.ndarray  # (S,)
    labels: np.ndarray  # (S, N)
    is_free: int  # whether labels are drawn or known
    uniform: np.ndarray  # (N - 1, S), random numbers for each step and draw


_POINTER, _INT = types.voidptr, types.int64
_call_put = caller(types.void(*(_POINTER,) * 4, _INT, _INT, _INT))
_call_see = caller(types.void(*(_POINTER,) * 3, _INT, _INT, _INT))


class PrefixSampler:
    """Labels data sets by a foreseeing scorer, float32 on a processor, one step a point.

    Draws that agree so far are one row. What the scorer makes of clusters and candidates say two compiled
    functions: ``put`` puts a point into a cluster, and writes the state of that into ``room.two``; ``see``
    adds what a candidate has for itself to ``room.one``. They work on the ``tables`` of a thread.
    """

    def __init__(
        self,
        scorer: Any,
        encoding: Any,
        moments: Tensor,
        *,
        put: Any,
        see: Any,
        tables: Callable[[Foreseer], NamedTuple],
        num_kept: int,
        exponentials: int,
    ) -> None:
        # Without a filter there has to be something that is never asked.
        filtered = encoding.filter or _nothing_to_foresee()
        self.scorer, self._put, self._see, self._tables = scorer, put, see, tables
        self.foresight = encoding.foresight or Foresight(filtered, 0)
        self._head, self._exponentials = Head.of(scorer), exponentials
        # Those of the filter come last.
        self._skip = moments.shape[-1] - self.foresight.num_moments
        self._num_points = moments.shape[1]
        flat = (array_of(one.flatten(0, 1)) for one in (moments, encoding.context))
        self._points = Address(Points(self._num_points, *flat))
        self._sizes = moments.shape[-1], scorer.width, 2 * scorer.width + num_kept
        self._parts: list[tuple[Address, ...]] = []

    def label(self, dataset: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """Draw partitions, or score known ones, ``(S, N)``, canonical in visiting order, with log q ``(S,)``.

        Draws are those that torch would make with the same random numbers, but for rounding.
        """
        number, points = len(dataset), self._num_points
        uniform = torch.zeros(points - 1, number, dtype=torch.float64)
        if known is None:
            uniform.uniform_()
        labels = torch.zeros(number, points, dtype=torch.int64) if known is None else known.clone()
        log_prob = torch.empty(number, dtype=torch.float64)
        _, place, counts = dataset.unique(return_inverse=True, return_counts=True)
        together = ((counts.cumsum(0) - counts) // _DRAWS_AT_ONCE)[place]
        for group in together.unique():
            of = (together == group).nonzero().squeeze(-1)
            distinct, first = (array_of(one) for one in dataset[of].unique(return_inverse=True))
            rows = np.array([len(distinct), len(distinct), 1])
            own = array_of(labels[of])
            tree = Tree(rows, first.copy(), own, int(known is None), array_of(uniform[:, of]))
            log_prob[of] = torch.from_numpy(self._grow(tree, distinct))
            labels[of] = torch.from_numpy(own)
        return labels, log_prob

    def _grow(self, content: Tree, datasets: np.ndarray) -> np.ndarray:
        """Label some data sets, all their draws together, and return log-probabilities."""
        tree = Address(content)
        self._take(Prefixes.empty(len(datasets) + 8, _CLUSTERS, *self._sizes))
        self._prefixes.dataset[: len(datasets)] = datasets
        for step in range(1, self._num_points):
            self._score(step, int(content.number[0]))
            choose(self._rows, tree, step)
            self._enlarge(*content.number[1:].tolist())
            branch(self._rows, tree, step)
        log_prob: np.ndarray = self._prefixes.log_prob[content.prefix]
        return log_prob

    def _score(self, step: int, rows: int) -> None:
        """Put the point before into clusters, and score where this one may go."""
        number = threads_for(rows * self._prefixes.room, _CANDIDATES_A_THREAD, rows)
        if len(self._parts) < number:
            self._parts = [self._part(one) for one in self.foresight.threads(self._prefixes.room, number)]

        def work(part: tuple[Address, ...], begin: int, end: int) -> None:
            head, room, _, thread = part
            advance(head, room, self._points, self._rows, thread, self._decisions, step, begin, end)

        in_threads(work, self._parts[:number], rows)

    def _enlarge(self, rows: int, room: int) -> None:
        """Make room for more rows and clusters, half as many again at a time."""
        old = self._prefixes
        had = len(old.clusters)
        if rows > had or room > old.room:
            rows = rows + rows // 2 if rows > had else had
            if room > old.room:
                room += room // 2
                # Those for fewer clusters are too small.
                self._parts = []
            self._take(old.enlarged(rows, max(room, old.room)))

    def _take(self, prefixes: Prefixes) -> None:
        """Let compiled functions see the rows, and make room for as many decisions."""
        rows, room = len(prefixes.clusters), prefixes.room
        self._prefixes, self._rows = prefixes, Address(prefixes)
        one, two, three, four = np.zeros((4, rows), np.int64)
        self._decisions = Address(
            Decisions(
                self.scorer.foresight,
                self.foresight.within,
                self._skip,
                one,
                two,
                three,
                four,
                np.arange(rows * room),
                prefixes.counts,
                prefixes.moments,
                np.zeros((rows * (room + 1), FOUND)),
            )
        )

    def _part(self, thread: Address) -> tuple[Address, ...]:
        """Return what a thread works with."""
        foreseer: Any = thread.content
        own = Address(self._tables(foreseer))
        room = Address(Scratch.empty(own.number, self.scorer.width, self._exponentials))
        kinds, indices = (own.type, room.type), (types.int64,) * 3
        put = address_of(self._put, *kinds, self._points.type, self._rows.type, *indices)
        see = address_of(self._see, *kinds, self._rows.type, *indices)
        return Address(self._head._replace(put=put, see=see)), room, own, thread


def _nothing_to_foresee() -> Any:
    return FilterScorer(ChineseRestaurantPrior(1.0), NormalKnownVariance(1)).encode(torch.zeros(1, 1, 1))


@inner
def add_point(points: Any, prefixes: Any, at: int, point: int) -> None:
    """Add a point to what a cluster sums up."""
    moments = prefixes.moments[at]
    prefixes.counts[at] += 1.0
    for f in range(len(moments)):
        moments[f] += points.moments[point, f]


@inner
def _absorb(
    head: Any, room: Any, points: Any, prefixes: Any, decisions: Any, step: int, begin: int, end: int
) -> None:
    """Put the point before ``step`` into clusters, in some rows, and say what there is to decide then."""
    for row in range(begin, end):
        dataset, at = prefixes.dataset[row], row * prefixes.room + prefixes.label[row]
        moments, state = prefixes.moments[at], prefixes.state[at]
        if prefixes.label[row] == prefixes.clusters[row]:
            prefixes.clusters[row] += 1
            prefixes.counts[at] = 0.0
            for f in range(len(moments)):
                moments[f] = 0.0
            for j in range(len(state)):
                state[j] = 0.0
        point = dataset * points.num_points + step - 1
        _call_put(head.put, (room.own, room, points, prefixes, dataset, point, at))
        add_state(head, room, state, prefixes.pooled[row])
        decisions.dataset[row], decisions.step[row] = dataset, step
        decisions.clusters[row], decisions.starts[row] = prefixes.clusters[row], row * prefixes.room


@inner
def _score(
    head: Any, room: Any, points: Any, prefixes: Any, decisions: Any, step: int, begin: int, end: int
) -> None:
    """Write the log-probabilities of the candidates of some rows."""
    for row in range(begin, end):
        clusters, is_shared = prefixes.clusters[row], False
        dataset = prefixes.dataset[row]
        point = dataset * points.num_points + step
        logits, top = prefixes.log_probs[row], -math.inf
        for c in range(prefixes.room + 1):
            if c > clusters:
                logits[c] = -math.inf
                continue
            at, is_new = row * prefixes.room + c, 1 if c == clusters else 0
            found = decisions.found[len(decisions.place) + row if is_new else at]
            logits[c] = found[OWN] if head.filtered else 0.0
            if head.foresight == 0 or found[ASKED] > 0.0:
                if not is_shared:
                    share(head, room, points.context[point], prefixes.pooled[row])
                    is_shared = True
                for j in range(len(room.one)):
                    room.one[j] = room.shared[j]
                _call_see(head.see, (room.own, room, prefixes, dataset, point, -1 if is_new else at))
                logits[c] += judge(head, room, found, is_new)
            top = max(top, logits[c])
        total = 0.0
        for c in range(clusters + 1):
            total += math.exp(logits[c] - top)
        for c in range(clusters + 1):
            logits[c] -= top + math.log(total)


@compiled(allocates=False)
def advance(
    head: Any,
    room: Any,
    points: Any,
    prefixes: Any,
    thread: Any,
    decisions: Any,
    step: int,
    begin: int,
    end: int,
) -> None:
    """Put the point before ``step`` into clusters, in some rows, and score where this one may go."""
    _absorb(head, room, points, prefixes, decisions, step, begin, end)
    if head.filtered:
        add_up_ahead(thread, decisions, begin, end)
    _score(head, room, points, prefixes, decisions, step, begin, end)


@compiled(allocates=False)
def choose(prefixes: Any, tree: Any, step: int) -> None:
    """Draw a candidate for each draw by inversion, and count the rows and clusters that this takes."""
    for row in range(tree.number[0]):
        for c in range(prefixes.room + 1):
            prefixes.child[row, c] = -1
        prefixes.label[row] = -1
        if tree.is_free:
            so_far = 0.0
            for c in range(prefixes.clusters[row] + 1):
                so_far += math.exp(prefixes.log_probs[row, c])
                prefixes.sums[row, c] = so_far
    rows, most = tree.number[0], 1
    for i in range(len(tree.prefix)):
        row, label = tree.prefix[i], tree.labels[i, step]
        if tree.is_free:
            sums, clusters, label = prefixes.sums[row], prefixes.clusters[row], 0
            for c in range(clusters):
                if sums[c] <= tree.uniform[step - 1, i] * sums[clusters]:
                    label = c + 1
            tree.labels[i, step] = label
        if prefixes.child[row, label] < 0:
            # The first child takes the place of its parent.
            if prefixes.label[row] < 0:
                prefixes.label[row], prefixes.child[row, label] = label, row
            else:
                prefixes.child[row, label] = rows
                rows += 1
        most = max(most, max(prefixes.clusters[row], label + 1))
    tree.number[1], tree.number[2] = rows, most


@inner
def _copy_row(rows: Any, parent: int, child: int) -> None:
    source, target = rows[parent], rows[child]
    for j in range(len(target)):
        target[j] = source[j]


@compiled(allocates=False)
def branch(prefixes: Any, tree: Any, step: int) -> None:
    """Make a row of each candidate that was drawn."""
    for row in range(tree.number[0]):
        clusters, own = prefixes.clusters[row], prefixes.label[row]
        for c in range(clusters + 1):
            child = prefixes.child[row, c]
            if child < 0 or child == row:
                continue
            prefixes.clusters[child], prefixes.label[child] = clusters, c
            prefixes.dataset[child] = prefixes.dataset[row]
            prefixes.log_prob[child] = prefixes.log_prob[row] + prefixes.log_probs[row, c]
            for k in range(clusters):
                source, target = row * prefixes.room + k, child * prefixes.room + k
                prefixes.counts[target] = prefixes.counts[source]
                _copy_row(prefixes.moments, source, target)
                _copy_row(prefixes.state, source, target)
            _copy_row(prefixes.pooled, row, child)
        prefixes.log_prob[row] += prefixes.log_probs[row, own]
    for i in range(len(tree.prefix)):
        tree.prefix[i] = prefixes.child[tree.prefix[i], tree.labels[i, step]]
    tree.number[0] = tree.number[1]
