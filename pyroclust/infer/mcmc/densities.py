"""Prior densities of single hyperparameters, as compiled code knows them."""

import math
from functools import singledispatch

import pyro.distributions
import torch.distributions as dist
from torch.distributions import Distribution

from pyroclust.infer.mcmc.compiling import lean

__all__ = ["density_code", "from_real", "log_density", "log_jacobian", "to_real"]

_GAMMA, _INVERSE_GAMMA, _LOG_NORMAL, _HALF_NORMAL, _HALF_CAUCHY, _BETA, _UNIFORM, _NORMAL = range(8)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

Code = tuple[int, float, float]


@singledispatch
def density_code(prior: Distribution) -> Code:
    """Return the kind and the two parameters of a prior density.

    Raises:
        ValueError: if compiled code does not know the distribution.

    Example:
        >>> density_code(pyro.distributions.Gamma(2.0, 4.0))
        (0, 2.0, 4.0)
    """
    known = sorted({one.__name__ for one in density_code.registry if one is not object})
    raise ValueError(
        f"a hyperparameter has the prior {type(prior).__name__}, expected one of {', '.join(known)}: "
        "choose the nearest of these"
    )


@density_code.register
def _(prior: dist.Gamma) -> Code:
    return _GAMMA, float(prior.concentration), float(prior.rate)


@density_code.register
def _(prior: dist.Exponential) -> Code:
    return _GAMMA, 1.0, float(prior.rate)


@density_code.register
def _(prior: dist.InverseGamma | pyro.distributions.InverseGamma) -> Code:
    base = prior.base_dist
    return _INVERSE_GAMMA, float(base.concentration), float(base.rate)


@density_code.register
def _(prior: dist.LogNormal) -> Code:
    return _LOG_NORMAL, float(prior.loc), float(prior.scale)


@density_code.register
def _(prior: dist.HalfNormal) -> Code:
    return _HALF_NORMAL, float(prior.scale), 0.0


@density_code.register
def _(prior: dist.HalfCauchy) -> Code:
    return _HALF_CAUCHY, float(prior.scale), 0.0


@density_code.register
def _(prior: dist.Beta) -> Code:
    return _BETA, float(prior.concentration1), float(prior.concentration0)


@density_code.register
def _(prior: dist.Uniform) -> Code:
    return _UNIFORM, float(prior.low), float(prior.high)


@density_code.register
def _(prior: dist.Normal) -> Code:
    return _NORMAL, float(prior.loc), float(prior.scale)


@lean
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
    if kind == _BETA:
        norm = math.lgamma(first + second) - math.lgamma(first) - math.lgamma(second)
        return norm + (first - 1.0) * math.log(value) + (second - 1.0) * math.log1p(-value)
    if kind == _UNIFORM:
        return -math.log(second - first)
    return -0.5 * ((value - first) / second) ** 2 - math.log(second) - _HALF_LOG_2PI


@lean
def _bounds(kind: int, first: float, second: float) -> tuple[float, float]:
    return (first, second) if kind == _UNIFORM else (0.0, 1.0)


@lean
def to_real(kind: int, first: float, second: float, value: float) -> float:
    """Map a hyperparameter to the real line: logarithm, logit, or nothing."""
    if kind <= _HALF_CAUCHY:
        return math.log(value)
    if kind == _NORMAL:
        return value
    low, high = _bounds(kind, first, second)
    return math.log((value - low) / (high - value))


@lean
def from_real(kind: int, first: float, second: float, real: float) -> float:
    """Map a real number to the range of a hyperparameter."""
    if kind <= _HALF_CAUCHY:
        return math.exp(real)
    if kind == _NORMAL:
        return real
    low, high = _bounds(kind, first, second)
    return low + (high - low) / (1.0 + math.exp(-real))


@lean
def log_jacobian(kind: int, first: float, second: float, real: float) -> float:
    """Return the log derivative of :func:`from_real`."""
    if kind <= _HALF_CAUCHY:
        return real
    if kind == _NORMAL:
        return 0.0
    low, high = _bounds(kind, first, second)
    return math.log(high - low) - abs(real) - 2.0 * math.log1p(math.exp(-abs(real)))
