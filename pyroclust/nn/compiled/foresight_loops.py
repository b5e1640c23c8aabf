"""What candidates do to the points to come, in compiled code, for every compiled family."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import Address, address_of, caller, from_place
from pyroclust.distributions.compiled.protocol import log_predictive, refresh
from pyroclust.nn.compiled.lanes import (
    CONSTANT,
    LANES,
    NOWHERE,
    exponentials,
    logarithms,
    refresh_lanes,
    refresh_row,
    repeat_cluster,
    weigh_lanes,
)

__all__ = [
    "ASKED",
    "EVIDENCE",
    "GAIN",
    "LOSS",
    "OWN",
    "ROOM",
    "Ahead",
    "Decisions",
    "add_up_ahead",
    "compiled_ahead",
    "rows_of_lanes",
]

ROOM = 8
"""Clusters that a completion may open."""
GAIN, LOSS, EVIDENCE, OWN, ASKED = range(5)
"""What is found of a candidate: gains and losses one point at a time, the log evidence of the completion, the
filter's log-weight, and whether there is anything to decide about it."""
# Weights that differ by less are equal: rounding must not decide where a completion goes.
_EQUAL = np.float32(1e-5)
# The exponential of less does not change a sum that is at least one.
_NOTHING_BESIDE_ONE = np.float32(-20.0)
_TINY, _NOWHERE = np.float32(1e-30), np.float32(NOWHERE)


class Decisions(NamedTuple):
    """Where points may go: Q decisions with M candidates to join.

    Attributes:
        references: most points to come that are looked at.
        within: candidates whose filter weight is so many nats below the largest are out of question.
        skip: how many of the moments come before the filter's.
        dataset: ``(Q,)``.
        step: the point to be labelled, ``(Q,)``.
        clusters: number of clusters, ``(Q,)``.
        starts: first candidate of each decision, ``(Q,)``.
        place: where each candidate stands in the two tables, ``(M,)``.
        counts: points of clusters.
        moments: their summed moments, of as many rows.
        found: gains, losses, evidence, the filter's weight, and 1 unless it is out of question or alone;
            first of joining, then of opening, ``(M + Q, 5)``.
    """

    references: int
    within: float
    skip: int
    dataset: np.ndarray
    step: np.ndarray
    clusters: np.ndarray
    starts: np.ndarray
    place: np.ndarray
    counts: np.ndarray
    moments: np.ndarray
    found: np.ndarray


_INDEX, _TABLE = np.zeros(0, np.int64), np.zeros((0, 0))
_NOTHING = Decisions(0, 0.0, 0, _INDEX, _INDEX, _INDEX, _INDEX, _INDEX, np.zeros(0), _TABLE, _TABLE)


