"""Who belongs with an anchor by the exact filter, in compiled code, for every compiled family."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.distributions.compiled.clusters import add_point
from pyroclust.distributions.compiled.protocol import (
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)

__all__ = ["ALTERNATIVES", "ROOM", "SPARE", "Rows", "Scratch", "ask_completions"]

ROOM = 24
"""Clusters of a completion at most."""
ALTERNATIVES = 3
"""States of the anchor's cluster: as the completion has it, with its neighbour, without its remote part."""
SPARE = 3
"""Slots beside those of a completion: the cluster with its neighbour, and its two parts."""
_MERGED, _NEAR, _REMOTE = ROOM, ROOM + 1, ROOM + 2
_SWEEPS = 2
# Weights that differ by less are equal: rounding must not decide where a completion goes.
_EQUAL = 1e-7
_NOWHERE = -1


class Rows(NamedTuple):
    """R anchors, each with at most T points that may belong with it.

    Attributes:
        dataset: ``(R,)``.
        anchor: ``(R,)``.
        others: ``(R, T)``.
        counts: how many others there are, ``(R,)``.
        num_closed: clusters that are made, ``(R,)``.
        log_rising: log of (1 - d) ... (n - 1 - d), what the prior says of a cluster of n, ``(N + 1,)``.
        log_odds: of belonging with the anchor, in each alternative, ``(R, T, 3)``.
        parts: whether a point is in the anchor's cluster, in its neighbour, in its remote part,
            ``(R, T, 3)``.
        gains: log posterior odds of the alternatives against the completion, the sizes of the anchor's
            cluster and of its neighbour, and the number of clusters, ``(R, 5)``.
    """

    dataset: np.ndarray
    anchor: np.ndarray
    others: np.ndarray
    counts: np.ndarray
    num_closed: np.ndarray
    log_rising: np.ndarray
    log_odds: np.ndarray
    parts: np.ndarray
    gains: np.ndarray


class Scratch(NamedTuple):
    """Scratch space of a thread.

    Attributes:
        sizes: points in each cluster, ``(W,)``.
        sums: their summed moments, ``(W, F)``.
        logs: weights of one point, ``(W + 1,)``, the last of a new cluster.
        place: the cluster of each of the others, -1 where there is no room for another one, ``(T,)``.
        part: of the anchor's cluster, that of each of the others, ``(T,)``.
    """

    sizes: np.ndarray
    sums: np.ndarray
    logs: np.ndarray
    place: np.ndarray
    part: np.ndarray


@compiled(allocates=False)
def _weight(family: Any, work: Any, data: Any, point: int, slot: int, inside: Any) -> float:
    """Return the log-weight of a point in a cluster, without itself if it is inside."""
    size = work.sizes[slot]
    if inside:
        if size < 2:
            return -math.inf
        without: float = data.log_join[size - 1] + log_predictive_without(family, point, slot, size)
        return without
    if size == 0:
        return -math.inf
    found: float = data.log_join[size] + log_predictive(family, point, slot, size)
    return found


@compiled(allocates=False)
def _weigh(family: Any, work: Any, data: Any, point: int, own: int, seen: int, closed: int) -> None:
    """Weigh all clusters of the completion and a new one for a point, without itself."""
    live = 0
    for k in range(ROOM):
        if work.sizes[k] > (1 if k == own else 0):
            live += 1
        work.logs[k] = _weight(family, work, data, point, k, k == own)
    work.logs[ROOM] = data.log_open[seen, closed + live] + data.log_alone[point]


@compiled(allocates=False)
def _choose(work: Any) -> int:
    """Return the cluster of the largest weight; a new one takes the first free slot, or is nowhere."""
    best, pick, free = -math.inf, 0, _NOWHERE
    for k in range(ROOM):
        if work.logs[k] > best + _EQUAL:
            best, pick = work.logs[k], k
        if work.sizes[k] == 0 and free == _NOWHERE:
            free = k
    return free if work.logs[ROOM] > best + _EQUAL else pick


@compiled(allocates=False)
def _take(family: Any, work: Any, data: Any, point: int, slot: int) -> None:
    """Take a point out of a cluster."""
    work.sizes[slot] -= 1
    if work.sizes[slot]:
        for f in range(work.sums.shape[1]):
            work.sums[slot, f] -= data.moments[point, f]
        refresh(family, work.sums, slot, work.sizes[slot])


