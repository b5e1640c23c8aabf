"""Compiled moves of groups of points that belong together, some of them apart from others.

A group moves as one: what it is worth in a cluster is the ratio of the marginal likelihoods with it and
without it, and of the prior's weights of both sizes. A cluster is closed to a group while it holds a group
that is apart from it. Groups of one point use the predictive density, as points without constraints do.

Splits need no look at who is apart: groups that share a cluster are not. Merges of clusters that hold groups
apart from one another are rejected.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.compiling import inner
from pyroclust.constraints import Constraints
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
    discard,
    draw_pair,
    draw_side,
    log_ratio_of,
    release,
    shuffle,
)
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)
from pyroclust.infer.mcmc.compiled.sweep import draw_index

__all__ = ["GroupProposals", "GroupSweep", "Groups"]


class Groups(NamedTuple):
    """Groups of points, and which of them are apart.

    Attributes:
        begin: where the points of each group begin in ``member``, ``(G + 1,)``.
        member: the points, group by group, ``(N,)``.
        rivals_begin: where the groups apart from each group begin in ``rival``, ``(G + 1,)``.
        rival: the groups that each group is apart from.
    """

    begin: np.ndarray
    member: np.ndarray
    rivals_begin: np.ndarray
    rival: np.ndarray

    @classmethod
    def of(cls, constraints: Constraints) -> "Groups":
        """Lay out constraints."""
        rivals = [constraints.neighbours(group).numpy() for group in range(constraints.num_groups)]
        return cls(
            begin=np.append(0, constraints.sizes.cumsum(0).numpy()),
            member=constraints.groups.argsort(stable=True).numpy(),
            rivals_begin=np.append(0, constraints.degrees.cumsum(0).numpy()),
            rival=np.concatenate([*rivals, np.empty(0, np.int64)]).astype(np.int64),
        )


class GroupSweep(NamedTuple):
    """Visit every group and draw its cluster given all others."""

    groups: Groups


class GroupProposals(NamedTuple):
    """Split and merge clusters whose groups are allocated as a whole.

    Attributes:
        groups: groups of points.
        scans: restricted Gibbs scans that lead to the launch state, or -1 for sequential allocation alone.
        proposals: splits or merges proposed a step.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    groups: Groups
    scans: int
    proposals: int
    counts: np.ndarray


@inner
def _size(groups: Any, group: int) -> int:
    return groups.begin[group + 1] - groups.begin[group]


@inner
def _slot(groups: Any, state: Any, group: int) -> int:
    return state.slot_of[groups.member[groups.begin[group]]]


@inner
def _add(groups: Any, state: Any, group: int, slot: int, sign: float) -> None:
    """Add the moments of a group to a slot, or take them away."""
    for place in range(groups.begin[group], groups.begin[group + 1]):
        accumulate(state, groups.member[place], slot, sign)


@inner
def _empty(state: Any, slot: int) -> None:
    for f in range(state.sums.shape[1]):
        state.sums[slot, f] = 0.0


@inner
def _copy(state: Any, target: int, slot: int) -> None:
    for f in range(state.sums.shape[1]):
        state.sums[target, f] = state.sums[slot, f]


@inner
def _log_with(family: Any, state: Any, prior: Any, groups: Any, group: int, slot: int, scratch: int) -> float:
    """Return the log weight of a group in a cluster that it is not in; the scratch slot is overwritten."""
    size, before = _size(groups, group), state.sizes[slot]
    if size == 1:
        point = groups.member[groups.begin[group]]
        return prior.log_join[before] + log_predictive(family, point, slot, before)
    _copy(state, scratch, slot)
    _add(groups, state, group, scratch, 1.0)
    weight = prior.log_weight[before + size] - prior.log_weight[before]
    whole = log_marginal(family, state.sums, scratch, before + size)
    return weight + whole - log_marginal(family, state.sums, slot, before)


