"""The clusters of all chains in one list, with their parameters."""

from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from pyroclust.distributions import Component
from pyroclust.distributions.protocols import CollapsedModel

__all__ = ["ChainClusters", "ChainFamilies", "finite_or_impossible", "log_likelihood"]


@dataclass(frozen=True)
class ChainClusters:
    """Partitions of C chains whose T clusters, chain after chain, are the rows of one table of parameters.

    Attributes:
        labels: canonical labels, ``(C, N)`` int64.
        rows: row of each point's cluster, ``(C, N)`` int64.
        chain_of_row: ``(T,)`` int64.
        parameters: by name, ``(T, *event)`` each; empty where there are none yet.
    """

    labels: Tensor
    rows: Tensor
    chain_of_row: Tensor
    parameters: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Tensor) -> Self:
        """Return the clusters of partitions ``(C, N)``, canonical, without parameters."""
        counts = labels.amax(-1) + 1
        first = counts.cumsum(0) - counts
        chain_of_row = torch.arange(len(counts)).repeat_interleave(counts)
        return cls(labels, labels + first.unsqueeze(-1), chain_of_row)

    def holding(self, parameters: dict[str, Tensor]) -> Self:
        """Return the same clusters with parameters, ``(T, *event)`` by name."""
        return replace(self, parameters=parameters)

    @property
    def num_rows(self) -> int:
        """Number T of clusters of all chains."""
        return len(self.chain_of_row)

    def of_points(self) -> dict[str, Tensor]:
        """Return the parameters of every point's cluster, ``(C, N, *event)`` by name."""
        return {name: value[self.rows] for name, value in self.parameters.items()}


@dataclass(frozen=True)
class ChainFamilies:
    """The component family of every chain: one for all, or one each where hyperparameters are random.

    Attributes:
        model: the model.
        values: values of the random hyperparameters of the component, ``(C,)`` by name.
    """

    model: CollapsedModel
    values: dict[str, Tensor] = field(default_factory=dict)

    def of(self, chains: Tensor) -> Component:
        """Return the families of some chains as one, whose batch shape is that of ``chains``."""
        if not self.values:
            return self.model.component
        return self.model.given({name: value[chains] for name, value in self.values.items()}).component


def log_likelihood(
    component: Component, parameters: dict[str, Tensor], data: Tensor, *, batch: int
) -> Tensor:
    """Return log p(x | parameters) in nats, float64; minus infinity where it is no number.

    Args:
        component: the family, of batch shape ``(*batch)`` where it has any.
        parameters: ``(*batch, *event)`` by name.
        data: points, broadcast with the batch.
        batch: number of batch dimensions of the parameters.

    Shape:
        data: ``(..., D)``; output: the broadcast of ``(...)`` and ``(*batch)``.
    """
    # Families with batches of hyperparameters want a last dimension over clusters: here one of each.
    apart = {name: value.unsqueeze(batch) for name, value in parameters.items()}
    return finite_or_impossible(component.likelihood(apart).log_prob(data.unsqueeze(-2)).squeeze(-1))


def finite_or_impossible(log_density: Tensor) -> Tensor:
    """Return log densities as float64, minus infinity for nan and infinity: parameters beyond arithmetic."""
    return log_density.double().nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)
