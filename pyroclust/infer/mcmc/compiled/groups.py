"""Compiled moves of rows that stand for several points which belong together, some of them apart from others.

A row moves as one: what it is worth in a cluster is the ratio of the marginal likelihoods with it and
without it, and of the prior's weights of both sizes. A cluster is closed to a row while it holds a row that
is apart from it. Rows of one point use the predictive density, as points without constraints do.

Splits need no look at who is apart: rows that share a cluster are not. Merges of clusters that hold rows
apart from one another are rejected.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.compiling import inner
from pyroclust.distributions.compiled.clusters import draw_index
from pyroclust.distributions.compiled.protocol import (
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)
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
from pyroclust.protocols import CollapsedModel

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
        if model.constraints is None and model.row_weights is None:
            return None
        if model.constraints is None:
            return cls(np.zeros(num_points + 1, np.int64), np.empty(0, np.int64))
        known = model.constraints.over(num_points)
        rivals = [known.neighbours(group).numpy() for group in range(known.num_groups)]
        return cls(
            rivals_begin=np.append(0, known.degrees.cumsum(0).numpy()),
            rival=np.concatenate([*rivals, np.empty(0, np.int64)]).astype(np.int64),
        )


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


@step_of(GroupSweep)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    _forget_fits(state)
    for row in range(len(state.slot_of)):
        _visit(family, state, prior, move.groups, row, generator)


@inner
def _list(state: Any, first: int, second: int) -> int:
    """List all rows of the clusters of two anchors but the anchors, as ``2 * row + side``, in O(G)."""
    one, other = state.slot_of[first], state.slot_of[second]
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
    elif _clash(move.groups, state, one, other):
        return
    count = _list(state, first, second)
    for side in range(2):
        slot = state.active[num_active + side]
        _empty(state, slot)
        _put(family, state, first if side == 0 else second, slot)
    home = UNDECIDED if splits else other
    in_turn = UNDECIDED if move.scans >= 0 else home
    log_proposal = _allocate_in_turn(family, state, prior, generator, count, in_turn)
    for scan in range(move.scans + 1):
        wanted = home if scan == move.scans else UNDECIDED
        log_proposal = _scan(family, state, prior, generator, count, wanted)
    zero, side_one, whole = one, other, state.active[num_active + 2]
    if splits:
        zero, side_one, whole = state.active[num_active], state.active[num_active + 1], one
    else:
        add_sums(state, whole, one, other)
    before = num_active if splits else num_active - 1
    log_ratio = log_ratio_of(family, state, prior, zero, side_one, whole, before) - log_proposal
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


@step_of(GroupProposals)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    if len(state.slot_of) > 1:
        for _ in range(move.proposals):
            _propose(move, family, state, prior, generator)
