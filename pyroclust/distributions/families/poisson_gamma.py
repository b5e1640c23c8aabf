"""Counts with gamma-distributed intensities."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Gamma, Poisson, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    NonZero,
    compile_columns,
    compile_family,
    compile_methods,
    draw_log_gamma,
    hyper_array,
    log_rising,
    look_up,
    non_zero,
    table_of,
    tabulate_rising,
)
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter


@register(Component)
class PoissonGamma(ConjugateComponent):
    r"""Columns of counts, independent within a cluster.

    .. math:: \lambda_{kd} \sim \mathrm{Gamma}(a, b), \qquad x_{id} \sim \mathrm{Poisson}(\lambda_{kd})

    Parameters of a cluster: ``"intensity"`` ``(D,)``.

    Args:
        dim: number D of columns.
        shape: a of the gamma prior.
        rate: b of the gamma prior; the prior mean of an intensity is a / b.

    Raises:
        ValueError: if shape or rate is not positive.

    Example:
        >>> family = PoissonGamma(1, shape=1.0, rate=1.0)  # one count is geometric(1/2)
        >>> round(family.log_marginal(torch.tensor(1.0), family.moments(torch.tensor([2.0]))).exp().item(), 6)
        0.125

    References:
        Gelman et al. (2013), Bayesian Data Analysis, section 2.6. http://www.stat.columbia.edu/~gelman/book/
    """

    hyper_names = ("shape", "rate")
    support = COUNTS
    expected = "counts 0, 1, 2, ... of at most 2**53 in every column"

    def __init__(self, dim: int, shape: Hyperparameter, *, rate: Hyperparameter) -> None:
        super().__init__(dim)
        self.shape, self.rate = number(shape), number(rate)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("shape", "rate")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean intensity."""
        return math.sqrt(self._typical("shape") / self._typical("rate"))

    def parameters(self) -> dict[str, Tensor]:
        law = Gamma(self.per_column("shape"), self.per_column("rate"), validate_args=False)
        return {"intensity": site("intensity", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return Poisson(parameters["intensity"], validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and the sum of the log factorials of its columns, ``(..., D + 1)``."""
        return torch.cat([data.double(), _log_factorials(data.double()).unsqueeze(-1)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return the shapes ``(..., D)`` and the rate ``(...)`` of the posterior."""
        counts, moments = self.over_batch(counts, moments)
        return self.hyper("shape", trailing=2) + moments[..., :-1], self.hyper("rate") + counts

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        prior_shape, prior_rate = self.hyper("shape"), self.hyper("rate")
        shape, rate = self._posterior(counts, moments)
        prior = prior_shape.lgamma() - prior_shape * prior_rate.log()
        posterior = shape.lgamma().sum(-1) - shape.sum(-1) * rate.log()
        return posterior - self.dim * prior - moments[..., -1]

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the negative binomial: shapes D, log probability of a further count, log normaliser."""
        shape, rate = self._posterior(counts, moments)
        log_norm = shape.sum(-1) * (rate / (rate + 1)).log() - shape.lgamma().sum(-1)
        return torch.cat([shape, torch.stack([-rate.log1p(), log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        data = data.double()
        ways = (parameters[..., :-2] + data).lgamma().sum(-1) - _log_factorials(data)
        return parameters[..., -1] + ways + parameters[..., -2] * data.sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        shape, rate = self._posterior(counts, moments)
        return {"intensity": Gamma(shape, rate.unsqueeze(-1), validate_args=False).sample()}


def _log_factorials(data: Tensor) -> Tensor:
    return (data + 1).lgamma().sum(-1)


_SHAPE, _RATE = range(2)


@compile_methods
class PoissonTables(NamedTuple):
    r"""Log rising factorials of the shape, and what clusters cache of them.

    With totals s of n points and :math:`r(m) = \log \Gamma(a + m) / \Gamma(a)` a point has the log predictive
    :math:`\sum_d [r(s_d + x_d) - r(s_d) - \log x_d!] - \sum_d (a + s_d) \log(1 + 1 / (b + n)) -
    \log(b + n + 1) \sum_d x_d`: a candidate costs one look-up for each count that is not zero. Where cells
    are missing each column has its own n.
    """

    hyper: np.ndarray
    counts: NonZero
    there: np.ndarray  # 1 where a cell is there, else 0, (N, D); no rows where all are
    log_base: np.ndarray
    rising: np.ndarray
    log_rate: np.ndarray
    shrink: np.ndarray
    totals: np.ndarray
    sizes: np.ndarray  # cells that are there, (S, D)
    heights: np.ndarray
    zeros: np.ndarray  # log density of a zero in each column, where cells are missing, (S, D)
    grand_total: np.ndarray

    def tabulate(self) -> None:
        tabulate_rising(self.rising, self.hyper[_SHAPE])
        for size in range(len(self.log_rate)):
            self.log_rate[size] = math.log(self.hyper[_RATE] + size)
        for size in range(len(self.shrink)):
            self.shrink[size] = math.log1p(1.0 / (self.hyper[_RATE] + size))

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        dim, with_gaps, grand_total = self.totals.shape[1], len(self.there) > 0, 0.0
        for d in range(dim):
            total = int(sums[dim + 2 * d if with_gaps else d] + 0.5)
            self.totals[slot, d] = total
            self.heights[slot, d] = look_up(self.rising, self.hyper[_SHAPE], total)
            grand_total += total
            if with_gaps:
                self.sizes[slot, d] = int(sums[d] + 0.5)
                shrink = self.shrink[self.sizes[slot, d]]
                self.zeros[slot, d] = -(self.hyper[_SHAPE] + total) * shrink
        self.grand_total[slot] = grand_total

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        counts, dim, with_gaps = self.counts, self.totals.shape[1], len(self.there) > 0
        found = self.log_base[point]
        if with_gaps:
            for d in range(dim):
                found += self.there[point, d] * self.zeros[slot, d]
        else:
            found -= counts.total[point] * self.log_rate[size + 1]
            found -= (self.hyper[_SHAPE] * dim + self.grand_total[slot]) * self.shrink[size]
        for i in range(counts.begin[point], counts.begin[point + 1]):
            d = counts.column[i]
            with_point = self.totals[slot, d] + counts.value[i]
            found += look_up(self.rising, self.hyper[_SHAPE], with_point) - self.heights[slot, d]
            if with_gaps:
                found -= counts.value[i] * self.log_rate[self.sizes[slot, d] + 1]
        return found

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        counts, dim = self.counts, self.totals.shape[1]
        for d in range(dim):
            found[d] = self.there[point, d] * self.zeros[slot, d]
        for i in range(counts.begin[point], counts.begin[point + 1]):
            d, value = counts.column[i], counts.value[i]
            with_point = self.totals[slot, d] + value
            found[d] += look_up(self.rising, self.hyper[_SHAPE], with_point) - self.heights[slot, d]
            found[d] -= value * self.log_rate[self.sizes[slot, d] + 1] + math.lgamma(value + 1.0)
        return dim

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        counts, dim, with_gaps = self.counts, self.totals.shape[1], len(self.there) > 0
        found, own = self.log_base[point], counts.total[point]
        if with_gaps:
            for d in range(dim):
                if self.there[point, d] > 0.0:
                    pulled = self.hyper[_SHAPE] + self.totals[slot, d]
                    found -= pulled * self.shrink[self.sizes[slot, d] - 1]
        else:
            found -= own * self.log_rate[size]
            found -= (self.hyper[_SHAPE] * dim + self.grand_total[slot] - own) * self.shrink[size - 1]
        for i in range(counts.begin[point], counts.begin[point + 1]):
            d, value = counts.column[i], counts.value[i]
            without_point = self.totals[slot, d] - value
            found += self.heights[slot, d] - look_up(self.rising, self.hyper[_SHAPE], without_point)
            if with_gaps:
                size = self.sizes[slot, d]
                found += value * (self.shrink[size - 1] - self.log_rate[size])
        return found

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        dim, with_gaps, all_rates = self.totals.shape[1], len(self.there) > 0, 0.0
        for d in range(dim):
            count = sums[d] if with_gaps else float(size)
            total = max(sums[dim + 2 * d if with_gaps else d], 0.0)
            log_rate = draw_log_gamma(self.hyper[_SHAPE] + total, generator)
            log_rate -= math.log(self.hyper[_RATE] + count)
            self.heights[slot, d] = log_rate
            all_rates += math.exp(log_rate)
            if with_gaps:
                self.zeros[slot, d] = -math.exp(log_rate)
        self.grand_total[slot] = all_rates

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        counts, with_gaps = self.counts, len(self.there) > 0
        for r in range(count):
            row = rows[r]
            if with_gaps:
                for d in range(self.totals.shape[1]):
                    found[r] += self.there[row, d] * self.zeros[slot, d]
            else:
                found[r] -= self.grand_total[slot]
            for i in range(counts.begin[row], counts.begin[row + 1]):
                found[r] += counts.value[i] * self.heights[slot, counts.column[i]]

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        shape, rate, dim = self.hyper[_SHAPE], self.hyper[_RATE], self.totals.shape[1]
        found: Any = 0.0
        if len(self.there):
            for d in range(dim):
                count, total = sums[d], sums[dim + 2 * d]
                found += log_rising(shape, total) - sums[dim + 2 * d + 1]
                found -= shape * math.log1p(count / rate) + total * math.log(rate + count)
            return found
        found, grand_total = -sums[dim], 0.0
        for d in range(dim):
            found += log_rising(shape, sums[d])
            grand_total += sums[d]
        return found - dim * shape * math.log1p(size / rate) - grand_total * math.log(rate + size)


@compile_family.register
def _(component: PoissonGamma, data: np.ndarray, num_slots: int, num_points: int) -> PoissonTables:
    return compile_columns(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(
    component: PoissonGamma, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> PoissonTables:
    dim = data.shape[1]
    return PoissonTables(
        hyper=hyper_array(component),
        counts=non_zero(data),
        there=there,
        log_base=-torch.lgamma(torch.from_numpy(data) + 1).sum(-1).numpy(),
        rising=table_of(data.sum(0), num_points),
        log_rate=np.zeros(num_points + 2),
        shrink=np.zeros(num_points + 1),
        totals=np.zeros((num_slots, dim), dtype=np.int64),
        sizes=np.zeros((num_slots if len(there) else 0, dim), dtype=np.int64),
        heights=np.zeros((num_slots, dim)),
        zeros=np.zeros((num_slots if len(there) else 0, dim)),
        grand_total=np.zeros(num_slots),
    )
