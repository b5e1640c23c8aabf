"""The clusters of all chains in one list, with their parameters."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from pyroclust.distributions import Component
from pyroclust.infer.mcmc.protocol import CollapsedModel

__all__ = ["ChainClusters", "ChainFamilies", "log_likelihood"]


@dataclass(frozen=True)
class ChainClusters:
    """Partitions of C chains whose T clusters, chain after chain, are the rows of one table of parameters.

    Attributes:
        labels: canonical labels, ``(C, N)`` int64.
        parameters: by name, ``(T, *event)`` each; empty where there are none yet.
        rows: row of each point's cluster, ``(C, N)`` int64.
        chain_of_row: ``(T,)`` int64.
    """

    labels: Tensor
    parameters: dict[str, Tensor] = field(default_factory=dict)
    rows: Tensor = field(init=False)
    chain_of_row: Tensor = field(init=False)

    def __post_init__(self) -> None:
        """Count the clusters of every chain."""
        counts = self.labels.amax(-1) + 1
        first = counts.cumsum(0) - counts
        object.__setattr__(self, "rows", self.labels + first.unsqueeze(-1))
        object.__setattr__(self, "chain_of_row", torch.arange(len(counts)).repeat_interleave(counts))

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
        """Return the families of some chains, in the shape of ``chains``, as one family of that batch shape."""
        if not self.values:
            return self.model.component
        return self.model.given({name: value[chains] for name, value in self.values.items()}).component


def log_likelihood(
    component: Component, parameters: dict[str, Tensor], data: Tensor, *, batch: int
) -> Tensor:
    """Return log p(x | parameters) in nats, float64.

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
    return component.likelihood(apart).log_prob(data.unsqueeze(-2)).squeeze(-1).double()
