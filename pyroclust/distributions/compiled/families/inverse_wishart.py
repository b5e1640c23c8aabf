"""Compiled functions of the normal-inverse-Wishart family."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions import NormalInverseWishart
from pyroclust.distributions.compiled.families.inverse_gamma import LARGE
from pyroclust.distributions.compiled.protocol import compile_family, hyper_array, implement

__all__ = ["InverseWishart"]

_MEAN, _KAPPA, _DOF, _SCALE = range(4)
_LOG_PI = math.log(math.pi)


class InverseWishart(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`\Lambda = L L^\top` the posterior scale and :math:`q = |L^{-1}(x - m)|^2`, the matrix
    determinant lemma gives a point outside the cluster the log predictive density
    :math:`C_n - \frac12 \log|\Lambda| - \frac{\nu_n + 1}{2} \log(1 + r_n q)`, and one inside it
    :math:`C_{n-1} - \frac12 \log|\Lambda| + \frac{\nu_n - 1}{2} \log(1 - s_n q)`. Factors are recomputed only
    for the two clusters of a point that moves, from their sums: no downdate can lose positive definiteness.
    """

    hyper: np.ndarray
    data: np.ndarray
    kappa: np.ndarray
    power: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    whiten: np.ndarray
    log_det: np.ndarray
    factor: np.ndarray


@compile_family.register
def _(component: NormalInverseWishart, data: np.ndarray, num_slots: int, num_points: int) -> InverseWishart:
    dim = data.shape[1]
    return InverseWishart(
        hyper=hyper_array(component),
        data=data,
        kappa=np.zeros(num_points + 2),
        power=np.zeros(num_points + 2),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        whiten=np.zeros((num_slots, dim, dim)),
        log_det=np.zeros(num_slots),
        factor=np.zeros((dim, dim)),
    )


def _tabulate(family: Any) -> None:
    dim = family.data.shape[1]
    for size in range(len(family.kappa)):
        family.kappa[size] = family.hyper[_KAPPA] + size
        family.power[size] = 0.5 * (family.hyper[_DOF] + size)
    for size in range(len(family.constant)):
        ratio = family.kappa[size] / (family.kappa[size] + 1.0)
        power = family.power[size + 1]
        growth = math.lgamma(power) - math.lgamma(power - 0.5 * dim)
        family.constant[size] = growth + 0.5 * dim * (math.log(ratio) - _LOG_PI)
        family.with_point[size] = ratio
        if size > 0:
            family.without_point[size] = family.kappa[size] / family.kappa[size - 1]


@inner
def _factorise(family: Any, sums: np.ndarray, slot: int, kappa: float, mean: np.ndarray) -> float:
    """Write the posterior mean and the Cholesky factor of the posterior scale; return its log determinant."""
    dim, prior_mean = family.data.shape[1], family.hyper[_MEAN]
    pull, factor = family.hyper[_KAPPA] * prior_mean, family.factor
    for a in range(dim):
        mean[a] = (sums[a] + pull) / kappa
    product, log_product = 1.0, 0.0
    for a in range(dim):
        for b in range(a + 1):
            entry = sums[dim + a * dim + b] + pull * prior_mean - kappa * mean[a] * mean[b]
            if a == b:
                entry = max(entry, 0.0) + family.hyper[_SCALE]
            for c in range(b):
                entry -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(entry, 1e-16 * family.hyper[_SCALE]))
            else:
                factor[a, b] = entry / factor[b, b]
        product *= factor[a, a]
        if product > LARGE or product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    return 2.0 * (log_product + math.log(product))


def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    factor, whiten = family.factor, family.whiten
    family.log_det[slot] = _factorise(family, sums, slot, family.kappa[size], family.mean[slot])
    for a in range(family.data.shape[1]):
        pivot = 1.0 / factor[a, a]
        for b in range(a):
            entry = 0.0
            for c in range(b, a):
                entry -= factor[a, c] * whiten[slot, c, b]
            whiten[slot, a, b] = entry * pivot
        whiten[slot, a, a] = pivot


@inner
def _squared_distance(family: Any, point: int, slot: int) -> float:
    distance = 0.0
    for a in range(family.data.shape[1]):
        projection = 0.0
        for b in range(a + 1):
            projection += family.whiten[slot, a, b] * (family.data[point, b] - family.mean[slot, b])
        distance += projection * projection
    return distance


@inner
def _log_predictive(family: Any, point: int, slot: int, size: int, floor: float) -> float:
    growth = math.log(1.0 + family.with_point[size] * _squared_distance(family, point, slot))
    return family.constant[size] - 0.5 * family.log_det[slot] - family.power[size + 1] * growth


def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    remaining = 1.0 - family.without_point[size] * _squared_distance(family, point, slot)
    growth = math.log(max(remaining, 1e-16))
    return family.constant[size - 1] - 0.5 * family.log_det[slot] + family.power[size - 1] * growth


def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    dim, prior_kappa = family.data.shape[1], family.hyper[_KAPPA]
    half_dof = 0.5 * family.hyper[_DOF]
    # The cached mean and factor are those of the tables: the same numbers unless a hyperparameter is being
    # tried out, and then recompute follows.
    log_det = _factorise(family, sums, slot, prior_kappa + size, family.mean[slot])
    log_gammas = 0.0
    for a in range(dim):
        log_gammas += math.lgamma(half_dof + 0.5 * (size - a)) - math.lgamma(half_dof - 0.5 * a)
    return (
        log_gammas
        + half_dof * dim * math.log(family.hyper[_SCALE])
        - (half_dof + 0.5 * size) * log_det
        + 0.5 * dim * (math.log(prior_kappa / (prior_kappa + size)) - size * _LOG_PI)
    )


def _add_log_predictives(
    family: Any,
    point: int,
    slots: Any,
    sizes: Any,
    count: int,
    own: int,
    least: float,
    floor: float,
    weights: Any,
) -> None:
    for j in range(count):
        slot = slots[j]
        if slot != own and weights[j] >= least:
            weights[j] += _log_predictive(family, point, slot, sizes[slot], floor - weights[j])


implement(
    InverseWishart,
    _tabulate,
    _refresh,
    _log_predictive,
    _log_predictive_without,
    _log_marginal,
    _add_log_predictives,
)
