"""Compiled Metropolis-Hastings proposals that split one cluster or merge two, around two anchors.

Both clusters are tried out in the first two free slots of the chain: side 0 around the first anchor, side 1
around the second. The other rows are listed in ``state.members`` as ``2 * row + side``. In restricted Gibbs
the last scan alone counts as proposal, so that its probability is a product of conditionals. Jain and Neal
throw the points to random sides at first; where clusters overlap, a few scans do not part them from there.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.protocol import log_marginal, refresh
from pyroclust.infer.mcmc.compiled.chain import empty, put, release, step_of, take
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.sweep import accepted, change_places, log_with, log_without

# Rows and columns of the counts that moves keep.
SPLITS, MERGES = 0, 1
PROPOSED, ACCEPTED = 0, 1

# In place of the slot whose rows belong to side 1, where sides are to be drawn.
UNDECIDED = -1


class Proposals(NamedTuple):
    """Split and merge clusters.

    Attributes:
        scans: restricted Gibbs scans that lead to the launch state, or -1 for sequential allocation alone.
        proposals: splits or merges proposed a step.
        changes_places: whether each is followed by a proposal that a row changes places with its rivals, if
            the number of clusters is bounded.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    scans: int
    proposals: int
    changes_places: bool
    counts: np.ndarray


@inner
def draw_pair(num_rows: int, generator: Any) -> tuple[int, int]:
    first = int(generator.random() * num_rows)
    second = int(generator.random() * (num_rows - 1))
    return first, second + 1 if second >= first else second


@inner
def shuffle(state: Any, generator: Any, count: int) -> None:
    """Bring the listed rows into random order."""
    for k in range(count - 1, 0, -1):
        other = int(generator.random() * (k + 1))
        state.members[k], state.members[other] = state.members[other], state.members[k]


@inner
def list_members(state: Any, first: int, second: int, one: int, other: int) -> int:
    """List all rows of two clusters, which may be the same, but both anchors, in the order of the data."""
    left = state.sizes[one] - state.weight[first] - state.weight[second]
    if other != one:
        left += state.sizes[other]
    count, row = 0, 0
    while left > 0:
        if state.slot_of[row] in (one, other) and row not in (first, second):
            state.members[count] = 2 * row
            count += 1
            left -= state.weight[row]
        row += 1
    return count


@inner
def home_side(state: Any, row: int, home: int) -> int:
    """Return the side that a row is to take: 1 if ``home`` is its slot, or that it is undecided."""
    if home == UNDECIDED:
        return UNDECIDED
    return 1 if state.slot_of[row] == home else 0


@inner
def draw_side(log_odds: float, wanted: int, generator: Any) -> tuple[int, float]:
    """Draw side 0 or 1 by the log odds of side 1, unless one is wanted; return it with its log-probability.

    The generator is advanced only where the side is drawn.
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
    """Move the listed rows and both anchors to the two sides; the slots that they leave stay in use."""
    num_active = state.counters[0]
    for k in range(count):
        coded = state.members[k]
        state.slot_of[coded >> 1] = state.active[num_active + (coded & 1)]
    state.slot_of[first] = state.active[num_active]
    state.slot_of[second] = state.active[num_active + 1]
    state.counters[0] = num_active + 2


@inner
def add_sums(state: Any, target: int, one: int, other: int) -> None:
    for f in range(state.sums.shape[1]):
        state.sums[target, f] = state.sums[one, f] + state.sums[other, f]


@inner
def become_one(state: Any, first: int, second: int, count: int) -> None:
    """Merge the cluster of the second anchor, and the listed rows, into that of the first."""
    one, other = state.slot_of[first], state.slot_of[second]
    for k in range(count):
        state.slot_of[state.members[k] >> 1] = one
    state.slot_of[second] = one
    add_sums(state, one, one, other)
    state.sizes[one] += state.sizes[other]
    release(state, other)


@inner
def allocate_in_turn(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Let the listed rows join a side one after the other in random order; return the log-probability."""
    shuffle(state, generator, count)
    num_active = state.counters[0]
    zero, one = state.active[num_active], state.active[num_active + 1]
    scratch, total = state.active[num_active + 2], 0.0
    for k in range(count):
        row = state.members[k] >> 1
        log_odds = log_with(family, state, prior, row, one, scratch)
        log_odds -= log_with(family, state, prior, row, zero, scratch)
        side, log_prob = draw_side(log_odds, home_side(state, row, home), generator)
        total += log_prob
        put(family, state, row, one if side == 1 else zero)
        state.members[k] = 2 * row + side
    return total


