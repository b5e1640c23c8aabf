"""The compiled allocation of Dahl's merge-split: points join the two sides one after the other."""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.proposals import allocate, run_proposals
from pyroclust.infer.mcmc.protocol import implements, log_predictive, step
from pyroclust.infer.mcmc.two_clusters import draw_side, home_side, put

__all__ = ["SequentialAllocation", "allocate_in_turn"]


class SequentialAllocation(NamedTuple):
    """Split and merge clusters by sequential allocation in random order.

    Attributes:
        proposals: splits or merges proposed a step.
        repeats: steps.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    proposals: int
    repeats: int
    counts: np.ndarray


@lean
def _shuffle(state: Any, generator: Any, count: int) -> None:
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
    _shuffle(state, generator, count)
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


@implements(step, SequentialAllocation)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    run_proposals(move, family, state, prior, generator)
