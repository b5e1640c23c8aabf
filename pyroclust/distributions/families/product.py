"""Mixed columns: families side by side, independent within a cluster."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import Family, compile_family, family_of, join_families
from pyroclust.distributions.families.component import (
    Component,
    ConjugateComponent,
    GroupedSupport,
    PrefixedSites,
)
from pyroclust.distributions.hyperparameters import Integral
from pyroclust.distributions.points import broadcast_shapes


class SideBySide(TorchDistribution):
    """Vectors made of independent parts."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, parts: Sequence[TorchDistribution]) -> None:
        self.parts = tuple(parts)
        self._widths = [part.event_shape[-1] for part in self.parts]
        batch = broadcast_shapes(*(part.batch_shape for part in self.parts))
        super().__init__(batch, Size((sum(self._widths),)), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return GroupedSupport([(part.support, part.event_shape[-1]) for part in self.parts])

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SideBySide":
        return SideBySide([part.expand(Size(batch_shape)) for part in self.parts])

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))[:-1]
        draws = [part.expand(self.batch_shape).sample(Size(sample_shape)) for part in self.parts]
        return torch.cat([one.expand(*shape, -1) for one in draws], -1)

    def log_prob(self, value: Tensor) -> Tensor:
        pairs = zip(self.parts, value.split(self._widths, -1), strict=True)
        first, *others = (part.log_prob(own) for part, own in pairs)
        return sum(others, start=first)


