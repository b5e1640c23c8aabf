"""Compiled Metropolis-Hastings proposals that split one cluster or merge two.

Two anchors are drawn uniformly. If they share a cluster, its other points are allocated to two new clusters
around the anchors, with probability q; otherwise their two clusters are proposed to become one, and q is the
probability of allocating the points back as they were. How points are allocated is up to the move:
:func:`allocate`.

Both clusters are tried out in the first two free slots of the chain, each around an anchor: side 0 around
the first point, side 1 around the second. The other points are listed in ``state.members`` as
``2 * point + side``.
"""

import math
from typing import Any

from pyroclust.compiling import lean
from pyroclust.distributions.compiled.protocol import (
    log_marginal,
    otherwise,
    refresh,
)
from pyroclust.infer.mcmc.compiled.chain import accumulate
from pyroclust.infer.mcmc.compiled.prior_tables import log_open

__all__ = [
    "ACCEPTED",
    "MERGES",
    "PROPOSED",
    "SPLITS",
    "UNDECIDED",
    "accepted",
    "add_sums",
    "allocate",
    "become_one",
    "become_two",
    "discard",
    "draw_pair",
    "draw_side",
    "home_side",
    "list_members",
    "log_ratio_of",
    "open_sides",
    "propose",
    "put",
    "release",
    "take",
]

# In place of the slot whose points belong to side 1, where sides are to be drawn.
UNDECIDED = -1


@lean
def list_members(state: Any, first: int, second: int) -> int:
    """List all points of the clusters of two anchors but the anchors, in the order of the data, in O(N)."""
    one, other = state.slot_of[first], state.slot_of[second]
    total = state.sizes[one] - 2
    if other != one:
        total += state.sizes[other]
    count, point = 0, 0
    while count < total:
        slot = state.slot_of[point]
        if slot in (one, other) and point not in (first, second):
            state.members[count] = 2 * point
            count += 1
        point += 1
    return count


