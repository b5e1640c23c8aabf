"""A scorer in one file: how far a point is from the centres of the clusters, in a unit that is learned."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pyroclust.core.registry import register
from pyroclust.nn import NetworkScorer


@dataclass(frozen=True)
class Centred:
    """Data sets in visiting order; a cluster is the sum of the moments of its points."""

    points: Tensor  # (B, N, D)
    moments: Tensor  # (B, N, D) float64


@register(NetworkScorer)
class CentreScorer(NetworkScorer[Centred]):
    """Scores a cluster by the distance to its mean, and a new one by a number.

    Args:
        dim: dimension of the points.
        reach: how far clusters reach before the training.
    """

    def __init__(self, dim: int, *, reach: float = 1.0) -> None:
        super().__init__()
        self.dim, self.reach = dim, reach
        self.log_reach = nn.Parameter(torch.tensor(float(reach)).log())
        self.new_cluster = nn.Parameter(torch.tensor(-1.0))

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> Centred:
        """Keep the points, and sum them in float64."""
        return Centred(data, data.double())

    def absorb(
        self, encoding: Centred, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """A cluster is known by its mean."""
        return (moments / counts.unsqueeze(-1)).to(encoding.points.dtype)

    def contribution(self, states: Tensor) -> Tensor:
        """Decisions need nothing of all clusters together."""
        return states[..., :0]

    def query(
        self, encoding: Centred, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """A decision is known by its point."""
        return encoding.points[dataset, step]

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Return minus the squared distances to the means."""
        return -((query - states) / self.log_reach.exp()).square().sum(-1)

    def open(self, query: Tensor) -> Tensor:
        """Return the score of a new cluster."""
        return self.new_cluster.expand(len(query))
