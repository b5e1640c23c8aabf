"""What candidates do to the points to come, in compiled code, for every compiled family."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.pointers import Address, address_of, caller, from_place
from pyroclust.distributions.compiled.protocol import Family, log_predictive, refresh
from pyroclust.nn.compiled.filter import DataSets
from pyroclust.nn.compiled.lanes import (
    CONSTANT,
    LANES,
    NOWHERE,
    Lanes,
    Shape,
    exponentials,
    logarithms,
    refresh_lanes,
    refresh_row,
    repeat_cluster,
    weigh_lanes,
)

ROOM = 8
"""Clusters that a completion may open."""
NUM_FEATURES = 7
OWN, _GAIN, _LOSS, _EVIDENCE, FEATURES = range(5)
"""What is found of a candidate: the filter's log-weight, gains and losses one point at a time, the log
evidence of the completion, and from FEATURES on what a network gets to see of these."""
ASKED = FEATURES + NUM_FEATURES
"""Whether there is anything to decide about it."""
FOUND = ASKED + 1
# Weights that differ by less are equal: rounding must not decide where a completion goes.
_EQUAL = np.float32(1e-5)
# The exponential of less does not change a sum that is at least one.
_NOTHING_BESIDE_ONE = np.float32(-20.0)
_TINY, _NOWHERE = np.float32(1e-30), np.float32(NOWHERE)


class Decisions(NamedTuple):
    """Where points may go: Q decisions with M clusters to join, and what is found of each candidate."""

    references: int  # most points to come that are looked at
    within: float  # candidates whose filter weight is so many nats below the largest are out of question
    skip: int  # how many of the moments come before the filter's
    dataset: np.ndarray  # (Q,)
    step: np.ndarray  # (Q,), the point to be labelled
    clusters: np.ndarray  # (Q,), how many there are
    starts: np.ndarray  # (Q,), first candidate of each decision
    place: np.ndarray  # (M,), where each candidate stands in the two tables
    counts: np.ndarray  # points of clusters
    moments: np.ndarray  # their summed moments, of as many rows
    found: np.ndarray  # (M + Q, 12), first of joining, then of opening


_INDEX, _TABLE = np.zeros(0, np.int64), np.zeros((0, 0))
_NOTHING = Decisions(0, 0.0, 0, _INDEX, _INDEX, _INDEX, _INDEX, _INDEX, np.zeros(0), _TABLE, _TABLE)


class Foreseer(NamedTuple):
    """What a thread needs for R points to come, W clusters, and 32 completions side by side in float32.

    Rows of clusters are first those of completions, W of them, then those of a decision before the point is
    labelled and after it is, and two for what is at hand.
    """

    family: Family
    shape: Shape
    lanes: Lanes
    data: DataSets
    look: int  # address of the function that looks at points one at a time
    complete: int  # address of the function that labels all of them
    width: int  # W
    before: int  # where the clusters of a decision begin
    after: int  # where they begin once the point is in each of them
    logs: np.ndarray  # (W, 32), weights of one point in each completion
    weights: np.ndarray  # (W, R), of the points to come before the decision
    shares: np.ndarray  # (W, R), their exponentials, over that of the largest of a point
    tops: np.ndarray  # (R,), these largest
    totals: np.ndarray  # (R,), sums of shares over clusters
    now: np.ndarray  # (R,), weights of the points to come after the decision
    opening: np.ndarray  # (R,), densities of the points to come on their own
    to_come: np.ndarray  # (R / 32, D, 32), the points to come
    place: np.ndarray  # (D, 32), the points that are labelled now
    changed: np.ndarray  # whether a completion has changed a cluster, of rows of 32
    begun: np.ndarray  # (1,), how many completions there are
    of: np.ndarray  # (8, 32), numbers of completions, as below
    best: np.ndarray  # (32,)
    weight: np.ndarray  # (32,)
    new: np.ndarray  # (32,), weight of a new cluster
    evidence: np.ndarray  # (32,) float64

    @classmethod
    def of_tables(
        cls, family: Family, shape: Shape, lanes: Lanes, data: DataSets, *, width: int, references: int
    ) -> "Foreseer":
        """Make scratch space, and compile functions for such tables once."""
        padded, dim = -(-max(references, 1) // LANES) * LANES, shape.dim
        before = width * LANES
        weights, shares = np.zeros((2, width, padded), np.float32)
        tops, totals, now, opening = np.zeros((4, padded), np.float32)
        best, weight, new = np.zeros((3, LANES), np.float32)
        found = cls(
            family,
            shape,
            lanes,
            data,
            0,
            0,
            width,
            before,
            before + -(-width // LANES) * LANES,
            np.zeros((width, LANES), np.float32),
            weights,
            shares,
            tops,
            totals,
            now,
            opening,
            np.zeros((padded // LANES, dim, LANES), np.float32),
            np.zeros((dim, LANES), np.float32),
            np.zeros(rows_of_lanes(width) * LANES, np.bool_),
            np.zeros(1, np.int64),
            np.zeros((8, LANES), np.int64),
            best,
            weight,
            new,
            np.zeros(LANES),
        )
        kinds = Address(found).type, Address(_NOTHING).type
        look, complete = address_of(_look, *kinds, types.int64), address_of(_complete, *kinds)
        return found._replace(look=look, complete=complete)


# Where the candidate is described, its first point to come, the points before that, how many are looked at,
# every how many-th, the clusters, how many there may be, and the cluster of the point that is labelled now.
_CANDIDATE, _FIRST, _SEEN, _LOOKED, _STRIDE, _CLUSTERS, _MOST, _PICK = range(8)
_POINTER = types.voidptr
_call_look = caller(types.void(_POINTER, _POINTER, types.int64))
_call_complete = caller(types.void(_POINTER, _POINTER))


def rows_of_lanes(width: int) -> int:
    """Return how many rows of clusters are needed."""
    return width + 2 * -(-width // LANES) + 2


@inner
def _candidate(decisions: Any, d: int, c: int) -> int:
    """Return where a candidate of a decision is described."""
    return decisions.starts[d] + c if c < decisions.clusters[d] else len(decisions.place) + d


@inner
def _to_come(thread: Any, decisions: Any, d: int) -> Any:
    """Return the first point to come, how many are left, how many are looked at, and every how many-th."""
    left = thread.data.num_points - decisions.step[d] - 1
    stride = -(-left // decisions.references)
    first = decisions.dataset[d] * thread.data.num_points + decisions.step[d] + 1
    return first, left, -(-left // stride), stride


@inner
def _load(thread: Any, decisions: Any, d: int) -> None:
    """Bring the clusters of a decision into rows of 32."""
    lanes, at, clusters = thread.lanes, thread.before, decisions.clusters[d]
    for k in range(clusters):
        place = decisions.place[decisions.starts[d] + k]
        lanes.sizes[at + k] = int(decisions.counts[place])
        for f in range(lanes.sums.shape[1]):
            lanes.sums[at + k, f] = decisions.moments[place, decisions.skip + f]
    _refresh_all(thread, at, clusters)


@inner
def _refresh_all(thread: Any, at: int, clusters: int) -> None:
    """Make so many clusters anew, in rows of 32."""
    for k in range(clusters, -(-clusters // LANES) * LANES):
        thread.lanes.sizes[at + k] = 0
    for row in range(0, clusters, LANES):
        refresh_row(thread.family, thread.shape, thread.lanes, at + row, min(LANES, clusters - row))


@inner
def _weigh(thread: Any, decisions: Any, d: int) -> None:
    """Write the filter's weights of a decision."""
    shape, lanes, data = thread.shape, thread.lanes, thread.data
    clusters, seen = decisions.clusters[d], decisions.step[d]
    point = decisions.dataset[d] * data.num_points + seen
    if not shape.is_other:
        for e in range(shape.dim):
            for a in range(len(lanes.values)):
                thread.place[e, a] = shape.points[point, e]
    for row in range(0, clusters, LANES):
        at = thread.before + row
        if not shape.is_other:
            weigh_lanes(shape, lanes, at, thread.place, thread.weight)
        for a in range(min(LANES, clusters - row)):
            weight = np.float64(thread.weight[a])
            if shape.is_other:
                weight = _log_weight(thread, point, at + a)
            decisions.found[_candidate(decisions, d, row + a), OWN] = weight
    opening = data.log_open[seen, clusters] + data.log_alone[point]
    decisions.found[_candidate(decisions, d, clusters), OWN] = opening