@lean
def put(family: Any, state: Any, point: int, slot: int) -> None:
    """Put a point into a slot that is being tried out; nothing else of the state changes."""
    state.sizes[slot] += 1
    accumulate(state, point, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@lean
def take(family: Any, state: Any, point: int, slot: int) -> None:
    """Take a point out of a slot that is being tried out and keeps its anchor."""
    state.sizes[slot] -= 1
    accumulate(state, point, slot, -1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@lean
def open_sides(family: Any, state: Any, first: int, second: int) -> None:
    """Start both sides with their anchors alone."""
    for side in range(2):
        slot = state.active[state.counters[0] + side]
        state.sums[slot, :] = 0.0
        put(family, state, first if side == 0 else second, slot)


@lean
def home_side(state: Any, point: int, home: int) -> int:
    """Return the side that a point is to take: 1 if ``home`` is its slot, or that it is undecided."""
    if home == UNDECIDED:
        return UNDECIDED
    return 1 if state.slot_of[point] == home else 0


@lean
def draw_side(log_odds: float, wanted: int, generator: Any) -> tuple[int, float]:
    """Draw side 0 or 1, unless one is wanted, and return it with its log-probability.

    Args:
        log_odds: log odds of side 1.
        wanted: 0 or 1 to have that side, or undecided.
        generator: advanced only where the side is drawn.
    """
    side = wanted
    if wanted == UNDECIDED:
        side = 1 if generator.random() * (1.0 + math.exp(-log_odds)) < 1.0 else 0
    against = -log_odds if side == 1 else log_odds
    return side, -max(against, 0.0) - math.log1p(math.exp(-abs(against)))


@lean
def discard(state: Any) -> None:
    """Free the slots of both sides again."""
    for side in range(2):
        state.sizes[state.active[state.counters[0] + side]] = 0


@lean
def become_two(state: Any, first: int, second: int, count: int) -> None:
    """Replace the cluster of both anchors by the two sides."""
    num_active, own = state.counters[0], state.slot_of[first]
    for k in range(count):
        coded = state.members[k]
        state.slot_of[coded >> 1] = state.active[num_active + (coded & 1)]
    state.slot_of[first] = state.active[num_active]
    state.slot_of[second] = state.active[num_active + 1]
    state.counters[0] = num_active + 2
    release(state, own)


@lean
def add_sums(state: Any, target: int, one: int, other: int) -> None:
    """Write the summed moments of two clusters together into a slot; its size stays as it is."""
    for f in range(state.sums.shape[1]):
        state.sums[target, f] = state.sums[one, f] + state.sums[other, f]


@lean
def become_one(family: Any, state: Any, first: int, second: int, count: int) -> None:
    """Merge the cluster of the second anchor, and all its points, into that of the first."""
    one, other = state.slot_of[first], state.slot_of[second]
    for k in range(count):
        state.slot_of[state.members[k] >> 1] = one
    state.slot_of[second] = one
    add_sums(state, one, one, other)
    state.sizes[one] += state.sizes[other]
    refresh(family, state.sums, one, state.sizes[one])
    release(state, other)


@lean
def release(state: Any, slot: int) -> None:
    """Free the slot of a cluster that is no more."""
    state.sizes[slot] = 0
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            return


# Rows and columns of the counts that moves keep.
SPLITS, MERGES = 0, 1
PROPOSED, ACCEPTED = 0, 1


def allocate(move: Any, family: Any, state: Any, prior: Any, generator: Any, count: Any, home: Any) -> float:
    """Allocate the listed points to the two sides and return the log-probability of the allocation (a stub).

    A move overloads this. Both sides hold their anchors at the start, and all their points at the end; the
    side of every point is written into ``state.members``.

    Args:
        move: the move, with fields ``proposals`` and ``counts``.
        family: tables and caches of the component family.
        state: state of the chain.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        count: number of listed points.
        home: the slot whose points must come to lie on side 1 and all others on side 0, or ``UNDECIDED``.
            What is drawn before a point's own side must not depend on it.
    """
    raise NotImplementedError


@lean
def log_ratio_of(family: Any, state: Any, prior: Any, one: int, other: int, whole: int, count: int) -> float:
    """Return the log joint density of two clusters less that of their union, one of ``count`` clusters."""
    size, more = state.sizes[one], state.sizes[other]
    total = log_open(prior, count)
    total += prior.log_weight[size] + prior.log_weight[more] - prior.log_weight[size + more]
    total += log_marginal(family, state.sums, one, size) + log_marginal(family, state.sums, other, more)
    return total - log_marginal(family, state.sums, whole, size + more)


@lean
def accepted(log_ratio: float, generator: Any) -> bool:
    """Say whether a proposal is accepted whose log acceptance ratio this is."""
    return math.log(1.0 - generator.random()) < log_ratio


@lean
def draw_pair(num_points: int, generator: Any) -> tuple[int, int]:
    """Draw two different points uniformly."""
    first = int(generator.random() * num_points)
    second = int(generator.random() * (num_points - 1))
    return first, second + 1 if second >= first else second


def propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Propose one split or merge, and accept or reject it (a stub)."""
    raise NotImplementedError


@otherwise(propose, place=1)
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    first, second = draw_pair(len(state.slot_of), generator)
    num_active, one, other = state.counters[0], state.slot_of[first], state.slot_of[second]
    splits = one == other
    kind = SPLITS if splits else MERGES
    move.counts[kind, PROPOSED] += 1
    if splits and log_open(prior, num_active) == -math.inf:
        return
    count = list_members(state, first, second)
    open_sides(family, state, first, second)
    log_proposal = allocate(move, family, state, prior, generator, count, UNDECIDED if splits else other)
    whole = one if splits else state.active[num_active + 2]
    if splits:
        one, other = state.active[num_active], state.active[num_active + 1]
    else:
        add_sums(state, whole, one, other)
    before = num_active if splits else num_active - 1
    log_ratio = log_ratio_of(family, state, prior, one, other, whole, before) - log_proposal
    agreed = accepted(log_ratio if splits else -log_ratio, generator)
    if agreed:
        move.counts[kind, ACCEPTED] += 1
    if agreed and splits:
        become_two(state, first, second, count)
        return
    discard(state)
    if agreed:
        become_one(family, state, first, second, count)
