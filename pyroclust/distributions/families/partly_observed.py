"""Columns of which some cells are missing, which are integrated out; families group by group of columns."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    Family,
    compile_columns,
    compile_family,
    compile_methods,
    family_of,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)
from pyroclust.distributions.families.bernoulli_beta import BernoulliBeta
from pyroclust.distributions.families.categories import Categories
from pyroclust.distributions.families.circular import Circular
from pyroclust.distributions.families.component import Component, ConjugateComponent, OrMissing, filled
from pyroclust.distributions.families.negative_binomial import NegativeBinomialBeta
from pyroclust.distributions.families.normal_independent import NormalIndependent
from pyroclust.distributions.families.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.families.normal_known_variance import NormalKnownVariance
from pyroclust.distributions.families.poisson_gamma import PoissonGamma
from pyroclust.distributions.families.product import Product, SideBySide


class ObservedParts(SideBySide):
    """Vectors made of independent parts, of which those that are missing (nan) say nothing."""

    @property
    def support(self) -> constraints.Constraint:
        return OrMissing(super().support)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ObservedParts":
        return ObservedParts([part.expand(Size(batch_shape)) for part in self.parts])

    def log_prob(self, value: Tensor) -> Tensor:
        found: Tensor | float = 0.0
        for part, own in zip(self.parts, value.split(self._widths, -1), strict=True):
            found = found + torch.where(own.isnan().any(-1), 0.0, part.log_prob(filled(own)))
        assert isinstance(found, Tensor)
        return found


@register(Component)
class PartlyObserved(ConjugateComponent):
    r"""Independent groups of columns of one conjugate family, of which any may be missing in any point.

    .. math:: p(x_C) = \prod_g \int \prod_{i \in C:\, x_{ig} \text{ observed}} F(x_{ig}; \theta_g)
        \, G_0(d\theta_g)

    A missing group, written nan, is integrated out. That is right where cells are missing for reasons that
    have nothing to do with their values, given what is observed. Of a group with several columns all are
    missing or none. Names of the parameters of a cluster begin with the position of their group: ``"0.loc"``,
    ``"1.loc"``.

    Args:
        part: the family of every group.
        num_groups: G; points have G times the dimension of the family.

    Shape:
        moments: G counts of observed cells, then those of the family for each group, ``(..., G (1 + F))``.

    Raises:
        ValueError: if the family is not conjugate.

    Example:
        >>> from pyroclust.distributions import NormalInverseGamma
        >>> family = PartlyObserved(NormalInverseGamma(1, 0.5, shape=2.0, rate=2.0), 3)
        >>> point = family.moments(torch.tensor([0.0, torch.nan, torch.nan]))  # one cell is there
        >>> family.log_marginal(torch.tensor(1.0), point).item()
        -1.53...

    References:
        Rubin (1976), Inference and missing data. https://doi.org/10.1093/biomet/63.3.581
    """

    takes_missing = True

    def __init__(self, part: ConjugateComponent, num_groups: int) -> None:
        self.part = ConjugateComponent.of(part, otherwise="only there do missing cells integrate out")
        self.num_groups = check_count("num_groups", num_groups)
        super().__init__(self.num_groups * part.dim)
        self._groups = Product([part] * self.num_groups)

    @property
    def hyper_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.part.hyper_names

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        return self.part.hyperpriors

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        return type(self)(self.part.given(values), self.num_groups)

    def value(self, name: str) -> Tensor:
        return self.part.value(name)

    @property
    def batch_shape(self) -> Size:
        return self.part.batch_shape

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return OrMissing(self._groups.support)

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"{self.part.expected}, or nan in all columns of a group"

    @property
    def typical_scale(self) -> float:
        return self.part.typical_scale

    def parameters(self) -> dict[str, Tensor]:
        return self._groups.parameters()

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        law = self._groups.likelihood(parameters)
        assert isinstance(law, SideBySide)
        return ObservedParts(law.parts)

    def check_reach(self, data: Tensor) -> None:
        self.part.check_reach(filled(data))

    def check(self, data: Tensor) -> None:
        if data.dim() and data.shape[-1] == self.dim and data.is_floating_point():
            lost = self._in_groups(data).isnan()
            if bool((lost.any(-1) & ~lost.all(-1)).any()):
                raise ValueError(
                    f"data has points of which some columns of a {type(self.part).__name__} of "
                    f"{self.part.dim} columns are missing and others are not, expected all or none: take "
                    "independent columns, or leave these points out"
                )
        super().check(filled(data))

    def moments(self, data: Tensor) -> Tensor:
        """Return what is observed, and the moments of that, ``(..., G (1 + F))``."""
        groups = self._in_groups(data.double())
        there = ~groups.isnan().any(-1)
        own = self.part.moments(filled(groups))
        own = torch.where(there.unsqueeze(-1), own, 0.0)
        return torch.cat([there.double(), own.flatten(-2)], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        return self.part.log_marginal(*self._by_group(counts, moments)).sum(0)

    def log_marginal_by_group(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of each group of blocks in nats, ``(..., G)``."""
        return self.part.log_marginal(*self._by_group(counts, moments)).movedim(0, -1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        packed = self.part.predictive_parameters(*self._by_group(counts, moments))
        return packed.movedim(0, -2).flatten(-2)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        return self.log_predictive_by_group(data, parameters).sum(-1)

    def log_predictive_by_group(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of each group in nats, 0 where it is missing, ``(..., G)``."""
        groups = self._in_groups(data)
        found = self.part.log_predictive(filled(groups), parameters.unflatten(-1, (self.num_groups, -1)))
        return torch.where(groups.isnan().any(-1), 0.0, found)

    def counts_by_group(self, moments: Tensor) -> Tensor:
        """Return how many points have each group, ``(..., G)``."""
        return moments[..., : self.num_groups]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        drawn = self.part.sample_parameters(*self._by_group(counts, moments))
        return {
            f"{group}.{name}": values[group]
            for group in range(self.num_groups)
            for name, values in drawn.items()
        }

    def sample(self, assignments: Tensor) -> Tensor:
        return self._groups.sample(assignments)

    def _in_groups(self, data: Tensor) -> Tensor:
        return data.unflatten(-1, (self.num_groups, self.part.dim))

    def _by_group(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return observed cells ``(G, ..., K)`` and their moments ``(G, ..., K, F)``."""
        _, moments = self.over_batch(counts, moments)
        there, own = moments.tensor_split((self.num_groups,), -1)
        return there.movedim(-1, 0), own.unflatten(-1, (self.num_groups, -1)).movedim(-2, 0)


@compile_methods
class CellTables(NamedTuple):
    """The family of one group of columns: a point for every cell, a cluster for every group of a cluster."""

    hyper: np.ndarray  # that of the family
    # the family, on the N G cells as points; cluster k of group g is its slot k G + g, and the last is empty
    part: Family
    there: np.ndarray  # which cells are there, (N, G)
    counts: np.ndarray  # cells that are there in every group of every cluster, (S, G)
    sums: np.ndarray  # moments of the part's clusters, (S G + 1, F)

    def tabulate(self) -> None:
        tabulate(self.part)
        empty = len(self.sums) - 1
        refresh(self.part, self.sums, empty, 0)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        groups, width = self.there.shape[1], self.sums.shape[1]
        for g in range(groups):
            count, own = int(sums[g] + 0.5), slot * groups + g
            self.counts[slot, g] = count
            for f in range(width):
                # What is left of a sum that was taken apart again is rounding.
                self.sums[own, f] = sums[groups + g * width + f] if count else 0.0
            refresh(self.part, self.sums, own, count)

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        groups, total = self.there.shape[1], 0.0
        for g in range(groups):
            if self.there[point, g]:
                count = self.counts[slot, g]
                total += log_predictive(self.part, point * groups + g, slot * groups + g, count)
        return total

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        groups: int = self.there.shape[1]
        for g in range(groups):
            found[g] = 0.0
            if self.there[point, g]:
                count = self.counts[slot, g]
                found[g] = log_predictive(self.part, point * groups + g, slot * groups + g, count)
        return groups

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        groups, total = self.there.shape[1], 0.0
        for g in range(groups):
            if not self.there[point, g]:
                continue
            cell, count = point * groups + g, self.counts[slot, g]
            if count > 1:
                total += log_predictive_without(self.part, cell, slot * groups + g, count)
            else:
                total += log_predictive(self.part, cell, len(self.sums) - 1, 0)
        return total

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        groups, width, total = self.there.shape[1], self.sums.shape[1], 0.0
        for g in range(groups):
            count = int(sums[g] + 0.5)
            if count:
                own = slot * groups + g
                for f in range(width):
                    self.sums[own, f] = sums[groups + g * width + f]
                total += log_marginal(self.part, self.sums, own, count)
        return total


@compile_family.register
def _(component: PartlyObserved, data: np.ndarray, num_slots: int, num_points: int) -> NamedTuple:
    groups, width = component.num_groups, component.part.dim
    values = np.ascontiguousarray(data.reshape(-1, width))
    there = ~np.isnan(values).any(-1)
    values, there = np.where(there[:, None], values, 0.0), there.reshape(-1, groups)
    if width == 1:
        tables = compile_columns(
            component.part, values.reshape(-1, groups), there.astype(float), num_slots, num_points
        )
        if tables is not None:
            return tables
    part = family_of(component.part, values, num_slots * groups + 1, num_points)
    return CellTables(
        hyper=part.hyper,
        part=part,
        there=there,
        counts=np.zeros((num_slots, groups), np.int64),
        sums=np.zeros((num_slots * groups + 1, component.part.num_moments)),
    )


_INDEPENDENT_COLUMNS = (
    BernoulliBeta,
    Circular,
    NegativeBinomialBeta,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    PoissonGamma,
)


def by_columns(component: ConjugateComponent) -> ConjugateComponent:
    """Return the same law, columns that are independent in a cluster as groups that may be missing."""
    if isinstance(component, Product):
        return Product([by_columns(part) for part in component.parts])
    if isinstance(component, Categories | PartlyObserved):
        return component
    if type(component) in _INDEPENDENT_COLUMNS:
        column: Any = type(component)
        return PartlyObserved(column(**(component.arguments | {"dim": 1})), component.dim)
    return PartlyObserved(component, 1)


class ColumnGroups:
    """Densities of a family group by group, with moments and predictives of ``component``, the same law."""

    def __init__(self, component: ConjugateComponent) -> None:
        self.component = by_columns(component)
        self._parts: list[Any] = _leaves(self.component)
        self._columns = [part.dim for part in self._parts]
        self._moments = [part.num_moments for part in self._parts]
        self._packs = [part.prior_predictive_parameters().shape[-1] for part in self._parts]
        self.num_groups = sum(part.num_groups for part in self._parts)

    @property
    def widths(self) -> list[int]:
        """How many columns each group has."""
        return [part.dim // part.num_groups for part in self._parts for _ in range(part.num_groups)]

    @property
    def families(self) -> set[type]:
        """The families of the groups."""
        return {type(getattr(part, "part", part)) for part in self._parts}

    def counts(self, moments: Tensor) -> Tensor:
        """Return how many points of blocks have each group."""
        pairs = zip(self._parts, moments.split(self._moments, -1), strict=True)
        return torch.cat([part.counts_by_group(own) for part, own in pairs], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        pairs = zip(self._parts, moments.split(self._moments, -1), strict=True)
        return torch.cat([part.log_marginal_by_group(counts, own) for part, own in pairs], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of each group of points in nats, 0 where it is missing."""
        columns, packs = data.split(self._columns, -1), parameters.split(self._packs, -1)
        parts = zip(self._parts, columns, packs, strict=True)
        return torch.cat([part.log_predictive_by_group(own, pack) for part, own, pack in parts], -1)


def _leaves(component: Any) -> list[Any]:
    if isinstance(component, Product):
        return [leaf for part in component.parts for leaf in _leaves(part)]
    return [component]