class Ahead(NamedTuple):
    """Scratch space for R points to come, W clusters, and 32 completions side by side, float32.

    Attributes:
        look: address of the function that looks at points one at a time.
        complete: address of the function that labels all of them.
        width: W.
        logs: weights of one point in each completion, ``(W, 32)``.
        before: weights of the points to come before the decision, ``(W, R)``.
        shares: their exponentials, over that of the largest of a point, ``(W, R)``.
        tops: these largest, ``(R,)``.
        totals: sums of shares over clusters, ``(R,)``.
        now: weights of the points to come after it, ``(R,)``.
        opening: densities of the points to come on their own, ``(R,)``.
        to_come: the points to come, in blocks of 32, ``(R / 32, D, 32)``.
        place: the points that are labelled now, ``(D, 32)``.
        changed: whether a completion has changed a cluster, of rows of 32.
        begun: how many completions there are, ``(1,)``.
        of: numbers of a completion: the decision, its candidate, the clusters, how many there may be, points
            that are looked at, the stride, the cluster of the point that is labelled now, ``(7, 32)``.
        best: ``(32,)``.
        weight: ``(32,)``.
        new: weight of a new cluster, ``(32,)``.
        evidence: ``(32,)`` float64.
    """

    look: int
    complete: int
    width: int
    logs: np.ndarray
    before: np.ndarray
    shares: np.ndarray
    tops: np.ndarray
    totals: np.ndarray
    now: np.ndarray
    opening: np.ndarray
    to_come: np.ndarray
    place: np.ndarray
    changed: np.ndarray
    begun: np.ndarray
    of: np.ndarray
    best: np.ndarray
    weight: np.ndarray
    new: np.ndarray
    evidence: np.ndarray

    @classmethod
    def empty(cls, width: int, dim: int, references: int) -> "Ahead":
        """Make room."""
        padded = -(-max(references, 1) // LANES) * LANES
        wide = width, padded
        tops, totals, now, opening = np.zeros((4, padded), np.float32)
        best, weight, new = np.zeros((3, LANES), np.float32)
        return cls(
            0,
            0,
            width,
            np.zeros((width, LANES), np.float32),
            np.zeros(wide, np.float32),
            np.zeros(wide, np.float32),
            tops,
            totals,
            now,
            opening,
            np.zeros((padded // LANES, dim, LANES), np.float32),
            np.zeros((dim, LANES), np.float32),
            np.zeros(rows_of_lanes(width) * LANES, np.bool_),
            np.zeros(1, np.int64),
            np.zeros((7, LANES), np.int64),
            best,
            weight,
            new,
            np.zeros(LANES),
        )


_SIX = (types.voidptr,) * 6
_call_look = caller(types.void(*_SIX, types.int64, types.int64, types.int64))
_call_complete = caller(types.void(*_SIX))


def compiled_ahead(ahead: Ahead, family: Any, shape: Any, work: Any, data: Any) -> Ahead:
    """Return scratch space that knows functions for such arguments, each compiled once."""
    kinds = family.type, shape.type, work.type, data.type, Address(_NOTHING).type, Address(ahead).type
    look = address_of(_look, *kinds, types.int64, types.int64, types.int64)
    return ahead._replace(look=look, complete=address_of(_complete, *kinds))


_DECISION, _CHOSEN, _CLUSTERS, _MOST, _LOOKED, _STRIDE, _PICK = range(7)


def rows_of_lanes(width: int) -> int:
    """Return how many rows of clusters are needed: of completions, before and after a decision, two more."""
    return width + 2 * -(-width // LANES) + 2


@inner
def _candidate(decisions: Any, d: int, c: int) -> int:
    """Return where a candidate of a decision is described."""
    return decisions.starts[d] + c if c < decisions.clusters[d] else len(decisions.place) + d


@inner
def _stretch(data: Any, decisions: Any, d: int) -> int:
    return -(-(data.num_points - decisions.step[d] - 1) // decisions.references)


@inner
def _load(family: Any, shape: Any, work: Any, decisions: Any, d: int, at: int) -> None:
    """Bring the clusters of a decision into rows of 32."""
    clusters = decisions.clusters[d]
    for k in range(clusters):
        place = decisions.place[decisions.starts[d] + k]
        work.sizes[at + k] = int(decisions.counts[place])
        for f in range(work.sums.shape[1]):
            work.sums[at + k, f] = decisions.moments[place, decisions.skip + f]
    for k in range(clusters, -(-clusters // LANES) * LANES):
        work.sizes[at + k] = 0
    for row in range(0, clusters, LANES):
        refresh_row(family, shape, work, at + row, min(LANES, clusters - row))


@inner
def _weigh(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any, d: int, at: int
) -> None:
    """Write the filter's weights of a decision."""
    clusters, seen = decisions.clusters[d], decisions.step[d]
    point = decisions.dataset[d] * data.num_points + seen
    if not shape.is_other:
        for e in range(shape.dim):
            for a in range(len(work.values)):
                ahead.place[e, a] = shape.points[point, e]
    for row in range(0, clusters, LANES):
        if not shape.is_other:
            weigh_lanes(shape, work, at + row, ahead.place, ahead.weight)
        for a in range(min(LANES, clusters - row)):
            weight = np.float64(ahead.weight[a])
            if shape.is_other:
                weight = _log_weight(family, work, data, point, at + row + a)
            decisions.found[_candidate(decisions, d, row + a), OWN] = weight
    opening = data.log_open[seen, clusters] + data.log_alone[point]
    decisions.found[_candidate(decisions, d, clusters), OWN] = opening


@inner
def _log_weight(family: Any, work: Any, data: Any, point: int, cluster: int) -> float:
    size = work.sizes[cluster]
    found: float = data.log_join[size] + log_predictive(family, point, cluster, size)
    return found


@inner
def _best(decisions: Any, d: int) -> float:
    best = -math.inf
    for c in range(decisions.clusters[d] + 1):
        best = max(best, decisions.found[_candidate(decisions, d, c), OWN])
    return best


@inner
def _is_hopeless(decisions: Any, d: int, c: int, best: float) -> bool:
    own = decisions.found[_candidate(decisions, d, c), OWN]
    return own == -math.inf or own < best - decisions.within


@inner
def _weigh_points(
    family: Any,
    shape: Any,
    work: Any,
    data: Any,
    ahead: Any,
    cluster: int,
    first: int,
    stride: int,
    looked: int,
    found: Any,
) -> None:
    """Write the weights of the points to come in one cluster."""
    if shape.is_other:
        for r in range(looked):
            found[r] = np.float32(_log_weight(family, work, data, first + r * stride, cluster))
        return
    # A row that holds this cluster 32 times.
    at = len(work.sizes) - LANES
    repeat_cluster(work, cluster, at)
    for r in range(0, looked, LANES):
        weigh_lanes(shape, work, at, ahead.to_come[r // LANES], from_place(found, r))


@inner
def _raise_all(work: Any, values: Any, tops: Any, count: int) -> None:
    """Replace log-weights by their exponentials, over those of others."""
    for r in range(0, count, LANES):
        part, top = from_place(values, r), from_place(tops, r)
        for a in range(len(work.values)):
            work.values[a] = part[a] - top[a]
        exponentials(work)
        for a in range(len(work.values)):
            part[a] = work.values[a]


@inner
def _look(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any, d: int, before: int, after: int
) -> None:
    """Weigh the points to come before a decision, and add up what each candidate does to each of them."""
    seen, clusters = decisions.step[d], decisions.clusters[d]
    to_come, stride = data.num_points - seen - 1, _stretch(data, decisions, d)
    looked = -(-to_come // stride)
    padded = -(-looked // LANES) * LANES
    first = decisions.dataset[d] * data.num_points + seen + 1
    for r in range(padded):
        point = first + min(r, looked - 1) * stride
        ahead.opening[r] = np.float32(data.log_alone[point])
        ahead.tops[r], ahead.totals[r] = ahead.opening[r], 0.0
        if not shape.is_other:
            for e in range(shape.dim):
                ahead.to_come[r // LANES, e, r % LANES] = shape.points[point, e]
    for k in range(clusters):
        logs = ahead.before[k]
        _weigh_points(family, shape, work, data, ahead, before + k, first, stride, looked, logs)
        for r in range(padded):
            ahead.tops[r] = max(ahead.tops[r], logs[r])
    _raise_all(work, ahead.opening, ahead.tops, looked)
    for k in range(clusters):
        logs, shares = ahead.before[k], ahead.shares[k]
        for r in range(padded):
            shares[r] = logs[r]
        _raise_all(work, shares, ahead.tops, looked)
        for r in range(padded):
            ahead.totals[r] += shares[r]
    odds, old = np.float32(math.exp(data.log_open[seen, clusters])), math.exp(data.log_total[seen, clusters])
    best = _best(decisions, d)
    for c in range(clusters + 1):
        if _is_hopeless(decisions, d, c, best):
            continue
        more = clusters + 1 if c == clusters else clusters
        new_odds = np.float32(math.exp(data.log_open[seen + 1, more]))
        ratio = np.float32(old / math.exp(data.log_total[seen + 1, more]))
        # Of a new cluster no share is lost.
        shares, lost = ahead.shares[min(c, clusters - 1)], np.float32(1.0 if c < clusters else 0.0)
        _weigh_points(family, shape, work, data, ahead, after + c, first, stride, looked, ahead.now)
        _raise_all(work, ahead.now, ahead.tops, looked)
        gains, losses = 0.0, 0.0
        for r in range(0, looked, LANES):
            for a in range(len(work.values)):
                total, alone = ahead.totals[r + a], ahead.opening[r + a]
                then = max(total + odds * alone, _TINY)
                left = max(total - lost * shares[r + a], np.float32(0.0))
                now = max(left + ahead.now[r + a] + new_odds * alone, _TINY)
                work.values[a] = ratio * (now / then)
            logarithms(work)
            for a in range(min(LANES, looked - r)):
                gain = np.float64(work.values[a])
                gains += max(gain, 0.0)
                losses -= min(gain, 0.0)
        found = decisions.found[_candidate(decisions, d, c)]
        found[GAIN], found[LOSS] = gains * to_come / looked, losses * to_come / looked


@inner
def _decide_all(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, d: int, before: int, after: int
) -> None:
    """Put the point into every cluster, and into a new one."""
    clusters, seen = decisions.clusters[d], decisions.step[d]
    point = decisions.dataset[d] * data.num_points + seen
    for c in range(clusters + 1):
        work.sizes[after + c] = work.sizes[before + c] + 1 if c < clusters else 1
        for f in range(work.sums.shape[1]):
            old = work.sums[before + c, f] if c < clusters else 0.0
            work.sums[after + c, f] = old + data.moments[point, f]
    for k in range(clusters + 1, -(-(clusters + 1) // LANES) * LANES):
        work.sizes[after + k] = 0
    for row in range(0, clusters + 1, LANES):
        refresh_row(family, shape, work, after + row, min(LANES, clusters + 1 - row))


@inner
def _begin(
    family: Any,
    shape: Any,
    work: Any,
    data: Any,
    decisions: Any,
    ahead: Any,
    d: int,
    c: int,
    before: int,
    after: int,
) -> None:
    """Begin the completion of a candidate."""
    lane = ahead.begun[0]
    ahead.begun[0] += 1
    clusters, to_come = decisions.clusters[d], data.num_points - decisions.step[d] - 1
    stride = _stretch(data, decisions, d)
    ahead.of[_DECISION, lane], ahead.of[_CHOSEN, lane], ahead.of[_STRIDE, lane] = d, c, stride
    ahead.of[_LOOKED, lane] = -(-to_come // stride)
    now = max(clusters, c + 1)
    ahead.of[_CLUSTERS, lane], ahead.of[_MOST, lane] = now, now + ROOM
    ahead.evidence[lane] = 0.0
    for k in range(now):
        at, source = k * LANES + lane, after + c if k == c else before + k
        work.sizes[at] = work.sizes[source]
        for f in range(work.sums.shape[1]):
            work.sums[at, f] = work.sums[source, f]
        if shape.is_other:
            ahead.changed[at] = k == c
            refresh(family, work.sums, at, work.sizes[at])
    for s in range(len(work.state)):
        row = work.state[s]
        for k in range(now):
            row[k * LANES + lane] = row[after + c if k == c else before + k]
    for k in range(now, ahead.width):
        work.state[CONSTANT, k * LANES + lane] = _NOWHERE


@inner
def _complete(family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any) -> None:
    """Put the points to come of up to 32 completions where their weights are largest."""
    count, most, slots = ahead.begun[0], 0, 0
    ahead.begun[0] = 0
    for lane in range(len(work.values)):
        if lane >= count:
            ahead.of[_LOOKED, lane], ahead.of[_CLUSTERS, lane] = 0, 0
            for k in range(ahead.width):
                work.state[CONSTANT, k * LANES + lane] = _NOWHERE
        most, slots = max(most, ahead.of[_LOOKED, lane]), max(slots, ahead.of[_CLUSTERS, lane])
    for r in range(most):
        for lane in range(count):
            d, now = ahead.of[_DECISION, lane], min(r, ahead.of[_LOOKED, lane] - 1)
            first, seen = decisions.dataset[d] * data.num_points, decisions.step[d] + 1
            point = first + seen + now * ahead.of[_STRIDE, lane]
            opening = data.log_open[seen + now, ahead.of[_CLUSTERS, lane]] + data.log_alone[point]
            ahead.new[lane] = np.float32(max(opening, NOWHERE))
            if not shape.is_other:
                for e in range(shape.dim):
                    ahead.place[e, lane] = shape.points[point, e]
        for a in range(len(work.values)):
            ahead.best[a], ahead.of[_PICK, a] = _NOWHERE, -1
        for k in range(slots):
            logs = ahead.logs[k]
            if shape.is_other:
                _weigh_others(family, work, data, decisions, ahead, k, r, count)
            else:
                weigh_lanes(shape, work, k * LANES, ahead.place, logs)
            for a in range(len(work.values)):
                better = logs[a] > ahead.best[a] + _EQUAL
                ahead.best[a] = logs[a] if better else ahead.best[a]
                ahead.of[_PICK, a] = k if better else ahead.of[_PICK, a]
        for a in range(len(work.values)):
            better = ahead.new[a] > ahead.best[a] + _EQUAL
            ahead.best[a] = ahead.new[a] if better else ahead.best[a]
            ahead.of[_PICK, a] = -1 if better else ahead.of[_PICK, a]
            work.values[a] = ahead.new[a] - ahead.best[a]
        exponentials(work)
        for a in range(len(work.values)):
            ahead.weight[a] = work.values[a]
        for k in range(slots):
            logs, near = ahead.logs[k], 0
            for a in range(len(work.values)):
                work.values[a] = logs[a] - ahead.best[a]
                near += 1 if work.values[a] > _NOTHING_BESIDE_ONE else 0
            if near == 0:
                continue
            exponentials(work)
            for a in range(len(work.values)):
                ahead.weight[a] += work.values[a]
        for a in range(len(work.values)):
            work.values[a] = ahead.weight[a]
        logarithms(work)
        for lane in range(count):
            if r < ahead.of[_LOOKED, lane]:
                seen = decisions.step[ahead.of[_DECISION, lane]] + 1 + r
                total = data.log_total[seen, ahead.of[_CLUSTERS, lane]]
                ahead.evidence[lane] += np.float64(ahead.best[lane] + work.values[lane]) - total
        slots = max(slots, _put_all(family, shape, work, data, decisions, ahead, r, count))
    for lane in range(count):
        at = _candidate(decisions, ahead.of[_DECISION, lane], ahead.of[_CHOSEN, lane])
        decisions.found[at, EVIDENCE] = ahead.evidence[lane]


@inner
def _weigh_others(
    family: Any, work: Any, data: Any, decisions: Any, ahead: Any, k: int, r: int, count: int
) -> None:
    """Weigh the point of each completion of one decision in cluster k, anew where that has changed."""
    d = ahead.of[_DECISION, 0]
    point = decisions.dataset[d] * data.num_points + decisions.step[d] + 1 + r * ahead.of[_STRIDE, 0]
    for lane in range(len(work.values)):
        ahead.logs[k, lane] = _NOWHERE
        if lane < count and k < ahead.of[_CLUSTERS, lane]:
            at = k * LANES + lane
            changed = ahead.changed[at]
            weight = _log_weight(family, work, data, point, at) if changed else ahead.before[k, r]
            ahead.logs[k, lane] = np.float32(weight)


@inner
def _put_all(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any, r: int, count: int
) -> int:
    """Put the point of each completion into its cluster, and return the most clusters."""
    most, nowhere = 0, len(work.sizes) - 2 * LANES
    for lane in range(len(work.where)):
        work.where[lane] = nowhere + lane
        pick, clusters, live = ahead.of[_PICK, lane], ahead.of[_CLUSTERS, lane], r < ahead.of[_LOOKED, lane]
        if live and pick < 0 and clusters < ahead.of[_MOST, lane]:
            pick = clusters
            work.sizes[pick * LANES + lane] = 0
            for f in range(work.sums.shape[1]):
                work.sums[pick * LANES + lane, f] = 0.0
            ahead.of[_CLUSTERS, lane] = clusters + 1
            most = max(most, clusters + 1)
        if pick < 0 or not live:
            continue
        at, d = pick * LANES + lane, ahead.of[_DECISION, lane]
        point = decisions.dataset[d] * data.num_points + decisions.step[d] + 1 + r * ahead.of[_STRIDE, lane]
        work.where[lane] = at
        work.sizes[at] += 1
        for f in range(work.sums.shape[1]):
            work.sums[at, f] += data.moments[point, f]
        if shape.is_other:
            ahead.changed[at] = True
    refresh_lanes(family, shape, work, count)
    return most


@inner
def _add_up(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any, d: int, before: int, after: int
) -> None:
    """Describe the candidates of a decision, or begin to."""
    clusters = decisions.clusters[d]
    _load(family, shape, work, decisions, d, before)
    _weigh(family, shape, work, data, decisions, ahead, d, before)
    best, left = _best(decisions, d), 0
    for c in range(clusters + 1):
        left += 0 if _is_hopeless(decisions, d, c, best) else 1
    for c in range(clusters + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        found[GAIN], found[LOSS], found[EVIDENCE] = 0.0, 0.0, 0.0
        found[ASKED] = 0.0 if left < 2 or _is_hopeless(decisions, d, c, best) else 1.0
    if left < 2 or decisions.references == 0 or decisions.step[d] + 1 == data.num_points:
        return
    _decide_all(family, shape, work, data, decisions, d, before, after)
    _call_look(ahead.look, (family, shape, work, data, decisions, ahead, d, before, after))
    for c in range(clusters + 1):
        if not _is_hopeless(decisions, d, c, best):
            _begin(family, shape, work, data, decisions, ahead, d, c, before, after)
            if ahead.begun[0] == LANES:
                _call_complete(ahead.complete, (family, shape, work, data, decisions, ahead))
    # Tables of weights before the decision are those of one decision.
    if shape.is_other and ahead.begun[0]:
        _call_complete(ahead.complete, (family, shape, work, data, decisions, ahead))


@compiled(allocates=False)
def add_up_ahead(
    family: Any, shape: Any, work: Any, data: Any, decisions: Any, ahead: Any, begin: int, end: int
) -> None:
    """Describe the candidates of some decisions by what they do to the points to come.

    Cost O(K R) predictives and O(R) refreshed clusters a candidate. Completions of 32 candidates, whichever
    decisions these belong to, go side by side.
    """
    before = ahead.width * LANES
    after = before + -(-ahead.width // LANES) * LANES
    most = 0
    for d in range(begin, end):
        most = max(most, decisions.clusters[d])
    # Those with as many clusters go side by side, as the others of a row would wait for the largest.
    for clusters in range(1, most + 1):
        for d in range(begin, end):
            if decisions.clusters[d] == clusters:
                _add_up(family, shape, work, data, decisions, ahead, d, before, after)
    if ahead.begun[0]:
        _call_complete(ahead.complete, (family, shape, work, data, decisions, ahead))
    if decisions.references:
        for d in range(begin, end):
            if decisions.step[d] + 1 < data.num_points:
                _centre(decisions, d)


@inner
def _centre(decisions: Any, d: int) -> None:
    """Subtract the log evidence that all candidates have together under the filter's weights."""
    clusters, best = decisions.clusters[d], _best(decisions, d)
    top, left = -math.inf, 0
    for c in range(clusters + 1):
        if not _is_hopeless(decisions, d, c, best):
            found = decisions.found[_candidate(decisions, d, c)]
            top = max(top, found[OWN] + found[EVIDENCE])
            left += 1
    if left < 2:
        return
    joint, alone = 0.0, 0.0
    for c in range(clusters + 1):
        if not _is_hopeless(decisions, d, c, best):
            found = decisions.found[_candidate(decisions, d, c)]
            joint += math.exp(found[OWN] + found[EVIDENCE] - top)
            alone += math.exp(found[OWN] - best)
    together = top + math.log(joint) - best - math.log(alone)
    for c in range(clusters + 1):
        if not _is_hopeless(decisions, d, c, best):
            decisions.found[_candidate(decisions, d, c), EVIDENCE] -= together
