"""Normal components with unknown mean and variance in every dimension (diagonal covariance)."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Gamma, InverseGamma, Normal, TorchDistribution
from torch import Tensor

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
    compile_columns,
    compile_family,
    compile_methods,
    draw_log_gamma,
    hyper_array,
)
from pyroclust.distributions.families.component import Component, ConjugateComponent, number, per_point
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.partitions import most_clusters


@register(Component)
class NormalInverseGamma(ConjugateComponent):
    r"""Independent normal-inverse-gamma components per dimension.

    .. math::
        \sigma^2_{kd} \sim IG(a, b), \quad \mu_{kd} \sim N(m, \sigma^2_{kd} / \kappa), \quad
        x_{id} \sim N(\mu_{kd}, \sigma^2_{kd})

    Parameters of a cluster: ``"loc"`` and ``"variance"`` ``(D,)``.

    Args:
        dim: dimension D.
        kappa: prior pseudo-observations of the mean.
        shape: a of the inverse gamma.
        rate: b of the inverse gamma, in squared data units.
        mean: prior mean m of the cluster means in every column.

    Raises:
        ValueError: if kappa, shape or rate is not positive.

    Example:
        >>> family = NormalInverseGamma(1, 0.5, shape=2.0, rate=2.0)  # a point is Student-t(4), scale sqrt(3)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(1))).item()
        -1.53...

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 6.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    hyper_names = ("mean", "kappa", "shape", "rate")
    reach = 1e6

    def __init__(
        self,
        dim: int,
        kappa: Hyperparameter,
        *,
        shape: Hyperparameter,
        rate: Hyperparameter,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(dim)
        self.mean, self.kappa = number(mean), number(kappa)
        self.shape, self.rate = number(shape), number(rate)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("kappa", "shape", "rate")

    @property
    def typical_scale(self) -> float:
        """Square root of b / (a + 1/2), close to the median variance."""
        return math.sqrt(self._typical("rate") / (self._typical("shape") + 0.5))

    def parameters(self) -> dict[str, Tensor]:
        law = InverseGamma(self.per_column("shape"), self.per_column("rate"), validate_args=False)
        variance = site("variance", law.to_event(1))
        scale = (variance / self.per_column("kappa")).sqrt()
        loc = site("loc", Normal(self.per_column("mean"), scale, validate_args=False).to_event(1))
        return {"loc": loc, "variance": variance}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return Normal(parameters["loc"], parameters["variance"].sqrt(), validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its square per dimension, ``(..., 2 D)``."""
        data = data.double()
        return torch.cat([data, data.square()], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return kappa, shape, mean less m, and rates of the posterior."""
        counts, moments = self.over_batch(counts, moments)
        prior_mean, prior_rate = self.hyper("mean", trailing=2), self.hyper("rate", trailing=2)
        total, squares = moments.chunk(2, -1)
        shift = counts.unsqueeze(-1) * prior_mean
        squares = squares - prior_mean * (2 * total - shift)
        kappa, shape = self.hyper("kappa") + counts, self.hyper("shape") + 0.5 * counts
        mean = (total - shift) / kappa.unsqueeze(-1)
        rate = prior_rate + 0.5 * (squares - kappa.unsqueeze(-1) * mean.square())
        return kappa, shape, mean, rate.maximum(prior_rate)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        counts, moments = self.over_batch(counts, moments)
        prior_kappa, prior_shape = self.hyper("kappa"), self.hyper("shape")
        kappa, shape, _, rate = self._posterior(counts, moments)
        per_dim = (
            shape.lgamma()
            - prior_shape.lgamma()
            + prior_shape * self.hyper("rate").log()
            + 0.5 * (prior_kappa.log() - kappa.log())
            - 0.5 * counts * math.log(2 * math.pi)
        )
        return self.dim * per_dim - shape * rate.log().sum(-1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive Student-t: mean D, inverse squared widths D, power, log normaliser."""
        kappa, shape, mean, rate = self._posterior(counts, moments)
        precision = (kappa / (kappa + 1)).unsqueeze(-1) / (2 * rate)
        power = shape + 0.5
        log_norm = self.dim * (
            power.lgamma() - shape.lgamma() - 0.5 * math.log(math.pi)
        ) + 0.5 * precision.log().sum(-1)
        mean = self.hyper("mean", trailing=2) + mean
        return torch.cat([mean, precision, torch.stack([power, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        mean, precision = parameters[..., :-2].chunk(2, -1)
        distance = ((data - mean).square() * precision).log1p().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        kappa, shape, mean, rate = self._posterior(counts, moments)
        variance = 1 / Gamma(shape.unsqueeze(-1), rate, validate_args=False).sample()
        noise = torch.randn_like(mean) * (variance / kappa.unsqueeze(-1)).sqrt()
        return {"loc": self.hyper("mean", trailing=2) + mean + noise, "variance": variance}

    def sample(self, assignments: Tensor) -> Tensor:
        prior_mean, kappa, prior_shape, rate = (self.hyper(name, trailing=2) for name in self.hyper_names)
        shape = (*assignments.shape[:-1], most_clusters(assignments), self.dim)
        dtype, device = torch.get_default_dtype(), assignments.device
        prior_shape, rate = (one.to(dtype=dtype, device=device) for one in (prior_shape, rate))
        law = Gamma(prior_shape, rate, validate_args=False)
        scale = law.expand(shape).sample().rsqrt()
        mean = prior_mean + scale * torch.randn(shape, device=device) / kappa.sqrt()
        centre, spread = per_point(torch.cat([mean, scale.to(mean)], -1), assignments).chunk(2, -1)
        return (centre + spread * torch.randn_like(centre)).to(dtype)


_MEAN, _KAPPA, _SHAPE, _RATE = range(4)
_LOG_2PI = math.log(2.0 * math.pi)
# Products of factors are kept below this before their logarithm is taken.
LARGE = 1e100


@inner
def mean_and_rate(tables: Any, size: int, total: float, squares: float) -> tuple[float, float]:
    """Return the posterior mean and rate of a column from its sums."""
    prior_mean, prior_rate = tables.hyper[_MEAN], tables.hyper[_RATE]
    pull, kappa = tables.hyper[_KAPPA] * prior_mean, tables.hyper[_KAPPA] + size
    mean = (total + pull) / kappa
    spread = squares + pull * prior_mean - kappa * mean * mean
    return mean, max(prior_rate + 0.5 * spread, prior_rate)


@inner
def _log_predictive_of_cells(tables: Any, point: int, slot: int, floor: float) -> float:
    dim, product, total, fewest = tables.data.shape[1], 1.0, 0.0, tables.fewest[slot]
    power = tables.power[fewest + 1]
    for d in range(dim):
        there, difference = tables.there[point, d], tables.data[point, d] - tables.mean[slot, d]
        product *= 1.0 + there * tables.stretch[slot, d] * difference * difference
        total += there * tables.height[slot, d]
        if product > LARGE:
            total -= power * math.log(product)
            product = 1.0
    total -= power * math.log(product)
    if total < floor:
        return total
    for d in range(dim):
        count = tables.counts[slot, d]
        if count > fewest and tables.there[point, d] > 0.0:
            difference = tables.data[point, d] - tables.mean[slot, d]
            factor = 1.0 + tables.stretch[slot, d] * difference * difference
            total -= 0.5 * (count - fewest) * math.log(factor)
    return total


@inner
def _log_predictive_without_cells(tables: Any, point: int, slot: int) -> float:
    total = 0.0
    for d in range(tables.data.shape[1]):
        if tables.there[point, d] == 0.0:
            continue
        count, value = tables.counts[slot, d], tables.data[point, d]
        if count == 1:
            rate = tables.hyper[_RATE]
            squared = 0.5 * tables.with_point[0] * (value - tables.hyper[_MEAN]) ** 2
            total += tables.constant[0] - 0.5 * math.log(rate)
            total -= tables.power[1] * math.log(1.0 + squared / rate)
            continue
        stretch = tables.without_point[count] / tables.with_point[count] * tables.stretch[slot, d]
        factor = 1.0 - stretch * (value - tables.mean[slot, d]) ** 2
        total += tables.height[slot, d] - tables.constant[count] + tables.constant[count - 1]
        total += tables.power[count - 1] * math.log(max(factor, 1e-16))
    return total


@compile_methods
class InverseGammaTables(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`q_d = (x_d - m_d)^2 / 2 b_d` a point outside the cluster has log predictive density
    :math:`C_n - \frac12 \sum_d \log b_d - (a_n + \frac12) \log \prod_d (1 + r_n q_d)`, one inside it
    :math:`C_{n-1} - \frac12 \sum_d \log b_d + a_{n-1} \log \prod_d (1 - s_n q_d)`: one logarithm a cluster.

    Where cells are missing each column has its own n. The smallest, for all columns, bounds the density from
    above with one logarithm, and most clusters are hopeless by that.
    """

    hyper: np.ndarray
    data: np.ndarray
    there: np.ndarray  # 1 where a cell is there, else 0, (N, D); no rows where all are
    power: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray  # 1 / 2 b, (S, D); no rows where cells are missing
    log_rates: np.ndarray
    stretch: np.ndarray  # r / 2 b of each column, where cells are missing, (S, D)
    height: np.ndarray  # log density of each column at its mean, where cells are missing, (S, D)
    counts: np.ndarray
    fewest: np.ndarray  # smallest number of cells of a cluster in a column, (S,)
    block: np.ndarray  # rows at once, (D, 64)
    tabulated: np.ndarray  # kappa and shape of the tables by size, (2,)

    def tabulate(self) -> None:
        if self.tabulated[0] == self.hyper[_KAPPA] and self.tabulated[1] == self.hyper[_SHAPE]:
            return
        self.tabulated[0], self.tabulated[1] = self.hyper[_KAPPA], self.hyper[_SHAPE]
        for size in range(len(self.power)):
            self.power[size] = self.hyper[_SHAPE] + 0.5 * size
        for size in range(len(self.constant)):
            kappa = self.hyper[_KAPPA] + size
            ratio = kappa / (kappa + 1.0)
            growth = math.lgamma(self.power[size + 1]) - math.lgamma(self.power[size])
            self.constant[size] = growth + 0.5 * (math.log(ratio) - _LOG_2PI)
            self.with_point[size] = ratio
            if size > 0:
                self.without_point[size] = kappa / (kappa - 1.0)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        dim, product, log_product = self.data.shape[1], 1.0, 0.0
        if len(self.there):
            self.fewest[slot] = size
            for d in range(dim):
                count = int(sums[d] + 0.5)
                # What is left of a sum that was taken apart again is rounding.
                there = 1.0 if count else 0.0
                mean, rate = mean_and_rate(
                    self, count, there * sums[dim + 2 * d], there * sums[dim + 2 * d + 1]
                )
                self.mean[slot, d], self.stretch[slot, d] = mean, 0.5 / rate * self.with_point[count]
                self.height[slot, d] = self.constant[count] - 0.5 * math.log(rate)
                self.counts[slot, d] = count
                self.fewest[slot] = min(self.fewest[slot], count)
            return
        for d in range(dim):
            mean, rate = mean_and_rate(self, size, sums[d], sums[dim + d])
            self.mean[slot, d], self.half_precision[slot, d] = mean, 0.5 / rate
            product *= rate
            if product > LARGE or product < 1.0 / LARGE:
                log_product += math.log(product)
                product = 1.0
        self.log_rates[slot] = log_product + math.log(product)

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        dim: int = self.data.shape[1]
        for d in range(dim):
            difference, power = (
                self.data[point, d] - self.mean[slot, d],
                self.power[self.counts[slot, d] + 1],
            )
            factor = 1.0 + self.stretch[slot, d] * difference * difference
            found[d] = self.there[point, d] * (self.height[slot, d] - power * math.log(factor))
        return dim

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        dim, product, log_product = self.data.shape[1], 1.0, 0.0
        if len(self.there):
            return _log_predictive_without_cells(self, point, slot)
        stretch = self.without_point[size]
        for d in range(dim):
            difference = self.data[point, d] - self.mean[slot, d]
            product *= max(1.0 - stretch * self.half_precision[slot, d] * difference * difference, 1e-16)
            if product < 1.0 / LARGE:
                log_product += math.log(product)
                product = 1.0
        log_product += math.log(product)
        constant = dim * self.constant[size - 1] - 0.5 * self.log_rates[slot]
        return constant + self.power[size - 1] * log_product

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, total = self.data.shape[1], 0.0
        with_gaps = len(self.there) > 0
        shape, prior_kappa, prior_rate = self.hyper[_SHAPE], self.hyper[_KAPPA], self.hyper[_RATE]
        count, constant = -1, 0.0
        for d in range(dim):
            own = int(sums[d] + 0.5) if with_gaps else size
            if own != count:
                count = own
                constant = (
                    math.lgamma(shape + 0.5 * count) - math.lgamma(shape) + shape * math.log(prior_rate)
                )
                constant += 0.5 * (math.log(prior_kappa / (prior_kappa + count)) - count * _LOG_2PI)
            if count:
                first = dim + 2 * d if with_gaps else d
                _, rate = mean_and_rate(self, count, sums[first], sums[first + 1 if with_gaps else dim + d])
                total += constant - (shape + 0.5 * count) * math.log(rate)
        return total

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        dim, product, log_product = self.data.shape[1], 1.0, 0.0
        if len(self.there):
            return _log_predictive_of_cells(self, point, slot, floor)
        shrink = self.with_point[size]
        for d in range(dim):
            difference = self.data[point, d] - self.mean[slot, d]
            product *= 1.0 + shrink * self.half_precision[slot, d] * difference * difference
            if product > LARGE:
                log_product += math.log(product)
                product = 1.0
        log_product += math.log(product)
        return dim * self.constant[size] - 0.5 * self.log_rates[slot] - self.power[size + 1] * log_product

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        dim, with_gaps, log_variances = self.data.shape[1], len(self.there) > 0, 0.0
        for d in range(dim):
            count, first, second = size, d, dim + d
            if with_gaps:
                count, first, second = int(sums[d] + 0.5), dim + 2 * d, dim + 2 * d + 1
            there = 1.0 if count else 0.0
            mean, rate = mean_and_rate(self, count, there * sums[first], there * sums[second])
            log_precision = draw_log_gamma(self.power[count], generator) - math.log(rate)
            precision = math.exp(log_precision)
            spread = 1.0 / math.sqrt(precision * (self.hyper[_KAPPA] + count))
            self.mean[slot, d] = mean + spread * generator.standard_normal()
            log_variances -= log_precision
            if with_gaps:
                self.stretch[slot, d], self.height[slot, d] = 0.5 * precision, 0.5 * log_precision
            else:
                self.half_precision[slot, d] = 0.5 * precision
        self.log_rates[slot] = log_variances

    def load_rows(self, rows: Any, count: int) -> None:
        for r in range(count):
            for d in range(self.data.shape[1]):
                self.block[d, r] = self.data[rows[r], d]

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        dim, with_gaps = self.data.shape[1], len(self.there) > 0
        for r in range(count):
            found[r] -= 0.0 if with_gaps else 0.5 * self.log_rates[slot]
        for d in range(dim):
            mean, column = self.mean[slot, d], self.block[d]
            if with_gaps:
                height, stretch = self.height[slot, d], self.stretch[slot, d]
                for r in range(count):
                    own = height - stretch * (column[r] - mean) * (column[r] - mean)
                    found[r] += self.there[rows[r], d] * own
            else:
                half = self.half_precision[slot, d]
                for r in range(count):
                    found[r] -= half * (column[r] - mean) * (column[r] - mean)

    def add_log_predictives(
        self,
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
                weights[j] += _log_predictive(self, point, slot, sizes[slot], floor - weights[j])


_log_predictive = inner(InverseGammaTables.log_predictive)


@compile_family.register
def _(component: NormalInverseGamma, data: np.ndarray, num_slots: int, num_points: int) -> InverseGammaTables:
    return compile_columns(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(
    component: NormalInverseGamma, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> InverseGammaTables:
    dim = data.shape[1]
    with_gaps = num_slots if len(there) else 0
    return InverseGammaTables(
        hyper=hyper_array(component),
        data=data,
        there=there,
        power=np.zeros(num_points + 2),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        half_precision=np.zeros((num_slots - with_gaps, dim)),
        log_rates=np.zeros(num_slots),
        stretch=np.zeros((with_gaps, dim)),
        height=np.zeros((with_gaps, dim)),
        counts=np.zeros((with_gaps, dim), np.int64),
        fewest=np.zeros(with_gaps, np.int64),
        block=np.zeros((dim, ROWS_AT_ONCE)),
        tabulated=np.full(2, np.nan),
    )
