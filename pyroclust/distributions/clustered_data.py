"""Data given a partition, the cluster parameters integrated out."""

from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.components import ConjugateComponent
from pyroclust.partitions import num_clusters

__all__ = ["ClusteredData", "block_moments"]


def block_moments(component: ConjugateComponent, data: Tensor, assignments: Tensor) -> tuple[Tensor, Tensor]:
    """Sum counts and sufficient statistics over the clusters of each partition.

    One scatter-add: cost O(N F) a partition, memory O(N F) a partition.

    Shape:
        data: ``(..., N, D)``; assignments: ``(..., N)``, broadcast; output: counts ``(..., K)`` and moments
            ``(..., K, F)``, float64.
    """
    moments = component.moments(data)
    batch = torch.broadcast_shapes(moments.shape[:-2], assignments.shape[:-1])
    moments = moments.expand(*batch, *moments.shape[-2:])
    labels = assignments.expand(*batch, assignments.shape[-1])
    width = int(num_clusters(assignments).max())
    counts = moments.new_zeros(*batch, width).scatter_add_(
        -1, labels, torch.ones_like(labels, dtype=moments.dtype)
    )
    index = labels.unsqueeze(-1).expand_as(moments)
    return counts, moments.new_zeros(*batch, width, moments.shape[-1]).scatter_add_(-2, index, moments)


class ClusteredData(TorchDistribution):
    r"""Data sets of points whose clusters are known and whose cluster parameters are integrated out.

    .. math:: \log p(x \mid c) = \sum_k \log \int \prod_{i: c_i = k} F(x_i; \theta) \, G_0(d\theta)

    Args:
        component: the conjugate family.
        assignments: canonical labels, ``(..., N)``.
        validate_args: check values.

    Shape:
        batch_shape: ``assignments.shape[:-1]``; event_shape: ``(N, D)``.
    """

    support = constraints.independent(constraints.real, 2)
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self, component: ConjugateComponent, assignments: Tensor, *, validate_args: bool | None = None
    ) -> None:
        self.component, self.assignments = component, assignments
        event_shape = Size((assignments.shape[-1], component.dim))
        super().__init__(assignments.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ClusteredData":
        """Return the same distribution with a larger batch shape."""
        assignments = self.assignments.expand(*batch_shape, self.assignments.shape[-1])
        return ClusteredData(self.component, assignments, validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw cluster parameters afresh, then the points."""
        with torch.no_grad():
            shape = (*sample_shape, *self.assignments.shape)
            return self.component.sample(self.assignments.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the collapsed log-likelihood in nats, float64; cost O(N)."""
        counts, moments = block_moments(self.component, value, self.assignments)
        return self.component.log_marginal(counts, moments).sum(-1)
