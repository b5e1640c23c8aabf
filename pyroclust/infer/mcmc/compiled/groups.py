"""Compiled moves of rows that stand for several points which belong together, some of them apart from others.

A row moves as one: what it is worth in a cluster is the ratio of the marginal likelihoods with it and
without it, and of the prior's weights of both sizes. A cluster is closed to a row while it holds a row that
is apart from it. Rows of one point use the predictive density, as points without constraints do.

Splits need no look at who is apart: rows that share a cluster are not. Merges of clusters that hold rows
apart from one another are rejected.

Where the number of clusters is bounded, no row opens one beyond the most or leaves one below the fewest. Of
one known number neither a split nor a merge is allowed, and each is proposed with one of the other kind. Rows
that are apart from others may then be caught between two clusters: they change places with these.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import draw_index
from pyroclust.distributions.compiled.protocol import (
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.chain import accumulate
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.proposals import (
    ACCEPTED,
    MERGES,
    PROPOSED,
    SPLITS,
    UNDECIDED,
    accepted,
    add_sums,
    become_one,
    become_two,
    discard,
    draw_pair,
    draw_side,
    home_side,
    log_ratio_of,
    release,
    shuffle,
)
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)

__all__ = ["GroupProposals", "GroupSweep", "Groups"]


class Groups(NamedTuple):
    """Which rows of a chain are apart from one another.

    Attributes:
        rivals_begin: where the rows apart from each row begin in ``rival``, ``(G + 1,)``.
        rival: the rows that each row is apart from.
    """

    rivals_begin: np.ndarray
    rival: np.ndarray

    @classmethod
    def of(cls, model: CollapsedModel, num_points: int) -> "Groups | None":
        """Lay out the constraints of a model; None where all rows are points that are free."""
        known = None if model.constraints is None else model.constraints.over(num_points)
        if known is None or not len(known.bound):
            return None if model.row_weights is None else cls.free(num_points)
        rivals = [known.neighbours(group).numpy() for group in range(known.num_groups)]
        return cls(
            rivals_begin=np.append(0, known.degrees.cumsum(0).numpy()),
            rival=np.concatenate([*rivals, np.empty(0, np.int64)]).astype(np.int64),
        )

    @classmethod
    def free(cls, num_points: int) -> "Groups":
        """Return rows of which none is apart from another."""
        return cls(np.zeros(num_points + 1, np.int64), np.empty(0, np.int64))


class GroupSweep(NamedTuple):
    """Visit every row and draw its cluster given all others."""

    groups: Groups


class GroupProposals(NamedTuple):
    """Split and merge clusters whose rows are allocated as a whole.

    Attributes:
        groups: who is apart.
        scans: restricted Gibbs scans that lead to the launch state, or -1 for sequential allocation alone.
        proposals: splits or merges proposed a step.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    groups: Groups
    scans: int
    proposals: int
    counts: np.ndarray


@inner
def _empty(state: Any, slot: int) -> None:
    for f in range(state.sums.shape[1]):
        state.sums[slot, f] = 0.0


@inner
def _fit_with(family: Any, state: Any, row: int, slot: int, scratch: int, sign: int) -> float:
    """Return the log marginal of a cluster with a row, or without it; the scratch slot is overwritten."""
    for f in range(state.sums.shape[1]):
        state.sums[scratch, f] = state.sums[slot, f] + sign * state.moments[row, f]
    return log_marginal(family, state.sums, scratch, state.sizes[slot] + sign * state.weight[row])


@inner
def _fit(family: Any, state: Any, slot: int) -> float:
    """Return the log marginal of a cluster, which is computed where it is not known."""
    if math.isnan(state.fits[slot]):
        state.fits[slot] = log_marginal(family, state.sums, slot, state.sizes[slot])
    return state.fits[slot]


@inner
def _forget_fits(state: Any) -> None:
    for slot in range(len(state.fits)):
        state.fits[slot] = math.nan


@inner
def _log_with(family: Any, state: Any, prior: Any, row: int, slot: int, scratch: int) -> float:
    """Return the log weight of a row in a cluster that it is not in."""
    more, before = state.weight[row], state.sizes[slot]
    if more == 1:
        return prior.log_join[before] + log_predictive(family, row, slot, before)
    weight = prior.log_weight[before + more] - prior.log_weight[before]
    return weight + _fit_with(family, state, row, slot, scratch, 1) - _fit(family, state, slot)


