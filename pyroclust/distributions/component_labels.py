"""Partitions of points that choose a component each, independently of one another."""

from typing import ClassVar

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.partitions import canonical

MOST_COMPONENTS = 14
"""Components up to which the log-probability of a partition is summed over all ways to name its blocks."""

_NUMBERS_AT_ONCE = 1 << 23


class ComponentLabels(PartitionDistribution):
    r"""Partitions whose points choose among K components, independently given the data.

    .. math::
        q(c) = \sum_{\pi} \prod_i r_{i, \pi(c_i)}

    over all ways :math:`\pi` to name the blocks by different components, summed exactly by going through the
    subsets of components; ``log_shares`` is log r, ``(*batch, N, K)``. Cost of a log-probability
    O(N K^2 + K^2 2^K), of a draw O(N K).
    """

    batched: ClassVar[dict[str, int]] = {"log_shares": 2}

    def __init__(self, log_shares: Tensor, *, validate_args: bool | None = None) -> None:
        if log_shares.shape[-1] > MOST_COMPONENTS:
            raise ValueError(
                f"log_shares has {log_shares.shape[-1]} components, expected at most {MOST_COMPONENTS}: the "
                "names of blocks are summed out"
            )
        self.log_shares = log_shares.double()
        super().__init__(log_shares.shape[-2], batch_shape=log_shares.shape[:-2], validate_args=validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        bounds = self.log_shares.exp().cumsum(-1)
        shape = (*sample_shape, *self.batch_shape, self.num_points)
        uniform = torch.rand(shape, dtype=torch.float64, device=bounds.device) * bounds[..., -1]
        labels = torch.searchsorted(
            bounds.expand(*shape, bounds.shape[-1]).contiguous(), uniform.unsqueeze(-1), right=True
        )
        return canonical(labels.squeeze(-1).clamp(max=bounds.shape[-1] - 1))

    def _candidates(self, width: int) -> Tensor:
        best = canonical(self.log_shares.argmax(-1)).unsqueeze(0)
        return torch.cat([best, super()._candidates(width)])

    def _log_prob(self, value: Tensor) -> Tensor:
        components = self.log_shares.shape[-1]
        value = self._expanded(value)
        labels, batch = value.reshape(-1, self.num_points), value.shape[:-1]
        places = torch.arange(self.batch_shape.numel(), device=value.device).view(self.batch_shape)
        places = places.expand(batch).reshape(-1)
        shares = self.log_shares.reshape(-1, self.num_points, components)
        rows = max(1, _NUMBERS_AT_ONCE // (components * max(self.num_points, 1 << components)))
        parts = [
            _log_sum_over_names(one, shares[place])
            for one, place in zip(labels.split(rows), places.split(rows), strict=True)
        ]
        return torch.cat(parts).view(batch)


def _log_sum_over_names(labels: Tensor, log_shares: Tensor) -> Tensor:
    """Sum over the ways to name blocks by different components, ``(R, N), (R, N, K) -> (R,)``."""
    components, device = log_shares.shape[-1], labels.device
    blocks = labels.amax(-1) + 1
    most = min(int(blocks.max()), components)
    block = labels.clamp(max=components - 1).unsqueeze(-1).expand_as(log_shares)
    # What each block is worth under each component.
    worth = torch.zeros(len(labels), components, components, dtype=log_shares.dtype, device=device)
    worth = worth.scatter_add(1, block, log_shares)
    subsets = torch.arange(1 << components, device=device)
    bits = 1 << torch.arange(components, device=device)
    holds = (subsets.unsqueeze(-1) & bits) != 0
    without = subsets.unsqueeze(-1) ^ bits
    # Of the first blocks, by the subset of components that name them.
    named = torch.full((len(labels), len(subsets)), -torch.inf, dtype=worth.dtype, device=device)
    named[:, 0] = 0.0
    found = torch.full((len(labels),), -torch.inf, dtype=worth.dtype, device=device)
    for number in range(most):
        ways = named[:, without.where(holds, 0)] + worth[:, number].unsqueeze(1)
        named = ways.masked_fill(~holds, -torch.inf).logsumexp(-1)
        found = torch.where(blocks == number + 1, named.logsumexp(-1), found)
    return found
