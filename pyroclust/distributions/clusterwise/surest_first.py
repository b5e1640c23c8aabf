"""Partitions made of clusters that a network chooses itself, each around the point that it is surest of."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Size, Tensor
from torch.nn import functional as F

from pyroclust.distributions.clusterwise.filtering import POINTS_AT_ONCE, ClusterFinder
from pyroclust.distributions.clusterwise.sampling import those_left
from pyroclust.distributions.clusterwise.steps import row_blocks
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.partitions import canonical

__all__ = ["SurestFirstPartition"]

# From rows, their points (R, T) and the logits of these to who joins, (R, T).
_Join = Callable[[Tensor, Tensor, Tensor], Tensor]


class SurestFirstPartition(PartitionDistribution):
    r"""Clusters of a network's own choice: the point with the highest logit is in, all others by chance.

    .. math::
        \log q(c \mid x) = \sum_k \sum_{i \ne a_k} \log \text{Bernoulli}(b_{ki}; m_i(x, \text{left}_k)),
        \qquad a_k = \arg\max_{i \in \text{left}_k} m_i

    Which points are left says which is the anchor, so that a partition is made in one way only, and its
    log-probability is exact. One batched round a cluster; cost O(N K) point evaluations a draw or value.

    Args:
        finder: the network.
        encoding: what it made of the data sets.
        dataset: rows of the encoding, ``(*batch)``.
        num_points: N.

    Shape:
        batch_shape: ``(*batch)``; event_shape: ``(N,)``.
    """

    def __init__(
        self,
        finder: ClusterFinder,
        encoding: Any,
        *,
        dataset: Tensor,
        num_points: int,
        validate_args: bool | None = None,
    ) -> None:
        self.finder, self.encoding, self.dataset = finder, encoding, dataset
        super().__init__(num_points, batch_shape=dataset.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SurestFirstPartition":
        """Return the same distribution with a larger batch shape."""
        return SurestFirstPartition(
            self.finder,
            self.encoding,
            dataset=self.dataset.expand(batch_shape),
            num_points=self.num_points,
            validate_args=self._validate_args,
        )

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._sample_and_log_prob(sample_shape)[0]

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        def draw(rows: Tensor, points: Tensor, logits: Tensor) -> Tensor:
            return torch.rand_like(logits) < logits.sigmoid()

        return self._made(Size((*sample_shape, *self.batch_shape)), draw)

    def _candidates(self, width: int) -> Tensor:
        best, _ = self._made(self.batch_shape, lambda rows, points, logits: logits > 0)
        return torch.cat([best.unsqueeze(0), super()._candidates(width)])

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        labels = value.expand(*batch, -1).reshape(-1, self.num_points)

        def given(rows: Tensor, points: Tensor, logits: Tensor) -> Tensor:
            own = labels[rows].gather(-1, points)
            return own == own.gather(-1, logits.argmax(-1, keepdim=True))

        return self._made(batch, given)[1]

    def _made(self, batch: Size, join: _Join) -> tuple[Tensor, Tensor]:
        """Make partitions, round by round, and return them with their log-probabilities."""
        dataset = self.dataset.expand(batch).reshape(-1)
        device = dataset.device
        found = torch.zeros(len(dataset), self.num_points, dtype=torch.int64, device=device)
        total = torch.zeros(len(dataset), dtype=torch.float64, device=device)
        rows = torch.arange(len(dataset), device=device)
        left = torch.arange(self.num_points, device=device).expand_as(found)
        count = torch.full_like(rows, self.num_points)
        for place in range(self.num_points):
            joined = torch.zeros(left.shape, dtype=torch.bool, device=device)
            for block in row_blocks(count, POINTS_AT_ONCE):
                row, width = rows[block], int(count[block[0]])
                points = left[block, :width]
                there = torch.arange(width, device=device) < count[block].unsqueeze(-1)
                logits, _ = self.finder.find(self.encoding, dataset[row], points, there)
                logits = logits.masked_fill(~there, -torch.inf)
                anchor = F.one_hot(logits.argmax(-1), width).bool()
                chosen = (join(row, points, logits) & there) | anchor
                signed = torch.where(chosen, logits, -logits)
                each = F.logsigmoid(signed.masked_fill(anchor | ~there, torch.inf)).double()
                total = total.index_add(0, row, each.sum(-1))
                joined[block, :width] = chosen
            member, position = joined.nonzero(as_tuple=True)
            found[rows[member], left[member, position]] = place
            left, count = those_left(left, count, joined)
            alive = count > 0
            rows, left, count = rows[alive], left[alive], count[alive]
            if not len(rows):
                break
        return canonical(found).view(*batch, -1), total.view(batch)
