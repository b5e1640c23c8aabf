"""Compiled operations on the clusters of a chain: join, leave, rebuild, write down."""

from typing import Any

import numpy as np

from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.protocol import log_marginal, log_predictive, refresh, tabulate

__all__ = [
    "accumulate",
    "join",
    "leave",
    "log_likelihood",
    "move_point",
    "rebuild",
    "recompute",
    "write_labels",
]


@lean
def accumulate(state: Any, point: int, slot: int, sign: float) -> None:
    """Add the moments of a point to a slot, or take them away."""
    for f in range(state.moments.shape[1]):
        state.sums[slot, f] += sign * state.moments[point, f]


@lean
def rebuild(family: Any, state: Any) -> None:
    """Sum the moments of every cluster from scratch and refresh its cache, in O(N F)."""
    num_active = state.counters[0]
    for j in range(num_active):
        state.sums[state.active[j], :] = 0.0
    for i in range(len(state.slot_of)):
        accumulate(state, i, state.slot_of[i], 1.0)
    for j in range(num_active):
        refresh(family, state.sums, state.active[j], state.sizes[state.active[j]])
    state.counters[1] = 0


@lean
def recompute(family: Any, state: Any) -> None:
    """Recompute all that depends on the hyperparameters of the family, in O(N F)."""
    tabulate(family)
    empty = state.active[state.counters[0]]
    state.sums[empty, :] = 0.0
    refresh(family, state.sums, empty, 0)
    for i in range(len(state.slot_of)):
        state.log_alone[i] = log_predictive(family, i, empty, 0)
    rebuild(family, state)


@lean
def leave(family: Any, state: Any, point: int, slot: int) -> None:
    """Take a point out of its slot; an empty slot becomes free."""
    state.sizes[slot] -= 1
    if state.sizes[slot] > 0:
        accumulate(state, point, slot, -1.0)
        refresh(family, state.sums, slot, state.sizes[slot])
        return
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            break


@lean
def join(family: Any, state: Any, point: int, slot: int) -> None:
    """Put a point into a slot; an empty slot must be the first free one, ``active[K]``."""
    if state.sizes[slot] == 0:
        state.sums[slot, :] = 0.0
        state.counters[0] += 1
    state.sizes[slot] += 1
    accumulate(state, point, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@lean
def move_point(family: Any, state: Any, point: int, slot: int) -> None:
    """Move a point to another slot: joining first, since leaving may reorder the active slots."""
    own = state.slot_of[point]
    join(family, state, point, slot)
    leave(family, state, point, own)
    state.slot_of[point] = slot


@lean
def log_likelihood(family: Any, state: Any) -> float:
    """Return the collapsed log-likelihood of all clusters in nats, in O(K F)."""
    total = 0.0
    for j in range(state.counters[0]):
        slot = state.active[j]
        total += log_marginal(family, state.sums, slot, state.sizes[slot])
    return total


@lean
def write_labels(state: Any, assignments: np.ndarray) -> None:
    """Write the canonical labels of a chain, in O(N + K)."""
    for j in range(state.counters[0]):
        state.weights[state.active[j]] = -1.0
    following = 0
    for i in range(len(assignments)):
        slot = state.slot_of[i]
        if state.weights[slot] < 0.0:
            state.weights[slot] = following
            following += 1
        assignments[i] = int(state.weights[slot])
