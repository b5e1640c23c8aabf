"""Columns of categories with Dirichlet-distributed probabilities, a column's own number of them each."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Dirichlet, TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    compile_methods,
    draw_log_gamma,
    hyper_array,
    log_rising,
)
from pyroclust.distributions.families.component import (
    Component,
    ConjugateComponent,
    filled,
    number,
    of_levels,
)
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.points import broadcast_shapes


class CategoricalColumns(TorchDistribution):
    """Vectors of independent categories, written 0, 1, 2, ...; one that is missing (nan) says nothing."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, probs: Sequence[Tensor]) -> None:
        batch = broadcast_shapes(*(one.shape[:-1] for one in probs))
        self.probs = [one.expand(*batch, one.shape[-1]) for one in probs]
        super().__init__(batch, Size((len(self.probs),)), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return of_levels([one.shape[-1] for one in self.probs])

    def expand(self, batch_shape: Any, _instance: Any = None) -> "CategoricalColumns":
        return CategoricalColumns([one.expand(*Size(batch_shape), one.shape[-1]) for one in self.probs])

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))[:-1]
        columns = []
        for one in self.probs:
            wide = one.expand(*shape, one.shape[-1])
            columns.append(wide.reshape(-1, wide.shape[-1]).multinomial(1).view(shape))
        return torch.stack(columns, -1).to(self.probs[0].dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        found: Tensor | float = 0.0
        for one, column in zip(self.probs, value.unbind(-1), strict=True):
            there = ~column.isnan() if column.is_floating_point() else torch.ones_like(column).bool()
            code = torch.where(there, column, 0).long()
            shape = broadcast_shapes(code.shape, one.shape[:-1])
            log_probs = one.log().expand(*shape, one.shape[-1])
            picked = log_probs.gather(-1, code.expand(shape).unsqueeze(-1)).squeeze(-1)
            found = found + torch.where(there, picked, 0.0)
        assert isinstance(found, Tensor)
        return found


@register(Component)
class Categories(ConjugateComponent):
    r"""Independent columns of categories, each with probabilities of its own in every cluster.

    .. math:: p_{kd} \sim \mathrm{Dirichlet}(a, \ldots, a), \qquad x_{id} \sim \mathrm{Categorical}(p_{kd})

    Points hold the numbers 0 to :math:`L_d - 1` of their categories, or nan where one is missing: it drops
    out. Parameters of a cluster: ``"probs_0"`` ``(L_0,)``, ``"probs_1"``, ...

    Args:
        levels: number :math:`L_d` of categories of each column, at least 2.
        concentration: a, prior pseudo-observations of every category.

    Shape:
        moments: ``(..., sum of the levels)``, how often each category is there.

    Raises:
        ValueError: if the concentration is not positive, or a column has fewer than two categories.

    Example:
        >>> family = Categories([2, 3])  # uniform: two points of the same category have mean of p^2
        >>> block = family.moments(torch.tensor([[1.0, torch.nan], [1.0, 2.0]])).sum(0)
        >>> round(family.log_marginal(torch.tensor(2.0), block).exp().item(), 6)  # 1/3 times 1/3
        0.111111

    References:
        Minka (2000), Estimating a Dirichlet distribution. https://tminka.github.io/papers/dirichlet/
    """

    hyper_names = ("concentration",)
    expected = "the number 0, 1, ... of a category in every column, or nan"
    takes_missing = True

    def __init__(self, levels: Sequence[int], concentration: Hyperparameter = 1.0) -> None:
        if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
            raise ValueError(f"levels is {levels!r}, expected a list of whole numbers, one a column")
        self.levels = tuple(check_count("levels", one, at_least=2) for one in levels)
        self.num_groups = len(self.levels)
        super().__init__(len(self.levels))
        self.concentration = number(concentration)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return of_levels(self.levels)

    @property
    def typical_scale(self) -> float:
        """Root mean over columns of the prior mean of p (1 - p)."""
        a = self._typical("concentration")
        return math.sqrt(
            sum((1 - 1 / one) / one / (1 + 1 / (a * one)) for one in self.levels) / len(self.levels)
        )

    def parameters(self) -> dict[str, Tensor]:
        found = {}
        for column, levels in enumerate(self.levels):
            value = self.hyper("concentration", trailing=2).to(torch.get_default_dtype())
            law = Dirichlet(value.expand(*value.shape[:-1], levels), validate_args=False)
            found[f"probs_{column}"] = site(f"probs_{column}", law)
        return found

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return CategoricalColumns([parameters[f"probs_{column}"] for column in range(self.dim)])

    def check(self, data: Tensor) -> None:
        super().check(filled(data))

    def moments(self, data: Tensor) -> Tensor:
        """Return a one for the category of each column, zeros where it is missing."""
        numbers = torch.cat([torch.arange(one, dtype=torch.float64) for one in self.levels]).to(data.device)
        widths = torch.tensor(self.levels, device=data.device)
        return (data.double().repeat_interleave(widths, -1) == numbers).double()

    def _posterior(self, counts: Tensor, moments: Tensor) -> Tensor:
        _, moments = self.over_batch(counts, moments)
        return self.hyper("concentration", trailing=2) + moments

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        return self.log_marginal_by_group(counts, moments).sum(-1)

    def log_marginal_by_group(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of each column of blocks in nats, ``(..., D)``."""
        posterior = self._posterior(counts, moments)
        prior = self._posterior(torch.zeros_like(counts), torch.zeros_like(moments))
        found = self._totals(posterior.lgamma() - prior.lgamma())
        return found + self._totals(prior).lgamma() - self._totals(posterior).lgamma()

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the log-probabilities of all categories."""
        posterior = self._posterior(counts, moments)
        widths = torch.tensor(self.levels, device=moments.device)
        return posterior.log() - self._totals(posterior).log().repeat_interleave(widths, -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        return (self.moments(data) * parameters).sum(-1)

    def log_predictive_by_group(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive probability of each column, 0 where it is missing, ``(..., D)``."""
        return self._totals(self.moments(data) * parameters)

    def counts_by_group(self, moments: Tensor) -> Tensor:
        """Return how many points have each column, ``(..., D)``."""
        return self._totals(moments)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        parts = self._posterior(counts, moments).split(self.levels, -1)
        return {
            f"probs_{column}": Dirichlet(one, validate_args=False).sample()
            for column, one in enumerate(parts)
        }

    def _totals(self, values: Tensor) -> Tensor:
        """Sum over the categories of each column, ``(..., D)``."""
        return torch.stack([one.sum(-1) for one in values.split(self.levels, -1)], -1)


_CONCENTRATION = 0
_MISSING = -1


@compile_methods
class CategoryTables(NamedTuple):
    r"""Categories of points; clusters cache log predictives :math:`\log(a + s_l) - \log(L a + n)`."""

    hyper: np.ndarray  # the concentration
    # place of each point's category among those of all columns, -1 where it is missing, (N, D)
    code: np.ndarray
    first: np.ndarray  # place of the first category of each column, and of one after the last, (D + 1,)
    log_seen: np.ndarray  # log(a + n) by n, (N + 1,)
    seen: np.ndarray  # how often each category is in a cluster, (S, sum of L)
    totals: np.ndarray  # how often any of a column is, (S, D)
    log_probs: np.ndarray  # of each category, (S, sum of L)

    def tabulate(self) -> None:
        for size in range(len(self.log_seen)):
            self.log_seen[size] = math.log(self.hyper[_CONCENTRATION] + size)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        for d in range(self.code.shape[1]):
            begin, end, total = self.first[d], self.first[d + 1], 0
            for place in range(begin, end):
                count = int(sums[place] + 0.5)
                self.seen[slot, place] = count
                total += count
            self.totals[slot, d] = total
            log_total = math.log((end - begin) * self.hyper[_CONCENTRATION] + total)
            for place in range(begin, end):
                self.log_probs[slot, place] = self.log_seen[self.seen[slot, place]] - log_total

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        total = 0.0
        for d in range(self.code.shape[1]):
            if self.code[point, d] != _MISSING:
                total += self.log_probs[slot, self.code[point, d]]
        return total

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        dim: int = self.code.shape[1]
        for d in range(dim):
            place = self.code[point, d]
            found[d] = 0.0 if place == _MISSING else self.log_probs[slot, place]
        return dim

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        total, concentration = 0.0, self.hyper[_CONCENTRATION]
        for d in range(self.code.shape[1]):
            place = self.code[point, d]
            if place != _MISSING:
                number = self.first[d + 1] - self.first[d]
                total += self.log_seen[self.seen[slot, place] - 1]
                total -= math.log(number * concentration + self.totals[slot, d] - 1)
        return total

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        for d in range(self.code.shape[1]):
            begin, end, high, total = self.first[d], self.first[d + 1], -np.inf, 0.0
            for place in range(begin, end):
                shape = self.hyper[_CONCENTRATION] + max(sums[place], 0.0)
                self.log_probs[slot, place] = draw_log_gamma(shape, generator)
                high = max(high, self.log_probs[slot, place])
            for place in range(begin, end):
                total += math.exp(self.log_probs[slot, place] - high)
            for place in range(begin, end):
                self.log_probs[slot, place] -= high + math.log(total)

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        for r in range(count):
            for d in range(self.code.shape[1]):
                place = self.code[rows[r], d]
                if place != _MISSING:
                    found[r] += self.log_probs[slot, place]

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        found, concentration = 0.0, self.hyper[_CONCENTRATION]
        for d in range(self.code.shape[1]):
            begin, end, total = self.first[d], self.first[d + 1], 0.0
            for place in range(begin, end):
                found += log_rising(concentration, sums[place])
                total += sums[place]
            found -= log_rising((end - begin) * concentration, total)
        return found


@compile_family.register
def _(component: Categories, data: np.ndarray, num_slots: int, num_points: int) -> CategoryTables:
    first = np.concatenate([[0], np.cumsum(component.levels)]).astype(np.int64)
    code = np.where(np.isnan(data), _MISSING, np.nan_to_num(data) + first[:-1]).astype(np.int64)
    return CategoryTables(
        hyper=hyper_array(component),
        code=code,
        first=first,
        log_seen=np.zeros(num_points + 1),
        seen=np.zeros((num_slots, int(first[-1])), np.int64),
        totals=np.zeros((num_slots, component.dim), np.int64),
        log_probs=np.zeros((num_slots, int(first[-1]))),
    )
