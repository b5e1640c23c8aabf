"""The compiled allocation of Jain and Neal's split-merge: restricted Gibbs sampling from a launch state.

The launch state comes from nothing but the union of both clusters and the anchors: points join the sides one
after the other, then some scans draw each side given all others. The last scan alone counts as proposal, so
that its probability is a product of conditionals. Jain and Neal throw the points to random sides at first;
where clusters overlap, a few scans do not part them from there, and hardly a split is accepted.
"""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.proposals import allocate, run_proposals
from pyroclust.infer.mcmc.protocol import (
    implements,
    log_predictive,
    log_predictive_without,
    step,
)
from pyroclust.infer.mcmc.sequential_allocation import allocate_in_turn
from pyroclust.infer.mcmc.two_clusters import UNDECIDED, draw_side, home_side, put, take

__all__ = ["RestrictedGibbs"]


class RestrictedGibbs(NamedTuple):
    """Split and merge clusters by restricted Gibbs sampling.

    Attributes:
        scans: scans that lead to the launch state.
        proposals: splits or merges proposed a step.
        repeats: steps.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    scans: int
    proposals: int
    repeats: int
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
def _allocate(move: Any, family: Any, state: Any, prior: Any, generator: Any, count: Any, home: Any) -> float:
    log_prob = allocate_in_turn(family, state, prior, generator, count, UNDECIDED)
    for scan in range(move.scans + 1):
        log_prob = _scan(family, state, prior, generator, count, home if scan == move.scans else UNDECIDED)
    return log_prob


@implements(step, RestrictedGibbs)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    run_proposals(move, family, state, prior, generator)
