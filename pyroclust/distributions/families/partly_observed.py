"""Columns of which some cells are missing: these are integrated out, so that nothing is imputed."""

from collections.abc import Mapping
from typing import Any, Self

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component, ConjugateComponent
from pyroclust.distributions.families.product import Product, SideBySide

__all__ = ["ObservedParts", "PartlyObserved"]


class ObservedParts(SideBySide):
    r"""Vectors made of independent parts, of which those that are missing (nan) say nothing.

    .. math:: \log p(x) = \sum_{j \text{ observed}} \log p_j(x^{(j)})

    Args:
        parts: distributions over vectors.
    """

    @property
    def support(self) -> constraints.Constraint:
        """Every part's columns lie in its support, or are missing."""
        return _OrMissing(super().support)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ObservedParts":
        """Return the same distribution with a larger batch shape."""
        return ObservedParts([part.expand(Size(batch_shape)) for part in self.parts])

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the sum of the log-densities of the parts that are there, in nats."""
        found: Tensor | float = 0.0
        for part, own in zip(self.parts, value.split(self._widths, -1), strict=True):
            found = found + torch.where(own.isnan().any(-1), 0.0, part.log_prob(_filled(own)))
        assert isinstance(found, Tensor)
        return found


class _OrMissing(constraints.Constraint):
    """Values of a constraint, or nan."""

    event_dim = 1

    def __init__(self, base: constraints.Constraint) -> None:
        self.base = base
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the constraint is discrete."""
        return self.base.is_discrete

    def check(self, value: Tensor) -> Tensor:
        """Say of every vector whether it satisfies the constraint with zeros for what is missing."""
        return self.base.check(_filled(value))

    def __repr__(self) -> str:
        return f"{self.base!r} or missing"


@register(Component)
class PartlyObserved(ConjugateComponent):
    r"""Independent groups of columns of one conjugate family, of which any may be missing in any point.

    .. math:: p(x_C) = \prod_g \int \prod_{i \in C:\, x_{ig} \text{ observed}} F(x_{ig}; \theta_g)
        \, G_0(d\theta_g)

    A missing group, written nan, is integrated out: it drops out of the sufficient statistics of its
    cluster, and says nothing of where its point belongs. That is right where cells are missing for reasons
    that have nothing to do with their values, given what is observed. Groups are single columns where the
    family has one dimension; of a group with several, all columns are missing or none.

    Names of hyperparameters are those of the family, names of the parameters of a cluster begin with the
    position of their group: ``"0.loc"``, ``"1.loc"``.

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
    def num_parts(self) -> int:
        """Two: what is there, and the values of that."""
        return 2

    @property
    def hyper_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the family's hyperparameters."""
        return self.part.hyper_names

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        """Priors of the random hyperparameters of the family."""
        return self.part.hyperpriors

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the same with some hyperparameters set to numbers or to batches ``(*batch)``.

        Raises:
            ValueError: if a name is unknown or a value is outside its range.
        """
        return type(self)(self.part.given(values), self.num_groups)

    def value(self, name: str) -> Tensor:
        """Return a hyperparameter as float64, ``()`` or ``(*batch)``.

        Raises:
            ValueError: if it is random.
        """
        return self.part.value(name)

    @property
    def batch_shape(self) -> Size:
        """The broadcast shape of the hyperparameters given as batches."""
        return self.part.batch_shape

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """Every group lies in the support of the family, or is missing."""
        return _OrMissing(self._groups.support)

    @property
    def expected(self) -> str:  # type: ignore[override]
        """The support in words."""
        return f"{self.part.expected}, or nan in all columns of a group"

    @property
    def typical_scale(self) -> float:
        """That of the family."""
        return self.part.typical_scale

    def parameters(self) -> dict[str, Tensor]:
        """Sample the parameters of all groups."""
        return self._groups.parameters()

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the law of a point, which draws all cells and scores those that are there."""
        law = self._groups.likelihood(parameters)
        assert isinstance(law, SideBySide)
        return ObservedParts(law.parts)

    def check_reach(self, data: Tensor) -> None:
        """Refuse points that lie too far away for the family."""
        self.part.check_reach(_filled(data))

    def check(self, data: Tensor) -> None:
        """Refuse data outside the support, and groups of which some columns are missing and some are not.

        Raises:
            ValueError: if the last dimension is not D, or so.
        """
        if data.dim() and data.shape[-1] == self.dim and data.is_floating_point():
            lost = self._in_groups(data).isnan()
            if bool((lost.any(-1) & ~lost.all(-1)).any()):
                raise ValueError(
                    f"data has points of which some columns of a {type(self.part).__name__} of "
                    f"{self.part.dim} columns are missing and others are not, expected all or none: take "
                    "independent columns, or leave these points out"
                )
        super().check(_filled(data))

    def moments(self, data: Tensor) -> Tensor:
        """Return what is observed, and the moments of that, ``(..., G (1 + F))``."""
        groups = self._in_groups(data.double())
        there = ~groups.isnan().any(-1)
        own = self.part.moments(_filled(groups))
        own = torch.where(there.unsqueeze(-1), own, 0.0)
        return torch.cat([there.double(), own.flatten(-2)], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats, the sum over groups."""
        return self.part.log_marginal(*self._by_group(counts, moments)).sum(0)

    def log_marginal_by_group(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of each group of blocks in nats, ``(..., G)``."""
        return self.part.log_marginal(*self._by_group(counts, moments)).movedim(0, -1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictives of all groups, one after the other."""
        packed = self.part.predictive_parameters(*self._by_group(counts, moments))
        return packed.movedim(0, -2).flatten(-2)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of the cells that are there, in nats."""
        return self.log_predictive_by_group(data, parameters).sum(-1)

    def log_predictive_by_group(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of each group in nats, 0 where it is missing, ``(..., G)``."""
        groups = self._in_groups(data)
        found = self.part.log_predictive(_filled(groups), parameters.unflatten(-1, (self.num_groups, -1)))
        return torch.where(groups.isnan().any(-1), 0.0, found)

    def counts_by_group(self, moments: Tensor) -> Tensor:
        """Return how many points have each group, ``(..., G)``."""
        return moments[..., : self.num_groups]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw the parameters of all groups from their posteriors."""
        drawn = self.part.sample_parameters(*self._by_group(counts, moments))
        return {
            f"{group}.{name}": values[group]
            for group in range(self.num_groups)
            for name, values in drawn.items()
        }

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw all cells: which of them would be missing is not modelled."""
        return self._groups.sample(assignments)

    def _in_groups(self, data: Tensor) -> Tensor:
        return data.unflatten(-1, (self.num_groups, self.part.dim))

    def _by_group(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return observed cells ``(G, ..., K)`` and their moments ``(G, ..., K, F)``."""
        _, moments = self.over_batch(counts, moments)
        there, own = moments.tensor_split((self.num_groups,), -1)
        return there.movedim(-1, 0), own.unflatten(-1, (self.num_groups, -1)).movedim(-2, 0)


def _filled(data: Tensor) -> Tensor:
    """Put zeros, which every family takes, where cells are missing."""
    return data.nan_to_num(0.0, posinf=torch.inf, neginf=-torch.inf) if data.is_floating_point() else data
