"""The compiled slice sampler of hyperparameters."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from pyroclust.infer.mcmc.clusters import log_likelihood, recompute
from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.densities import from_real, log_density, log_jacobian, to_real
from pyroclust.infer.mcmc.prior_tables import CONCENTRATION, DISCOUNT, tabulate_prior
from pyroclust.infer.mcmc.protocol import LEAN_OPTIONS, is_tuple_of, step

__all__ = ["SliceUpdate"]

# A slice that so many steps have not bracketed is sampled within the bracket there is, which is exact too.
_STEPS_OUT = 20
_MAX_SHRINKS = 200


class SliceUpdate(NamedTuple):
    """Draw hyperparameters one after the other given the partition.

    Attributes:
        places: 0 and 1 are discount and concentration, 2 + h the family's, ``(H,)``.
        kind: kinds of their prior densities, ``(H,)``.
        parameters: parameters of these densities, ``(H, 2)``.
        width: first width of the slice on the unconstrained scale.
        repeats: rounds over all hyperparameters a step.
    """

    places: np.ndarray
    kind: np.ndarray
    parameters: np.ndarray
    width: float
    repeats: int


@lean
def log_prior_of_partition(state: Any, prior: Any) -> float:
    """Return the log-probability of the partition under the prior with ``prior.hyper``, in O(K)."""
    discount, concentration = prior.hyper[DISCOUNT], prior.hyper[CONCENTRATION]
    num_points, num_active = len(state.slot_of), state.counters[0]
    total = math.lgamma(concentration + 1.0) - math.lgamma(concentration + num_points)
    total -= num_active * math.lgamma(1.0 - discount)
    for j in range(num_active):
        if j > 0:
            total += math.log(concentration + j * discount)
        total += math.lgamma(state.sizes[state.active[j]] - discount)
    return total


@lean
def _log_target(move: Any, h: int, real: float, family: Any, state: Any, prior: Any) -> float:
    """Set hyperparameter h to a value on the unconstrained scale and return its log density there."""
    kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
    value = from_real(kind, first, second, real)
    log_prior = log_density(kind, first, second, value) + log_jacobian(kind, first, second, real)
    if not math.isfinite(log_prior):
        return -np.inf
    place = move.places[h]
    if place < 2:
        prior.hyper[place] = value
        return log_prior + log_prior_of_partition(state, prior)
    family.hyper[place - 2] = value
    return log_prior + log_likelihood(family, state)


@lean
def _slice_one(move: Any, h: int, family: Any, state: Any, prior: Any, generator: Any) -> None:
    place = move.places[h]
    kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
    start = prior.hyper[place] if place < 2 else family.hyper[place - 2]
    origin = to_real(kind, first, second, start)
    level = _log_target(move, h, origin, family, state, prior) + math.log(1.0 - generator.random())
    low = origin - move.width * generator.random()
    high = low + move.width
    # Neal's limited stepping out: the split of the steps between both sides keeps the move reversible.
    left = int(_STEPS_OUT * generator.random())
    right = _STEPS_OUT - 1 - left
    while left > 0 and _log_target(move, h, low, family, state, prior) > level:
        low -= move.width
        left -= 1
    while right > 0 and _log_target(move, h, high, family, state, prior) > level:
        high += move.width
        right -= 1
    real = origin
    for _ in range(_MAX_SHRINKS):
        candidate = low + (high - low) * generator.random()
        if _log_target(move, h, candidate, family, state, prior) > level:
            real = candidate
            break
        if candidate < origin:
            low = candidate
        else:
            high = candidate
    value = start if real == origin else from_real(kind, first, second, real)
    if place < 2:
        prior.hyper[place] = value
    else:
        family.hyper[place - 2] = value


@overload(step, jit_options=LEAN_OPTIONS)
def _slice(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> Any:
    if not is_tuple_of(move, SliceUpdate):
        return None

    def run(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
        of_prior, of_family = False, False
        for _ in range(move.repeats):
            for h in range(len(move.places)):
                _slice_one(move, h, family, state, prior, generator)
                of_prior = of_prior or move.places[h] < 2
                of_family = of_family or move.places[h] >= 2
        if of_prior:
            tabulate_prior(prior)
        if of_family:
            recompute(family, state)

    return run
