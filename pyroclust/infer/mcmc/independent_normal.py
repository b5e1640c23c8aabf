"""Compiled functions of the normal whose mean and variance are independent a priori."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import NormalIndependent
from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.protocol import (
    compile_family,
    hyper_array,
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)
from pyroclust.infer.mcmc.variance_quadrature import Nodes, log_integral, no_nodes

__all__ = ["IndependentNormal"]

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
def _(component: NormalIndependent, data: np.ndarray, num_slots: int) -> IndependentNormal:
    dim = data.shape[1]
    return IndependentNormal(
        hyper=hyper_array(component),
        data=data,
        nodes=no_nodes(),
        total=np.zeros((num_slots, dim)),
        squares=np.zeros((num_slots, dim)),
        height=np.zeros(num_slots),
    )


@lean
def _log_column(family: Any, size: int, total: float, squares: float) -> float:
    """Return the log integral of a column from sums of x - m and its square."""
    shape, rate, variance = family.hyper[_SHAPE], family.hyper[_RATE], family.hyper[_VARIANCE]
    if size == 0:
        return math.lgamma(shape) - shape * math.log(rate)
    explained = total * total / size
    scatter = max(squares - explained, 0.0)
    return log_integral(family.nodes, size, shape, rate + 0.5 * scatter, 0.5 * explained, size * variance)


@implements(tabulate, IndependentNormal)
def _tabulate(family: Any) -> None:
    pass


@implements(refresh, IndependentNormal)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    height = 0.0
    for d in range(dim):
        total = sums[slot, d] - size * mean
        squares = sums[slot, dim + d] - mean * (sums[slot, d] + total)
        family.total[slot, d], family.squares[slot, d] = total, squares
        height += _log_column(family, size, total, squares)
    family.height[slot] = height


@implements(log_predictive, IndependentNormal)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    found = -0.5 * dim * _LOG_2PI - family.height[slot]
    for d in range(dim):
        x = family.data[point, d] - mean
        found += _log_column(family, size + 1, family.total[slot, d] + x, family.squares[slot, d] + x * x)
    return found


@implements(log_predictive_without, IndependentNormal)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    found = family.height[slot] - 0.5 * dim * _LOG_2PI
    for d in range(dim):
        x = family.data[point, d] - mean
        found -= _log_column(family, size - 1, family.total[slot, d] - x, family.squares[slot, d] - x * x)
    return found


@implements(log_marginal, IndependentNormal)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    dim, mean = family.data.shape[1], family.hyper[_MEAN]
    shape, rate = family.hyper[_SHAPE], family.hyper[_RATE]
    found = dim * (shape * math.log(rate) - math.lgamma(shape) - 0.5 * size * _LOG_2PI)
    for d in range(dim):
        total = sums[slot, d] - size * mean
        squares = sums[slot, dim + d] - mean * (sums[slot, d] + total)
        found += _log_column(family, size, total, squares)
    return found