@inner
def _log_without(
    family: Any, state: Any, prior: Any, groups: Any, group: int, slot: int, scratch: int
) -> float:
    """Return the log weight of a group in the cluster that it is in with others."""
    size, whole = _size(groups, group), state.sizes[slot]
    if size == 1:
        point = groups.member[groups.begin[group]]
        return prior.log_join[whole - 1] + log_predictive_without(family, point, slot, whole)
    _copy(state, scratch, slot)
    _add(groups, state, group, scratch, -1.0)
    weight = prior.log_weight[whole] - prior.log_weight[whole - size]
    rest = log_marginal(family, state.sums, scratch, whole - size)
    return weight + log_marginal(family, state.sums, slot, whole) - rest


@inner
def _log_alone(family: Any, state: Any, prior: Any, groups: Any, group: int, scratch: int) -> float:
    """Return the log weight of a group as a cluster of its own, that of a further cluster apart."""
    size = _size(groups, group)
    if size == 1:
        return state.log_alone[groups.member[groups.begin[group]]]
    _empty(state, scratch)
    _add(groups, state, group, scratch, 1.0)
    return prior.log_weight[size] + log_marginal(family, state.sums, scratch, size)


@inner
def _mark(groups: Any, state: Any, group: int, sign: int) -> None:
    """Give the sizes of all slots that hold groups apart from one a sign."""
    for place in range(groups.rivals_begin[group], groups.rivals_begin[group + 1]):
        slot = _slot(groups, state, groups.rival[place])
        state.sizes[slot] = sign * abs(state.sizes[slot])