@inner
def _log_weight(thread: Any, point: int, cluster: int) -> float:
    size = thread.lanes.sizes[cluster]
    found: float = thread.data.log_join[size] + log_predictive(thread.family, point, cluster, size)
    return found


@inner
def _best(decisions: Any, d: int) -> float:
    best = -math.inf
    for c in range(decisions.clusters[d] + 1):
        best = max(best, decisions.found[_candidate(decisions, d, c), OWN])
    return best


@inner
def _ask(decisions: Any, d: int) -> bool:
    """Say of each candidate whether it is in question, and return whether there are two."""
    best, left = _best(decisions, d), 0
    for c in range(decisions.clusters[d] + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        hopeless = found[OWN] == -math.inf or found[OWN] < best - decisions.within
        for f in range(_GAIN, ASKED):
            found[f] = 0.0
        found[ASKED] = 0.0 if hopeless else 1.0
        left += 0 if hopeless else 1
    if left < 2:
        for c in range(decisions.clusters[d] + 1):
            decisions.found[_candidate(decisions, d, c), ASKED] = 0.0
    return left >= 2


@inner
def _weigh_points(thread: Any, cluster: int, first: int, stride: int, looked: int, found: Any) -> None:
    """Write the weights of the points to come in one cluster."""
    shape, lanes = thread.shape, thread.lanes
    if shape.is_other:
        for r in range(looked):
            found[r] = np.float32(_log_weight(thread, first + r * stride, cluster))
        return
    # A row that holds this cluster 32 times.
    at = len(lanes.sizes) - LANES
    repeat_cluster(lanes, cluster, at)
    for r in range(0, looked, LANES):
        weigh_lanes(shape, lanes, at, thread.to_come[r // LANES], from_place(found, r))


@inner
def _raise_all(lanes: Any, values: Any, tops: Any, count: int) -> None:
    """Replace log-weights by their exponentials, over those of others."""
    for r in range(0, count, LANES):
        part, top = from_place(values, r), from_place(tops, r)
        for a in range(len(lanes.values)):
            lanes.values[a] = part[a] - top[a]
        exponentials(lanes)
        for a in range(len(lanes.values)):
            part[a] = lanes.values[a]


@inner
def _look(thread: Any, decisions: Any, d: int) -> None:
    """Weigh the points to come before a decision, and add up what each candidate does to each of them."""
    shape, lanes, data = thread.shape, thread.lanes, thread.data
    seen, clusters, tops, totals = decisions.step[d], decisions.clusters[d], thread.tops, thread.totals
    first, to_come, looked, stride = _to_come(thread, decisions, d)
    padded = -(-looked // LANES) * LANES
    for r in range(padded):
        point = first + min(r, looked - 1) * stride
        thread.opening[r] = np.float32(data.log_alone[point])
        tops[r], totals[r] = thread.opening[r], 0.0
        if not shape.is_other:
            for e in range(shape.dim):
                thread.to_come[r // LANES, e, r % LANES] = shape.points[point, e]
    for k in range(clusters):
        logs = thread.weights[k]
        _weigh_points(thread, thread.before + k, first, stride, looked, logs)
        for r in range(padded):
            tops[r] = max(tops[r], logs[r])
    _raise_all(lanes, thread.opening, tops, looked)
    for k in range(clusters):
        logs, shares = thread.weights[k], thread.shares[k]
        for r in range(padded):
            shares[r] = logs[r]
        _raise_all(lanes, shares, tops, looked)
        for r in range(padded):
            totals[r] += shares[r]
    odds, old = np.float32(math.exp(data.log_open[seen, clusters])), math.exp(data.log_total[seen, clusters])
    for c in range(clusters + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        if found[ASKED] == 0.0:
            continue
        more = clusters + 1 if c == clusters else clusters
        new_odds = np.float32(math.exp(data.log_open[seen + 1, more]))
        ratio = np.float32(old / math.exp(data.log_total[seen + 1, more]))
        # Of a new cluster no share is lost.
        shares, lost = thread.shares[min(c, clusters - 1)], np.float32(1.0 if c < clusters else 0.0)
        _weigh_points(thread, thread.after + c, first, stride, looked, thread.now)
        _raise_all(lanes, thread.now, tops, looked)
        gains, losses = 0.0, 0.0
        for r in range(0, looked, LANES):
            for a in range(len(lanes.values)):
                total, alone = totals[r + a], thread.opening[r + a]
                then = max(total + odds * alone, _TINY)
                left = max(total - lost * shares[r + a], np.float32(0.0))
                now = max(left + thread.now[r + a] + new_odds * alone, _TINY)
                lanes.values[a] = ratio * (now / then)
            logarithms(lanes)
            for a in range(min(LANES, looked - r)):
                gain = np.float64(lanes.values[a])
                gains += max(gain, 0.0)
                losses -= min(gain, 0.0)
        found[_GAIN], found[_LOSS] = gains * to_come / looked, losses * to_come / looked


@inner
def _decide_all(thread: Any, decisions: Any, d: int) -> None:
    """Put the point into every cluster, and into a new one."""
    lanes, clusters, before, after = thread.lanes, decisions.clusters[d], thread.before, thread.after
    point = decisions.dataset[d] * thread.data.num_points + decisions.step[d]
    for c in range(clusters + 1):
        lanes.sizes[after + c] = lanes.sizes[before + c] + 1 if c < clusters else 1
        for f in range(lanes.sums.shape[1]):
            old = lanes.sums[before + c, f] if c < clusters else 0.0
            lanes.sums[after + c, f] = old + thread.data.moments[point, f]
    _refresh_all(thread, after, clusters + 1)


@inner
def _begin(thread: Any, decisions: Any, d: int, c: int) -> None:
    """Begin the completion of a candidate."""
    lanes, of, lane = thread.lanes, thread.of, thread.begun[0]
    thread.begun[0] += 1
    first, _, looked, stride = _to_come(thread, decisions, d)
    clusters = max(decisions.clusters[d], c + 1)
    of[_CANDIDATE, lane], of[_FIRST, lane] = _candidate(decisions, d, c), first
    of[_SEEN, lane], of[_LOOKED, lane], of[_STRIDE, lane] = decisions.step[d] + 1, looked, stride
    of[_CLUSTERS, lane], of[_MOST, lane] = clusters, clusters + ROOM
    thread.evidence[lane] = 0.0
    for k in range(clusters):
        at, source = k * LANES + lane, thread.after + c if k == c else thread.before + k
        lanes.sizes[at] = lanes.sizes[source]
        for f in range(lanes.sums.shape[1]):
            lanes.sums[at, f] = lanes.sums[source, f]
        if thread.shape.is_other:
            thread.changed[at] = k == c
            refresh(thread.family, lanes.sums, at, lanes.sizes[at])
    for s in range(len(lanes.state)):
        row = lanes.state[s]
        for k in range(clusters):
            row[k * LANES + lane] = row[thread.after + c if k == c else thread.before + k]
    for k in range(clusters, thread.width):
        lanes.state[CONSTANT, k * LANES + lane] = _NOWHERE


@inner
def _complete(thread: Any, decisions: Any) -> None:
    """Put the points to come of up to 32 completions where their weights are largest."""
    lanes, of = thread.lanes, thread.of
    count, most, slots = thread.begun[0], 0, 0
    thread.begun[0] = 0
    for lane in range(len(lanes.values)):
        if lane >= count:
            of[_LOOKED, lane], of[_CLUSTERS, lane] = 0, 0
            for k in range(thread.width):
                lanes.state[CONSTANT, k * LANES + lane] = _NOWHERE
        most, slots = max(most, of[_LOOKED, lane]), max(slots, of[_CLUSTERS, lane])
    for r in range(most):
        _choose(thread, r, slots, count)
        _add_evidence(thread, r, slots, count)
        slots = max(slots, _put_all(thread, r, count))
    for lane in range(count):
        decisions.found[of[_CANDIDATE, lane], _EVIDENCE] = thread.evidence[lane]


@inner
def _choose(thread: Any, r: int, slots: int, count: int) -> None:
    """Weigh the point of each completion in its clusters and a new one, and pick the largest weight."""
    shape, lanes, data, of = thread.shape, thread.lanes, thread.data, thread.of
    best, new = thread.best, thread.new
    for lane in range(count):
        now = min(r, of[_LOOKED, lane] - 1)
        point = of[_FIRST, lane] + now * of[_STRIDE, lane]
        opening = data.log_open[of[_SEEN, lane] + now, of[_CLUSTERS, lane]] + data.log_alone[point]
        new[lane] = np.float32(max(opening, NOWHERE))
        if not shape.is_other:
            for e in range(shape.dim):
                thread.place[e, lane] = shape.points[point, e]
    for a in range(len(lanes.values)):
        best[a], of[_PICK, a] = _NOWHERE, -1
    for k in range(slots):
        logs = thread.logs[k]
        if shape.is_other:
            _weigh_others(thread, k, r, count)
        else:
            weigh_lanes(shape, lanes, k * LANES, thread.place, logs)
        for a in range(len(lanes.values)):
            better = logs[a] > best[a] + _EQUAL
            best[a] = logs[a] if better else best[a]
            of[_PICK, a] = k if better else of[_PICK, a]
    for a in range(len(lanes.values)):
        better = new[a] > best[a] + _EQUAL
        best[a] = new[a] if better else best[a]
        of[_PICK, a] = -1 if better else of[_PICK, a]


@inner
def _weigh_others(thread: Any, k: int, r: int, count: int) -> None:
    """Weigh the point of each completion of one decision in cluster k, anew where that has changed."""
    point = thread.of[_FIRST, 0] + r * thread.of[_STRIDE, 0]
    for lane in range(len(thread.lanes.values)):
        thread.logs[k, lane] = _NOWHERE
        if lane < count and k < thread.of[_CLUSTERS, lane]:
            at = k * LANES + lane
            weight = _log_weight(thread, point, at) if thread.changed[at] else thread.weights[k, r]
            thread.logs[k, lane] = np.float32(weight)


@inner
def _add_evidence(thread: Any, r: int, slots: int, count: int) -> None:
    """Add the log predictive density of the point of each completion."""
    lanes, best, weight = thread.lanes, thread.best, thread.weight
    for a in range(len(lanes.values)):
        lanes.values[a] = thread.new[a] - best[a]
    exponentials(lanes)
    for a in range(len(lanes.values)):
        weight[a] = lanes.values[a]
    for k in range(slots):
        logs, near = thread.logs[k], 0
        for a in range(len(lanes.values)):
            lanes.values[a] = logs[a] - best[a]
            near += 1 if lanes.values[a] > _NOTHING_BESIDE_ONE else 0
        if near == 0:
            continue
        exponentials(lanes)
        for a in range(len(lanes.values)):
            weight[a] += lanes.values[a]
    for a in range(len(lanes.values)):
        lanes.values[a] = weight[a]
    logarithms(lanes)
    for lane in range(count):
        if r < thread.of[_LOOKED, lane]:
            total = thread.data.log_total[thread.of[_SEEN, lane] + r, thread.of[_CLUSTERS, lane]]
            thread.evidence[lane] += np.float64(best[lane] + lanes.values[lane]) - total


@inner
def _put_all(thread: Any, r: int, count: int) -> int:
    """Put the point of each completion into its cluster, and return the most clusters."""
    lanes, of = thread.lanes, thread.of
    most, nowhere = 0, len(lanes.sizes) - 2 * LANES
    for lane in range(len(lanes.where)):
        lanes.where[lane] = nowhere + lane
        pick, clusters, live = of[_PICK, lane], of[_CLUSTERS, lane], r < of[_LOOKED, lane]
        if live and pick < 0 and clusters < of[_MOST, lane]:
            pick = clusters
            lanes.sizes[pick * LANES + lane] = 0
            for f in range(lanes.sums.shape[1]):
                lanes.sums[pick * LANES + lane, f] = 0.0
            of[_CLUSTERS, lane] = clusters + 1
            most = max(most, clusters + 1)
        if pick < 0 or not live:
            continue
        at, point = pick * LANES + lane, of[_FIRST, lane] + r * of[_STRIDE, lane]
        lanes.where[lane] = at
        lanes.sizes[at] += 1
        for f in range(lanes.sums.shape[1]):
            lanes.sums[at, f] += thread.data.moments[point, f]
        if thread.shape.is_other:
            thread.changed[at] = True
    refresh_lanes(thread.family, thread.shape, lanes, count)
    return most


@inner
def _add_up(thread: Any, decisions: Any, d: int) -> None:
    """Describe the candidates of a decision, or begin to."""
    _load(thread, decisions, d)
    _weigh(thread, decisions, d)
    if not _ask(decisions, d) or decisions.references == 0 or decisions.step[d] + 1 == thread.data.num_points:
        return
    _decide_all(thread, decisions, d)
    _call_look(thread.look, (thread, decisions, d))
    for c in range(decisions.clusters[d] + 1):
        if decisions.found[_candidate(decisions, d, c), ASKED] > 0.0:
            _begin(thread, decisions, d, c)
            if thread.begun[0] == LANES:
                _call_complete(thread.complete, (thread, decisions))
    # Tables of weights before the decision are those of one decision.
    if thread.shape.is_other and thread.begun[0]:
        _call_complete(thread.complete, (thread, decisions))


@compiled(allocates=False)
def add_up_ahead(thread: Any, decisions: Any, begin: int, end: int) -> None:
    """Describe the candidates of some decisions by what they do to the points to come.

    Cost O(K R) predictives and O(R) refreshed clusters a candidate. Completions of 32 candidates, whichever
    decisions these belong to, go side by side.
    """
    most = 0
    for d in range(begin, end):
        most = max(most, decisions.clusters[d])
    # Those with as many clusters go side by side, as the others of a row would wait for the largest.
    for clusters in range(1, most + 1):
        for d in range(begin, end):
            if decisions.clusters[d] == clusters:
                _add_up(thread, decisions, d)
    if thread.begun[0]:
        _call_complete(thread.complete, (thread, decisions))
    if decisions.references:
        for d in range(begin, end):
            left = thread.data.num_points - decisions.step[d] - 1
            if left:
                _centre(decisions, d)
                _describe(decisions, d, left)


@inner
def _centre(decisions: Any, d: int) -> None:
    """Subtract the log evidence that all candidates have together under the filter's weights."""
    clusters, best, top = decisions.clusters[d], _best(decisions, d), -math.inf
    for c in range(clusters + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        if found[ASKED] > 0.0:
            top = max(top, found[OWN] + found[_EVIDENCE])
    if top == -math.inf:
        return
    joint, alone = 0.0, 0.0
    for c in range(clusters + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        if found[ASKED] > 0.0:
            joint += math.exp(found[OWN] + found[_EVIDENCE] - top)
            alone += math.exp(found[OWN] - best)
    together = top + math.log(joint) - best - math.log(alone)
    for c in range(clusters + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        if found[ASKED] > 0.0:
            found[_EVIDENCE] -= together


@inner
def _describe(decisions: Any, d: int, to_come: int) -> None:
    """Bring gains, losses and evidence to the scale of a network."""
    root = math.sqrt(1.0 + to_come)
    for c in range(decisions.clusters[d] + 1):
        found = decisions.found[_candidate(decisions, d, c)]
        if found[ASKED] > 0.0:
            net, evidence = found[_GAIN] - found[_LOSS], found[_EVIDENCE]
            found[FEATURES], found[FEATURES + 1] = net / root, evidence / root
            found[FEATURES + 2], found[FEATURES + 3] = np.arcsinh(net), np.arcsinh(evidence)
            found[FEATURES + 4], found[FEATURES + 5] = math.log1p(found[_GAIN]), math.log1p(found[_LOSS])
            found[FEATURES + 6] = min(max(evidence, -10.0), 10.0) / 4.0