@compiled(allocates=False)
def _put(family: Any, work: Any, data: Any, point: int, slot: int) -> None:
    add_point(family, work.sizes, work.sums, data.moments, point, slot)


@compiled(allocates=False)
def _complete(family: Any, work: Any, data: Any, rows: Any, r: int) -> None:
    """Label all points that are left where their weights are largest, then again, given all others."""
    count, closed = rows.counts[r], rows.num_closed[r]
    first = rows.dataset[r] * data.num_points
    for k in range(ROOM + SPARE):
        work.sizes[k] = 0
    _put(family, work, data, first + rows.anchor[r], 0)
    for t in range(count):
        point = first + rows.others[r, t]
        _weigh(family, work, data, point, _NOWHERE, data.num_points - count + t, closed)
        work.place[t] = _choose(work)
        if work.place[t] != _NOWHERE:
            _put(family, work, data, point, work.place[t])
    for _ in range(_SWEEPS):
        for t in range(count):
            point, own = first + rows.others[r, t], work.place[t]
            _weigh(family, work, data, point, own, data.num_points - 1, closed)
            new = _choose(work)
            if own != _NOWHERE:
                # A point alone stays where it is rather than open another cluster.
                now = work.logs[ROOM] if work.sizes[own] == 1 else work.logs[own]
                best = -math.inf
                for k in range(ROOM + 1):
                    best = max(best, work.logs[k])
                if best <= now + _EQUAL or new == _NOWHERE:
                    continue
                _take(family, work, data, point, own)
            if new != _NOWHERE:
                _put(family, work, data, point, new)
            work.place[t] = new


@compiled(allocates=False)
def _log_mass(family: Any, work: Any, rows: Any, slot: int) -> float:
    """Return what prior and likelihood say of a cluster, but for the number of clusters."""
    size = work.sizes[slot]
    found: float = rows.log_rising[size] + log_marginal(family, work.sums, slot, size)
    return found


@compiled(allocates=False)
def _merge(family: Any, work: Any, data: Any, rows: Any, r: int, live: int) -> int:
    """Find the neighbour that the anchor's cluster is most likely one with, and make the two one."""
    own, best, neighbour = _log_mass(family, work, rows, 0), -math.inf, _NOWHERE
    fewer = data.log_open[data.num_points - 1, rows.num_closed[r] + live - 1]
    for k in range(1, ROOM):
        if work.sizes[k] == 0:
            continue
        work.sizes[_MERGED] = work.sizes[0] + work.sizes[k]
        for f in range(work.sums.shape[1]):
            work.sums[_MERGED, f] = work.sums[0, f] + work.sums[k, f]
        together = _log_mass(family, work, rows, _MERGED)
        gain = together - own - _log_mass(family, work, rows, k) - fewer
        if gain > best:
            best, neighbour = gain, k
    rows.gains[r, 0] = best
    if neighbour == _NOWHERE:
        work.sizes[_MERGED] = 0
        return neighbour
    work.sizes[_MERGED] = work.sizes[0] + work.sizes[neighbour]
    for f in range(work.sums.shape[1]):
        work.sums[_MERGED, f] = work.sums[0, f] + work.sums[neighbour, f]
    refresh(family, work.sums, _MERGED, work.sizes[_MERGED])
    return neighbour


