"""Compiled updates of hyperparameters: by slices, of a concentration, and together with the partition."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyro.distributions
import torch.distributions as dist
from torch.distributions import Distribution

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE
from pyroclust.distributions.compiled.protocol import add_log_predictives, log_predictive
from pyroclust.infer.mcmc.compiled.chain import (
    follow_hyperparameters,
    join,
    log_likelihood,
    recompute,
    step_of,
    weigh_alone,
)
from pyroclust.infer.mcmc.compiled.prior_tables import (
    CONCENTRATION,
    NUM_COMPONENTS,
    NUM_OF_PRIOR,
    draw_components,
    log_open,
    log_prior_of_partition,
    set_weight,
    tabulate_prior,
)
from pyroclust.infer.mcmc.compiled.proposals import ACCEPTED, PROPOSED, UNDECIDED, shuffle
from pyroclust.infer.mcmc.compiled.sweep import accepted

_GAMMA, _INVERSE_GAMMA, _LOG_NORMAL, _HALF_NORMAL, _HALF_CAUCHY, _F, _BETA, _UNIFORM, _NORMAL = range(9)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
Code = tuple[int, float, float]


# Kind and parameters of a prior density by the class of the distribution.
_DENSITIES: dict[type[Distribution], Callable[[Any], tuple[int, Any, Any]]] = {
    dist.Gamma: lambda prior: (_GAMMA, prior.concentration, prior.rate),
    dist.Exponential: lambda prior: (_GAMMA, 1.0, prior.rate),
    dist.InverseGamma: lambda prior: (_INVERSE_GAMMA, prior.base_dist.concentration, prior.base_dist.rate),
    dist.LogNormal: lambda prior: (_LOG_NORMAL, prior.loc, prior.scale),
    dist.HalfNormal: lambda prior: (_HALF_NORMAL, prior.scale, 0.0),
    dist.HalfCauchy: lambda prior: (_HALF_CAUCHY, prior.scale, 0.0),
    dist.FisherSnedecor: lambda prior: (_F, prior.df1, prior.df2),
    dist.Beta: lambda prior: (_BETA, prior.concentration1, prior.concentration0),
    dist.Uniform: lambda prior: (_UNIFORM, prior.low, prior.high),
    dist.Normal: lambda prior: (_NORMAL, prior.loc, prior.scale),
}
_DENSITIES[pyro.distributions.InverseGamma] = _DENSITIES[dist.InverseGamma]


def density_code(prior: Distribution) -> Code:
    """Return the kind and the two parameters of a prior density."""
    for law in type(prior).__mro__:
        if law in _DENSITIES:
            kind, first, second = _DENSITIES[law](prior)
            return kind, float(first), float(second)
    names = ", ".join(sorted({one.__name__ for one in _DENSITIES}))
    raise ValueError(
        f"a hyperparameter has the prior {type(prior).__name__}, expected one of {names}: "
        "choose the nearest of these"
    )


@compiled(allocates=False)
def log_density(kind: int, first: float, second: float, value: float) -> float:
    """Return the normalised log density of a hyperparameter."""
    if kind == _GAMMA:
        return (
            first * math.log(second) - math.lgamma(first) + (first - 1.0) * math.log(value) - second * value
        )
    if kind == _INVERSE_GAMMA:
        return (
            first * math.log(second) - math.lgamma(first) - (first + 1.0) * math.log(value) - second / value
        )
    if kind == _LOG_NORMAL:
        log_value = math.log(value)
        return -0.5 * ((log_value - first) / second) ** 2 - math.log(second) - _HALF_LOG_2PI - log_value
    if kind == _HALF_NORMAL:
        return -0.5 * (value / first) ** 2 - math.log(first) - _HALF_LOG_2PI + math.log(2.0)
    if kind == _HALF_CAUCHY:
        return math.log(2.0 / (math.pi * first)) - math.log1p((value / first) ** 2)
    if kind == _F:
        half, other = 0.5 * first, 0.5 * second
        norm = math.lgamma(half + other) - math.lgamma(half) - math.lgamma(other)
        ratio = first / second
        total = half * math.log(ratio) + (half - 1.0) * math.log(value)
        return norm + total - (half + other) * math.log1p(ratio * value)
    if kind == _BETA:
        norm = math.lgamma(first + second) - math.lgamma(first) - math.lgamma(second)
        return norm + (first - 1.0) * math.log(value) + (second - 1.0) * math.log1p(-value)
    if kind == _UNIFORM:
        return -math.log(second - first)
    return -0.5 * ((value - first) / second) ** 2 - math.log(second) - _HALF_LOG_2PI


@inner
def _bounds(kind: int, first: float, second: float) -> tuple[float, float]:
    return (first, second) if kind == _UNIFORM else (0.0, 1.0)


@compiled(allocates=False)
def to_real(kind: int, first: float, second: float, value: float) -> float:
    """Map a hyperparameter to the real line: logarithm, logit, or nothing."""
    if kind <= _F:
        return math.log(value)
    if kind == _NORMAL:
        return value
    low, high = _bounds(kind, first, second)
    return math.log((value - low) / (high - value))


@compiled(allocates=False)
def from_real(kind: int, first: float, second: float, real: float) -> float:
    """Map a real number to the range of a hyperparameter."""
    if kind <= _F:
        return math.exp(real)
    if kind == _NORMAL:
        return real
    low, high = _bounds(kind, first, second)
    return low + (high - low) / (1.0 + math.exp(-real))


@compiled(allocates=False)
def log_jacobian(kind: int, first: float, second: float, real: float) -> float:
    """Return the log derivative of :func:`from_real`."""
    if kind <= _F:
        return real
    if kind == _NORMAL:
        return 0.0
    low, high = _bounds(kind, first, second)
    return math.log(high - low) - abs(real) - 2.0 * math.log1p(math.exp(-abs(real)))


_TINY = 1e-300


class DrawConcentration(NamedTuple):
    """Draw the concentration of a Chinese restaurant process given the partition, where it has a Gamma prior.

    References:
        Escobar and West (1995), section 6. https://doi.org/10.1080/01621459.1995.10476550
    """


@step_of(DrawConcentration)
def _draw_concentration(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    shape = prior.gamma_shape + state.counters[0]
    num_points = float(len(prior.log_join) - 1)
    # A beta number by numpy's own way, which numba would compile with all others that there are.
    one, other = (
        generator.standard_gamma(prior.hyper[CONCENTRATION] + 1.0),
        generator.standard_gamma(num_points),
    )
    rate = prior.gamma_rate - math.log(max(one / (one + other), _TINY))
    if generator.random() * (shape - 1.0 + num_points * rate) >= shape - 1.0:
        shape -= 1.0
    prior.hyper[CONCENTRATION] = max(generator.standard_gamma(shape) / rate, _TINY)
    prior.filled[0] = 0


class DrawComponents(NamedTuple):
    """Draw the number of components given the partition, where it is drawn, in a slice of its law.

    References:
        Neal (2003), Slice sampling. https://doi.org/10.1214/aos/1056562461
    """


@step_of(DrawComponents)
def _draw_components(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    present = prior.log_components[int(prior.hyper[NUM_COMPONENTS])]
    draw_components(state, prior, present + math.log(1.0 - generator.random()), generator)


# In place of undecided, where points go back to the clusters that they come from.
_HOME = 0
# A slice that so many steps have not bracketed is sampled within the bracket there is, which is exact too.
_STEPS_OUT = 20
_MAX_SHRINKS = 200


class SliceUpdate(NamedTuple):
    """Draw hyperparameters one after the other given the partition.

    Attributes:
        places: those of :func:`hyper_places`, ``(H,)``.
        kind: kinds of their prior densities, ``(H,)``.
        parameters: parameters of these densities, ``(H, 2)``.
        width: first width of the slice on the unconstrained scale.
    """

    places: np.ndarray
    kind: np.ndarray
    parameters: np.ndarray
    width: float


@inner
def _set_value(family: Any, prior: Any, place: int, value: float) -> None:
    if place < NUM_OF_PRIOR:
        prior.hyper[place] = value
        set_weight(prior)
    else:
        family.hyper[place - NUM_OF_PRIOR] = value


@inner
def _log_target(move: Any, h: int, real: float, family: Any, state: Any, prior: Any) -> float:
    """Set hyperparameter h to a value on the unconstrained scale and return its log density there."""
    kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
    value = from_real(kind, first, second, real)
    log_prior = log_density(kind, first, second, value) + log_jacobian(kind, first, second, real)
    if not math.isfinite(log_prior):
        return -np.inf
    _set_value(family, prior, move.places[h], value)
    if move.places[h] < NUM_OF_PRIOR:
        return log_prior + log_prior_of_partition(state, prior)
    return log_prior + log_likelihood(family, state)


@inner
def _slice_one(move: Any, h: int, family: Any, state: Any, prior: Any, generator: Any) -> None:
    place = move.places[h]
    kind, first, second = move.kind[h], move.parameters[h, 0], move.parameters[h, 1]
    start = prior.hyper[place] if place < NUM_OF_PRIOR else family.hyper[place - NUM_OF_PRIOR]
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
    _set_value(family, prior, place, value)


@step_of(SliceUpdate)
def _slice(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    of_prior, of_family = False, False
    for h in range(len(move.places)):
        _slice_one(move, h, family, state, prior, generator)
        of_prior = of_prior or move.places[h] < NUM_OF_PRIOR
        of_family = of_family or move.places[h] >= NUM_OF_PRIOR
    if of_prior:
        tabulate_prior(prior)
    if of_family:
        follow_hyperparameters(family, state)


class Reallocation(NamedTuple):
    r"""Propose another value of a hyperparameter of the family and allocate all points anew under it.

    Points come in random order, the same both ways. Under a small scale they may open as many clusters as
    there are points, at a cost of the square of their number: more than :math:`K / \sqrt{u}`, u uniform, end
    the proposal. Its law has the density :math:`2 K^2 / b^3` from K on.

    Beside the fields of :class:`SliceUpdate`, ``width`` the farthest that it goes, it has the chance that a
    step proposes at all, and counts of what was proposed and accepted, ``(2,)``.
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
def _draw_place(weights: np.ndarray, count: int, wanted: int, generator: Any) -> tuple[int, float]:
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
        chosen, log_prob = _draw_place(state.weights, num_active + 1, wanted, generator)
        total += log_prob
        if chosen + 1 > bound:
            return -math.inf
        state.slot_of[point] = state.active[chosen]
        join(family, state, point, state.active[chosen])
    return total


@inner
def _go_home(state: Any) -> None:
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
def _reallocate(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    if generator.random() >= move.share:
        return
    move.counts[PROPOSED] += 1
    num_slots, before = len(state.active), state.counters[0]
    weigh_alone(family, state)
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
