"""Compiled updates of hyperparameters: prior densities, slice sampling, and the draw of a concentration."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyro.distributions
import torch.distributions as dist
from torch.distributions import Distribution

from pyroclust.core.compiling import compiled, inner
from pyroclust.infer.mcmc.compiled.chain import log_likelihood, recompute, step_of
from pyroclust.infer.mcmc.compiled.prior_tables import (
    CONCENTRATION,
    NUM_COMPONENTS,
    NUM_OF_PRIOR,
    draw_components,
    log_prior_of_partition,
    set_weight,
    tabulate_prior,
)

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
        recompute(family, state)
