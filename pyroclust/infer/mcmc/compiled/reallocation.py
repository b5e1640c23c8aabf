"""The compiled move that proposes other hyperparameters of a family and, under them, another partition."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE
from pyroclust.distributions.compiled.protocol import add_log_predictives, log_predictive
from pyroclust.infer.mcmc.compiled.chain import join, log_likelihood, recompute, step_of
from pyroclust.infer.mcmc.compiled.hyperparameters import from_real, log_density, log_jacobian, to_real
from pyroclust.infer.mcmc.compiled.prior_tables import NUM_OF_PRIOR, log_open
from pyroclust.infer.mcmc.compiled.proposals import ACCEPTED, PROPOSED, UNDECIDED, shuffle
from pyroclust.infer.mcmc.compiled.sweep import accepted

# In place of undecided, where points go back to the clusters that they come from.
_HOME = 0


class Reallocation(NamedTuple):
    r"""Propose another value of a hyperparameter of the family and allocate all points anew under it.

    Points come in random order, the same both ways. Under a small scale they may open as many clusters as
    there are points, at a cost of the square of their number: more than :math:`K / \sqrt{u}`, u uniform, end
    the proposal. Its law has the density :math:`2 K^2 / b^3` from K on.

    Attributes:
        places: those of :func:`hyper_places`, ``(H,)``.
        kind: kinds of their prior densities, ``(H,)``.
        parameters: parameters of these densities, ``(H, 2)``.
        width: the farthest that it goes on the unconstrained scale.
        share: chance that a step proposes at all.
        counts: proposed and accepted, ``(2,)``, added to.
    """

    places: np.ndarray
    kind: np.ndarray
    parameters: np.ndarray
    width: float
    share: float
    counts: np.ndarray


@inner
def _log_joint(move: Any, family: Any, state: Any, prior: Any) -> float:
    """Return the log density of the data, the partition and the hyperparameters on the real line."""
    total = log_likelihood(family, state)
    for j in range(state.counters[0]):
        total += prior.log_weight[state.sizes[state.active[j]]]
        if j > 0:
            total += log_open(prior, j)
    for h in range(len(move.places)):
        kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
        value = family.hyper[move.places[h] - NUM_OF_PRIOR]
        total += log_density(kind, first, second, value)
        total += log_jacobian(kind, first, second, to_real(kind, first, second, value))
    return total


@inner
def _leave_all(state: Any) -> None:
    for j in range(state.counters[0]):
        state.sizes[state.active[j]] = 0
    state.counters[0] = 0


@inner
def _place_of(state: Any, slot: int) -> int:
    """Return the place of a slot among the active ones; a free slot becomes the next to be opened."""
    place, num_active = 0, state.counters[0]
    while state.active[place] != slot:
        place += 1
    if place <= num_active:
        return place
    state.active[num_active], state.active[place] = slot, state.active[num_active]
    return num_active


@inner
def _draw(weights: np.ndarray, count: int, wanted: int, generator: Any) -> tuple[int, float]:
    """Draw an index from log weights, unless one is wanted, and return it with its log-probability."""
    best, total = -math.inf, 0.0
    for j in range(count):
        best = max(best, weights[j])
    for j in range(count):
        total += math.exp(weights[j] - best)
    chosen = wanted
    if wanted == UNDECIDED:
        chosen, left = 0, generator.random() * total - math.exp(weights[0] - best)
        while left >= 0.0 and chosen < count - 1:
            chosen += 1
            left -= math.exp(weights[chosen] - best)
    return chosen, weights[chosen] - best - math.log(total)


@inner
def _allocate(family: Any, state: Any, prior: Any, generator: Any, home: int, bound: float) -> float:
    """Let the listed points join clusters in turn, or go home; return the log-probability of where they are.

    It is minus infinity where they have opened more clusters than the bound.
    """
    num_slots, total = len(state.active), 0.0
    _leave_all(state)
    for k in range(len(state.members)):
        point, num_active = state.members[k] // num_slots, state.counters[0]
        log_new = state.log_alone[point]
        if num_active > 0:
            log_new += log_open(prior, num_active)
        for j in range(num_active):
            state.weights[j] = prior.log_join[state.sizes[state.active[j]]]
        add_log_predictives(
            family, point, state.active, state.sizes, num_active, -1, log_new + NEGLIGIBLE, state.weights
        )
        state.weights[num_active] = log_new
        wanted = UNDECIDED
        if home != UNDECIDED:
            wanted = _place_of(state, state.members[k] % num_slots)
            if wanted < num_active:
                slot = state.active[wanted]
                size = state.sizes[slot]
                # However small: the others need not be exact where they are negligible.
                state.weights[wanted] = prior.log_join[size] + log_predictive(family, point, slot, size)
        chosen, log_prob = _draw(state.weights, num_active + 1, wanted, generator)
        total += log_prob
        if chosen + 1 > bound:
            return -math.inf
        state.slot_of[point] = state.active[chosen]
        join(family, state, point, state.active[chosen])
    return total


@inner
def _go_home(state: Any) -> None:
    """Put the listed points where they were."""
    num_slots = len(state.active)
    _leave_all(state)
    for k in range(len(state.members)):
        home = state.members[k] % num_slots
        state.slot_of[state.members[k] // num_slots] = home
        state.sizes[home] += 1
    for j in range(num_slots):
        slot = state.active[j]
        if state.sizes[slot] > 0:
            state.active[j], state.active[state.counters[0]] = state.active[state.counters[0]], slot
            state.counters[0] += 1


@step_of(Reallocation)
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    if generator.random() >= move.share:
        return
    move.counts[PROPOSED] += 1
    num_slots, before = len(state.active), state.counters[0]
    for i in range(len(state.slot_of)):
        state.members[i] = i * num_slots + state.slot_of[i]
    shuffle(state, generator, len(state.slot_of))
    log_ratio = -_log_joint(move, family, state, prior)
    log_ratio += _allocate(family, state, prior, generator, _HOME, math.inf)
    bound = before / math.sqrt(1.0 - generator.random())
    h = int(generator.random() * len(move.places))
    kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
    place = move.places[h] - NUM_OF_PRIOR
    value = family.hyper[place]
    step = move.width * generator.random() * (2.0 * generator.random() - 1.0)
    family.hyper[place] = from_real(kind, first, second, to_real(kind, first, second, value) + step)
    _leave_all(state)
    recompute(family, state)
    log_ratio -= _allocate(family, state, prior, generator, UNDECIDED, bound)
    if log_ratio < math.inf:
        log_ratio += _log_joint(move, family, state, prior)
        log_ratio += 2.0 * math.log(state.counters[0] / before)
        if accepted(log_ratio, generator):
            move.counts[ACCEPTED] += 1
            return
    family.hyper[place] = value
    _go_home(state)
    recompute(family, state)
