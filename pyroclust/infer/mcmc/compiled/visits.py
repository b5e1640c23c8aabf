"""Compiled visits of some rows, for chains whose other moves neither open clusters nor close them.

In one visit of a row it is hardly ever left alone, since others would have been as good for it. So rows are
proposed to be alone, and clusters of one row to be none: a row in N against one of those that are alone.
"""

import math
from typing import Any, NamedTuple

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import draw_index
from pyroclust.distributions.compiled.protocol import log_predictive
from pyroclust.infer.mcmc.compiled.chain import empty_free_slot, move_row, step_of
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.sweep import accepted, log_without, visit, weigh_others


class SomeVisits(NamedTuple):
    """Visit so many rows after one another, from a random one on, as a Gibbs sweep does."""

    rows: int


class OpenAndClose(NamedTuple):
    """Propose so many times that a row opens a cluster of its own, or that one that is alone joins others."""

    proposals: int


@inner
def _know_alone(family: Any, state: Any, row: int, free: int) -> int:
    """Bring what a row is worth alone up to date; return the free slot if it is that of an empty cluster."""
    if state.counters[2]:
        if free != state.active[state.counters[0]]:
            free = empty_free_slot(family, state)
        state.log_alone[row] = log_predictive(family, row, free, state.sizes[free])
    return free


@step_of(SomeVisits)
def _visit_some(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_rows = len(state.slot_of)
    row, free = int(generator.random() * num_rows), -1
    for _ in range(move.rows):
        free = _know_alone(family, state, row, free)
        visit(family, state, prior, row, generator)
        row = row + 1 if row + 1 < num_rows else 0


@inner
def _list_alone(state: Any) -> int:
    """List the rows that are alone, and return how many there are."""
    count = 0
    for row in range(len(state.slot_of)):
        if state.sizes[state.slot_of[row]] == 1:
            state.members[count] = row
            count += 1
    return count


@inner
def _weigh_joining(family: Any, state: Any, prior: Any, row: int) -> float:
    """Write the log weights of all clusters that others are in for a row; return that of all together."""
    num_active, present, best, total = state.counters[0], state.slot_of[row], -math.inf, 0.0
    if state.sizes[present] > 1:
        best = log_without(family, state, prior, row, present, state.active[num_active + 1])
    own = best
    weigh_others(family, state, prior, row, best)
    for j in range(num_active):
        if state.active[j] == present:
            state.weights[j] = own
        best = max(best, state.weights[j])
    for j in range(num_active):
        total += math.exp(state.weights[j] - best)
    return best + math.log(total)


@inner
def _open_or_close(family: Any, state: Any, prior: Any, generator: Any, row: int, alone: int) -> bool:
    """Propose that a row leaves others, or that one of those that are alone joins some, as they are now."""
    num_active, before = state.counters[0], state.sizes[state.slot_of[row]]
    opened = log_open(prior, num_active if before > 1 else num_active - 1)
    if opened == -math.inf:
        return False
    _know_alone(family, state, row, -1)
    log_ratio = opened + prior.log_weight[1] + state.log_alone[row]
    log_ratio -= _weigh_joining(family, state, prior, row)
    if before > 1:
        # Of a pair both are alone then.
        alone += 2 if before == 2 else 1
    log_ratio += math.log(len(state.slot_of) / alone)
    if not accepted(log_ratio if before > 1 else -log_ratio, generator):
        return False
    slot = state.active[num_active]
    if before == 1:
        best = -math.inf
        for j in range(num_active):
            best = max(best, state.weights[j])
        slot = state.active[draw_index(state.weights, num_active, best, generator.random())]
    move_row(family, state, row, slot)
    return True


@step_of(OpenAndClose)
def _open_and_close(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    alone = _list_alone(state)
    for _ in range(move.proposals):
        row = int(generator.random() * len(state.slot_of))
        if generator.random() < 0.5:
            if state.sizes[state.slot_of[row]] == 1:
                continue
        elif alone == 0 or state.counters[0] == 1:
            continue
        else:
            row = state.members[int(generator.random() * alone)]
        if _open_or_close(family, state, prior, generator, row, alone):
            alone = _list_alone(state)