@inner
def _log_without(family: Any, state: Any, prior: Any, row: int, slot: int, scratch: int) -> float:
    """Return the log weight of a row in the cluster that it is in with others."""
    own, whole = state.weight[row], state.sizes[slot]
    if own == 1:
        return prior.log_join[whole - 1] + log_predictive_without(family, row, slot, whole)
    weight = prior.log_weight[whole] - prior.log_weight[whole - own]
    return weight + _fit(family, state, slot) - _fit_with(family, state, row, slot, scratch, -1)


@inner
def _mark(groups: Any, state: Any, row: int, sign: int) -> None:
    """Give the sizes of all slots that hold rows apart from one a sign."""
    for place in range(groups.rivals_begin[row], groups.rivals_begin[row + 1]):
        slot = state.slot_of[groups.rival[place]]
        state.sizes[slot] = sign * abs(state.sizes[slot])


@inner
def _put(family: Any, state: Any, row: int, slot: int) -> None:
    """Put a row into a slot that has room for it; who is in which slot does not change."""
    state.sizes[slot] += state.weight[row]
    accumulate(state, row, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])
    state.fits[slot] = math.nan


@inner
def _take(family: Any, state: Any, row: int, slot: int) -> None:
    state.sizes[slot] -= state.weight[row]
    if state.sizes[slot] > 0:
        accumulate(state, row, slot, -1.0)
        refresh(family, state.sums, slot, state.sizes[slot])
        state.fits[slot] = math.nan


@inner
def _visit(family: Any, state: Any, prior: Any, groups: Any, row: int, generator: Any) -> None:
    num_active, own = state.counters[0], state.slot_of[row]
    alone = state.sizes[own] == state.weight[row]
    if alone and num_active == prior.fewest:
        return
    scratch = state.active[num_active + 1]
    log_new = prior.log_weight[state.weight[row]] + state.log_alone[row]
    log_new += log_open(prior, num_active - (1 if alone else 0))
    # Chains share the move, but each has its own sizes: negative ones are closed.
    _mark(groups, state, row, -1)
    best = -np.inf
    for j in range(num_active):
        slot = state.active[j]
        if slot == own:
            weight = log_new
            if not alone:
                weight = _log_without(family, state, prior, row, slot, scratch)
        elif state.sizes[slot] < 0:
            weight = -np.inf
        else:
            weight = _log_with(family, state, prior, row, slot, scratch)
        state.weights[j] = weight
        best = max(best, weight)
    _mark(groups, state, row, 1)
    count = num_active
    if not alone:
        state.weights[num_active] = log_new
        best = max(best, log_new)
        count += 1
    chosen = state.active[draw_index(state.weights, count, best, generator.random())]
    if chosen == own:
        return
    if state.sizes[chosen] == 0:
        _empty(state, chosen)
        state.counters[0] += 1
    _put(family, state, row, chosen)
    _take(family, state, row, own)
    state.slot_of[row] = chosen
    if state.sizes[own] == 0:
        release(state, own)


# A log weight is never so large.
_SEEN = 1e300


@inner
def _list_those_caught(groups: Any, state: Any, row: int, one: int, other: int) -> int:
    """List the rows of two clusters that have to move if one does, as each is apart from another of them."""
    state.weights[row] = _SEEN
    state.members[0] = row
    count, done = 1, 0
    while done < count:
        present = state.members[done]
        done += 1
        for place in range(groups.rivals_begin[present], groups.rivals_begin[present + 1]):
            rival = groups.rival[place]
            if state.weights[rival] != _SEEN and state.slot_of[rival] in (one, other):
                state.weights[rival] = _SEEN
                state.members[count] = rival
                count += 1
    for k in range(count):
        state.weights[state.members[k]] = 0.0
    return count


