"""Who belongs with an anchor by the exact filter: features for clusterwise guides."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.clusterwise_steps import ClusterStep
from pyroclust.distributions.compiled.clusters import add_point
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import (
    Family,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.nn.compiled.filter import (
    DataSets,
    array_of,
    compiled_family,
    in_threads,
    tables_of,
    threads_for,
)

ROOM = 24
"""Clusters of a completion at most."""
# States of the anchor's cluster: as the completion has it, with its neighbour, without its remote part.
_ALTERNATIVES = 3
# Slots beside those of a completion: the cluster with its neighbour, and its two parts.
_SPARE = 3
_MERGED, _NEAR, _REMOTE = ROOM, ROOM + 1, ROOM + 2
_SWEEPS = 2
# Weights that differ by less are equal: rounding must not decide where a completion goes.
_EQUAL = 1e-7
_NOWHERE = -1
# Fewer predictives than this are not worth a thread.
_PREDICTIVES_A_THREAD = 1 << 16
_SURE = 15.0


@dataclass(frozen=True)
class Completions:
    """What completions say of anchors and of the points that are left."""

    log_odds: Tensor  # (R, T, 3), of belonging with the anchor in each state of its cluster, within 15 nats
    parts: Tensor  # (R, T, 3), 1 for a point in the anchor's cluster, in the neighbour, in the remote part
    gains: Tensor  # (R, 2), log posterior odds of the other states against the first, within 15 nats
    sizes: Tensor  # (R, 3), of the anchor's cluster and of its neighbour, and the number of clusters

    num_states = _ALTERNATIVES
    num_point_features = 3 * _ALTERNATIVES
    num_row_features = 7

    def of_points(self) -> Tensor:
        """Return features of points, ``(R, T, 9)``."""
        return torch.cat([self.log_odds / 4, self.log_odds.tanh(), self.parts], -1)

    def of_rows(self) -> Tensor:
        """Return features of anchors, ``(R, 7)``."""
        return torch.cat([self.gains / 4, self.gains.tanh(), self.sizes.log1p() / 3], -1)


class ClusterForesight:
    r"""Who belongs with an anchor, if all other points that are left are labelled by the model.

    These are put where their weight is largest under the exact filter, one after the other, and then twice
    more, given all others. With :math:`A` the cluster of the anchor that this makes, every point has log-odds

    .. math:: \ell_i = \log p(c_i = A \mid x, c_{-i}) - \log p(c_i \ne A \mid x, c_{-i})

    and the same where A is one with the cluster that it is most likely one with, and where A is in two parts,
    of which one is around its least likely point. The log posterior odds of these two states are features
    too. Cost: O(T K) predictives an anchor for T points that are left and K clusters.

    :class:`~pyroclust.nn.compiled.foresight.Foresight` completes 32 candidates side by side in float32 and
    never takes a point back; this has to know how likely a point is in a cluster without itself.
    """

    def __init__(self, encoding: FilterEncoding) -> None:
        self._encoding, self._width = encoding, 0
        rising = array_of(encoding.log_join()[1:-1].cumsum(0))
        self._log_rising = np.concatenate([[0.0, 0.0], rising])
        self._threads: list[Address] = []

    @torch.no_grad()
    def __call__(self, step: ClusterStep) -> Completions:
        """Describe anchors and the points that are left."""
        rows, width = step.others.shape
        log_odds, parts = np.zeros((2, rows, width, _ALTERNATIVES))
        gains, counts = np.zeros((rows, 5)), step.mask.sum(-1)
        asked = Address(
            _Rows(
                array_of(step.dataset),
                array_of(step.anchor),
                array_of(step.others),
                array_of(counts),
                array_of(step.num_closed),
                self._log_rising,
                log_odds,
                parts,
                gains,
            )
        )
        number = threads_for(20 * int(counts.sum()), _PREDICTIVES_A_THREAD, max(1, rows))
        threads = self._for_clusters(int(step.num_closed.max()) + ROOM + 2, number)
        in_threads(lambda thread, begin, end: ask_completions(thread, asked, begin, end), threads, rows)
        device = step.others.device
        odds, where, whole = (torch.from_numpy(one).to(device) for one in (log_odds, parts, gains))
        unlike = whole[:, :2].clamp(-_SURE, _SURE)
        return Completions(odds.clamp(-_SURE, _SURE), where, unlike, whole[:, 2:])

    def _for_clusters(self, width: int, number: int) -> list[Address]:
        """Return what as many threads need, with tables for so many clusters."""
        if width > self._width:
            self._width, self._threads = width + width // 2, []
            self._data = tables_of(self._encoding, self._width)
        slots, points = ROOM + _SPARE, self._encoding.opening.shape[1]
        while len(self._threads) < number:
            thread = _Thread(
                compiled_family(self._encoding, slots),
                self._data,
                np.zeros(slots, np.int64),
                np.zeros((slots, self._encoding.moments.shape[-1])),
                np.zeros(ROOM + 1),
                np.zeros(points, np.int64),
                np.zeros(points, np.int64),
            )
            self._threads.append(Address(thread))
        return self._threads[:number]


class _Rows(NamedTuple):
    """R anchors, each with at most T points that may belong with it, and what is found of them."""

    dataset: np.ndarray  # (R,)
    anchor: np.ndarray  # (R,)
    others: np.ndarray  # (R, T)
    counts: np.ndarray  # (R,), how many others there are
    num_closed: np.ndarray  # (R,), clusters that are made
    log_rising: np.ndarray  # (N + 1,), log of (1 - d) ... (n - 1 - d), what the prior says of a cluster of n
    log_odds: np.ndarray  # (R, T, 3)
    parts: np.ndarray  # (R, T, 3)
    gains: np.ndarray  # (R, 5), of the other states, then sizes


class _Thread(NamedTuple):
    """What a thread needs: tables, and W clusters."""

    family: Family
    data: DataSets
    sizes: np.ndarray  # (W,)
    sums: np.ndarray  # (W, F), summed moments
    logs: np.ndarray  # weights of one point, the last of a new cluster
    place: np.ndarray  # (T,), the cluster of each of the others, -1 where there is no room for another one
    part: np.ndarray  # (T,), of the anchor's cluster, that of each of the others


@inner
def _weight(thread: Any, point: int, slot: int, inside: Any) -> float:
    """Return the log-weight of a point in a cluster, without itself if it is inside."""
    size = thread.sizes[slot]
    left = size - 1 if inside else size
    if left < 1:
        return -math.inf
    weight: float = thread.data.log_join[left]
    if inside:
        return weight + log_predictive_without(thread.family, point, slot, size)
    return weight + log_predictive(thread.family, point, slot, size)


@inner
def _weigh(thread: Any, point: int, own: int, seen: int, closed: int) -> None:
    """Weigh all clusters of the completion and a new one for a point, without itself."""
    live = 0
    for k in range(ROOM):
        if thread.sizes[k] > (1 if k == own else 0):
            live += 1
        thread.logs[k] = _weight(thread, point, k, k == own)
    thread.logs[ROOM] = thread.data.log_open[seen, closed + live] + thread.data.log_alone[point]


@inner
def _choose(thread: Any) -> int:
    """Return the cluster of the largest weight; a new one takes the first free slot, or is nowhere."""
    best, pick, free = -math.inf, 0, _NOWHERE
    for k in range(ROOM):
        if thread.logs[k] > best + _EQUAL:
            best, pick = thread.logs[k], k
        if thread.sizes[k] == 0 and free == _NOWHERE:
            free = k
    return free if thread.logs[ROOM] > best + _EQUAL else pick


@inner
def _take(thread: Any, point: int, slot: int) -> None:
    """Take a point out of a cluster."""
    thread.sizes[slot] -= 1
    if thread.sizes[slot]:
        for f in range(thread.sums.shape[1]):
            thread.sums[slot, f] -= thread.data.moments[point, f]
        refresh(thread.family, thread.sums, slot, thread.sizes[slot])


@inner
def _put(thread: Any, point: int, slot: int) -> None:
    add_point(thread.family, thread.sizes, thread.sums, thread.data.moments, point, slot)


@inner
def _complete(thread: Any, rows: Any, r: int) -> None:
    """Label all points that are left where their weights are largest, then again, given all others."""
    count, closed = rows.counts[r], rows.num_closed[r]
    first = rows.dataset[r] * thread.data.num_points
    for k in range(ROOM + _SPARE):
        thread.sizes[k] = 0
    _put(thread, first + rows.anchor[r], 0)
    for t in range(count):
        point = first + rows.others[r, t]
        _weigh(thread, point, _NOWHERE, thread.data.num_points - count + t, closed)
        thread.place[t] = _choose(thread)
        if thread.place[t] != _NOWHERE:
            _put(thread, point, thread.place[t])
    for _ in range(_SWEEPS):
        for t in range(count):
            point, own = first + rows.others[r, t], thread.place[t]
            _weigh(thread, point, own, thread.data.num_points - 1, closed)
            new = _choose(thread)
            if own != _NOWHERE:
                # A point alone stays where it is rather than open another cluster.
                now = thread.logs[ROOM] if thread.sizes[own] == 1 else thread.logs[own]
                best = -math.inf
                for k in range(ROOM + 1):
                    best = max(best, thread.logs[k])
                if best <= now + _EQUAL or new == _NOWHERE:
                    continue
                _take(thread, point, own)
            if new != _NOWHERE:
                _put(thread, point, new)
            thread.place[t] = new


@inner
def _log_mass(thread: Any, rows: Any, slot: int) -> float:
    """Return what prior and likelihood say of a cluster, but for the number of clusters."""
    size = thread.sizes[slot]
    found: float = rows.log_rising[size] + log_marginal(thread.family, thread.sums, slot, size)
    return found


@inner
def _unite(thread: Any, k: int) -> None:
    """Sum up the anchor's cluster and another."""
    thread.sizes[_MERGED] = thread.sizes[0] + thread.sizes[k]
    for f in range(thread.sums.shape[1]):
        thread.sums[_MERGED, f] = thread.sums[0, f] + thread.sums[k, f]