@compiled(allocates=False)
def _split(family: Any, work: Any, data: Any, rows: Any, r: int, live: int) -> bool:
    """Divide the anchor's cluster into what is near the anchor and what is near its least likely point."""
    first = rows.dataset[r] * data.num_points
    rows.gains[r, 1] = -math.inf
    least, remote = math.inf, _NOWHERE
    for t in range(rows.counts[r]):
        work.part[t] = _NOWHERE
        if work.place[t] == 0:
            found = log_predictive_without(family, first + rows.others[r, t], 0, work.sizes[0])
            if found < least:
                least, remote = found, t
    if remote == _NOWHERE:
        return False
    _put(family, work, data, first + rows.anchor[r], _NEAR)
    _put(family, work, data, first + rows.others[r, remote], _REMOTE)
    work.part[remote] = _REMOTE
    for _ in range(_SWEEPS):
        for t in range(rows.counts[r]):
            if work.place[t] != 0:
                continue
            point, own = first + rows.others[r, t], work.part[t]
            near = _weight(family, work, data, point, _NEAR, own == _NEAR)
            away = _weight(family, work, data, point, _REMOTE, own == _REMOTE)
            new = own
            if near > away + _EQUAL or own == _NOWHERE:
                new = _NEAR
            if away > near + _EQUAL:
                new = _REMOTE
            if own == _REMOTE and work.sizes[_REMOTE] == 1:
                new = own
            if new != own:
                if own != _NOWHERE:
                    _take(family, work, data, point, own)
                _put(family, work, data, point, new)
                work.part[t] = new
    more = data.log_open[data.num_points - 1, rows.num_closed[r] + live]
    apart = _log_mass(family, work, rows, _NEAR) + _log_mass(family, work, rows, _REMOTE)
    rows.gains[r, 1] = apart - _log_mass(family, work, rows, 0) + more
    # The prior may allow no further cluster.
    return bool(more > -math.inf)


@compiled(allocates=False)
def _log_odds(work: Any, joining: float, other: float, new: float, skip: int) -> float:
    """Return joining against all else: another cluster, a new one, and those of the completion but two."""
    top = max(joining, max(other, new))
    for k in range(1, ROOM):
        if k != skip:
            top = max(top, work.logs[k])
    total = math.exp(other - top) + math.exp(new - top)
    for k in range(1, ROOM):
        if k != skip:
            total += math.exp(work.logs[k] - top)
    found: float = joining - top - math.log(total) if total > 0.0 else math.inf
    return found


@compiled(allocates=False)
def ask_completions(family: Any, work: Any, data: Any, rows: Any, begin: int, end: int) -> None:
    """Ask for some rows who belongs with the anchor.

    Cost O(T K) predictives a row for T points and K clusters.

    Args:
        family: tables and caches of the family, with ``ROOM + SPARE`` slots.
        work: scratch space.
        data: the data sets.
        rows: the anchors; ``log_odds``, ``parts`` and ``gains`` are written.
        begin: the first row.
        end: the one after the last.
    """
    for r in range(begin, end):
        first, closed, seen = rows.dataset[r] * data.num_points, rows.num_closed[r], data.num_points - 1
        _complete(family, work, data, rows, r)
        live = 0
        for k in range(ROOM):
            live += 1 if work.sizes[k] else 0
        neighbour = _merge(family, work, data, rows, r, live)
        divided = _split(family, work, data, rows, r, live)
        rows.gains[r, 2] = work.sizes[0]
        rows.gains[r, 3] = 0 if neighbour == _NOWHERE else work.sizes[neighbour]
        rows.gains[r, 4] = live
        for t in range(rows.counts[r]):
            point, own, part = first + rows.others[r, t], work.place[t], work.part[t]
            _weigh(family, work, data, point, own, seen, closed)
            new, alone = work.logs[ROOM], data.log_alone[point]
            now = live - 1 if own > 0 and work.sizes[own] == 1 else live
            odds = _log_odds(work, work.logs[0], -math.inf, new, _NOWHERE)
            for a in range(ALTERNATIVES):
                rows.log_odds[r, t, a] = odds
            if neighbour != _NOWHERE:
                joining = _weight(family, work, data, point, _MERGED, own == 0 or own == neighbour)
                fewer = now if own == neighbour and work.sizes[own] == 1 else now - 1
                new = data.log_open[seen, closed + fewer] + alone
                rows.log_odds[r, t, 1] = _log_odds(work, joining, -math.inf, new, neighbour)
            if divided:
                joining = _weight(family, work, data, point, _NEAR, part == _NEAR)
                away = _weight(family, work, data, point, _REMOTE, part == _REMOTE)
                more = now if part == _REMOTE and work.sizes[_REMOTE] == 1 else now + 1
                new = data.log_open[seen, closed + more] + alone
                rows.log_odds[r, t, 2] = _log_odds(work, joining, away, new, _NOWHERE)
            rows.parts[r, t, 0] = 1.0 if own == 0 else 0.0
            rows.parts[r, t, 1] = 1.0 if own == neighbour else 0.0
            rows.parts[r, t, 2] = 1.0 if part == _REMOTE else 0.0
