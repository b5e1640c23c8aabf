"""Categories, or vectors of counts over categories, with Dirichlet-distributed probabilities."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Dirichlet, Multinomial, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    NonZero,
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
class MultinomialDirichlet(ConjugateComponent):
    r"""Counts over D categories given their total: bags of words, genotypes, or one-hot categories.

    .. math:: p_k \sim \mathrm{Dirichlet}(a, \ldots, a), \qquad
        x_i \mid T_i \sim \mathrm{Multinomial}(T_i, p_k), \quad T_i = \sum_d x_{id}

    Densities are conditional on the totals, which may differ. Parameters of a cluster: ``"probs"`` ``(D,)``.

    Args:
        dim: number D of categories, at least 2.
        concentration: a, prior pseudo-observations of every category.
        total: total count of the points that are simulated.

    Raises:
        ValueError: if the concentration is not positive, dim is below 2, or total is below 1.

    Example:
        >>> family = MultinomialDirichlet(2)  # uniform: two points of the same category have mean of p^2
        >>> block = family.moments(torch.tensor([[1, 0], [1, 0]])).sum(0)
        >>> round(family.log_marginal(torch.tensor(2.0), block).exp().item(), 6)
        0.333333

    References:
        Minka (2000), Estimating a Dirichlet distribution. https://tminka.github.io/papers/dirichlet/
    """

    hyper_names = ("concentration",)
    support = COUNTS
    expected = "counts 0, 1, 2, ... of at most 2**53 in every category"

    def __init__(self, dim: int, concentration: Hyperparameter = 1.0, *, total: int = 1) -> None:
        super().__init__(dim)
        if dim < 2:
            raise ValueError(f"dim is {dim}, expected at least 2 categories")
        if total < 1:
            raise ValueError(f"total is {total}, expected at least 1")
        self.concentration, self.total = number(concentration), int(total)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean of T p (1 - p)."""
        mean = 1 / self.dim
        spread = 1 + 1 / (self.dim * self._typical("concentration"))
        return math.sqrt(self.total * mean * (1 - mean) / spread)

    def parameters(self) -> dict[str, Tensor]:
        return {"probs": site("probs", Dirichlet(self.per_column("concentration"), validate_args=False))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return Multinomial(self.total, parameters["probs"], validate_args=False)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its log multinomial coefficient, ``(..., D + 1)``."""
        return torch.cat([data.double(), _log_coefficient(data.double()).unsqueeze(-1)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> Tensor:
        _, moments = self.over_batch(counts, moments)
        return self.hyper("concentration", trailing=2) + moments[..., :-1]

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        prior = self._posterior(torch.zeros_like(counts), torch.zeros_like(moments))
        gain = _log_dirichlet_norm(self._posterior(counts, moments)) - _log_dirichlet_norm(prior)
        return moments[..., -1] + gain

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the Dirichlet of the posterior and its log normaliser, ``(..., D + 1)``."""
        posterior = self._posterior(counts, moments)
        return torch.cat([posterior, _log_dirichlet_norm(posterior).unsqueeze(-1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        data = data.double()
        return _log_coefficient(data) + _log_dirichlet_norm(parameters[..., :-1] + data) - parameters[..., -1]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        posterior = self._posterior(counts, moments)
        return {"probs": Dirichlet(posterior, validate_args=False).sample()}


def _log_dirichlet_norm(concentration: Tensor) -> Tensor:
    return concentration.lgamma().sum(-1) - concentration.sum(-1).lgamma()


def _log_coefficient(data: Tensor) -> Tensor:
    return (data.sum(-1) + 1).lgamma() - (data + 1).lgamma().sum(-1)


_CONCENTRATION = 0


@compile_methods
class MultinomialTables(NamedTuple):
    r"""Log rising factorials of the concentration and of its sum, and what clusters cache of them.

    With category totals s and :math:`r_a(m) = \log \Gamma(a + m) / \Gamma(a)` a point has the log predictive
    :math:`\sum_d [r_a(s_d + x_d) - r_a(s_d)] - r_{Da}(S + X) + r_{Da}(S)`, S and X the sums of s and x, plus
    the multinomial coefficient: a candidate costs one look-up for each count that is not zero.
    """

    hyper: np.ndarray
    counts: NonZero
    log_base: np.ndarray
    rising: np.ndarray
    rising_sum: np.ndarray
    totals: np.ndarray
    heights: np.ndarray
    grand_total: np.ndarray
    grand_height: np.ndarray

    def tabulate(self) -> None:
        tabulate_rising(self.rising, self.hyper[_CONCENTRATION])
        tabulate_rising(self.rising_sum, self.hyper[_CONCENTRATION] * self.totals.shape[1])

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        concentration, dim = self.hyper[_CONCENTRATION], self.totals.shape[1]
        grand_total = 0
        for d in range(dim):
            total = int(sums[d] + 0.5)
            self.totals[slot, d] = total
            self.heights[slot, d] = look_up(self.rising, concentration, total)
            grand_total += total
        self.grand_total[slot] = grand_total
        self.grand_height[slot] = look_up(self.rising_sum, concentration * dim, grand_total)

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        counts, concentration = self.counts, self.hyper[_CONCENTRATION]
        grand_total = self.grand_total[slot] + counts.total[point]
        found = self.log_base[point] + self.grand_height[slot]
        found -= look_up(self.rising_sum, concentration * self.totals.shape[1], grand_total)
        for i in range(counts.begin[point], counts.begin[point + 1]):
            d = counts.column[i]
            with_point = self.totals[slot, d] + counts.value[i]
            found += look_up(self.rising, concentration, with_point) - self.heights[slot, d]
        return found

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        counts, concentration = self.counts, self.hyper[_CONCENTRATION]
        grand_total = self.grand_total[slot] - counts.total[point]
        found = self.log_base[point] - self.grand_height[slot]
        found += look_up(self.rising_sum, concentration * self.totals.shape[1], grand_total)
        for i in range(counts.begin[point], counts.begin[point + 1]):
            d = counts.column[i]
            without_point = self.totals[slot, d] - counts.value[i]
            found += self.heights[slot, d] - look_up(self.rising, concentration, without_point)
        return found

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        high, total, dim = -np.inf, 0.0, self.totals.shape[1]
        for d in range(dim):
            shape = self.hyper[_CONCENTRATION] + max(sums[d], 0.0)
            self.heights[slot, d] = draw_log_gamma(shape, generator)
            high = max(high, self.heights[slot, d])
        for d in range(dim):
            total += math.exp(self.heights[slot, d] - high)
        for d in range(dim):
            self.heights[slot, d] -= high + math.log(total)

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        counts = self.counts
        for r in range(count):
            for i in range(counts.begin[rows[r]], counts.begin[rows[r] + 1]):
                found[r] += counts.value[i] * self.heights[slot, counts.column[i]]

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        concentration, dim = self.hyper[_CONCENTRATION], self.totals.shape[1]
        found, grand_total = sums[dim], 0.0
        for d in range(dim):
            found += log_rising(concentration, sums[d])
            grand_total += sums[d]
        return found - log_rising(concentration * dim, grand_total)


@compile_family.register
def _(
    component: MultinomialDirichlet, data: np.ndarray, num_slots: int, num_points: int
) -> MultinomialTables:
    dim = data.shape[1]
    base = component.moments(torch.from_numpy(data))[:, dim]
    return MultinomialTables(
        hyper=hyper_array(component),
        counts=non_zero(data),
        log_base=np.ascontiguousarray(base.numpy()),
        rising=table_of(data.sum(0), num_points),
        rising_sum=table_of(data.sum(keepdims=True), num_points),
        totals=np.zeros((num_slots, dim), dtype=np.int64),
        heights=np.zeros((num_slots, dim)),
        grand_total=np.zeros(num_slots, dtype=np.int64),
        grand_height=np.zeros(num_slots),
    )