@inner
def _merge(thread: Any, rows: Any, r: int, live: int) -> int:
    """Find the neighbour that the anchor's cluster is most likely one with, and make the two one."""
    own, best, neighbour = _log_mass(thread, rows, 0), -math.inf, _NOWHERE
    fewer = thread.data.log_open[thread.data.num_points - 1, rows.num_closed[r] + live - 1]
    for k in range(1, ROOM):
        if thread.sizes[k] == 0:
            continue
        _unite(thread, k)
        together = _log_mass(thread, rows, _MERGED)
        gain = together - own - _log_mass(thread, rows, k) - fewer
        if gain > best:
            best, neighbour = gain, k
    rows.gains[r, 0] = best
    if neighbour == _NOWHERE:
        thread.sizes[_MERGED] = 0
        return neighbour
    _unite(thread, neighbour)
    refresh(thread.family, thread.sums, _MERGED, thread.sizes[_MERGED])
    return neighbour


@inner
def _split(thread: Any, rows: Any, r: int, live: int) -> bool:
    """Divide the anchor's cluster into what is near the anchor and what is near its least likely point."""
    first = rows.dataset[r] * thread.data.num_points
    rows.gains[r, 1] = -math.inf
    least, remote = math.inf, _NOWHERE
    for t in range(rows.counts[r]):
        thread.part[t] = _NOWHERE
        if thread.place[t] == 0:
            found = log_predictive_without(thread.family, first + rows.others[r, t], 0, thread.sizes[0])
            if found < least:
                least, remote = found, t
    if remote == _NOWHERE:
        return False
    _put(thread, first + rows.anchor[r], _NEAR)
    _put(thread, first + rows.others[r, remote], _REMOTE)
    thread.part[remote] = _REMOTE
    for _ in range(_SWEEPS):
        for t in range(rows.counts[r]):
            if thread.place[t] != 0:
                continue
            point, own = first + rows.others[r, t], thread.part[t]
            near = _weight(thread, point, _NEAR, own == _NEAR)
            away = _weight(thread, point, _REMOTE, own == _REMOTE)
            new = own
            if near > away + _EQUAL or own == _NOWHERE:
                new = _NEAR
            if away > near + _EQUAL:
                new = _REMOTE
            if own == _REMOTE and thread.sizes[_REMOTE] == 1:
                new = own
            if new != own:
                if own != _NOWHERE:
                    _take(thread, point, own)
                _put(thread, point, new)
                thread.part[t] = new
    more = thread.data.log_open[thread.data.num_points - 1, rows.num_closed[r] + live]
    apart = _log_mass(thread, rows, _NEAR) + _log_mass(thread, rows, _REMOTE)
    rows.gains[r, 1] = apart - _log_mass(thread, rows, 0) + more
    # The prior may allow no further cluster.
    return bool(more > -math.inf)


