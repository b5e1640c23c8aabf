r"""Compiled Metropolis-Hastings proposals that split one cluster or merge two.

Two anchors are drawn uniformly. If they share a cluster, its other points are allocated to two new clusters
around the anchors, with probability q; otherwise their two clusters are proposed to become one, and q is the
probability of allocating the points back as they were. How points are allocated is up to the move:
:func:`allocate`.
"""

import math
from typing import Any

from pyroclust.infer.mcmc.clusters import rebuild
from pyroclust.infer.mcmc.compiling import compiled
from pyroclust.infer.mcmc.concentration import draw_concentration
from pyroclust.infer.mcmc.prior_tables import log_open
from pyroclust.infer.mcmc.protocol import log_marginal
from pyroclust.infer.mcmc.sweep import REBUILD_EVERY
from pyroclust.infer.mcmc.two_clusters import (
    UNDECIDED,
    become_one,
    become_two,
    discard,
    list_members,
    merge_sums,
    open_sides,
)

__all__ = [
    "MERGES_ACCEPTED",
    "MERGES_PROPOSED",
    "SPLITS_ACCEPTED",
    "SPLITS_PROPOSED",
    "allocate",
    "run_proposals",
]

SPLITS_PROPOSED, SPLITS_ACCEPTED, MERGES_PROPOSED, MERGES_ACCEPTED = range(4)


def allocate(move: Any, family: Any, state: Any, prior: Any, generator: Any, count: Any, home: Any) -> float:
    """Allocate the listed points to the two sides and return the log-probability of the allocation (a stub).

    A move overloads this. Both sides hold their anchors at the start, and all their points at the end; the
    side of every point is written into ``state.members``.

    Args:
        move: the move, with fields ``proposals``, ``repeats`` and ``counts``.
        family: tables and caches of the component family.
        state: state of the chain.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        count: number of listed points.
        home: the slot whose points must come to lie on side 1 and all others on side 0, or ``UNDECIDED``.
            What is drawn before a point's own side must not depend on it.
    """
    raise NotImplementedError


@compiled
def _log_prior_ratio(state: Any, prior: Any, one: int, other: int, num_clusters: int) -> float:
    """Return the log prior of two clusters of given sizes less that of one, where that is one of several."""
    weights = prior.log_weight[one] + prior.log_weight[other] - prior.log_weight[one + other]
    return log_open(prior, num_clusters) + weights


@compiled
def _accepted(log_ratio: float, generator: Any) -> bool:
    return math.log(1.0 - generator.random()) < log_ratio


@compiled
def _split(move: Any, family: Any, state: Any, prior: Any, generator: Any, first: int, second: int) -> bool:
    num_active, own = state.counters[0], state.slot_of[first]
    if log_open(prior, num_active) == -math.inf:
        return False
    count = list_members(state, first, second)
    open_sides(family, state, first, second)
    log_proposal = allocate(move, family, state, prior, generator, count, UNDECIDED)
    one, other = state.active[num_active], state.active[num_active + 1]
    log_ratio = (
        _log_prior_ratio(state, prior, state.sizes[one], state.sizes[other], num_active)
        + log_marginal(family, state.sums, one, state.sizes[one])
        + log_marginal(family, state.sums, other, state.sizes[other])
        - log_marginal(family, state.sums, own, state.sizes[own])
        - log_proposal
    )
    if _accepted(log_ratio, generator):
        become_two(state, first, second, count)
        return True
    discard(state)
    return False


@compiled
def _merge(move: Any, family: Any, state: Any, prior: Any, generator: Any, first: int, second: int) -> bool:
    one, other = state.slot_of[first], state.slot_of[second]
    count = list_members(state, first, second)
    open_sides(family, state, first, second)
    log_proposal = allocate(move, family, state, prior, generator, count, other)
    discard(state)
    merged = merge_sums(family, state, one, other)
    log_ratio = (
        log_marginal(family, state.sums, merged, state.sizes[one] + state.sizes[other])
        - log_marginal(family, state.sums, one, state.sizes[one])
        - log_marginal(family, state.sums, other, state.sizes[other])
        - _log_prior_ratio(state, prior, state.sizes[one], state.sizes[other], state.counters[0] - 1)
        + log_proposal
    )
    if _accepted(log_ratio, generator):
        become_one(family, state, first, second, count)
        return True
    return False


@compiled
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_points = len(state.slot_of)
    first = int(generator.random() * num_points)
    second = int(generator.random() * (num_points - 1))
    if second >= first:
        second += 1
    if state.slot_of[first] == state.slot_of[second]:
        move.counts[SPLITS_PROPOSED] += 1
        if _split(move, family, state, prior, generator, first, second):
            move.counts[SPLITS_ACCEPTED] += 1
    else:
        move.counts[MERGES_PROPOSED] += 1
        if _merge(move, family, state, prior, generator, first, second):
            move.counts[MERGES_ACCEPTED] += 1


@compiled
def run_proposals(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Make the proposals of ``move.repeats`` steps, each of which ends with a draw of the concentration."""
    for _ in range(move.repeats):
        for _ in range(move.proposals):
            _propose(move, family, state, prior, generator)
        draw_concentration(state, prior, generator)
        state.counters[1] += 1
        if state.counters[1] >= REBUILD_EVERY:
            rebuild(family, state)
