"""Compiled functions of the normal whose mean and variance are independent a priori."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import NormalIndependent
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["IndependentNormal", "Nodes", "log_integral", "no_nodes"]

# Nats below the maximum at which the integrand is cut off.
_DEPTH = 25.0
_CHUNK = 64
# exp(-40) is below half a unit in the last place of the sum it would enter.
_NEGLIGIBLE = -40.0
_SQUARINGS = 6
# With Taylor's series to this degree the error stays below 1e-12 of the largest height.
_DEGREE = 7


class Nodes(NamedTuple):
    """Scratch space: some nodes at a time.

    Attributes:
        variance: variances.
        exponent: exponents there.
    """

    variance: np.ndarray
    exponent: np.ndarray


def no_nodes() -> Nodes:
    """Return scratch space."""
    return Nodes(np.zeros(_CHUNK), np.zeros(_CHUNK))


@inner
def _bracket(size: int, shape: float, rate: float, pull: float, spread: float) -> tuple[float, float, float]:
    """Return both ends between which the integrand is worth summing, and the distance of the nodes."""
    below, above = shape + 0.5 * size, shape + 0.5 * (size - 1)
    left, right = _DEPTH / below, _DEPTH / above
    low = math.log(rate / (below * (1.0 + left + math.sqrt(2.0 * left))))
    mode = math.log((rate + pull) / above)
    high = mode + right + math.sqrt(2.0 * right)
    if size == 1:
        # The power alone may be next to nothing; where the variance is above the spread, their sum adds 1/4.
        right = _DEPTH / (above + 0.25)
        high = min(high, max(mode, math.log(spread)) + right + math.sqrt(2.0 * right))
    return low, high, 1.0 / math.sqrt(7.0 + 1.55 * below)


@inner
def _exp_of_negative(exponent: float) -> float:
    """Return exp of a number from -40 to 0 by arithmetic alone, which vector units take many at a time."""
    scaled = exponent / 2.0**_SQUARINGS
    found = 1.0
    for k in range(_DEGREE, 0, -1):
        found = 1.0 + found * scaled / k
    for _ in range(_SQUARINGS):
        found *= found
    return found


@compiled(allocates=False)
def log_integral(nodes: Any, size: int, shape: float, rate: float, pull: float, spread: float) -> float:
    r"""Return the log of an integral over :math:`y = \log \sigma^2` in nats.

    .. math::
        \int \exp\Bigl(-p y - A e^{-y} - \frac{C}{e^y + s}\Bigr) \frac{dy}{\sqrt{e^y + s}}, \qquad
        p = a + \tfrac{n - 1}{2}

    by the trapezoidal rule on the bracket of ``VarianceIntegral``: error below 1e-9, about 50 nodes.

    Args:
        nodes: scratch space.
        size: points n of the cluster, at least one.
        shape: a.
        rate: A.
        pull: C.
        spread: s.
    """
    power, variance, exponent = shape + 0.5 * (size - 1), nodes.variance, nodes.exponent
    low, high, step = _bracket(size, shape, rate, pull, spread)
    left, edge, growth = int((high - low) / step) + 2, math.exp(low), math.exp(step)
    best, total = -np.inf, 0.0
    while left > 0:
        count = min(_CHUNK, left)
        for q in range(count):
            variance[q] = edge
            edge *= growth
        for q in range(count):
            slope = rate / variance[q] + pull / (variance[q] + spread)
            exponent[q] = -power * (low + q * step) - slope
        largest = exponent[0]
        for q in range(count):
            largest = max(largest, exponent[q])
        if largest > best:
            total *= math.exp(best - largest)
            best = largest
        for q in range(count):
            height = _exp_of_negative(max(exponent[q] - best, _NEGLIGIBLE))
            total += height / math.sqrt(variance[q] + spread)
        left -= count
        low += count * step
    return best + math.log(total * step)


_MEAN, _VARIANCE, _SHAPE, _RATE = range(4)
_LOG_2PI = math.log(2.0 * math.pi)


class IndependentNormal(NamedTuple):
    """Sums of clusters around the prior mean, and the log integrals of their columns.

    A candidate costs one quadrature a column: the integral with the point over the cached one without it.
    """

    hyper: np.ndarray
    data: np.ndarray
    nodes: Nodes
    total: np.ndarray
    squares: np.ndarray
    height: np.ndarray


@compile_family.register
def _(component: NormalIndependent, data: np.ndarray, num_slots: int, num_points: int) -> IndependentNormal:
    dim = data.shape[1]
    return IndependentNormal(
        hyper=hyper_array(component),
        data=data,
        nodes=no_nodes(),
        total=np.zeros((num_slots, dim)),
        squares=np.zeros((num_slots, dim)),
        height=np.zeros(num_slots),
    )


@inner
def _log_column(family: Any, size: int, total: float, squares: float) -> float:
    """Return the log integral of a column from sums of x - m and its square."""
    shape, rate, variance = family.hyper[_SHAPE], family.hyper[_RATE], family.hyper[_VARIANCE]
    if size == 0:
        return math.lgamma(shape) - shape * math.log(rate)
    explained = total * total / size
    scatter = max(squares - explained, 0.0)
    return log_integral(family.nodes, size, shape, rate + 0.5 * scatter, 0.5 * explained, size * variance)


def _tabulate(family: Any) -> None:
    pass


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    height = 0.0
    for d in range(dim):
        total = sums[d] - size * mean
        squares = sums[dim + d] - mean * (sums[d] + total)
        family.total[slot, d], family.squares[slot, d] = total, squares
        height += _log_column(family, size, total, squares)
    family.height[slot] = height


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    found = -0.5 * dim * _LOG_2PI - family.height[slot]
    for d in range(dim):
        x = family.data[point, d] - mean
        found += _log_column(family, size + 1, family.total[slot, d] + x, family.squares[slot, d] + x * x)
    return found


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    found = family.height[slot] - 0.5 * dim * _LOG_2PI
    for d in range(dim):
        x = family.data[point, d] - mean
        found -= _log_column(family, size - 1, family.total[slot, d] - x, family.squares[slot, d] - x * x)
    return found


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    shape, rate = family.hyper[_SHAPE], family.hyper[_RATE]
    found = dim * (shape * math.log(rate) - math.lgamma(shape) - 0.5 * size * _LOG_2PI)
    for d in range(dim):
        total = sums[d] - size * mean
        squares = sums[dim + d] - mean * (sums[d] + total)
        found += _log_column(family, size, total, squares)
    return found


implement(IndependentNormal, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