@inner
def _log_odds(thread: Any, joining: float, other: float, new: float, skip: int) -> float:
    """Return joining against all else: another cluster, a new one, and those of the completion but two."""
    top = max(joining, max(other, new))
    for k in range(1, ROOM):
        if k != skip:
            top = max(top, thread.logs[k])
    total = math.exp(other - top) + math.exp(new - top)
    for k in range(1, ROOM):
        if k != skip:
            total += math.exp(thread.logs[k] - top)
    found: float = joining - top - math.log(total) if total > 0.0 else math.inf
    return found


@compiled(allocates=False)
def ask_completions(thread: Any, rows: Any, begin: int, end: int) -> None:
    """Ask for some anchors who belongs with them: O(T K) predictives each for T points and K clusters."""
    for r in range(begin, end):
        seen, closed = thread.data.num_points - 1, rows.num_closed[r]
        first = rows.dataset[r] * thread.data.num_points
        _complete(thread, rows, r)
        live = 0
        for k in range(ROOM):
            live += 1 if thread.sizes[k] else 0
        neighbour = _merge(thread, rows, r, live)
        divided = _split(thread, rows, r, live)
        rows.gains[r, 2] = thread.sizes[0]
        rows.gains[r, 3] = 0 if neighbour == _NOWHERE else thread.sizes[neighbour]
        rows.gains[r, 4] = live
        for t in range(rows.counts[r]):
            point, own, part = first + rows.others[r, t], thread.place[t], thread.part[t]
            _weigh(thread, point, own, seen, closed)
            new, alone = thread.logs[ROOM], thread.data.log_alone[point]
            now = live - 1 if own > 0 and thread.sizes[own] == 1 else live
            odds = _log_odds(thread, thread.logs[0], -math.inf, new, _NOWHERE)
            for a in range(_ALTERNATIVES):
                rows.log_odds[r, t, a] = odds
            if neighbour != _NOWHERE:
                joining = _weight(thread, point, _MERGED, own == 0 or own == neighbour)
                fewer = now if own == neighbour and thread.sizes[own] == 1 else now - 1
                new = thread.data.log_open[seen, closed + fewer] + alone
                rows.log_odds[r, t, 1] = _log_odds(thread, joining, -math.inf, new, neighbour)
            if divided:
                joining = _weight(thread, point, _NEAR, part == _NEAR)
                away = _weight(thread, point, _REMOTE, part == _REMOTE)
                more = now if part == _REMOTE and thread.sizes[_REMOTE] == 1 else now + 1
                new = thread.data.log_open[seen, closed + more] + alone
                rows.log_odds[r, t, 2] = _log_odds(thread, joining, away, new, _NOWHERE)
            rows.parts[r, t, 0] = 1.0 if own == 0 else 0.0
            rows.parts[r, t, 1] = 1.0 if own == neighbour else 0.0
            rows.parts[r, t, 2] = 1.0 if part == _REMOTE else 0.0
