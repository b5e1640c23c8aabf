"""The tree of draws that a foreseeing scorer grows in compiled code: one row for all that agree so far."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import caller
from pyroclust.nn.compiled.foresight_loops import ASKED, OWN, add_up_ahead
from pyroclust.nn.compiled.networks import add_state, judge, share

__all__ = ["Points", "Prefixes", "Tree", "add_point", "advance", "branch", "choose"]


class Points(NamedTuple):
    """Data sets laid end to end, in visiting order.

    Attributes:
        num_points: N, of each.
        moments: that clusters sum up, ``(B N, F)``.
        context: ``(B N, W)`` float32.
    """

    num_points: int
    moments: np.ndarray
    context: np.ndarray


class Prefixes(NamedTuple):
    """Partitions of the first points: P rows with room for K clusters each.

    Attributes:
        room: K.
        dataset: ``(P,)``.
        clusters: ``(P,)``.
        counts: points of clusters, ``(P K,)``.
        moments: sums over them, ``(P K, F)``.
        state: what clusters add to the head and to the pool, W each, and what the scorer keeps of them beside
            that, ``(P K, S)`` float32.
        pooled: ``(P, W)``.
        log_prob: ``(P,)``.
        label: cluster of the last point, which is still to be put there, ``(P,)``.
        log_probs: of the candidates, ``(P, K + 1)``.
        child: the row of each candidate that was drawn, -1 for others, ``(P, K + 1)``.
    """

    room: int
    dataset: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray
    moments: np.ndarray
    state: np.ndarray
    pooled: np.ndarray
    log_prob: np.ndarray
    label: np.ndarray
    log_probs: np.ndarray
    child: np.ndarray

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
    """Draws, and which of the prefixes each of them extends.

    Attributes:
        number: rows in use, those of the next step, and most clusters of one, ``(3,)``.
        prefix: ``(S,)``.
        labels: ``(S, N)``.
        is_free: whether labels are drawn or known, ``(S,)``.
        uniform: random numbers for each step and draw, ``(N - 1, S)``.
    """

    number: np.ndarray
    prefix: np.ndarray
    labels: np.ndarray
    is_free: np.ndarray
    uniform: np.ndarray


_TUPLE, _INDEX = types.voidptr, types.int64
_call_put = caller(types.void(*(_TUPLE,) * 4, _INDEX, _INDEX, _INDEX))
_call_see = caller(types.void(*(_TUPLE,) * 3, _INDEX, _INDEX, _INDEX))


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
    to_come = points.num_points - 1 - step
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
                logits[c] += judge(head, room, found, is_new, to_come)
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
    family: Any,
    shape: Any,
    work: Any,
    data: Any,
    decisions: Any,
    ahead: Any,
    step: int,
    begin: int,
    end: int,
) -> None:
    """Put the point before ``step`` into clusters, in some rows, and score where this one may go."""
    _absorb(head, room, points, prefixes, decisions, step, begin, end)
    if head.filtered:
        add_up_ahead(family, shape, work, data, decisions, ahead, begin, end)
    _score(head, room, points, prefixes, decisions, step, begin, end)


@compiled(allocates=False)
def choose(prefixes: Any, tree: Any, step: int) -> None:
    """Draw a candidate for each draw by inversion, and count the rows and clusters that this takes."""
    for row in range(tree.number[0]):
        for c in range(prefixes.room + 1):
            prefixes.child[row, c] = -1
        prefixes.label[row] = -1
    rows, most = tree.number[0], 1
    for i in range(len(tree.prefix)):
        row, label = tree.prefix[i], tree.labels[i, step]
        if tree.is_free[i]:
            log_probs, clusters = prefixes.log_probs[row], prefixes.clusters[row]
            total, so_far, label = 0.0, 0.0, 0
            for c in range(clusters + 1):
                total += math.exp(log_probs[c])
            for c in range(clusters):
                so_far += math.exp(log_probs[c])
                if so_far <= tree.uniform[step - 1, i] * total:
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
