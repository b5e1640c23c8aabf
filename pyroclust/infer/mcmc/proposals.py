r"""Compiled Metropolis-Hastings proposals that split one cluster or merge two.

Two anchors are drawn uniformly. If they share a cluster, its other points are allocated to two new clusters
around the anchors, with probability q; otherwise their two clusters are proposed to become one, and q is the
probability of allocating the points back as they were. How points are allocated is up to the move:
:func:`allocate`.
"""

import math
from typing import Any

from pyroclust.infer.mcmc.clusters import rebuild
from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.concentration import draw_concentration
from pyroclust.infer.mcmc.prior_tables import log_open
from pyroclust.infer.mcmc.protocol import log_marginal
from pyroclust.infer.mcmc.sweep import REBUILD_EVERY
from pyroclust.infer.mcmc.two_clusters import (
    UNDECIDED,
    add_sums,
    become_one,
    become_two,
    discard,
    list_members,
    open_sides,
)

__all__ = [
    "ACCEPTED",
    "MERGES",
    "PROPOSED",
    "SPLITS",
    "allocate",
    "run_proposals",
]

# Rows and columns of the counts that moves keep.
SPLITS, MERGES = 0, 1
PROPOSED, ACCEPTED = 0, 1


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


@lean
def _log_ratio(family: Any, state: Any, prior: Any, one: int, other: int, whole: int, count: int) -> float:
    """Return the log joint density of two clusters less that of their union, one of ``count`` clusters."""
    size, more = state.sizes[one], state.sizes[other]
    total = log_open(prior, count)
    total += prior.log_weight[size] + prior.log_weight[more] - prior.log_weight[size + more]
    total += log_marginal(family, state.sums, one, size) + log_marginal(family, state.sums, other, more)
    return total - log_marginal(family, state.sums, whole, size + more)


@lean
def _accepted(log_ratio: float, generator: Any) -> bool:
    return math.log(1.0 - generator.random()) < log_ratio


@lean
def _draw_pair(num_points: int, generator: Any) -> tuple[int, int]:
    first = int(generator.random() * num_points)
    second = int(generator.random() * (num_points - 1))
    return first, second + 1 if second >= first else second


@lean
def _propose(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    first, second = _draw_pair(len(state.slot_of), generator)
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
    log_ratio = _log_ratio(family, state, prior, one, other, whole, before) - log_proposal
    accepted = _accepted(log_ratio if splits else -log_ratio, generator)
    if accepted:
        move.counts[kind, ACCEPTED] += 1
    if accepted and splits:
        become_two(state, first, second, count)
        return
    discard(state)
    if accepted:
        become_one(family, state, first, second, count)


@lean
def run_proposals(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Make the proposals of ``move.repeats`` steps, each of which ends with a draw of the concentration."""
    for _ in range(move.repeats):
        for _ in range(move.proposals):
            _propose(move, family, state, prior, generator)
        draw_concentration(state, prior, generator)
        state.counters[1] += 1
        if state.counters[1] >= REBUILD_EVERY:
            rebuild(family, state)
