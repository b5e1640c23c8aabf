"""Compiled Gibbs sweeps over the partition of a conjugate mixture: Neal's Algorithm 3.

Points are visited in the order of the data in every sweep: each visit leaves the posterior unchanged, so does
their composition, and a fixed order costs no random numbers. A point that stays in its cluster changes
nothing; its predictive under the cluster without it comes from the cached posterior in closed form.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from pyroclust.infer.mcmc.protocol import (
    SWEEP_OPTIONS,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
)

__all__ = ["NUM_COUNTERS", "REBUILD_EVERY", "rebuild", "run_sweeps"]

NUM_COUNTERS = 2
# Sweeps between two rebuilds of the running sums; at 2e-16 a move the drift stays below 1e-12 of the sums.
REBUILD_EVERY = 100
# exp(-40) is below half a unit in the last place of the sum it would enter.
_NEGLIGIBLE = -40.0

_compiled = njit(cache=True, nogil=True, **SWEEP_OPTIONS)


@_compiled
def rebuild(family: Any, state: Any) -> None:
    """Sum the moments of every cluster from scratch and refresh its cache."""
    num_active = state.counters[0]
    for j in range(num_active):
        state.sums[state.active[j], :] = 0.0
    for i in range(len(state.slot_of)):
        _accumulate(state, i, state.slot_of[i], 1.0)
    for j in range(num_active):
        refresh(family, state.sums, state.active[j], state.sizes[state.active[j]])
    state.counters[1] = 0


@_compiled
def _accumulate(state: Any, point: int, slot: int, sign: float) -> None:
    for f in range(state.moments.shape[1]):
        state.sums[slot, f] += sign * state.moments[point, f]


@_compiled
def _fill_weights(family: Any, state: Any, prior: Any, point: int) -> tuple[int, float]:
    num_active, own = state.counters[0], state.slot_of[point]
    alone = state.sizes[own] == 1
    log_new = (
        state.log_concentration[0] + state.log_alone[point] + prior.log_new[num_active - (1 if alone else 0)]
    )
    best = -np.inf
    for j in range(num_active):
        slot = state.active[j]
        size = state.sizes[slot]
        if slot != own:
            weight = prior.log_size[size] + log_predictive(family, point, slot, size)
        elif alone:
            weight = log_new
        else:
            weight = prior.log_size[size - 1] + log_predictive_without(family, point, slot, size)
        state.weights[j] = weight
        best = max(best, weight)
    if alone:
        return num_active, best
    state.weights[num_active] = log_new
    return num_active + 1, max(best, log_new)


@_compiled
def _draw(weights: np.ndarray, count: int, best: float, uniform: float) -> int:
    total = 0.0
    for j in range(count):
        difference = weights[j] - best
        if difference > _NEGLIGIBLE:
            total += math.exp(difference)
        weights[j] = total
    target = uniform * total
    chosen = 0
    while chosen < count - 1 and weights[chosen] <= target:
        chosen += 1
    return chosen


@_compiled
def _leave(family: Any, state: Any, point: int, slot: int) -> None:
    state.sizes[slot] -= 1
    if state.sizes[slot] > 0:
        _accumulate(state, point, slot, -1.0)
        refresh(family, state.sums, slot, state.sizes[slot])
        return
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            break


@_compiled
def _join(family: Any, state: Any, point: int, slot: int) -> None:
    if state.sizes[slot] == 0:
        state.sums[slot, :] = 0.0
        state.counters[0] += 1
    state.sizes[slot] += 1
    _accumulate(state, point, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@_compiled
def _visit_points(family: Any, state: Any, prior: Any, generator: Any) -> None:
    for i in range(len(state.slot_of)):
        count, best = _fill_weights(family, state, prior, i)
        own = state.slot_of[i]
        chosen = state.active[_draw(state.weights, count, best, generator.random())]
        if chosen != own:
            # Joining first: leaving may reorder the active slots, and a new one is the next after them.
            _join(family, state, i, chosen)
            _leave(family, state, i, own)
            state.slot_of[i] = chosen


@_compiled
def _draw_log_concentration(state: Any, prior: Any, generator: Any) -> None:
    shape = prior.gamma_shape + state.counters[0]
    num_points = float(len(state.slot_of))
    eta = generator.beta(math.exp(state.log_concentration[0]) + 1.0, num_points)
    rate = prior.gamma_rate - math.log(max(eta, 1e-300))
    if generator.random() * (shape - 1.0 + num_points * rate) >= shape - 1.0:
        shape -= 1.0
    state.log_concentration[0] = math.log(max(generator.standard_gamma(shape), 1e-300)) - math.log(rate)


@_compiled
def _record(family: Any, state: Any, prior: Any, assignments: np.ndarray) -> float:
    num_active = state.counters[0]
    log_joint = prior.log_v[num_active]
    for j in range(num_active):
        slot = state.active[j]
        size = state.sizes[slot]
        log_joint += prior.log_gamma[size] + log_marginal(family, state.sums, slot, size)
        state.weights[slot] = -1.0
    following = 0
    for i in range(len(assignments)):
        slot = state.slot_of[i]
        if state.weights[slot] < 0.0:
            state.weights[slot] = following
            following += 1
        assignments[i] = int(state.weights[slot])
    return log_joint


@_compiled
def run_sweeps(
    family: Any,
    state: Any,
    prior: Any,
    generator: Any,
    thin: int,
    assignments: np.ndarray,
    log_joint: np.ndarray,
    concentration: np.ndarray,
) -> None:
    """Advance a chain by ``thin`` sweeps a draw and write the draws, releasing Python's lock.

    A sweep visits every point and then, where the concentration is random, draws it given the number of
    clusters (Escobar and West 1995, section 6).

    Args:
        family: tables and caches of the component family.
        state: state of the chain, changed in place.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        thin: sweeps a draw.
        assignments: output, ``(draws, N)`` int64, canonical.
        log_joint: output, ``(draws,)``, in nats, the concentration integrated out.
        concentration: output, ``(draws,)``, or no entries where the concentration is not sampled.

    References:
        Neal (2000). https://doi.org/10.1080/10618600.2000.10474879
        Escobar and West (1995). https://doi.org/10.1080/01621459.1995.10476550
    """
    for draw in range(len(log_joint)):
        for _ in range(thin):
            _visit_points(family, state, prior, generator)
            if prior.gamma_shape > 0:
                _draw_log_concentration(state, prior, generator)
            state.counters[1] += 1
            if state.counters[1] >= REBUILD_EVERY:
                rebuild(family, state)
        log_joint[draw] = _record(family, state, prior, assignments[draw])
        if len(concentration) > 0:
            concentration[draw] = math.exp(state.log_concentration[0])
