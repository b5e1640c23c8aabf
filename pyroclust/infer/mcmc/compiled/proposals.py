"""Compiled Metropolis-Hastings proposals that split one cluster or merge two.

Two anchors are drawn uniformly. If they share a cluster, its other points are allocated to two new clusters
around the anchors, with probability q; otherwise their two clusters are proposed to become one, and q is the
probability of allocating the points back as they were.

Sequential allocation is that of all other points in random order. The launch state of restricted Gibbs (Jain
and Neal) comes from nothing but the union of both clusters and the anchors: points join the sides one after
the other, then some scans draw each side given all others. The last scan alone counts as proposal, so that
its probability is a product of conditionals. Jain and Neal throw the points to random sides at first; where
clusters overlap, a few scans do not part them from there, and hardly a split is accepted.

Both clusters are tried out in the first two free slots of the chain, each around an anchor: side 0 around
the first point, side 1 around the second. The other points are listed in ``state.members`` as
``2 * point + side``.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.protocol import (
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)
from pyroclust.infer.mcmc.compiled.chain import accumulate
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)

__all__ = [
    "ACCEPTED",
    "MERGES",
    "PROPOSED",
    "SPLITS",
    "UNDECIDED",
    "Proposals",
    "accepted",
    "add_sums",
    "become_one",
    "become_two",
    "discard",
    "draw_pair",
    "draw_side",
    "home_side",
    "list_members",
    "log_ratio_of",
    "open_sides",
    "put",
    "release",
    "shuffle",
    "take",
]

# In place of the slot whose points belong to side 1, where sides are to be drawn.
UNDECIDED = -1


@inner
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


@inner
def put(family: Any, state: Any, point: int, slot: int) -> None:
    """Put a point into a slot that is being tried out; nothing else of the state changes."""
    state.sizes[slot] += 1
    accumulate(state, point, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@inner
def take(family: Any, state: Any, point: int, slot: int) -> None:
    """Take a point out of a slot that is being tried out and keeps its anchor."""
    state.sizes[slot] -= 1
    accumulate(state, point, slot, -1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@inner
def open_sides(family: Any, state: Any, first: int, second: int) -> None:
    """Start both sides with their anchors alone."""
    for side in range(2):
        slot = state.active[state.counters[0] + side]
        for f in range(state.sums.shape[1]):
            state.sums[slot, f] = 0.0
        put(family, state, first if side == 0 else second, slot)


@inner
def home_side(state: Any, point: int, home: int) -> int:
    """Return the side that a point is to take: 1 if ``home`` is its slot, or that it is undecided."""
    if home == UNDECIDED:
        return UNDECIDED
    return 1 if state.slot_of[point] == home else 0


@inner
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


@inner
def discard(state: Any) -> None:
    """Free the slots of both sides again."""
    for side in range(2):
        state.sizes[state.active[state.counters[0] + side]] = 0


@inner
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


@inner
def add_sums(state: Any, target: int, one: int, other: int) -> None:
    """Write the summed moments of two clusters together into a slot; its size stays as it is."""
    for f in range(state.sums.shape[1]):
        state.sums[target, f] = state.sums[one, f] + state.sums[other, f]


@inner
def become_one(state: Any, first: int, second: int, count: int) -> None:
    """Merge the cluster of the second anchor, and all its points, into that of the first."""
    one, other = state.slot_of[first], state.slot_of[second]
    for k in range(count):
        state.slot_of[state.members[k] >> 1] = one
    state.slot_of[second] = one
    add_sums(state, one, one, other)
    state.sizes[one] += state.sizes[other]
    release(state, other)


@inner
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


class Proposals(NamedTuple):
    """Split and merge clusters.

    Attributes:
        scans: restricted Gibbs scans that lead to the launch state, or -1 for sequential allocation alone.
        proposals: splits or merges proposed a step.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    scans: int
    proposals: int
    counts: np.ndarray


@inner
def shuffle(state: Any, generator: Any, count: int) -> None:
    """Bring the listed points into random order."""
    for k in range(count - 1, 0, -1):
        other = int(generator.random() * (k + 1))
        state.members[k], state.members[other] = state.members[other], state.members[k]