@inner
def _put(family: Any, state: Any, groups: Any, group: int, slot: int) -> None:
    """Put a group into a slot that has room for it; who is in which slot does not change."""
    state.sizes[slot] += _size(groups, group)
    _add(groups, state, group, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@inner
def _take(family: Any, state: Any, groups: Any, group: int, slot: int) -> None:
    state.sizes[slot] -= _size(groups, group)
    if state.sizes[slot] > 0:
        _add(groups, state, group, slot, -1.0)
        refresh(family, state.sums, slot, state.sizes[slot])


@inner
def _name(groups: Any, state: Any, group: int, slot: int) -> None:
    for place in range(groups.begin[group], groups.begin[group + 1]):
        state.slot_of[groups.member[place]] = slot


@inner
def _visit(family: Any, state: Any, prior: Any, groups: Any, group: int, generator: Any) -> None:
    num_active, own = state.counters[0], _slot(groups, state, group)
    alone = state.sizes[own] == _size(groups, group)
    scratch = state.active[num_active + 1]
    log_new = _log_alone(family, state, prior, groups, group, scratch)
    log_new += log_open(prior, num_active - (1 if alone else 0))
    # Chains share the move, but each has its own sizes: negative ones are closed.
    _mark(groups, state, group, -1)
    best = -np.inf
    for j in range(num_active):
        slot = state.active[j]
        if slot == own:
            weight = log_new
            if not alone:
                weight = _log_without(family, state, prior, groups, group, slot, scratch)
        elif state.sizes[slot] < 0:
            weight = -np.inf
        else:
            weight = _log_with(family, state, prior, groups, group, slot, scratch)
        state.weights[j] = weight
        best = max(best, weight)
    _mark(groups, state, group, 1)
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
    _put(family, state, groups, group, chosen)
    _take(family, state, groups, group, own)
    _name(groups, state, group, chosen)
    if state.sizes[own] == 0:
        release(state, own)


@step_of(GroupSweep)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for group in range(len(move.groups.begin) - 1):
        _visit(family, state, prior, move.groups, group, generator)


@inner
def _list(groups: Any, state: Any, first: int, second: int) -> int:
    """List all groups of the clusters of two anchors but the anchors, as ``2 * group + side``, in O(G)."""
    one, other = _slot(groups, state, first), _slot(groups, state, second)
    count = 0
    for group in range(len(groups.begin) - 1):
        slot = _slot(groups, state, group)
        if slot in (one, other) and group not in (first, second):
            state.members[count] = 2 * group
            count += 1
    return count


@inner
def _clash(groups: Any, state: Any, one: int, other: int) -> bool:
    """Say whether two clusters hold groups that are apart."""
    for group in range(len(groups.begin) - 1):
        if _slot(groups, state, group) == one:
            for place in range(groups.rivals_begin[group], groups.rivals_begin[group + 1]):
                if _slot(groups, state, groups.rival[place]) == other:
                    return True
    return False


@inner
def _home(groups: Any, state: Any, group: int, home: int) -> int:
    if home == UNDECIDED:
        return UNDECIDED
    return 1 if _slot(groups, state, group) == home else 0


@inner
def _allocate_in_turn(
    family: Any, state: Any, prior: Any, groups: Any, generator: Any, count: int, home: int
) -> float:
    """Let the listed groups join a side in random order; return the log-probability."""
    shuffle(state, generator, count)
    num_active = state.counters[0]
    zero, one, scratch = (
        state.active[num_active],
        state.active[num_active + 1],
        state.active[num_active + 2],
    )
    total = 0.0
    for k in range(count):
        group = state.members[k] >> 1
        log_odds = _log_with(family, state, prior, groups, group, one, scratch)
        log_odds -= _log_with(family, state, prior, groups, group, zero, scratch)
        side, log_prob = draw_side(log_odds, _home(groups, state, group, home), generator)
        total += log_prob
        _put(family, state, groups, group, one if side == 1 else zero)
        state.members[k] = 2 * group + side
    return total


@inner
def _scan(family: Any, state: Any, prior: Any, groups: Any, generator: Any, count: int, home: int) -> float:
    """Draw the side of every listed group given all others, or take it home; return the log-probability."""
    num_active = state.counters[0]
    scratch = state.active[num_active + 2]
    total = 0.0
    for k in range(count):
        group, side = state.members[k] >> 1, state.members[k] & 1
        own, other = state.active[num_active + side], state.active[num_active + 1 - side]
        stay = _log_without(family, state, prior, groups, group, own, scratch)
        stay -= _log_with(family, state, prior, groups, group, other, scratch)
        wanted = _home(groups, state, group, home)
        chosen, log_prob = draw_side(stay if side == 1 else -stay, wanted, generator)
        total += log_prob
        if chosen != side:
            _take(family, state, groups, group, own)
            _put(family, state, groups, group, other)
            state.members[k] = 2 * group + chosen
    return total


@inner
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    groups = move.groups
    first, second = draw_pair(len(groups.begin) - 1, generator)
    num_active = state.counters[0]
    one, other = _slot(groups, state, first), _slot(groups, state, second)
    splits = one == other
    kind = SPLITS if splits else MERGES
    move.counts[kind, PROPOSED] += 1
    if splits:
        if log_open(prior, num_active) == -math.inf:
            return
    elif _clash(groups, state, one, other):
        return
    count = _list(groups, state, first, second)
    for side in range(2):
        slot = state.active[num_active + side]
        _empty(state, slot)
        _put(family, state, groups, first if side == 0 else second, slot)
    home = UNDECIDED if splits else other
    in_turn = UNDECIDED if move.scans >= 0 else home
    log_proposal = _allocate_in_turn(family, state, prior, groups, generator, count, in_turn)
    for scan in range(move.scans + 1):
        wanted = home if scan == move.scans else UNDECIDED
        log_proposal = _scan(family, state, prior, groups, generator, count, wanted)
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
        for k in range(count):
            coded = state.members[k]
            _name(groups, state, coded >> 1, state.active[num_active + (coded & 1)])
        _name(groups, state, first, zero)
        _name(groups, state, second, side_one)
        state.counters[0] = num_active + 2
        release(state, one)
        return
    discard(state)
    if agreed:
        for k in range(count):
            _name(groups, state, state.members[k] >> 1, one)
        _name(groups, state, second, one)
        add_sums(state, one, one, other)
        state.sizes[one] += state.sizes[other]
        refresh(family, state.sums, one, state.sizes[one])
        release(state, other)


@step_of(GroupProposals)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    if len(move.groups.begin) > 2:
        for _ in range(move.proposals):
            _propose(move, family, state, prior, generator)
