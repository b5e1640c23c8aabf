"""The compiled Gibbs sweep over the rows of a chain: Neal's Algorithm 3.

Rows are visited in the order of the data in every sweep: each visit leaves the posterior unchanged, so does
their composition, and a fixed order costs no random numbers. A row that stays in its cluster changes nothing.
A point is worth its predictive density in a cluster; a row of several points the ratio of the marginal
likelihoods with it and without it, and of the prior's weights of both sizes. Clusters that hold a rival of a
row are closed to it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE, draw_index
from pyroclust.distributions.compiled.protocol import (
    add_log_predictives,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)
from pyroclust.infer.mcmc.compiled.chain import accumulate, move_row, step_of, weigh_alone
from pyroclust.infer.mcmc.compiled.prior_tables import log_open

# The log weight of a closed cluster: finite, for families that subtract it.
_CLOSED = -1e300


class GibbsSweep(NamedTuple):
    """Visit every row, from one on, and draw its cluster given all others."""

    begin: int


@inner
def _fit(family: Any, state: Any, slot: int) -> float:
    """Return the log marginal of a cluster, which is computed where it is not known."""
    if math.isnan(state.fits[slot]):
        state.fits[slot] = log_marginal(family, state.sums, slot, state.sizes[slot])
    return state.fits[slot]


@inner
def _fit_with(family: Any, state: Any, row: int, slot: int, scratch: int, sign: int) -> float:
    """Return the log marginal of a cluster with a row, or without it; the scratch slot is overwritten."""
    for f in range(state.sums.shape[1]):
        state.sums[scratch, f] = state.sums[slot, f] + sign * state.moments[row, f]
    return log_marginal(family, state.sums, scratch, state.sizes[slot] + sign * state.weight[row])


@inner
def log_with(family: Any, state: Any, prior: Any, row: int, slot: int, scratch: int) -> float:
    """Return the log weight of a row in a cluster that it is not in."""
    more, before = state.weight[row], state.sizes[slot]
    if more == 1:
        return prior.log_join[before] + log_predictive(family, row, slot, before)
    weight = prior.log_weight[before + more] - prior.log_weight[before]
    return weight + _fit_with(family, state, row, slot, scratch, 1) - _fit(family, state, slot)


@inner
def log_without(family: Any, state: Any, prior: Any, row: int, slot: int, scratch: int) -> float:
    """Return the log weight of a row in the cluster that it is in with others."""
    less, whole = state.weight[row], state.sizes[slot]
    if less == 1:
        return prior.log_join[whole - 1] + log_predictive_without(family, row, slot, whole)
    weight = prior.log_weight[whole] - prior.log_weight[whole - less]
    return weight + _fit(family, state, slot) - _fit_with(family, state, row, slot, scratch, -1)


@inner
def _mark_rivals(state: Any, row: int, sign: int) -> None:
    """Give the sizes of all slots that hold rivals of a row a sign."""
    for place in range(state.rivals_begin[row], state.rivals_begin[row + 1]):
        slot = state.slot_of[state.rivals[place]]
        state.sizes[slot] = sign * abs(state.sizes[slot])


@inner
def _close_to(state: Any, row: int) -> None:
    """Write the log weights of clusters that are closed to a row."""
    if state.rivals_begin[row] == state.rivals_begin[row + 1]:
        return
    _mark_rivals(state, row, -1)
    for j in range(state.counters[0]):
        if state.sizes[state.active[j]] < 0:
            state.weights[j] = _CLOSED
    _mark_rivals(state, row, 1)


@inner
def weigh_others(family: Any, state: Any, prior: Any, row: int, best: float) -> None:
    """Write the log weights of all clusters but the row's: exactly, or below the best where negligible."""
    num_active, present = state.counters[0], state.slot_of[row]
    for j in range(num_active):
        state.weights[j] = prior.log_join[state.sizes[state.active[j]]]
    _close_to(state, row)
    if state.weight[row] == 1:
        add_log_predictives(
            family, row, state.active, state.sizes, num_active, present, best + NEGLIGIBLE, state.weights
        )
        return
    scratch = state.active[num_active + 1]
    for j in range(num_active):
        slot = state.active[j]
        if slot != present and state.weights[j] != _CLOSED:
            state.weights[j] = log_with(family, state, prior, row, slot, scratch)


@inner
def visit(family: Any, state: Any, prior: Any, row: int, generator: Any) -> None:
    """Draw the cluster of a row, unless it must stay alone beside the fewest clusters."""
    num_active, present = state.counters[0], state.slot_of[row]
    alone = state.sizes[present] == state.weight[row]
    if alone and num_active == prior.fewest:
        return
    log_new = prior.log_weight[state.weight[row]] + state.log_alone[row]
    log_new += log_open(prior, num_active - (1 if alone else 0))
    # The cluster that a row is in is likely to be best: beside it others are seen to be hopeless early.
    log_stay = log_new
    if not alone:
        log_stay = log_without(family, state, prior, row, present, state.active[num_active + 1])
    best = max(log_new, log_stay)
    weigh_others(family, state, prior, row, best)
    for j in range(num_active):
        if state.active[j] == present:
            state.weights[j] = log_stay
        best = max(best, state.weights[j])
    count = num_active
    if not alone:
        state.weights[num_active] = log_new
        count += 1
    chosen = state.active[draw_index(state.weights, count, best, generator.random())]
    if chosen != present:
        move_row(family, state, row, chosen)


@step_of(GibbsSweep)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    weigh_alone(family, state)
    for slot in range(len(state.fits)):
        state.fits[slot] = math.nan
    for row in range(move.begin, len(state.slot_of)):
        visit(family, state, prior, row, generator)
    if prior.most < len(state.slot_of):
        for row in range(len(state.slot_of)):
            # Others have been visited.
            if state.rivals_begin[row] < state.rivals_begin[row + 1]:
                change_places(family, state, prior, row, generator)


@inner
def accepted(log_ratio: float, generator: Any) -> bool:
    """Say whether a proposal is accepted whose log acceptance ratio this is."""
    return math.log(1.0 - generator.random()) < log_ratio


# A log weight is never so large.
_SEEN = 1e300


@inner
def _list_those_caught(state: Any, row: int, one: int, other: int) -> int:
    """List the rows of two clusters that have to move if one does, as each is a rival of another of them."""
    state.weights[row] = _SEEN
    state.members[0] = row
    count, done = 1, 0
    while done < count:
        present = state.members[done]
        done += 1
        for place in range(state.rivals_begin[present], state.rivals_begin[present + 1]):
            rival = state.rivals[place]
            if state.weights[rival] != _SEEN and state.slot_of[rival] in (one, other):
                state.weights[rival] = _SEEN
                state.members[count] = rival
                count += 1
    for k in range(count):
        state.weights[state.members[k]] = 0.0
    return count


@inner
def change_places(family: Any, state: Any, prior: Any, row: int, generator: Any) -> None:
    """Propose that a row moves to another cluster, and its rivals there the other way.

    Where the number of clusters is bounded, rows may be caught between two clusters otherwise. The rows that
    move are the same on the way back, whichever of them is visited.
    """
    num_active = state.counters[0]
    if num_active < 2:
        return
    one = state.slot_of[row]
    other = state.active[int(generator.random() * (num_active - 1))]
    if other == one:
        other = state.active[num_active - 1]
    count = _list_those_caught(state, row, one, other)
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
    state.fits[one] = state.fits[other] = np.nan
