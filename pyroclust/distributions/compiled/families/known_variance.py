"""Compiled functions of the normal with known variance."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import NormalKnownVariance
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["KnownVariance"]

_MEAN, _PRIOR_SCALE, _SCALE = range(3)
_LOG_2PI = math.log(2.0 * math.pi)


class KnownVariance(NamedTuple):
    r"""Tables by cluster size n and cached means of one chain.

    With :math:`\kappa_n = n + \sigma^2 / \lambda^2` and m the posterior mean, a point outside the cluster has
    log predictive density :math:`A_n - h_n |x - m|^2`, and one inside it :math:`A_{n-1} - h'_n |x - m|^2`:
    the mean without the point is never formed.
    """

    hyper: np.ndarray
    data: np.ndarray
    kappa: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray


@compile_family.register
def _(component: NormalKnownVariance, data: np.ndarray, num_slots: int, num_points: int) -> KnownVariance:
    dim = data.shape[1]
    return KnownVariance(
        hyper=hyper_array(component),
        data=data,
        kappa=np.zeros(num_points + 1),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
    )


def _tabulate(family: Any) -> None:
    noise = family.hyper[_SCALE] ** 2
    prior_kappa = noise / family.hyper[_PRIOR_SCALE] ** 2
    dim = family.data.shape[1]
    for size in range(len(family.kappa)):
        kappa = size + prior_kappa
        family.kappa[size] = kappa
        family.constant[size] = -0.5 * dim * (_LOG_2PI + math.log(noise * (kappa + 1.0) / kappa))
        family.with_point[size] = 0.5 / noise * kappa / (kappa + 1.0)
        if size > 0:
            family.without_point[size] = 0.5 / noise * kappa / (kappa - 1.0)


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    shrink = 1.0 / family.kappa[size]
    pull = family.kappa[0] * family.hyper[_MEAN]
    for d in range(family.data.shape[1]):
        family.mean[slot, d] = (sums[d] + pull) * shrink


def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    distance = 0.0
    for d in range(family.data.shape[1]):
        distance += (family.data[point, d] - family.mean[slot, d]) ** 2
    return family.constant[size] - family.with_point[size] * distance


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    distance = 0.0
    for d in range(family.data.shape[1]):
        distance += (family.data[point, d] - family.mean[slot, d]) ** 2
    return family.constant[size - 1] - family.without_point[size] * distance


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    noise = family.hyper[_SCALE] ** 2
    prior_kappa = noise / family.hyper[_PRIOR_SCALE] ** 2
    kappa, mean, dim = size + prior_kappa, family.hyper[_MEAN], family.data.shape[1]
    # Around the prior mean, where the squares of far-away data do not swamp their differences.
    squares, explained = sums[dim], 0.0
    for d in range(dim):
        total = sums[d] - size * mean
        squares -= mean * (sums[d] + total)
        explained += total * total
    log_scale = size * (_LOG_2PI + math.log(noise)) + math.log(kappa / prior_kappa)
    return -0.5 * (dim * log_scale + (squares - explained / kappa) / noise)


implement(KnownVariance, _tabulate, _refresh, _log_predictive, _log_predictive_without, _log_marginal)
