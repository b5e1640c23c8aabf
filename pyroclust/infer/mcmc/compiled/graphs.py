"""Compiled moves on the blocks of a graph, which bear on one another through the edges between them.

A node that joins a block changes the edges of that block with all others, so a block has no predictive of its
own: a sweep takes a node out, and asks each block in turn what the edges of the node would be worth there.
Blocks *in play* are those whose likelihood counts: all active ones, and while a split is tried out the two
sides in place of the blocks that they come from.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import BlockRates
from pyroclust.distributions.block_rates import RateTable, log_edges, log_no_edges, rate_table
from pyroclust.distributions.compiled.clusters import draw_index
from pyroclust.distributions.compiled.protocol import compile_family
from pyroclust.infer.mcmc.compiled.chain import LINKED, Linked, release, step_of
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.proposals import (
    ACCEPTED,
    MERGES,
    PROPOSED,
    SPLITS,
    UNDECIDED,
    Proposals,
    become_one,
    become_two,
    discard,
    draw_pair,
    draw_side,
    home_side,
    list_members,
    shuffle,
)
from pyroclust.infer.mcmc.compiled.sweep import GibbsSweep, accepted

# Places of the totals: edges and pairs of nodes, within blocks and between them.
_EDGES_WITHIN, _PAIRS_WITHIN, _EDGES_BETWEEN, _PAIRS_BETWEEN = range(4)
# Free slots that a split or merge uses: its two sides, and both together.
_TRIED_OUT = 3


class BlockEdges(NamedTuple):
    """A graph, and the edges of its blocks.

    Attributes:
        hyper: empty.
        begin: where the neighbours of each node begin in ``neighbour``, ``(N + 1,)``.
        neighbour: the neighbours of all nodes.
        links: edges of each node with each slot, ``(S, N)``.
        edges: edges between two slots and, on the diagonal, within one, ``(S, S)``.
        play: the first ``num_play[0]`` entries are the slots in play, ``(S,)``.
        num_play: how many there are, ``(1,)``.
        totals: edges and pairs of nodes of the slots in play, within and between them, ``(4,)``.
        within: of the law of rates within blocks.
        between: of that between blocks.
        shared: whether all blocks have one rate, and all pairs another, ``(1,)``.
    """

    hyper: np.ndarray
    begin: np.ndarray
    neighbour: np.ndarray
    links: np.ndarray
    edges: np.ndarray
    play: np.ndarray
    num_play: np.ndarray
    totals: np.ndarray
    within: RateTable
    between: RateTable
    shared: np.ndarray


@compile_family.register
def _(component: BlockRates, data: np.ndarray, num_slots: int, num_points: int) -> BlockEdges:
    num_nodes = len(data)
    row, column = np.nonzero(data)
    return BlockEdges(
        hyper=np.zeros(0),
        begin=np.searchsorted(row, np.arange(num_nodes + 1)),
        neighbour=np.ascontiguousarray(column),
        links=np.zeros((num_slots, num_nodes), dtype=np.int32),
        edges=np.zeros((num_slots, num_slots), dtype=np.int32),
        play=np.zeros(num_slots, dtype=np.int64),
        num_play=np.zeros(1, dtype=np.int64),
        totals=np.zeros(4, dtype=np.int64),
        within=rate_table(component.within, num_nodes),
        between=rate_table(component.between, num_nodes),
        shared=np.array([component.shared]),
    )


@inner
def _link(family: Any, node: int, slot: int, change: int) -> None:
    """Let the neighbours of a node have one edge more or less with a slot."""
    for k in range(family.begin[node], family.begin[node + 1]):
        family.links[slot, family.neighbour[k]] += change


@inner
def _count(family: Any, state: Any, node: int, slot: int, sign: int) -> None:
    """Count a node and its edges to a slot in play, or take them away; its neighbours are told by _link."""
    if sign < 0:
        state.sizes[slot] -= 1
    for j in range(family.num_play[0]):
        other = family.play[j]
        links = sign * family.links[other, node]
        family.edges[slot, other] += links
        if other == slot:
            family.totals[_EDGES_WITHIN] += links
            family.totals[_PAIRS_WITHIN] += sign * state.sizes[slot]
        else:
            family.edges[other, slot] += links
            family.totals[_EDGES_BETWEEN] += links
            family.totals[_PAIRS_BETWEEN] += sign * state.sizes[other]
    if sign > 0:
        state.sizes[slot] += 1


@inner
def _enter(family: Any, state: Any, node: int, slot: int) -> None:
    """Put a node that is in no slot in play into one that is."""
    _count(family, state, node, slot, 1)
    _link(family, node, slot, 1)


@inner
def _move(family: Any, node: int, slot: int, chosen: int) -> None:
    """Tell the neighbours of a node where it is now; most nodes stay, and have hundreds of them."""
    if chosen != slot:
        _link(family, node, slot, -1)
        _link(family, node, chosen, 1)


@inner
def _gain(family: Any, state: Any, node: int, slot: int) -> float:
    """Return what the edges of a node with the slots in play are worth if it joins one, in O(K)."""
    size = state.sizes[slot]
    if family.shared[0]:
        return _shared_gain(family, state, node, slot)
    total = 0.0
    for j in range(family.num_play[0]):
        other = family.play[j]
        if other == slot:
            continue
        edges, more = family.edges[slot, other], state.sizes[other]
        pairs = size * more
        total += log_edges(family.between, edges + family.links[other, node], pairs + more)
        total -= log_edges(family.between, edges, pairs)
    edges, pairs = family.edges[slot, slot], size * (size - 1) // 2
    total += log_edges(family.within, edges + family.links[slot, node], pairs + size)
    return total - log_edges(family.within, edges, pairs)


@inner
def _shared_gain(family: Any, state: Any, node: int, slot: int) -> float:
    """Return the same where all blocks share a rate."""
    links, nodes = 0, 0
    for j in range(family.num_play[0]):
        links += family.links[family.play[j], node]
        nodes += state.sizes[family.play[j]]
    within, size, totals = family.links[slot, node], state.sizes[slot], family.totals
    edges, pairs = totals[_EDGES_WITHIN], totals[_PAIRS_WITHIN]
    total = log_edges(family.within, edges + within, pairs + size)
    total -= log_edges(family.within, edges, pairs)
    edges, pairs = totals[_EDGES_BETWEEN], totals[_PAIRS_BETWEEN]
    total += log_edges(family.between, edges + links - within, pairs + nodes - size)
    return total - log_edges(family.between, edges, pairs)


@inner
def _play_active(family: Any, state: Any, without: int, without_too: int) -> None:
    """Let all active slots but two play."""
    count = 0
    for j in range(state.counters[0]):
        slot = state.active[j]
        if slot not in (without, without_too):
            family.play[count] = slot
            count += 1
    family.num_play[0] = count


@inner
def _play_too(family: Any, slot: int) -> None:
    family.play[family.num_play[0]] = slot
    family.num_play[0] += 1


@inner
def _total_up(family: Any, state: Any) -> None:
    """Compute the totals of the slots in play, in O(K^2)."""
    for place in range(4):
        family.totals[place] = 0
    for j in range(family.num_play[0]):
        one = family.play[j]
        size = state.sizes[one]
        family.totals[_EDGES_WITHIN] += family.edges[one, one]
        family.totals[_PAIRS_WITHIN] += size * (size - 1) // 2
        for k in range(j):
            other = family.play[k]
            family.totals[_EDGES_BETWEEN] += family.edges[one, other]
            family.totals[_PAIRS_BETWEEN] += size * state.sizes[other]


@inner
def _value(family: Any, state: Any) -> float:
    """Return the log marginal likelihood of the slots in play, in O(K^2)."""
    if family.shared[0]:
        totals = family.totals
        total = log_edges(family.within, totals[_EDGES_WITHIN], totals[_PAIRS_WITHIN])
        total += log_edges(family.between, totals[_EDGES_BETWEEN], totals[_PAIRS_BETWEEN])
        return total - log_no_edges(family.within) - log_no_edges(family.between)
    total = 0.0
    for j in range(family.num_play[0]):
        one = family.play[j]
        size = state.sizes[one]
        total += log_edges(family.within, family.edges[one, one], size * (size - 1) // 2)
        total -= log_no_edges(family.within)
        for k in range(j):
            other = family.play[k]
            pairs = size * state.sizes[other]
            total += log_edges(family.between, family.edges[one, other], pairs)
            total -= log_no_edges(family.between)
    return total


@inner
def _clear(family: Any, state: Any, slot: int) -> None:
    """Forget the edges of a slot, in O(N + K): it has some with slots in use and tried out alone."""
    for i in range(family.links.shape[1]):
        family.links[slot, i] = 0
    for j in range(min(state.counters[0] + _TRIED_OUT, len(state.active))):
        other = state.active[j]
        family.edges[slot, other], family.edges[other, slot] = 0, 0
    family.edges[slot, slot] = 0


@compiled(allocates=False)
def _sum_up(family: Any, state: Any) -> None:
    # Between moves the slots in play are those in use, and all others are empty. No other is touched, so that
    # a chain takes memory for as many slots as it ever used, not for N.
    for j in range(family.num_play[0]):
        slot = family.play[j]
        for i in range(family.links.shape[1]):
            family.links[slot, i] = 0
        for k in range(family.num_play[0]):
            family.edges[slot, family.play[k]] = 0
    for slot in range(len(state.sizes)):
        state.sizes[slot] = 0
    _play_active(family, state, -1, -1)
    for i in range(len(state.slot_of)):
        _enter(family, state, i, state.slot_of[i])
    _total_up(family, state)


@inner
def _log_likelihood(family: Any, state: Any) -> float:
    _play_active(family, state, -1, -1)
    _total_up(family, state)
    return _value(family, state)


LINKED[BlockEdges] = Linked(_sum_up, _log_likelihood)


@step_of(GibbsSweep, BlockEdges)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    _play_active(family, state, -1, -1)
    _total_up(family, state)
    for i in range(move.begin, len(state.slot_of)):
        before = state.slot_of[i]
        _count(family, state, i, before, -1)
        if state.sizes[before] == 0:
            release(state, before)
            _play_active(family, state, -1, -1)
        num_active = state.counters[0]
        best = -np.inf
        for j in range(num_active + 1):
            slot = state.active[j]
            weight = log_open(prior, num_active) if j == num_active else prior.log_join[state.sizes[slot]]
            weight += _gain(family, state, i, slot)
            state.weights[j] = weight
            best = max(best, weight)
        chosen = state.active[draw_index(state.weights, num_active + 1, best, generator.random())]
        if state.sizes[chosen] == 0:
            state.counters[0] += 1
            _play_too(family, chosen)
        _count(family, state, i, chosen, 1)
        _move(family, i, before, chosen)
        state.slot_of[i] = chosen


@inner
def _log_odds(family: Any, state: Any, prior: Any, node: int) -> float:
    """Return the log odds of side 1 for a node that is on neither side."""
    num_active = state.counters[0]
    zero, one = state.active[num_active], state.active[num_active + 1]
    weight = prior.log_join[state.sizes[one]] - prior.log_join[state.sizes[zero]]
    return weight + _gain(family, state, node, one) - _gain(family, state, node, zero)


@inner
def _draw_sides(
    family: Any, state: Any, prior: Any, generator: Any, count: int, home: int, placed: int
) -> float:
    """Draw the sides of the listed nodes, placed on one already or not; return the log-probability."""
    total = 0.0
    for k in range(count):
        node, slot = state.members[k] >> 1, state.active[state.counters[0] + (state.members[k] & 1)]
        if placed == 1:
            _count(family, state, node, slot, -1)
        log_odds = _log_odds(family, state, prior, node)
        side, log_prob = draw_side(log_odds, home_side(state, node, home), generator)
        total += log_prob
        chosen = state.active[state.counters[0] + side]
        _count(family, state, node, chosen, 1)
        if placed == 1:
            _move(family, node, slot, chosen)
        else:
            _link(family, node, chosen, 1)
        state.members[k] = 2 * node + side
    return total


@inner
def _unite(family: Any, state: Any, whole: int, one: int, other: int) -> None:
    """Let a free slot stand for two blocks together, towards the slots in play."""
    for j in range(family.num_play[0]):
        slot = family.play[j]
        edges = family.edges[one, slot] + family.edges[other, slot]
        family.edges[whole, slot], family.edges[slot, whole] = edges, edges
    within = family.edges[one, one] + family.edges[other, other] + family.edges[one, other]
    family.edges[whole, whole] = within
    state.sizes[whole] = state.sizes[one] + state.sizes[other]
    _play_too(family, whole)
    _total_up(family, state)


@inner
def _keep_united(family: Any, state: Any, whole: int, one: int, other: int) -> None:
    """Give the edges of two blocks together to the first, and forget those of the other."""
    for i in range(family.links.shape[1]):
        family.links[one, i] += family.links[other, i]
    for j in range(family.num_play[0]):
        slot = family.play[j]
        edges = family.edges[whole, slot]
        family.edges[one, slot], family.edges[slot, one] = edges, edges
    within = family.edges[whole, whole]
    _clear(family, state, whole)
    _clear(family, state, other)
    family.edges[one, one] = within


@inner
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    first, second = draw_pair(len(state.slot_of), generator)
    num_active, one, other = state.counters[0], state.slot_of[first], state.slot_of[second]
    splits = one == other
    kind = SPLITS if splits else MERGES
    move.counts[kind, PROPOSED] += 1
    if splits and log_open(prior, num_active) == -math.inf:
        return
    _play_active(family, state, -1, -1)
    _total_up(family, state)
    present = _value(family, state)
    count = list_members(state, first, second, one, other)
    zero, side_one = state.active[num_active], state.active[num_active + 1]
    whole = state.active[num_active + 2]
    _play_active(family, state, one, other)
    _play_too(family, zero)
    _play_too(family, side_one)
    _total_up(family, state)
    _enter(family, state, first, zero)
    _enter(family, state, second, side_one)
    home = UNDECIDED if splits else other
    in_turn = UNDECIDED if move.scans >= 0 else home
    shuffle(state, generator, count)
    log_proposal = _draw_sides(family, state, prior, generator, count, in_turn, 0)
    for scan in range(move.scans + 1):
        wanted = home if scan == move.scans else UNDECIDED
        log_proposal = _draw_sides(family, state, prior, generator, count, wanted, 1)
    size, more = state.sizes[zero], state.sizes[side_one]
    if splits:
        split, united = _value(family, state), present
    else:
        _play_active(family, state, one, other)
        _unite(family, state, whole, one, other)
        split, united = present, _value(family, state)
        state.sizes[whole] = 0
    log_ratio = log_open(prior, num_active if splits else num_active - 1) - log_proposal + split - united
    log_ratio += prior.log_weight[size] + prior.log_weight[more] - prior.log_weight[size + more]
    agreed = accepted(log_ratio if splits else -log_ratio, generator)
    if agreed:
        move.counts[kind, ACCEPTED] += 1
    if agreed and splits:
        _clear(family, state, one)
        become_two(state, first, second, count)
        release(state, one)
    else:
        discard(state)
        _clear(family, state, zero)
        _clear(family, state, side_one)
    if agreed and not splits:
        _keep_united(family, state, whole, one, other)
        become_one(state, first, second, count)
    elif not splits:
        _clear(family, state, whole)
    _play_active(family, state, -1, -1)


@step_of(Proposals, BlockEdges)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for _ in range(move.proposals):
        _propose(move, family, state, prior, generator)