@inner
def scan_sides(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Draw the side of every listed row given all others, or take it home; return the log-probability."""
    num_active = state.counters[0]
    scratch, total = state.active[num_active + 2], 0.0
    for k in range(count):
        row, side = state.members[k] >> 1, state.members[k] & 1
        present, other = state.active[num_active + side], state.active[num_active + 1 - side]
        stay = log_without(family, state, prior, row, present, scratch)
        stay -= log_with(family, state, prior, row, other, scratch)
        chosen, log_prob = draw_side(stay if side == 1 else -stay, home_side(state, row, home), generator)
        total += log_prob
        if chosen != side:
            take(family, state, row, present)
            put(family, state, row, other)
            state.members[k] = 2 * row + chosen
    return total


@inner
def _try_out(
    move: Any,
    family: Any,
    state: Any,
    prior: Any,
    generator: Any,
    first: int,
    second: int,
    count: int,
    home: int,
) -> float:
    """Allocate the listed rows to two sides around both anchors, or home; return the log-probability."""
    zero, one = state.active[state.counters[0]], state.active[state.counters[0] + 1]
    empty(state, zero)
    empty(state, one)
    put(family, state, first, zero)
    put(family, state, second, one)
    in_turn = UNDECIDED if move.scans >= 0 else home
    log_proposal = allocate_in_turn(family, state, prior, generator, count, in_turn)
    for scan in range(move.scans + 1):
        wanted = home if scan == move.scans else UNDECIDED
        log_proposal = scan_sides(family, state, prior, generator, count, wanted)
    return log_proposal


@inner
def log_ratio_of_two(family: Any, state: Any, prior: Any, one: int, other: int, whole: int) -> float:
    """Return the log weight of two clusters less that of their union, the number of clusters apart."""
    size, more = state.sizes[one], state.sizes[other]
    total = prior.log_weight[size] + prior.log_weight[more] - prior.log_weight[size + more]
    total += log_marginal(family, state.sums, one, size) + log_marginal(family, state.sums, other, more)
    return total - log_marginal(family, state.sums, whole, size + more)


@inner
def _are_rivals(state: Any, one: int, other: int) -> bool:
    """Say whether two clusters hold rows that may not share one."""
    if len(state.rivals) == 0:
        return False
    for row in range(len(state.slot_of)):
        if state.slot_of[row] == one:
            for place in range(state.rivals_begin[row], state.rivals_begin[row + 1]):
                if state.slot_of[state.rivals[place]] == other:
                    return True
    return False


@inner
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    first, second = draw_pair(len(state.slot_of), generator)
    num_active, one, other = state.counters[0], state.slot_of[first], state.slot_of[second]
    splits = one == other
    kind = SPLITS if splits else MERGES
    move.counts[kind, PROPOSED] += 1
    if splits:
        if log_open(prior, num_active) == -math.inf:
            return
    elif num_active == prior.fewest or _are_rivals(state, one, other):
        return
    count = list_members(state, first, second, one, other)
    home = UNDECIDED if splits else other
    log_proposal = _try_out(move, family, state, prior, generator, first, second, count, home)
    zero, side_one, whole = one, other, state.active[num_active + 2]
    if splits:
        zero, side_one, whole = state.active[num_active], state.active[num_active + 1], one
    else:
        add_sums(state, whole, one, other)
    log_ratio = log_open(prior, num_active if splits else num_active - 1) - log_proposal
    log_ratio += log_ratio_of_two(family, state, prior, zero, side_one, whole)
    agreed = accepted(log_ratio if splits else -log_ratio, generator)
    if agreed:
        move.counts[kind, ACCEPTED] += 1
    if agreed and splits:
        become_two(state, first, second, count)
        release(state, one)
        return
    discard(state)
    if agreed:
        become_one(state, first, second, count)
        refresh(family, state.sums, one, state.sizes[one])


@inner
def _trade(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Propose to merge the clusters of two rows, and to split one around two others, that may be the same.

    Of one number of clusters neither is allowed alone. On the way back both pairs of rows change their parts.
    """
    first, second = draw_pair(len(state.slot_of), generator)
    third, fourth = draw_pair(len(state.slot_of), generator)
    num_active = state.counters[0]
    one, other = state.slot_of[first], state.slot_of[second]
    split, beside = state.slot_of[third], state.slot_of[fourth]
    again = split in (one, other) and beside in (one, other)
    move.counts[SPLITS, PROPOSED] += 1
    move.counts[MERGES, PROPOSED] += 1
    if one == other or (split != beside and not again) or _are_rivals(state, one, other):
        return
    whole = state.active[num_active + 2]
    count = list_members(state, first, second, one, other)
    log_ratio = _try_out(move, family, state, prior, generator, first, second, count, other)
    discard(state)
    add_sums(state, whole, one, other)
    log_ratio -= log_ratio_of_two(family, state, prior, one, other, whole)
    if again:
        count = list_members(state, third, fourth, one, other)
    else:
        count, whole = list_members(state, third, fourth, split, split), split
    log_ratio -= _try_out(move, family, state, prior, generator, third, fourth, count, UNDECIDED)
    if again:
        add_sums(state, whole, one, other)
    zero, side_one = state.active[num_active], state.active[num_active + 1]
    log_ratio += log_ratio_of_two(family, state, prior, zero, side_one, whole)
    if not accepted(log_ratio, generator):
        discard(state)
        return
    move.counts[SPLITS, ACCEPTED] += 1
    move.counts[MERGES, ACCEPTED] += 1
    become_two(state, third, fourth, count)
    if again:
        release(state, one)
        release(state, other)
        return
    release(state, split)
    count = list_members(state, first, second, one, other)
    become_one(state, first, second, count)
    refresh(family, state.sums, one, state.sizes[one])


@step_of(Proposals)
def _propose_in_turn(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_rows = len(state.slot_of)
    if num_rows < 2:
        return
    for _ in range(move.proposals):
        if prior.fewest == prior.most:
            _trade(move, family, state, prior, generator)
        else:
            _propose(move, family, state, prior, generator)
        if move.changes_places and prior.most < num_rows:
            change_places(family, state, prior, int(generator.random() * num_rows), generator)