@inner
def _log_odds(family: Any, state: Any, prior: Any, point: int) -> float:
    """Return the log odds of side 1, from both clusters as they are so far."""
    num_active = state.counters[0]
    zero, one = state.active[num_active], state.active[num_active + 1]
    weight = prior.log_join[state.sizes[one]] - prior.log_join[state.sizes[zero]]
    return (
        weight
        + log_predictive(family, point, one, state.sizes[one])
        - log_predictive(family, point, zero, state.sizes[zero])
    )


@inner
def _allocate_in_turn(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Let the listed points join a side one after the other in random order; return the log-probability."""
    shuffle(state, generator, count)
    total = 0.0
    for k in range(count):
        point = state.members[k] >> 1
        log_odds = _log_odds(family, state, prior, point)
        side, log_prob = draw_side(log_odds, home_side(state, point, home), generator)
        total += log_prob
        put(family, state, point, state.active[state.counters[0] + side])
        state.members[k] = 2 * point + side
    return total


@inner
def _log_odds_of_staying(family: Any, state: Any, prior: Any, point: int, own: int, other: int) -> float:
    inside, outside = state.sizes[own], state.sizes[other]
    stay = prior.log_join[inside - 1] + log_predictive_without(family, point, own, inside)
    return stay - prior.log_join[outside] - log_predictive(family, point, other, outside)


@inner
def _scan(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Draw the side of every listed point given all others, or take it home; return the log-probability."""
    num_active = state.counters[0]
    total = 0.0
    for k in range(count):
        point, side = state.members[k] >> 1, state.members[k] & 1
        own, other = state.active[num_active + side], state.active[num_active + 1 - side]
        stay = _log_odds_of_staying(family, state, prior, point, own, other)
        chosen, log_prob = draw_side(stay if side == 1 else -stay, home_side(state, point, home), generator)
        total += log_prob
        if chosen != side:
            take(family, state, point, own)
            put(family, state, point, other)
            state.members[k] = 2 * point + chosen
    return total


@inner
def log_ratio_of(family: Any, state: Any, prior: Any, one: int, other: int, whole: int) -> float:
    """Return the log weight of two clusters less that of their union, the number of clusters apart."""
    size, more = state.sizes[one], state.sizes[other]
    total = prior.log_weight[size] + prior.log_weight[more] - prior.log_weight[size + more]
    total += log_marginal(family, state.sums, one, size) + log_marginal(family, state.sums, other, more)
    return total - log_marginal(family, state.sums, whole, size + more)


@inner
def accepted(log_ratio: float, generator: Any) -> bool:
    """Say whether a proposal is accepted whose log acceptance ratio this is."""
    return math.log(1.0 - generator.random()) < log_ratio


@inner
def draw_pair(num_points: int, generator: Any) -> tuple[int, int]:
    """Draw two different points uniformly."""
    first = int(generator.random() * num_points)
    second = int(generator.random() * (num_points - 1))
    return first, second + 1 if second >= first else second


@step_of(Proposals)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for _ in range(move.proposals):
        first, second = draw_pair(len(state.slot_of), generator)
        num_active, one, other = state.counters[0], state.slot_of[first], state.slot_of[second]
        splits = one == other
        kind = SPLITS if splits else MERGES
        move.counts[kind, PROPOSED] += 1
        if splits and log_open(prior, num_active) == -math.inf:
            continue
        if not splits and num_active == prior.fewest:
            continue
        count = list_members(state, first, second)
        open_sides(family, state, first, second)
        home = UNDECIDED if splits else other
        in_turn = UNDECIDED if move.scans >= 0 else home
        log_proposal = _allocate_in_turn(family, state, prior, generator, count, in_turn)
        for scan in range(move.scans + 1):
            wanted = home if scan == move.scans else UNDECIDED
            log_proposal = _scan(family, state, prior, generator, count, wanted)
        whole = one if splits else state.active[num_active + 2]
        if splits:
            one, other = state.active[num_active], state.active[num_active + 1]
        else:
            add_sums(state, whole, one, other)
        before = num_active if splits else num_active - 1
        log_ratio = log_open(prior, before) - log_proposal
        log_ratio += log_ratio_of(family, state, prior, one, other, whole)
        agreed = accepted(log_ratio if splits else -log_ratio, generator)
        if agreed:
            move.counts[kind, ACCEPTED] += 1
        if agreed and splits:
            become_two(state, first, second, count)
            continue
        discard(state)
        if agreed:
            become_one(state, first, second, count)
            refresh(family, state.sums, one, state.sizes[one])
