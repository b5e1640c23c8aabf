"""A conjugate family seen as independent groups of columns, with densities group by group."""

import copy
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.families.bernoulli_beta import BernoulliBeta
from pyroclust.distributions.families.categories import Categories
from pyroclust.distributions.families.component import ConjugateComponent
from pyroclust.distributions.families.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.families.normal_known_variance import NormalKnownVariance
from pyroclust.distributions.families.partly_observed import PartlyObserved
from pyroclust.distributions.families.poisson_gamma import PoissonGamma
from pyroclust.distributions.families.product import Product


@singledispatch
def by_columns(component: ConjugateComponent) -> ConjugateComponent:
    """Return the same law, written as independent groups of columns of which cells may be missing.

    Groups are single columns where the family's columns are independent in a cluster, and all its columns
    where they are not. The result is made of :class:`~pyroclust.distributions.PartlyObserved`,
    :class:`~pyroclust.distributions.Categories` and products of these.

    Args:
        component: a conjugate family.

    Example:
        >>> from pyroclust.distributions import NormalInverseWishart
        >>> wishart = NormalInverseWishart(3, 0.2, dof=5.0, scale=1.0)
        >>> by_columns(BernoulliBeta(3)).num_groups, by_columns(wishart).num_groups
        (3, 1)
    """
    return PartlyObserved(component, 1)


@by_columns.register(BernoulliBeta)
@by_columns.register(NormalInverseGamma)
@by_columns.register(NormalKnownVariance)
@by_columns.register(PoissonGamma)
def _(component: ConjugateComponent) -> ConjugateComponent:
    column = copy.copy(component)
    column.dim = 1
    return PartlyObserved(column, component.dim)


@by_columns.register(Categories)
@by_columns.register(PartlyObserved)
def _(component: ConjugateComponent) -> ConjugateComponent:
    return component


@by_columns.register(Product)
def _(component: Product) -> ConjugateComponent:
    return Product([by_columns(part) for part in component.parts])


class ColumnGroups:
    r"""Densities of a family group by group, the sums of which over groups are those of the family.

    .. math:: \log p(x \mid C) = \sum_g \log p_g(x^{(g)} \mid C)

    Args:
        component: a conjugate family.

    Attributes:
        component: the same law as :func:`by_columns` writes it; moments and packed predictives are its.
        num_groups: G.

    Shape:
        data: ``(..., D)``; counts: ``(...)``; moments: ``(..., F)``; output: ``(..., G)``.

    Example:
        >>> from pyroclust.distributions import Product
        >>> groups = ColumnGroups(Product([NormalInverseGamma(2, 0.1, shape=2.0, rate=1.0), Categories([3])]))
        >>> point = torch.tensor([0.5, torch.nan, 1.0])
        >>> groups.counts(groups.component.moments(point)).tolist()
        [1.0, 0.0, 1.0]
    """

    def __init__(self, component: ConjugateComponent) -> None:
        self.component = by_columns(component)
        self._parts: list[Any] = _leaves(self.component)
        self._columns = [part.dim for part in self._parts]
        self._moments = [part.num_moments for part in self._parts]
        self._packs = [part.prior_predictive_parameters().shape[-1] for part in self._parts]
        self.num_groups = sum(part.num_groups for part in self._parts)

    def counts(self, moments: Tensor) -> Tensor:
        """Return how many points of blocks have each group."""
        pairs = zip(self._parts, moments.split(self._moments, -1), strict=True)
        return torch.cat([part.counts_by_group(own) for part, own in pairs], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        pairs = zip(self._parts, moments.split(self._moments, -1), strict=True)
        return torch.cat([part.log_marginal_by_group(counts, own) for part, own in pairs], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of each group of points in nats, 0 where it is missing.

        Args:
            data: points.
            parameters: predictives as ``component.predictive_parameters`` packs them.
        """
        columns, packs = data.split(self._columns, -1), parameters.split(self._packs, -1)
        parts = zip(self._parts, columns, packs, strict=True)
        return torch.cat([part.log_predictive_by_group(own, pack) for part, own, pack in parts], -1)


def _leaves(component: Any) -> list[Any]:
    """Return the parts of nested products, in order."""
    if isinstance(component, Product):
        return [leaf for part in component.parts for leaf in _leaves(part)]
    return [component]
