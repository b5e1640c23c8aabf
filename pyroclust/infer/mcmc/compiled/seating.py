"""The compiled pass of Neal's Algorithm 8 over points, on tables of log-likelihoods.

The parameters of occupied clusters stay as they are during a pass, so their log-likelihoods are columns of
one table, computed beforehand. Compiled code visits points until one of them opens a cluster; there it stops,
since the later points need the column of that cluster.
"""

import math
from typing import NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.distributions.compiled.clusters import draw_index


class Seating(NamedTuple):
    """Which points of C chains sit in which clusters; the clusters of all chains share G slots.

    Attributes:
        slot_of: slot of each point, ``(C, N)``.
        sizes: points in each slot, ``(G,)``.
        active: the first ``counts[c]`` entries of row c are the slots that chain c uses, ``(C, N + 1)``.
        counts: clusters of each chain, ``(C,)``.
        free: the first ``num_free[0]`` entries are the unused slots, ``(G,)``.
        num_free: number of unused slots, ``(1,)``.
        position: points of the current block that each chain has visited, ``(C,)``.
        opened: slot that the last visited point of each chain has opened, -1 where it has not, ``(C,)``.
        choice: which auxiliary parameters that slot has, ``(C,)``.
        log_own: log-likelihood of each visited point under the cluster it is in now, ``(C, N)``.
    """

    slot_of: np.ndarray
    sizes: np.ndarray
    active: np.ndarray
    counts: np.ndarray
    free: np.ndarray
    num_free: np.ndarray
    position: np.ndarray
    opened: np.ndarray
    choice: np.ndarray
    log_own: np.ndarray


class Tables(NamedTuple):
    """What the visits of a block of B points need.

    Attributes:
        log_join: log(n - d), ``(C, N + 1)``.
        log_open: log V_N(K + 1) - log V_N(K) - log m, ``(C, N + 1)``.
        log_likelihood: of the points of the block under the parameters of each slot, ``(B, G)``.
        log_auxiliary: of each point under its own auxiliary parameters, ``(C, B, m)``.
        uniforms: one uniform random number a visit, ``(C, B)``.
    """

    log_join: np.ndarray
    log_open: np.ndarray
    log_likelihood: np.ndarray
    log_auxiliary: np.ndarray
    uniforms: np.ndarray


@compiled
def seat(rows: np.ndarray, num_rows: int, num_slots: int) -> Seating:
    """Seat points, ``(C, N)``, in the first ``num_rows`` of ``num_slots`` slots, in O(C N + G)."""
    num_chains, num_points = rows.shape
    sizes, free = np.zeros(num_slots, dtype=np.int64), np.zeros(num_slots, dtype=np.int64)
    active = np.zeros((num_chains, num_points + 1), dtype=np.int64)
    counts = np.zeros(num_chains, dtype=np.int64)
    for chain in range(num_chains):
        for i in range(num_points):
            slot = rows[chain, i]
            if sizes[slot] == 0:
                active[chain, counts[chain]] = slot
                counts[chain] += 1
            sizes[slot] += 1
    for slot in range(num_rows, num_slots):
        free[num_slots - 1 - slot] = slot
    return Seating(
        rows.copy(),
        sizes,
        active,
        counts,
        free,
        np.array([num_slots - num_rows]),
        np.zeros(num_chains, dtype=np.int64),
        np.full(num_chains, -1),
        np.zeros(num_chains, dtype=np.int64),
        np.zeros((num_chains, num_points)),
    )


def more_slots(seating: Seating, num_slots: int) -> Seating:
    """Return the same seating with more free slots."""
    added = num_slots - len(seating.sizes)
    free = np.append(seating.free, np.zeros(added, dtype=np.int64))
    num_free = seating.num_free + added
    free[seating.num_free[0] : num_free[0]] = np.arange(num_slots - added, num_slots)
    sizes = np.append(seating.sizes, np.zeros(added, dtype=np.int64))
    return seating._replace(sizes=sizes, free=free, num_free=num_free)


