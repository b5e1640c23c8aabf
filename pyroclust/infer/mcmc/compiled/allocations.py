"""The compiled allocations of a split: restricted Gibbs sampling, and sequential allocation.

The launch state of restricted Gibbs (Jain and Neal) comes from nothing but the union of both clusters and the
anchors: points join the sides one after the other, then some scans draw each side given all others. The last
scan alone counts as proposal, so that its probability is a product of conditionals. Jain and Neal throw the
points to random sides at first; where clusters overlap, a few scans do not part them from there, and hardly a
split is accepted.
"""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.compiling import lean
from pyroclust.distributions.compiled.protocol import (
    implements,
    log_predictive,
    log_predictive_without,
)
from pyroclust.infer.mcmc.compiled.proposals import (
    UNDECIDED,
    allocate,
    draw_side,
    home_side,
    propose,
    put,
    take,
)
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)

__all__ = ["RestrictedGibbs", "SequentialAllocation", "allocate_in_turn", "shuffle"]


class SequentialAllocation(NamedTuple):
    """Split and merge clusters by sequential allocation in random order.

    Attributes:
        proposals: splits or merges proposed a step.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    proposals: int
    counts: np.ndarray


@lean
def shuffle(state: Any, generator: Any, count: int) -> None:
    """Bring the listed points into random order."""
    for k in range(count - 1, 0, -1):
        other = int(generator.random() * (k + 1))
        state.members[k], state.members[other] = state.members[other], state.members[k]


@lean
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


@lean
def allocate_in_turn(family: Any, state: Any, prior: Any, generator: Any, count: int, home: int) -> float:
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


@implements(allocate, SequentialAllocation)
def _allocate(move: Any, family: Any, state: Any, prior: Any, generator: Any, count: Any, home: Any) -> float:
    return allocate_in_turn(family, state, prior, generator, count, home)


@step_of(SequentialAllocation)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for _ in range(move.proposals):
        propose(move, family, state, prior, generator)


class RestrictedGibbs(NamedTuple):
    """Split and merge clusters by restricted Gibbs sampling.

    Attributes:
        scans: scans that lead to the launch state.
        proposals: splits or merges proposed a step.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    scans: int
    proposals: int
    counts: np.ndarray


@lean
def _log_odds_of_staying(family: Any, state: Any, prior: Any, point: int, own: int, other: int) -> float:
    inside, outside = state.sizes[own], state.sizes[other]
    stay = prior.log_join[inside - 1] + log_predictive_without(family, point, own, inside)
    return stay - prior.log_join[outside] - log_predictive(family, point, other, outside)


@lean
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


@implements(allocate, RestrictedGibbs)
def _allocate_restricted(
    move: Any, family: Any, state: Any, prior: Any, generator: Any, count: Any, home: Any
) -> float:
    log_prob = allocate_in_turn(family, state, prior, generator, count, UNDECIDED)
    for scan in range(move.scans + 1):
        log_prob = _scan(family, state, prior, generator, count, home if scan == move.scans else UNDECIDED)
    return log_prob


@step_of(RestrictedGibbs)
def _step_restricted(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for _ in range(move.proposals):
        propose(move, family, state, prior, generator)
