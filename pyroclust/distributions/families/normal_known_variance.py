"""Normal components with known variance and a normal prior on the mean."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Normal, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
    compile_family,
    compile_methods,
    hyper_array,
)
from pyroclust.distributions.families.component import Component, ConjugateComponent, number, per_point
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.partitions import most_clusters


@register(Component)
class NormalKnownVariance(ConjugateComponent):
    r"""Isotropic normal clusters whose means are unknown.

    .. math:: \mu_k \sim N(m, \lambda^2 I), \quad x_i \sim N(\mu_k, \sigma^2 I)

    Parameters of a cluster: ``"loc"`` ``(D,)``.

    Args:
        dim: dimension D.
        prior_scale: standard deviation of the cluster means.
        scale: standard deviation within a cluster.
        mean: prior mean of the cluster means in every column.

    Raises:
        ValueError: if a scale is not positive.

    Example:
        >>> family = NormalKnownVariance(1, prior_scale=3.0)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(1))).item()  # N(0; 0, 10)
        -2.07...

    References:
        Murphy (2007), as :class:`NormalInverseGamma`, section 2.
    """

    hyper_names = ("mean", "prior_scale", "scale")
    reach = 1e6

    def __init__(
        self,
        dim: int,
        prior_scale: Hyperparameter = 10.0,
        *,
        scale: Hyperparameter = 1.0,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(dim)
        self.mean, self.prior_scale, self.scale = number(mean), number(prior_scale), number(scale)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("prior_scale", "scale")

    @property
    def typical_scale(self) -> float:
        return self._typical("scale")

    @property
    def scale_is_known(self) -> bool:
        return isinstance(self.scale, float)

    def parameters(self) -> dict[str, Tensor]:
        law = Normal(self.per_column("mean"), self.per_column("prior_scale"), validate_args=False)
        return {"loc": site("loc", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        loc = parameters["loc"]
        return Normal(loc, self.hyper("scale", trailing=2).to(loc), validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its squared norm, ``(..., D + 1)``."""
        data = data.double()
        return torch.cat([data, data.square().sum(-1, keepdim=True)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the posterior precision, its mean less m, and the squares about m."""
        counts, moments = self.over_batch(counts, moments)
        mean, noise, prior = self.hyper("mean"), self.hyper("scale") ** 2, self.hyper("prior_scale") ** 2
        total, squares = moments[..., :-1], moments[..., -1]
        squares = squares - mean * (2 * total.sum(-1) - self.dim * counts * mean)
        precision = counts / noise + 1 / prior
        shift = (total - (counts * mean).unsqueeze(-1)) / (noise * precision).unsqueeze(-1)
        return precision, shift, squares

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        counts, moments = self.over_batch(counts, moments)
        noise, prior = self.hyper("scale") ** 2, self.hyper("prior_scale") ** 2
        precision, shift, squares = self._posterior(counts, moments)
        quadratic = squares / noise - shift.square().sum(-1) * precision
        log_scale = counts * (2 * math.pi * noise).log() + (prior * precision).log()
        return -0.5 * (self.dim * log_scale + quadratic)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack mean, half precision and log normaliser of the predictive normal, ``(..., D + 2)``."""
        precision, shift, _ = self._posterior(counts, moments)
        variance = self.hyper("scale") ** 2 + 1 / precision
        log_norm = -0.5 * self.dim * (2 * math.pi * variance).log()
        mean = self.hyper("mean", trailing=2) + shift
        return torch.cat([mean, torch.stack([0.5 / variance, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        distance = (data - parameters[..., :-2]).square().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        precision, shift, _ = self._posterior(counts, moments)
        noise = torch.randn_like(shift) / precision.sqrt().unsqueeze(-1)
        return {"loc": self.hyper("mean", trailing=2) + shift + noise}

    def sample(self, assignments: Tensor) -> Tensor:
        mean, prior_scale, scale = (self.hyper(name, trailing=2) for name in self.hyper_names)
        shape = (*assignments.shape[:-1], most_clusters(assignments), self.dim)
        points = per_point(mean + prior_scale * torch.randn(shape, device=assignments.device), assignments)
        return (points + scale * torch.randn_like(points)).to(torch.get_default_dtype())


_MEAN, _PRIOR_SCALE, _SCALE = range(3)
_LOG_2PI = math.log(2.0 * math.pi)


@compile_methods
class KnownVarianceTables(NamedTuple):
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
    block: np.ndarray  # rows at once, (D, 64)

    def tabulate(self) -> None:
        noise = self.hyper[_SCALE] ** 2
        prior_kappa = noise / self.hyper[_PRIOR_SCALE] ** 2
        dim = self.data.shape[1]
        for size in range(len(self.kappa)):
            kappa = size + prior_kappa
            self.kappa[size] = kappa
            self.constant[size] = -0.5 * dim * (_LOG_2PI + math.log(noise * (kappa + 1.0) / kappa))
            self.with_point[size] = 0.5 / noise * kappa / (kappa + 1.0)
            if size > 0:
                self.without_point[size] = 0.5 / noise * kappa / (kappa - 1.0)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        shrink = 1.0 / self.kappa[size]
        pull = self.kappa[0] * self.hyper[_MEAN]
        for d in range(self.data.shape[1]):
            self.mean[slot, d] = (sums[d] + pull) * shrink

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        distance = 0.0
        for d in range(self.data.shape[1]):
            distance += (self.data[point, d] - self.mean[slot, d]) ** 2
        return self.constant[size] - self.with_point[size] * distance

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        distance = 0.0
        for d in range(self.data.shape[1]):
            distance += (self.data[point, d] - self.mean[slot, d]) ** 2
        return self.constant[size - 1] - self.without_point[size] * distance

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        noise = self.hyper[_SCALE] ** 2
        prior_kappa = noise / self.hyper[_PRIOR_SCALE] ** 2
        kappa, mean, dim = size + prior_kappa, self.hyper[_MEAN], self.data.shape[1]
        # Around the prior mean, where the squares of far-away data do not swamp their differences.
        squares, explained = sums[dim], 0.0
        for d in range(dim):
            total = sums[d] - size * mean
            squares -= mean * (sums[d] + total)
            explained += total * total
        log_scale = size * (_LOG_2PI + math.log(noise)) + math.log(kappa / prior_kappa)
        return -0.5 * (dim * log_scale + (squares - explained / kappa) / noise)

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        shrink = 1.0 / self.kappa[size]
        pull, spread = self.kappa[0] * self.hyper[_MEAN], self.hyper[_SCALE] * math.sqrt(shrink)
        for d in range(self.data.shape[1]):
            self.mean[slot, d] = (sums[d] + pull) * shrink + spread * generator.standard_normal()

    def load_rows(self, rows: Any, count: int) -> None:
        for r in range(count):
            for d in range(self.data.shape[1]):
                self.block[d, r] = self.data[rows[r], d]

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        height = 0.5 / self.hyper[_SCALE] ** 2
        for d in range(self.data.shape[1]):
            mean, column = self.mean[slot, d], self.block[d]
            for r in range(count):
                found[r] -= height * (column[r] - mean) * (column[r] - mean)


@compile_family.register
def _(
    component: NormalKnownVariance, data: np.ndarray, num_slots: int, num_points: int
) -> KnownVarianceTables:
    dim = data.shape[1]
    return KnownVarianceTables(
        hyper=hyper_array(component),
        data=data,
        kappa=np.zeros(num_points + 1),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        block=np.zeros((dim, ROWS_AT_ONCE)),
    )