@compiled
def _fill_weights(
    seating: Seating, tables: Tables, chain: int, at: int, present: int, weights: np.ndarray
) -> int:
    """Write the log weights of a point's choices, clusters first, and return how many there are."""
    count = seating.counts[chain]
    alone = seating.sizes[present] == 1
    log_new = tables.log_open[chain, count - 1 if alone else count]
    for j in range(count):
        slot = seating.active[chain, j]
        size = seating.sizes[slot]
        if slot == present:
            size -= 1
        # The parameters of a point that is alone stay in play as its first auxiliary ones.
        log_prior = log_new if size == 0 else tables.log_join[chain, size]
        weights[j] = log_prior + tables.log_likelihood[at, slot]
    first = 1 if alone else 0
    auxiliary = tables.log_auxiliary[chain, at]
    for a in range(first, len(auxiliary)):
        weights[count + a - first] = log_new + auxiliary[a]
    return count + len(auxiliary) - first


@compiled
def _leave(seating: Seating, chain: int, slot: int) -> None:
    seating.sizes[slot] -= 1
    if seating.sizes[slot] > 0:
        return
    seating.counts[chain] -= 1
    last = seating.counts[chain]
    for j in range(last):
        if seating.active[chain, j] == slot:
            seating.active[chain, j] = seating.active[chain, last]
            break
    seating.free[seating.num_free[0]] = slot
    seating.num_free[0] += 1


@compiled
def _open(seating: Seating, chain: int, present: int) -> int:
    """Return the slot of a new cluster of one point: its own where it is alone, a free one otherwise."""
    if seating.sizes[present] == 1:
        return present
    seating.num_free[0] -= 1
    slot = seating.free[seating.num_free[0]]
    seating.active[chain, seating.counts[chain]] = slot
    seating.counts[chain] += 1
    seating.sizes[slot] = 1
    seating.sizes[present] -= 1
    return slot


@compiled
def _visit(seating: Seating, tables: Tables, chain: int, at: int, point: int, weights: np.ndarray) -> bool:
    """Draw the cluster of a point and say whether it has opened one."""
    present = seating.slot_of[chain, point]
    count = seating.counts[chain]
    first = 1 if seating.sizes[present] == 1 else 0
    total = _fill_weights(seating, tables, chain, at, present, weights)
    best = -math.inf
    for j in range(total):
        best = max(best, weights[j])
    chosen = draw_index(weights, total, best, tables.uniforms[chain, at])
    if chosen >= count:
        choice = chosen - count + first
        slot = _open(seating, chain, present)
        seating.choice[chain], seating.opened[chain] = choice, slot
        seating.log_own[chain, point] = tables.log_auxiliary[chain, at, choice]
    else:
        slot = seating.active[chain, chosen]
        seating.log_own[chain, point] = tables.log_likelihood[at, slot]
        if slot != present:
            seating.sizes[slot] += 1
            _leave(seating, chain, present)
    seating.slot_of[chain, point] = slot
    return chosen >= count


@compiled
def visit_points(seating: Seating, tables: Tables, start: int) -> bool:
    """Let every chain visit points of the block that begins at ``start`` until one opens a cluster.

    Return whether any has: the caller then fills in its column. Cost O(K + m) a visit. There must be a free
    slot for every chain.
    """
    num_chains, num_visits = tables.uniforms.shape
    weights = np.empty(seating.active.shape[1] + tables.log_auxiliary.shape[2])
    any_opened = False
    for chain in range(num_chains):
        seating.opened[chain] = -1
        opened = False
        while seating.position[chain] < num_visits and not opened:
            at = seating.position[chain]
            seating.position[chain] += 1
            opened = _visit(seating, tables, chain, at, start + at, weights)
        any_opened = any_opened or opened
    return any_opened


@compiled
def collect(seating: Seating) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Renumber clusters by chain and first appearance, in O(C N + G).

    Return canonical labels ``(C, N)``; the number of each point's cluster among those of all chains; and the
    slot and the chain of each of these T clusters, ``(T,)``.
    """
    number = np.full(len(seating.sizes), -1)
    labels, rows = np.empty_like(seating.slot_of), np.empty_like(seating.slot_of)
    slots, chains = np.empty_like(seating.sizes), np.empty_like(seating.sizes)
    count = 0
    for chain in range(labels.shape[0]):
        first = count
        for i in range(labels.shape[1]):
            slot = seating.slot_of[chain, i]
            if number[slot] < 0:
                number[slot] = count
                slots[count], chains[count] = slot, chain
                count += 1
            rows[chain, i] = number[slot]
            labels[chain, i] = number[slot] - first
    return labels, rows, slots[:count].copy(), chains[:count].copy()
