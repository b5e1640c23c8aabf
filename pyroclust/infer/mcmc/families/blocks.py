"""Compiled moves on the blocks of a graph, which bear on one another through the edges between them.

A node that joins a block changes the edges of that block with all others, so a block has no predictive of its
own: a sweep takes a node out, and asks each block in turn what the edges of the node would be worth there.
Blocks *in play* are those whose likelihood counts: all active ones, and while a split is tried out the two
sides in place of the blocks that they come from.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from pyroclust.compiling import lean
from pyroclust.distributions import BlockRates
from pyroclust.infer.mcmc.compiled.allocations import RestrictedGibbs, SequentialAllocation, shuffle
from pyroclust.infer.mcmc.compiled.chain import log_likelihood, sum_up
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.proposals import (
    ACCEPTED,
    MERGES,
    PROPOSED,
    SPLITS,
    UNDECIDED,
    accepted,
    become_one,
    become_two,
    discard,
    draw_pair,
    draw_side,
    home_side,
    list_members,
    propose,
)
from pyroclust.infer.mcmc.compiled.protocol import (
    INTERLINKED,
    compile_family,
    implements,
    log_predictive,
    refresh,
    tabulate,
)
from pyroclust.infer.mcmc.compiled.sweep import draw_index, sweep

__all__ = ["Blocks"]

# Entries of a table of log gamma functions; what lies beyond is computed.
_LONGEST_TABLE = 1 << 20
# Places of the totals: edges and pairs of nodes, within blocks and between them.
_EDGES_WITHIN, _PAIRS_WITHIN, _EDGES_BETWEEN, _PAIRS_BETWEEN = range(4)


class LogGammas(NamedTuple):
    r"""Values of :math:`\log \Gamma(x + i)`, i = 0, 1, ..., for the numbers of a Beta law and their sum."""

    numbers: np.ndarray
    ones: np.ndarray
    zeros: np.ndarray
    both: np.ndarray


class Blocks(NamedTuple):
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
    within: LogGammas
    between: LogGammas
    shared: np.ndarray


INTERLINKED.add(Blocks)


def _log_gammas(law: tuple[float, float], num_pairs: int) -> LogGammas:
    values = np.array([law[0], law[1], law[0] + law[1]])
    length = np.arange(min(num_pairs + 1, _LONGEST_TABLE), dtype=float)
    return LogGammas(values, *(gammaln(one + length) for one in values))


@compile_family.register
def _(component: BlockRates, data: np.ndarray, num_slots: int) -> Blocks:
    num_nodes = len(data)
    row, column = np.nonzero(data)
    pairs = num_nodes * (num_nodes - 1) // 2
    return Blocks(
        hyper=np.zeros(0),
        begin=np.searchsorted(row, np.arange(num_nodes + 1)),
        neighbour=column,
        links=np.zeros((num_slots, num_nodes), dtype=np.int32),
        edges=np.zeros((num_slots, num_slots), dtype=np.int64),
        play=np.zeros(num_slots, dtype=np.int64),
        num_play=np.zeros(1, dtype=np.int64),
        totals=np.zeros(4, dtype=np.int64),
        within=_log_gammas(component.within, pairs),
        between=_log_gammas(component.between, pairs),
        shared=np.array([component.shared]),
    )


@implements(tabulate, Blocks)
def _tabulate(family: Any) -> None:
    pass


@implements(refresh, Blocks)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    pass


@implements(log_predictive, Blocks)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    return 0.0


@lean
def _log_gamma(table: np.ndarray, start: float, count: int) -> float:
    return table[count] if count < len(table) else math.lgamma(start + count)


@lean
def _log_marginal(law: Any, edges: int, pairs: int) -> float:
    """Return the log-probability of certain edges among pairs of nodes, up to a constant of the law."""
    found = _log_gamma(law.ones, law.numbers[0], edges)
    found += _log_gamma(law.zeros, law.numbers[1], pairs - edges)
    return found - _log_gamma(law.both, law.numbers[2], pairs)


@lean
def _constant(law: Any) -> float:
    return law.ones[0] + law.zeros[0] - law.both[0]


@lean
def _enter(family: Any, state: Any, node: int, slot: int) -> None:
    """Put a node that is in no slot in play into one that is."""
    for j in range(family.num_play[0]):
        other = family.play[j]
        links = family.links[other, node]
        family.edges[slot, other] += links
        if other == slot:
            family.totals[_EDGES_WITHIN] += links
            family.totals[_PAIRS_WITHIN] += state.sizes[slot]
        else:
            family.edges[other, slot] += links
            family.totals[_EDGES_BETWEEN] += links
            family.totals[_PAIRS_BETWEEN] += state.sizes[other]
    for k in range(family.begin[node], family.begin[node + 1]):
        family.links[slot, family.neighbour[k]] += 1
    state.sizes[slot] += 1


@lean
def _exit(family: Any, state: Any, node: int, slot: int) -> None:
    """Take a node out of a slot in play."""
    state.sizes[slot] -= 1
    for k in range(family.begin[node], family.begin[node + 1]):
        family.links[slot, family.neighbour[k]] -= 1
    for j in range(family.num_play[0]):
        other = family.play[j]
        links = family.links[other, node]
        family.edges[slot, other] -= links
        if other == slot:
            family.totals[_EDGES_WITHIN] -= links
            family.totals[_PAIRS_WITHIN] -= state.sizes[slot]
        else:
            family.edges[other, slot] -= links
            family.totals[_EDGES_BETWEEN] -= links
            family.totals[_PAIRS_BETWEEN] -= state.sizes[other]


@lean
def _gain(family: Any, state: Any, node: int, slot: int) -> float:
    """Return what the edges of a node with the slots in play are worth if it joins one, in O(K)."""
    size = state.sizes[slot]
    if family.shared[0]:
        return _shared_gain(family, state, node, slot)
    found = 0.0
    for j in range(family.num_play[0]):
        other = family.play[j]
        if other == slot:
            continue
        edges, more = family.edges[slot, other], state.sizes[other]
        pairs = size * more
        found += _log_marginal(family.between, edges + family.links[other, node], pairs + more)
        found -= _log_marginal(family.between, edges, pairs)
    edges, pairs = family.edges[slot, slot], size * (size - 1) // 2
    found += _log_marginal(family.within, edges + family.links[slot, node], pairs + size)
    return found - _log_marginal(family.within, edges, pairs)


@lean
def _shared_gain(family: Any, state: Any, node: int, slot: int) -> float:
    """Return the same where all blocks share a rate."""
    links, nodes = 0, 0
    for j in range(family.num_play[0]):
        links += family.links[family.play[j], node]
        nodes += state.sizes[family.play[j]]
    own, size, totals = family.links[slot, node], state.sizes[slot], family.totals
    edges, pairs = totals[_EDGES_WITHIN], totals[_PAIRS_WITHIN]
    found = _log_marginal(family.within, edges + own, pairs + size)
    found -= _log_marginal(family.within, edges, pairs)
    edges, pairs = totals[_EDGES_BETWEEN], totals[_PAIRS_BETWEEN]
    found += _log_marginal(family.between, edges + links - own, pairs + nodes - size)
    return found - _log_marginal(family.between, edges, pairs)


@lean
def _play_active(family: Any, state: Any, without: int, without_too: int) -> None:
    """Let all active slots but two play."""
    count = 0
    for j in range(state.counters[0]):
        slot = state.active[j]
        if slot not in (without, without_too):
            family.play[count] = slot
            count += 1
    family.num_play[0] = count


@lean
def _play_too(family: Any, slot: int) -> None:
    family.play[family.num_play[0]] = slot
    family.num_play[0] += 1


@lean
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


@lean
def _value(family: Any, state: Any) -> float:
    """Return the log marginal likelihood of the slots in play, in O(K^2)."""
    if family.shared[0]:
        totals = family.totals
        found = _log_marginal(family.within, totals[_EDGES_WITHIN], totals[_PAIRS_WITHIN])
        found += _log_marginal(family.between, totals[_EDGES_BETWEEN], totals[_PAIRS_BETWEEN])
        return found - _constant(family.within) - _constant(family.between)
    found = 0.0
    for j in range(family.num_play[0]):
        one = family.play[j]
        size = state.sizes[one]
        found += _log_marginal(family.within, family.edges[one, one], size * (size - 1) // 2)
        found -= _constant(family.within)
        for k in range(j):
            other = family.play[k]
            pairs = size * state.sizes[other]
            found += _log_marginal(family.between, family.edges[one, other], pairs)
            found -= _constant(family.between)
    return found


@lean
def _clear(family: Any, slot: int) -> None:
    """Forget the edges of a slot, in O(N)."""
    for i in range(family.links.shape[1]):
        family.links[slot, i] = 0
    for other in range(family.edges.shape[0]):
        family.edges[slot, other] = 0
        family.edges[other, slot] = 0


@implements(sum_up, Blocks)
def _sum_up(family: Any, state: Any) -> None:
    for slot in range(len(state.sizes)):
        _clear(family, slot)
        state.sizes[slot] = 0
    _play_active(family, state, -1, -1)
    for i in range(len(state.slot_of)):
        _enter(family, state, i, state.slot_of[i])
    _total_up(family, state)


@implements(log_likelihood, Blocks)
def _log_likelihood(family: Any, state: Any) -> float:
    _play_active(family, state, -1, -1)
    _total_up(family, state)
    return _value(family, state)


@lean
def _free_if_empty(state: Any, slot: int) -> None:
    if state.sizes[slot] > 0:
        return
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            return


@implements(sweep, Blocks)
def _sweep(family: Any, state: Any, prior: Any, generator: Any) -> None:
    _play_active(family, state, -1, -1)
    _total_up(family, state)
    for i in range(len(state.slot_of)):
        own = state.slot_of[i]
        _exit(family, state, i, own)
        if state.sizes[own] == 0:
            _free_if_empty(state, own)
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
        _enter(family, state, i, chosen)
        state.slot_of[i] = chosen


@lean
def _log_odds(family: Any, state: Any, prior: Any, node: int) -> float:
    """Return the log odds of side 1 for a node that is on neither side."""
    num_active = state.counters[0]
    zero, one = state.active[num_active], state.active[num_active + 1]
    weight = prior.log_join[state.sizes[one]] - prior.log_join[state.sizes[zero]]
    return weight + _gain(family, state, node, one) - _gain(family, state, node, zero)


@lean
def _allocate_in_turn(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    """Let the listed nodes join a side one after the other in random order; return the log-probability."""
    shuffle(state, generator, count)
    total = 0.0
    for k in range(count):
        node = state.members[k] >> 1
        log_odds = _log_odds(family, state, prior, node)
        side, log_prob = draw_side(log_odds, home_side(state, node, home), generator)
        total += log_prob
        _enter(family, state, node, state.active[state.counters[0] + side])
        state.members[k] = 2 * node + side
    return total


def allocate_nodes(
    move: Any, family: Any, state: Any, prior: Any, generator: Any, count: int, home: int
) -> float:
    """Allocate the listed nodes to two sides and return the log-probability of the allocation (a stub)."""
    raise NotImplementedError


@implements(allocate_nodes, SequentialAllocation)
def _allocate(move: Any, family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
    return _allocate_in_turn(family, state, prior, generator, count, home)


@implements(allocate_nodes, RestrictedGibbs)
def _allocate_restricted(
    move: Any, family: Any, state: Any, prior: Any, generator: Any, count: int, home: int
) -> float:
    total = _allocate_in_turn(family, state, prior, generator, count, UNDECIDED)
    for scan in range(move.scans + 1):
        wanted, total = home if scan == move.scans else UNDECIDED, 0.0
        for k in range(count):
            node, side = state.members[k] >> 1, state.members[k] & 1
            _exit(family, state, node, state.active[state.counters[0] + side])
            log_odds = _log_odds(family, state, prior, node)
            side, log_prob = draw_side(log_odds, home_side(state, node, wanted), generator)
            total += log_prob
            _enter(family, state, node, state.active[state.counters[0] + side])
            state.members[k] = 2 * node + side
    return total


@lean
def _unite(family: Any, state: Any, whole: int, one: int, other: int) -> None:
    """Let a free slot stand for two blocks together, towards the slots in play."""
    for j in range(family.num_play[0]):
        slot = family.play[j]
        edges = family.edges[one, slot] + family.edges[other, slot]
        family.edges[whole, slot], family.edges[slot, whole] = edges, edges
    own = family.edges[one, one] + family.edges[other, other] + family.edges[one, other]
    family.edges[whole, whole] = own
    state.sizes[whole] = state.sizes[one] + state.sizes[other]
    _play_too(family, whole)
    _total_up(family, state)


@lean
def _keep_united(family: Any, state: Any, whole: int, one: int, other: int) -> None:
    """Give the edges of two blocks together to the first, and forget those of the other."""
    for i in range(family.links.shape[1]):
        family.links[one, i] += family.links[other, i]
    for slot in range(family.edges.shape[0]):
        edges = family.edges[whole, slot]
        family.edges[one, slot], family.edges[slot, one] = edges, edges
    family.edges[one, one] = family.edges[whole, whole]
    _clear(family, other)


@implements(propose, Blocks, place=1)
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
    count = list_members(state, first, second)
    zero, side_one, whole = (
        state.active[num_active],
        state.active[num_active + 1],
        state.active[num_active + 2],
    )
    _play_active(family, state, one, other)
    _play_too(family, zero)
    _play_too(family, side_one)
    _total_up(family, state)
    _enter(family, state, first, zero)
    _enter(family, state, second, side_one)
    home = UNDECIDED if splits else other
    log_proposal = allocate_nodes(move, family, state, prior, generator, count, home)
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
        become_two(state, first, second, count)
        _clear(family, one)
        return
    discard(state)
    _clear(family, zero)
    _clear(family, side_one)
    if agreed:
        _keep_united(family, state, whole, one, other)
        become_one(family, state, first, second, count)
    _clear(family, whole)