@inner
def _change_places(family: Any, state: Any, prior: Any, groups: Any, row: int, generator: Any) -> None:
    """Propose that a row moves, and the rows of the other cluster that are apart from it the other way.

    The rows that move are the same on the way back, whichever of them is visited.
    """
    num_active = state.counters[0]
    if num_active < 2:
        return
    one = state.slot_of[row]
    other = state.active[int(generator.random() * (num_active - 1))]
    if other == one:
        other = state.active[num_active - 1]
    count = _list_those_caught(groups, state, row, one, other)
    leaving, coming = 0, 0
    for k in range(count):
        weight = state.weight[state.members[k]]
        if state.slot_of[state.members[k]] == one:
            leaving += weight
        else:
            coming += weight
    size, more = state.sizes[one] - leaving + coming, state.sizes[other] - coming + leaving
    if size == 0 or more == 0:
        return
    new, newer = state.active[num_active], state.active[num_active + 1]
    for f in range(state.sums.shape[1]):
        state.sums[new, f], state.sums[newer, f] = state.sums[one, f], state.sums[other, f]
    for k in range(count):
        sign = -1.0 if state.slot_of[state.members[k]] == one else 1.0
        accumulate(state, state.members[k], new, sign)
        accumulate(state, state.members[k], newer, -sign)
    log_ratio = prior.log_weight[size] + prior.log_weight[more]
    log_ratio -= prior.log_weight[state.sizes[one]] + prior.log_weight[state.sizes[other]]
    log_ratio += log_marginal(family, state.sums, new, size) + log_marginal(family, state.sums, newer, more)
    log_ratio -= log_marginal(family, state.sums, one, state.sizes[one])
    log_ratio -= log_marginal(family, state.sums, other, state.sizes[other])
    if not accepted(log_ratio, generator):
        return
    for k in range(count):
        moved = state.members[k]
        state.slot_of[moved] = other if state.slot_of[moved] == one else one
    for f in range(state.sums.shape[1]):
        state.sums[one, f], state.sums[other, f] = state.sums[new, f], state.sums[newer, f]
    state.sizes[one], state.sizes[other] = size, more
    refresh(family, state.sums, one, size)
    refresh(family, state.sums, other, more)
    state.fits[one] = state.fits[other] = math.nan


@step_of(GroupSweep)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    _forget_fits(state)
    for row in range(len(state.slot_of)):
        _visit(family, state, prior, move.groups, row, generator)
    if prior.most < len(state.slot_of):
        for row in range(len(state.slot_of)):
            # Others have been visited.
            if move.groups.rivals_begin[row] < move.groups.rivals_begin[row + 1]:
                _change_places(family, state, prior, move.groups, row, generator)


@inner
def _list(state: Any, first: int, second: int, one: int, other: int) -> int:
    """List all rows of two clusters but both anchors, as ``2 * row + side``, in O(G)."""
    count = 0
    for row in range(len(state.slot_of)):
        slot = state.slot_of[row]
        if slot in (one, other) and row not in (first, second):
            state.members[count] = 2 * row
            count += 1
    return count


@inner
def _clash(groups: Any, state: Any, one: int, other: int) -> bool:
    """Say whether two clusters hold rows that are apart."""
    for row in range(len(state.slot_of)):
        if state.slot_of[row] == one:
            for place in range(groups.rivals_begin[row], groups.rivals_begin[row + 1]):
                if state.slot_of[groups.rival[place]] == other:
                    return True
    return False


