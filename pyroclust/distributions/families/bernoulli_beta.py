"""Binary columns with beta-distributed probabilities."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Bernoulli, Beta, TorchDistribution
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    compile_columns,
    compile_family,
    compile_methods,
    draw_log_gamma,
    hyper_array,
    log_rising,
)
from pyroclust.distributions.families.component import Component, ConjugateComponent, log_beta, number
from pyroclust.distributions.hyperparameters import Hyperparameter


@register(Component)
class BernoulliBeta(ConjugateComponent):
    r"""Columns of zeros and ones, independent within a cluster (latent class analysis).

    .. math:: p_{kd} \sim \mathrm{Beta}(\alpha, \beta), \qquad x_{id} \sim \mathrm{Bernoulli}(p_{kd})

    Parameters of a cluster: ``"probs"`` ``(D,)``.

    Args:
        dim: number D of columns.
        alpha: prior pseudo-observations of ones.
        beta: prior pseudo-observations of zeros.

    Raises:
        ValueError: if alpha or beta is not positive.

    Example:
        >>> family = BernoulliBeta(1)  # uniform: p(1, 1) is the mean of p^2
        >>> block = family.moments(torch.ones(2, 1)).sum(0)
        >>> round(family.log_marginal(torch.tensor(2.0), block).exp().item(), 6)
        0.333333

    References:
        Gelman et al. (2013), Bayesian Data Analysis, section 2.4. http://www.stat.columbia.edu/~gelman/book/
    """

    hyper_names = ("alpha", "beta")
    support = constraints.independent(constraints.boolean, 1)
    expected = "0 or 1 in every column"

    def __init__(self, dim: int, alpha: Hyperparameter = 1.0, *, beta: Hyperparameter = 1.0) -> None:
        super().__init__(dim)
        self.alpha, self.beta = number(alpha), number(beta)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("alpha", "beta")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean of p (1 - p)."""
        alpha, beta = self._typical("alpha"), self._typical("beta")
        return math.sqrt(alpha * beta / ((alpha + beta) * (alpha + beta + 1)))

    def parameters(self) -> dict[str, Tensor]:
        law = Beta(self.per_column("alpha"), self.per_column("beta"), validate_args=False)
        return {"probs": site("probs", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return Bernoulli(parameters["probs"], validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        return data.double()

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        counts, moments = self.over_batch(counts, moments)
        ones = self.hyper("alpha", trailing=2) + moments
        return ones, self.hyper("beta", trailing=2) + (counts.unsqueeze(-1) - moments)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        ones, zeros = self._posterior(counts, moments)
        prior = log_beta(self.hyper("alpha"), self.hyper("beta"))
        return log_beta(ones, zeros).sum(-1) - self.dim * prior

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the log-odds of a one per column and the log-probability of all zeros, ``(..., D + 1)``."""
        ones, zeros = self._posterior(counts, moments)
        all_zeros = (zeros / (ones + zeros)).log().sum(-1, keepdim=True)
        return torch.cat([(ones / zeros).log(), all_zeros], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        return parameters[..., -1] + (data * parameters[..., :-1]).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        return {"probs": Beta(*self._posterior(counts, moments), validate_args=False).sample()}


_ONES, _ZEROS = range(2)


@compile_methods
class BernoulliTables(NamedTuple):
    r"""Logarithms of pseudo-counts; clusters cache log odds :math:`\log(a + s) - \log(b + n - s)`."""

    hyper: np.ndarray
    data: np.ndarray  # 0 where a cell is missing
    there: np.ndarray  # 1 where a cell is there, else 0, (N, D); no rows where all are
    log_ones: np.ndarray
    log_zeros: np.ndarray
    log_total: np.ndarray
    ones: np.ndarray
    counts: np.ndarray  # cells that are there, (S, D)
    log_odds: np.ndarray
    log_zero: np.ndarray  # log density of a zero in each column, where cells are missing, (S, D)
    all_zeros: np.ndarray

    def tabulate(self) -> None:
        ones, zeros = self.hyper[_ONES], self.hyper[_ZEROS]
        for size in range(len(self.log_ones)):
            self.log_ones[size] = math.log(ones + size)
            self.log_zeros[size] = math.log(zeros + size)
            self.log_total[size] = math.log(ones + zeros + size)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        dim, with_gaps = self.data.shape[1], len(self.there) > 0
        total = 0.0
        for d in range(dim):
            count = int(sums[d] + 0.5) if with_gaps else size
            ones = int(sums[dim + d if with_gaps else d] + 0.5)
            log_zero = self.log_zeros[count - ones]
            self.counts[slot, d], self.ones[slot, d] = count, ones
            self.log_odds[slot, d] = self.log_ones[ones] - log_zero
            self.log_zero[slot, d] = log_zero - self.log_total[count]
            total += log_zero
        self.all_zeros[slot] = total - dim * self.log_total[size]

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        total, dim = 0.0, self.data.shape[1]
        if len(self.there):
            for d in range(dim):
                total += self.there[point, d] * self.log_zero[slot, d]
        else:
            total = self.all_zeros[slot]
        for d in range(dim):
            total += self.data[point, d] * self.log_odds[slot, d]
        return total

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        dim: int = self.data.shape[1]
        for d in range(dim):
            found[d] = self.there[point, d] * self.log_zero[slot, d]
            found[d] += self.data[point, d] * self.log_odds[slot, d]
        return dim

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        total, with_gaps = 0.0, len(self.there) > 0
        for d in range(self.data.shape[1]):
            if with_gaps and self.there[point, d] == 0.0:
                continue
            ones, count = self.ones[slot, d], self.counts[slot, d]
            total -= self.log_total[count - 1]
            if self.data[point, d] > 0.5:
                total += self.log_ones[ones - 1]
            else:
                total += self.log_zeros[count - 1 - ones]
        return total

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        dim, with_gaps, total = self.data.shape[1], len(self.there) > 0, 0.0
        for d in range(dim):
            count = sums[d] if with_gaps else float(size)
            ones = sums[dim + d if with_gaps else d]
            log_one = draw_log_gamma(self.hyper[_ONES] + max(ones, 0.0), generator)
            log_zero = draw_log_gamma(self.hyper[_ZEROS] + max(count - ones, 0.0), generator)
            self.log_odds[slot, d] = log_one - log_zero
            high = max(log_one, log_zero)
            log_zero -= high + math.log1p(math.exp(min(log_one, log_zero) - high))
            self.log_zero[slot, d] = log_zero
            total += log_zero
        self.all_zeros[slot] = total

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        dim, with_gaps = self.data.shape[1], len(self.there) > 0
        for r in range(count):
            found[r] += 0.0 if with_gaps else self.all_zeros[slot]
            for d in range(dim):
                found[r] += self.data[rows[r], d] * self.log_odds[slot, d]
                if with_gaps:
                    found[r] += self.there[rows[r], d] * self.log_zero[slot, d]

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        ones, zeros, dim = self.hyper[_ONES], self.hyper[_ZEROS], self.data.shape[1]
        total, with_gaps = 0.0, len(self.there) > 0
        if not with_gaps:
            total = -dim * log_rising(ones + zeros, size)
        for d in range(dim):
            count, of_ones = float(size), sums[dim + d if with_gaps else d]
            if with_gaps:
                count = sums[d]
                total -= log_rising(ones + zeros, count)
            total += log_rising(ones, of_ones) + log_rising(zeros, count - of_ones)
        return total


@compile_family.register
def _(component: BernoulliBeta, data: np.ndarray, num_slots: int, num_points: int) -> BernoulliTables:
    return compile_columns(component, data, np.zeros((0, data.shape[1])), num_slots, num_points)


@compile_columns.register
def _(
    component: BernoulliBeta, data: np.ndarray, there: np.ndarray, num_slots: int, num_points: int
) -> BernoulliTables:
    dim = data.shape[1]
    return BernoulliTables(
        hyper=hyper_array(component),
        data=data,
        there=there,
        log_ones=np.zeros(num_points + 1),
        log_zeros=np.zeros(num_points + 1),
        log_total=np.zeros(num_points + 1),
        ones=np.zeros((num_slots, dim), dtype=np.int64),
        counts=np.zeros((num_slots, dim), dtype=np.int64),
        log_odds=np.zeros((num_slots, dim)),
        log_zero=np.zeros((num_slots, dim)),
        all_zeros=np.zeros(num_slots),
    )
