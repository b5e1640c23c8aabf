"""The published formulation of a training step of the Neural Clustering Process, written from its paper.

A loop over points; for each candidate of a decision all clusters are evaluated again; the data sets of a
batch share one label vector, so that no candidate is padding. Our own code, kept plain: it is what
``benchmarks/training.py`` measures the package against, and a test compares their losses.

References:
    Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.nn import SummedScorer
from pyroclust.partitions import canonical

__all__ = ["SequentialNeuralClusteringProcess", "sequential_step"]


class SequentialNeuralClusteringProcess(nn.Module):
    """The networks h, u, g and f of the published scorer, evaluated decision by decision.

    Args:
        scorer: whose sizes and weights are copied.
    """

    def __init__(self, scorer: SummedScorer) -> None:
        super().__init__()
        point, cluster = scorer.sizes
        self.h = _network(scorer.dim, [scorer.width] * 4, point)
        self.u = _network(scorer.dim, [scorer.width] * 4, point)
        self.g = _network(point, [scorer.width] * 5, cluster)
        self.f = _network(cluster + point, [scorer.width] * 5, 1)
        self.load_state_dict(scorer.state_dict())

    def forward(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return -log q of one partition shared by all data sets, nats per data set, ``(B,)``.

        Shape:
            data: ``(B, N, D)`` in visiting order; assignments: ``(N,)`` canonical.
        """
        points, future = self.h(data), self.u(data)
        clusters = points[:, :1]
        left = future[:, 1:].sum(1)
        loss = data.new_zeros(len(data))
        for step, label in enumerate(assignments.tolist()[1:], 1):
            left = left - future[:, step]
            logits = self._logits(points[:, step], clusters, left)
            target = torch.full((len(data),), label)
            loss = loss + F.cross_entropy(logits, target, reduction="none")
            clusters = _join(clusters, points[:, step], label)
        return loss

    def _logits(self, point: Tensor, clusters: Tensor, left: Tensor) -> Tensor:
        """Evaluate K + 1 candidates one after the other, each by all of its clusters."""
        logits = []
        for candidate in range(clusters.shape[1] + 1):
            pooled = self.g(_join(clusters, point, candidate)).sum(1)
            logits.append(self.f(torch.cat([pooled, left], -1)))
        return torch.cat(logits, -1)


def sequential_step(
    network: SequentialNeuralClusteringProcess,
    optimizer: torch.optim.Optimizer,
    *,
    data: Tensor,
    assignments: Tensor,
    orders: Tensor,
) -> float:
    """Make one step on the sum of the losses over visiting orders, one backward pass an order.

    Shape:
        data: ``(B, N, D)``; assignments: ``(N,)``, shared by all data sets; orders: ``(M, N)`` permutations.
    """
    optimizer.zero_grad()
    total = 0.0
    for order in orders:
        loss = network(data[:, order], canonical(assignments[order])).mean()
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total / len(orders)


def _join(clusters: Tensor, point: Tensor, label: int) -> Tensor:
    """Add a point to one of K clusters, or append it as another."""
    if label == clusters.shape[1]:
        return torch.cat([clusters, point.unsqueeze(1)], 1)
    joined = clusters.clone()
    joined[:, label] += point
    return joined


def _network(inputs: int, hidden: list[int], outputs: int) -> nn.Sequential:
    sizes = [inputs, *hidden, outputs]
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.PReLU()]
    return nn.Sequential(*layers[:-1])