@inner
def _allocate_in_turn(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Let the listed rows join a side in random order; return the log-probability."""
    shuffle(state, generator, count)
    num_active = state.counters[0]
    zero, one, scratch = (
        state.active[num_active],
        state.active[num_active + 1],
        state.active[num_active + 2],
    )
    total = 0.0
    for k in range(count):
        row = state.members[k] >> 1
        log_odds = _log_with(family, state, prior, row, one, scratch)
        log_odds -= _log_with(family, state, prior, row, zero, scratch)
        side, log_prob = draw_side(log_odds, home_side(state, row, home), generator)
        total += log_prob
        _put(family, state, row, one if side == 1 else zero)
        state.members[k] = 2 * row + side
    return total


@inner
def _scan(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Draw the side of every listed row given all others, or take it home; return the log-probability."""
    num_active = state.counters[0]
    scratch = state.active[num_active + 2]
    total = 0.0
    for k in range(count):
        row, side = state.members[k] >> 1, state.members[k] & 1
        own, other = state.active[num_active + side], state.active[num_active + 1 - side]
        stay = _log_without(family, state, prior, row, own, scratch)
        stay -= _log_with(family, state, prior, row, other, scratch)
        chosen, log_prob = draw_side(stay if side == 1 else -stay, home_side(state, row, home), generator)
        total += log_prob
        if chosen != side:
            _take(family, state, row, own)
            _put(family, state, row, other)
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
    num_active = state.counters[0]
    for side in range(2):
        slot = state.active[num_active + side]
        _empty(state, slot)
        _put(family, state, first if side == 0 else second, slot)
    in_turn = UNDECIDED if move.scans >= 0 else home
    log_proposal = _allocate_in_turn(family, state, prior, generator, count, in_turn)
    for scan in range(move.scans + 1):
        wanted = home if scan == move.scans else UNDECIDED
        log_proposal = _scan(family, state, prior, generator, count, wanted)
    return log_proposal


@inner
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    first, second = draw_pair(len(state.slot_of), generator)
    num_active = state.counters[0]
    one, other = state.slot_of[first], state.slot_of[second]
    splits = one == other
    kind = SPLITS if splits else MERGES
    move.counts[kind, PROPOSED] += 1
    if splits:
        if log_open(prior, num_active) == -math.inf:
            return
    elif num_active == prior.fewest or _clash(move.groups, state, one, other):
        return
    count = _list(state, first, second, one, other)
    home = UNDECIDED if splits else other
    log_proposal = _try_out(move, family, state, prior, generator, first, second, count, home)
    zero, side_one, whole = one, other, state.active[num_active + 2]
    if splits:
        zero, side_one, whole = state.active[num_active], state.active[num_active + 1], one
    else:
        add_sums(state, whole, one, other)
    log_ratio = log_open(prior, num_active if splits else num_active - 1) - log_proposal
    log_ratio += log_ratio_of(family, state, prior, zero, side_one, whole)
    agreed = accepted(log_ratio if splits else -log_ratio, generator)
    if agreed:
        move.counts[kind, ACCEPTED] += 1
    if agreed and splits:
        become_two(state, first, second, count)
        return
    discard(state)
    if agreed:
        become_one(state, first, second, count)
        refresh(family, state.sums, one, state.sizes[one])


@inner
def _trade(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Propose to merge the clusters of two rows, and to split one around two others, that may be the same.

    On the way back both pairs of rows change their parts.
    """
    first, second = draw_pair(len(state.slot_of), generator)
    third, fourth = draw_pair(len(state.slot_of), generator)
    num_active = state.counters[0]
    one, other = state.slot_of[first], state.slot_of[second]
    own, beside = state.slot_of[third], state.slot_of[fourth]
    again = own in (one, other) and beside in (one, other)
    move.counts[SPLITS, PROPOSED] += 1
    move.counts[MERGES, PROPOSED] += 1
    if one == other or (own != beside and not again) or _clash(move.groups, state, one, other):
        return
    whole = state.active[num_active + 2]
    count = _list(state, first, second, one, other)
    log_ratio = _try_out(move, family, state, prior, generator, first, second, count, other)
    discard(state)
    add_sums(state, whole, one, other)
    log_ratio -= log_ratio_of(family, state, prior, one, other, whole)
    count = _list(state, third, fourth, one if again else own, other if again else own)
    log_ratio -= _try_out(move, family, state, prior, generator, third, fourth, count, UNDECIDED)
    if again:
        add_sums(state, whole, one, other)
    zero, side_one = state.active[num_active], state.active[num_active + 1]
    log_ratio += log_ratio_of(family, state, prior, zero, side_one, whole if again else own)
    if not accepted(log_ratio, generator):
        discard(state)
        return
    move.counts[SPLITS, ACCEPTED] += 1
    move.counts[MERGES, ACCEPTED] += 1
    if again:
        _become_others(state, third, fourth, count, one, other)
        return
    become_two(state, third, fourth, count)
    count = _list(state, first, second, one, other)
    become_one(state, first, second, count)
    refresh(family, state.sums, one, state.sizes[one])


@inner
def _become_others(state: Any, first: int, second: int, count: int, one: int, other: int) -> None:
    """Replace two clusters by two sides that are made of the same rows."""
    num_active = state.counters[0]
    for k in range(count):
        coded = state.members[k]
        state.slot_of[coded >> 1] = state.active[num_active + (coded & 1)]
    state.slot_of[first] = state.active[num_active]
    state.slot_of[second] = state.active[num_active + 1]
    state.counters[0] = num_active + 2
    release(state, one)
    release(state, other)


@step_of(GroupProposals)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_rows = len(state.slot_of)
    if num_rows < 2:
        return
    for _ in range(move.proposals):
        if prior.fewest == prior.most:
            _trade(move, family, state, prior, generator)
        else:
            _propose(move, family, state, prior, generator)
        if prior.most < num_rows:
            row = int(generator.random() * num_rows)
            _change_places(family, state, prior, move.groups, row, generator)