@register(Component)
class Product(ConjugateComponent):
    r"""A conjugate family for each group of columns, independent given the cluster.

    .. math:: F(x; \theta) = \prod_j F_j(x^{(j)}; \theta^{(j)})

    Names of hyperparameters and of the parameters of a cluster begin with the position of their part:
    ``"0.rate"``, ``"1.probs"``.

    Args:
        parts: conjugate families, for consecutive groups of columns.

    Raises:
        ValueError: if there are no parts, or one is not conjugate.

    Example:
        >>> from pyroclust.distributions import BernoulliBeta, NormalInverseGamma
        >>> family = Product([NormalInverseGamma(2, 0.1, shape=2.0, rate=1.0), BernoulliBeta(3)])
        >>> family.dim, family.hyper_names[-1], sorted(family.sample_prior((4,)))
        (5, '1.beta', ['0.loc', '0.variance', '1.probs'])
    """

    def __init__(self, parts: Sequence[ConjugateComponent]) -> None:
        if not isinstance(parts, list | tuple):
            raise ValueError(
                f"parts is of type {type(parts).__name__}, expected a list of conjugate families"
            )
        self.parts = tuple(parts)
        for index, part in enumerate(self.parts):
            if not isinstance(part, ConjugateComponent):
                raise ValueError(
                    f"parts has a {type(part).__name__} at {index}, expected conjugate families only; "
                    "write mixed columns of other kinds as one PyroComponent"
                )
        if not self.parts:
            raise ValueError("parts is empty, expected at least one conjugate family")
        super().__init__(sum(part.dim for part in self.parts))

    @property
    def hyper_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{index}.{name}" for index, part in enumerate(self.parts) for name in part.hyper_names)

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        parts = enumerate(self.parts)
        return {f"{index}.{name}": one for index, part in parts for name, one in part.hyperpriors.items()}

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        unknown = sorted(values.keys() - set(self.hyper_names))
        if unknown:
            raise ValueError(
                f"values has the name {unknown[0]!r}, expected some of {', '.join(self.hyper_names)}"
            )
        pairs = zip(self.parts, self._by_part(values), strict=True)
        return type(self)([part.given(own) for part, own in pairs])

    def value(self, name: str) -> Tensor:
        index, own = name.split(".", 1)
        return self.parts[int(index)].value(own)

    @property
    def batch_shape(self) -> Size:
        shapes = [shape for part in self.parts if (shape := part.batch_shape)]
        return broadcast_shapes(*shapes) if shapes else Size()

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return GroupedSupport([(part.support, part.dim) for part in self.parts])

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        return any(part.takes_missing for part in self.parts)

    @property
    def typical_scale(self) -> float:
        """Root mean square of the typical scales over columns."""
        return (sum(part.dim * part.typical_scale**2 for part in self.parts) / self.dim) ** 0.5

    def parameters(self) -> dict[str, Tensor]:
        found = {}
        for index, part in enumerate(self.parts):
            with PrefixedSites(f"{index}."):
                found.update({f"{index}.{name}": value for name, value in part.parameters().items()})
        return found

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        pairs = zip(self.parts, self._by_part(parameters), strict=True)
        return SideBySide([part.likelihood(own) for part, own in pairs])

    def check_reach(self, data: Tensor) -> None:
        for part, columns in zip(self.parts, self._columns(data), strict=True):
            part.check_reach(columns)

    def check(self, data: Tensor) -> None:
        if data.dim() and data.shape[-1] == self.dim:
            for part, columns in zip(self.parts, self._columns(data), strict=True):
                part.check(columns)
        else:
            super().check(data)

    def moments(self, data: Tensor) -> Tensor:
        pairs = zip(self.parts, self._columns(data), strict=True)
        return torch.cat([part.moments(columns) for part, columns in pairs], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        first, *others = (part.log_marginal(counts, own) for part, own in self._with_moments(moments))
        return sum(others, start=first)

    @property
    def integrated_names(self) -> frozenset[str]:
        parts = enumerate(self.parts)
        return frozenset(f"{index}.{name}" for index, part in parts for name in part.integrated_names)

    def log_likelihood(self, counts: Tensor, moments: Tensor) -> Tensor:
        first, *others = (part.log_likelihood(counts, own) for part, own in self._with_moments(moments))
        return sum(others, start=first)

    def over_hyperparameters(self, counts: Tensor, moments: Tensor) -> dict[str, Integral]:
        return {
            f"{index}.{name}": one
            for index, (part, own) in enumerate(self._with_moments(moments))
            for name, one in part.over_hyperparameters(counts, own).items()
        }

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        counts, moments = self.over_batch(counts, moments)
        packs = [part.predictive_parameters(counts, own) for part, own in self._with_moments(moments)]
        return torch.cat(packs, -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        packs = parameters.split(self._packed_widths, -1)
        parts = zip(self.parts, self._columns(data), packs, strict=True)
        first, *others = (part.log_predictive(columns, own) for part, columns, own in parts)
        return sum(others, start=first)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        counts, moments = self.over_batch(counts, moments)
        found = {}
        for index, (part, own) in enumerate(self._with_moments(moments)):
            draws = part.sample_parameters(counts, own)
            found.update({f"{index}.{name}": value for name, value in draws.items()})
        return found

    def sample(self, assignments: Tensor) -> Tensor:
        return torch.cat([part.sample(assignments) for part in self.parts], -1)

    @cached_property
    def _packed_widths(self) -> list[int]:
        return [part.prior_predictive_parameters().shape[-1] for part in self.parts]

    def _columns(self, data: Tensor) -> tuple[Tensor, ...]:
        return data.split([part.dim for part in self.parts], -1)

    def _with_moments(self, moments: Tensor) -> list[tuple[ConjugateComponent, Tensor]]:
        own = moments.split([part.num_moments for part in self.parts], -1)
        return list(zip(self.parts, own, strict=True))

    def _by_part(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Sort named values by the part whose position their names begin with."""
        split: list[dict[str, Any]] = [{} for _ in self.parts]
        for name, value in values.items():
            index, own = name.split(".", 1)
            split[int(index)][own] = value
        return split


@compile_family.register
def _(component: Product, data: np.ndarray, num_slots: int, num_points: int) -> Family:
    columns = np.split(data, np.cumsum([part.dim for part in component.parts])[:-1], axis=1)
    families: list[Any] = [
        family_of(part, np.ascontiguousarray(own), num_slots, num_points)
        for part, own in zip(component.parts, columns, strict=True)
    ]
    return join_families(families, [part.support.is_discrete for part in component.parts])
