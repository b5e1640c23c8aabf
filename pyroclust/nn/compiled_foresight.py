"""What candidates do to the points to come, in compiled code, for every compiled family."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.compiling import lean
from pyroclust.distributions.compiled.clusters import add_point
from pyroclust.distributions.compiled.protocol import log_predictive, refresh

__all__ = ["ROOM", "Decisions", "Work", "add_up_ahead"]

ROOM = 8
"""Clusters that a completion may open."""
# Gains and losses one point at a time, and the log evidence of the completion.
_GAIN, _LOSS, _EVIDENCE = range(3)
# Weights that differ by less are equal: rounding must not decide where a completion goes.
_EQUAL = 1e-7
# Where every density underflows, no candidate is better than another.
_TINY = 1e-300


class Decisions(NamedTuple):
    """Where points may go: Q decisions with M candidates to join.

    Attributes:
        references: most points to come that are looked at.
        within: candidates whose filter weight is so many nats below the largest are not looked at.
        dataset: ``(Q,)``.
        step: the point to be labelled, ``(Q,)``.
        starts: first candidate of each decision, ``(Q + 1,)``.
        sizes: points of candidates, ``(M,)``.
        sums: their summed moments, ``(M, F)``.
        found: gains, losses and evidence, first of joining, then of opening, ``(M + Q, 3)``.
    """

    references: int
    within: float
    dataset: np.ndarray
    step: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray
    found: np.ndarray


class Work(NamedTuple):
    """Scratch space for at most W clusters and R points to come.

    Attributes:
        sizes: points in each cluster, ``(W,)``.
        sums: their summed moments, ``(W, F)``.
        changed: whether a completion has changed a cluster, ``(W,)``.
        logs: weights of one point, ``(W + 1,)``.
        own: weights of the point to be labelled, ``(W + 1,)``.
        to_come: weights of the points to come before the decision, ``(R, W)``.
        shares: their exponentials, ``(R, W)``.
        totals: sums of these over clusters, ``(R,)``.
    """

    sizes: np.ndarray
    sums: np.ndarray
    changed: np.ndarray
    logs: np.ndarray
    own: np.ndarray
    to_come: np.ndarray
    shares: np.ndarray
    totals: np.ndarray


@lean
def _restore(family: Any, work: Any, decisions: Any, first: int, cluster: int) -> None:
    """Give a cluster the points that it has at a decision."""
    work.sizes[cluster] = decisions.sizes[first + cluster]
    for f in range(work.sums.shape[1]):
        work.sums[cluster, f] = decisions.sums[first + cluster, f]
    work.changed[cluster] = False
    refresh(family, work.sums, cluster, work.sizes[cluster])


@lean
def _put(family: Any, work: Any, data: Any, point: int, cluster: int) -> None:
    """Put a point into a cluster that has to be restored."""
    add_point(family, work.sizes, work.sums, data.moments, point, cluster)
    work.changed[cluster] = True


@lean
def _log_weight(family: Any, work: Any, data: Any, point: int, cluster: int) -> float:
    size = work.sizes[cluster]
    return data.log_join[size] + log_predictive(family, point, cluster, size)


@lean
def _add_gains(
    family: Any,
    work: Any,
    data: Any,
    first: int,
    seen: int,
    clusters: int,
    chosen: int,
    stride: int,
    found: np.ndarray,
) -> None:
    """Add up what a point in its cluster does to each point to come, all else as it was."""
    before = seen - data.discount * clusters
    odds = math.exp(data.log_open[seen, clusters])
    more = clusters + 1 if chosen == clusters else clusters
    after = seen + 1 - data.discount * more
    new_odds = math.exp(data.log_open[seen + 1, more])
    for r, j in enumerate(range(seen + 1, data.num_points, stride)):
        alone = math.exp(data.log_alone[first + j])
        total = work.totals[r]
        held = work.shares[r, chosen] if chosen < clusters else 0.0
        now = math.exp(_log_weight(family, work, data, first + j, chosen))
        then = max(total + odds * alone, _TINY) / (before + odds)
        gain = math.log(
            max(max(total - held, 0.0) + now + new_odds * alone, _TINY) / (after + new_odds) / then
        )
        if gain > 0:
            found[_GAIN] += gain
        else:
            found[_LOSS] -= gain


@lean
def _complete(family: Any, work: Any, data: Any, first: int, seen: int, clusters: int, stride: int) -> float:
    """Put points to come where their weight is largest, and return their log evidence."""
    total, most = 0.0, clusters + ROOM
    for count, j in enumerate(range(seen, data.num_points, stride)):
        point, best, pick = first + j, -math.inf, 0
        for k in range(clusters):
            work.logs[k] = (
                _log_weight(family, work, data, point, k) if work.changed[k] else work.to_come[count, k]
            )
            if work.logs[k] > best + _EQUAL:
                best, pick = work.logs[k], k
        odds = data.log_open[seen + count, clusters]
        work.logs[clusters] = odds + data.log_alone[point]
        if work.logs[clusters] > best + _EQUAL:
            best, pick = work.logs[clusters], clusters
        weight = 0.0
        for k in range(clusters + 1):
            weight += math.exp(work.logs[k] - best)
        total += best + math.log(weight / (seen + count - data.discount * clusters + math.exp(odds)))
        if pick < clusters or clusters < most:
            if pick == clusters:
                work.sizes[clusters] = 0
                clusters += 1
            _put(family, work, data, point, pick)
    return total


@lean
def _drop_hopeless(work: Any, clusters: int, within: float) -> float:
    """Return the largest weight, infinity where no other is near it; those far below become impossible."""
    best, left = -math.inf, 0
    for c in range(clusters + 1):
        best = max(best, work.own[c])
    for c in range(clusters + 1):
        if work.own[c] < best - within:
            work.own[c] = -math.inf
        elif work.own[c] > -math.inf:
            left += 1
    return best if left > 1 else math.inf


@lean
def add_up_ahead(family: Any, work: Any, data: Any, decisions: Any, begin: int, end: int) -> None:
    """Describe the candidates of some decisions by what they do to the points to come.

    Cost O(K R) predictives and O(R) refreshed clusters a candidate.

    Args:
        family: tables and caches of the family.
        work: scratch space.
        data: the data sets.
        decisions: what there is to decide; its ``found`` is written.
        begin: the first decision.
        end: the one after the last.
    """
    for d in range(begin, end):
        seen, start = decisions.step[d], decisions.starts[d]
        first, clusters = decisions.dataset[d] * data.num_points, decisions.starts[d + 1] - start
        to_come = data.num_points - seen - 1
        for c in range(clusters + 1):
            at = start + c if c < clusters else len(decisions.sizes) + d
            for f in range(3):
                decisions.found[at, f] = 0.0
        if to_come == 0:
            continue
        for k in range(clusters):
            _restore(family, work, decisions, start, k)
            work.own[k] = _log_weight(family, work, data, first + seen, k)
        work.own[clusters] = data.log_open[seen, clusters] + data.log_alone[first + seen]
        best = _drop_hopeless(work, clusters, decisions.within)
        if best == math.inf:
            continue
        stride = -(-to_come // decisions.references)
        looked_at = -(-to_come // stride)
        for k in range(clusters):
            for r, j in enumerate(range(seen + 1, data.num_points, stride)):
                work.to_come[r, k] = _log_weight(family, work, data, first + j, k)
                work.shares[r, k] = math.exp(work.to_come[r, k])
        for r in range(looked_at):
            work.totals[r] = 0.0
            for k in range(clusters):
                work.totals[r] += work.shares[r, k]
        top = -math.inf
        for c in range(clusters + 1):
            if work.own[c] == -math.inf:
                continue
            at = start + c if c < clusters else len(decisions.sizes) + d
            if c == clusters:
                work.sizes[c] = 0
            _put(family, work, data, first + seen, c)
            found = decisions.found[at]
            _add_gains(family, work, data, first, seen, clusters, c, stride, found)
            found[_GAIN] *= to_come / looked_at
            found[_LOSS] *= to_come / looked_at
            found[_EVIDENCE] = _complete(family, work, data, first, seen + 1, max(clusters, c + 1), stride)
            top = max(top, work.own[c] + found[_EVIDENCE])
            for k in range(clusters):
                if work.changed[k]:
                    _restore(family, work, decisions, start, k)
        _centre(work, decisions, d, best, top)


@lean
def _centre(work: Any, decisions: Any, d: int, best: float, top: float) -> None:
    """Subtract the log evidence that all candidates have together under the filter's weights."""
    start = decisions.starts[d]
    clusters = decisions.starts[d + 1] - start
    joint, alone = 0.0, 0.0
    for c in range(clusters + 1):
        at = start + c if c < clusters else len(decisions.sizes) + d
        if work.own[c] > -math.inf:
            joint += math.exp(work.own[c] + decisions.found[at, _EVIDENCE] - top)
            alone += math.exp(work.own[c] - best)
    together = top + math.log(joint) - best - math.log(alone)
    for c in range(clusters + 1):
        at = start + c if c < clusters else len(decisions.sizes) + d
        if work.own[c] > -math.inf:
            decisions.found[at, _EVIDENCE] -= together
