"""A conjugate family seen as independent groups of columns, with densities group by group."""

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

_INDEPENDENT_COLUMNS = (BernoulliBeta, NormalInverseGamma, NormalKnownVariance, PoissonGamma)


def by_columns(component: ConjugateComponent) -> ConjugateComponent:
    """Return the same law, written as independent groups of columns of which cells may be missing.

    Groups are single columns where the family's columns are independent in a cluster, and all its columns
    where they are not.
    """
    if isinstance(component, Product):
        return Product([by_columns(part) for part in component.parts])
    if isinstance(component, Categories | PartlyObserved):
        return component
    if isinstance(component, _INDEPENDENT_COLUMNS):
        column: Any = type(component)
        return PartlyObserved(column(**(component.arguments | {"dim": 1})), component.dim)
    return PartlyObserved(component, 1)


class ColumnGroups:
    """Densities of a family group by group, the sums of which over groups are those of the family.

    Moments and packed predictives are those of ``component``, the same law as :func:`by_columns` writes it.
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
        """Return the log predictive density of each group of points in nats, 0 where it is missing."""
        columns, packs = data.split(self._columns, -1), parameters.split(self._packs, -1)
        parts = zip(self._parts, columns, packs, strict=True)
        return torch.cat([part.log_predictive_by_group(own, pack) for part, own, pack in parts], -1)


def _leaves(component: Any) -> list[Any]:
    """Return the parts of nested products, in order."""
    if isinstance(component, Product):
        return [leaf for part in component.parts for leaf in _leaves(part)]
    return [component]
