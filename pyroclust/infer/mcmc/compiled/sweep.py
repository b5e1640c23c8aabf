"""The compiled Gibbs sweep over the partition of a conjugate mixture: Neal's Algorithm 3.

Points are visited in the order of the data in every sweep: each visit leaves the posterior unchanged, so does
their composition, and a fixed order costs no random numbers. A point that stays in its cluster changes
nothing; its predictive under the cluster without it comes from the cached posterior in closed form.
"""

from typing import Any, NamedTuple

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE, draw_index
from pyroclust.distributions.compiled.protocol import (
    add_log_predictives,
    log_predictive_without,
)
from pyroclust.infer.mcmc.compiled.chain import move_point
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)

__all__ = ["GibbsSweep"]


class GibbsSweep(NamedTuple):
    """Visit every point and draw its cluster given all others."""


@inner
def _fill_weights(family: Any, state: Any, prior: Any, point: int) -> tuple[int, float]:
    """Write the log weights of a point's choices: exactly, or below :data:`NEGLIGIBLE` where they are."""
    num_active, own = state.counters[0], state.slot_of[point]
    alone = state.sizes[own] == 1
    log_new = state.log_alone[point] + log_open(prior, num_active - (1 if alone else 0))
    # The point's own cluster is likely to be best: beside it the others are seen to be hopeless early.
    log_own = log_new
    if not alone:
        size = state.sizes[own]
        log_own = prior.log_join[size - 1] + log_predictive_without(family, point, own, size)
    best = max(log_new, log_own)
    for j in range(num_active):
        state.weights[j] = prior.log_join[state.sizes[state.active[j]]]
    add_log_predictives(
        family, point, state.active, state.sizes, num_active, own, best + NEGLIGIBLE, state.weights
    )
    for j in range(num_active):
        if state.active[j] == own:
            state.weights[j] = log_own
        best = max(best, state.weights[j])
    if alone:
        return num_active, best
    state.weights[num_active] = log_new
    return num_active + 1, best


@step_of(GibbsSweep)
def _sweep(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for i in range(len(state.slot_of)):
        if state.sizes[state.slot_of[i]] == 1 and state.counters[0] == prior.fewest:
            continue
        count, best = _fill_weights(family, state, prior, i)
        chosen = state.active[draw_index(state.weights, count, best, generator.random())]
        if chosen != state.slot_of[i]:
            move_point(family, state, i, chosen)
