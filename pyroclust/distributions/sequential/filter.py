"""Scoring candidates by the collapsed predictive: exact given the points so far, no look-ahead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component, ConjugateComponent
from pyroclust.distributions.hyperparameters import check_conditions
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.scorer import Scorer


class OpeningOdds:
    """Looks up the prior's log-weight of a new cluster for many decisions, in a table that grows."""

    def __init__(self, prior: PartitionPrior) -> None:
        self._prior = prior
        self._table = torch.empty(0, 0, dtype=torch.float64)

    def __call__(self, dataset: Tensor, *, step: Tensor, clusters: Tensor) -> Tensor:
        """Return those after ``step`` points in ``clusters`` clusters of each data set, ``(Q,)`` each."""
        steps, width = int(step.max()) + 1, int(clusters.max()) + 1
        if steps > self._table.shape[-2] or width > self._table.shape[-1]:
            self._table = self._prior.log_opening_table(1 << steps.bit_length(), 1 << width.bit_length())
        self._table = self._table.to(step.device)
        return (
            self._table[dataset, step, clusters] if self._prior.batch_shape else self._table[step, clusters]
        )


@dataclass(frozen=True)
class FilterEncoding:
    """Points in visiting order with their sufficient statistics, and what their prior says."""

    points: Tensor  # (B, N, D) float64
    moments: Tensor  # (B, N, F) float64
    opening: Tensor  # (B, N) float64, log predictive density of an empty cluster
    discount: float | Tensor  # a number, or (B,) float64
    odds: OpeningOdds
    component: ConjugateComponent  # its hyperparameters numbers, or of shape (B,)
    hyperparameters: Tensor  # (B, H) float64, those of the component that are conditions

    def log_join(self) -> Tensor:
        """Tabulate log(n - d), the weight of joining a cluster of n points, ``(N + 1,)``; no conditions."""
        sizes = torch.arange(self.opening.shape[1] + 1, dtype=torch.float64)
        return torch.where(sizes > 0, (sizes - self.discount).log(), -torch.inf)

    def log_open(self, width: int) -> Tensor:
        """Tabulate the weight of a new cluster after n points in K clusters, ``(N + 1, width)``."""
        grid = torch.meshgrid(torch.arange(self.opening.shape[1] + 1), torch.arange(width), indexing="ij")
        steps, clusters = (one.flatten() for one in grid)
        return self.odds(torch.zeros_like(steps), step=steps, clusters=clusters).view(-1, width)


@register(Scorer)
class FilterScorer(Scorer[FilterEncoding]):
    r"""Log-weights of the exact no-look-ahead filter.

    .. math:: q(c_n = k \mid \cdot) \propto p(c_n = k \mid c_{<n}) \, p(x_n \mid x_i, i < n, c_i = k)

    Hyperparameters that are named as conditions arrive with the data, one number a data set.
    """

    def __init__(
        self, prior: PartitionPrior, component: ConjugateComponent, *, conditions: Sequence[str] = ()
    ) -> None:
        self.prior, self.component, self.conditions = prior, component, tuple(conditions)
        self._of_prior = tuple(name for name in self.conditions if name in prior.hyperpriors)
        self._of_component = tuple(name for name in self.conditions if name in component.hyperpriors)
        check_conditions(self.conditions, {**prior.hyperpriors, **component.hyperpriors})
        _check_hyperparameters("prior", prior, self._of_prior)
        _check_hyperparameters("component", component, self._of_component)
        self._odds = None if self._of_prior else OpeningOdds(prior)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but prior and component, which are those of the guide's model."""
        return {"conditions": self.conditions}

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> FilterEncoding:
        values = {} if hyperparameters is None else hyperparameters
        prior = self.prior.given({name: values[name] for name in self._of_prior}) if values else self.prior
        component = self.component
        if self._of_component:
            component = component.given({name: values[name] for name in self._of_component})
        points = data.detach().double()
        moments = component.moments(points)
        rows = len(points) if component.batch_shape else 1
        empty = component.predictive_parameters(
            points.new_zeros(rows, 1), points.new_zeros(rows, 1, moments.shape[-1])
        )
        own = [values[name].to(points).expand(len(points)) for name in self._of_component]
        discount = prior.block_discount
        return FilterEncoding(
            points,
            moments,
            component.log_predictive(points, empty),
            discount if discount.dim() else discount.item(),
            self._odds or OpeningOdds(prior),
            component,
            torch.stack(own, -1) if own else points.new_empty(len(points), 0),
        )

    def absorb(
        self, encoding: FilterEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack predictive parameters and the log-weights of joining."""
        component, discount = encoding.component, encoding.discount
        if component.batch_shape:
            component = self._component_of(encoding.hyperparameters[dataset])
        if isinstance(discount, Tensor):
            discount = discount[dataset].unsqueeze(-1)
        predictive = component.predictive_parameters(counts, moments)
        return torch.cat([predictive, (counts - discount).log().unsqueeze(-1)], -1)

    def contribution(self, states: Tensor) -> Tensor:
        return states[..., :0]

    def query(
        self, encoding: FilterEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Return the point, the component's conditions and the log-weight of a new cluster."""
        odds = encoding.odds(dataset, step=step, clusters=clusters)
        opening = encoding.opening[dataset, step] + odds
        parts = [encoding.points[dataset, step], opening.unsqueeze(-1)]
        if self._of_component:
            parts.insert(1, encoding.hyperparameters[dataset])
        return torch.cat(parts, -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        if not self._of_component:
            return states[..., -1] + self.component.log_predictive(query[..., :-1], states[..., :-1])
        point, own, _ = query.tensor_split((self.component.dim, query.shape[-1] - 1), -1)
        component = self._component_of(own)
        density = component.log_predictive(point.unsqueeze(-2), states[..., :-1].unsqueeze(-2))
        return states[..., -1] + density.squeeze(-1)

    def open(self, query: Tensor) -> Tensor:
        return query[..., -1]

    def is_filter_of(self, prior: PartitionPrior, component: Component) -> bool:
        return self.prior is prior and self.component is component

    def _component_of(self, own: Tensor) -> ConjugateComponent:
        """Return the family under one row of hyperparameters each, ``(..., H)``."""
        return self.component.given(dict(zip(self._of_component, own.unbind(-1), strict=True)))


def _check_hyperparameters(
    label: str, part: PartitionPrior | ConjugateComponent, conditions: Sequence[str]
) -> None:
    for name in part.hyper_names:
        if name in part.hyperpriors and name not in conditions:
            raise ValueError(
                f"{name} is random, expected a number: name it in conditions, or set it with "
                f"model.given({{{name!r}: ...}})"
            )
    if not conditions and part.batch_shape:
        raise ValueError(
            f"{label} has hyperparameters of shape {tuple(part.batch_shape)}, expected single numbers: make "
            "them random and name them in conditions, which arrive one a data set"
        )
