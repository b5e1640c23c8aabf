"""Filtering: a network finds clusters one after the other, surely or by chance, until no point is left."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Size, Tensor
from torch.nn import functional as F

from pyroclust.distributions.clusterwise_partition import those_left
from pyroclust.distributions.clusterwise_steps import row_blocks
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.partitions import canonical

POINTS_AT_ONCE = 1 << 15
"""Points of a block of rows that are looked at together."""


class ClusterFinder(Protocol):
    """A network that finds one cluster among points, as :class:`~pyroclust.nn.FilteringNetwork`."""

    anchored: bool  # whether it finds the cluster of the first point; else one of its own choice
    width: int  # W, of the vectors that describe clusters

    def find(
        self, encoding: Any, dataset: Tensor, points: Tensor, mask: Tensor, num_closed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return logits of belonging to the cluster, ``(R, T)``, and its description, ``(R, W)``."""
        ...


@dataclass(frozen=True)
class Filtering:
    """What filtering made of data sets.

    Attributes:
        rounds: the round in which each point was filtered, ``(B, N)``, -1 for never.
        contexts: the vector of the cluster of each round, ``(B, K, W)``, zero after the last round of a data
            set.
    """

    rounds: Tensor
    contexts: Tensor

    @property
    def filtered(self) -> Tensor:
        """Whether a point was filtered, ``(B, N)`` bool."""
        return self.rounds >= 0

    @property
    def num_rounds(self) -> Tensor:
        """Rounds of each data set that found points, ``(B,)``."""
        return self.rounds.amax(-1) + 1

    @property
    def assignments(self) -> Tensor:
        """Partitions ``(B, N)``, canonical; points that were never filtered are one cluster."""
        return canonical(torch.where(self.filtered, self.rounds, self.num_rounds.unsqueeze(-1)))

    def __getitem__(self, which: Tensor) -> "Filtering":
        """Return those of some data sets."""
        return Filtering(self.rounds[which], self.contexts[which])

    def moved(self, rounds: Tensor) -> "Filtering":
        """Return the same clusters with points in other rounds; rounds without points are left out.

        Shape:
            rounds: ``(B, N)``.
        """
        places = torch.arange(self.contexts.shape[1], device=rounds.device)
        used = (rounds.unsqueeze(-1) == places).any(1)
        names = torch.where(rounds >= 0, (used.cumsum(-1) - 1).gather(-1, rounds.clamp(min=0)), -1)
        order = (~used).int().argsort(dim=-1, stable=True).unsqueeze(-1).expand_as(self.contexts)
        contexts = torch.where(used.unsqueeze(-1), self.contexts, 0.0).gather(1, order)
        return Filtering(names, contexts)

    def __repr__(self) -> str:
        sets, points = self.rounds.shape
        never = int((~self.filtered).sum())
        return (
            f"Filtering({sets} data sets of {points} points, {self.num_rounds.double().mean().item():.3g} "
            f"clusters on average, {never} points never filtered)"
        )


def filter_clusters(
    network: ClusterFinder, encoding: Any, *, dataset: Tensor, order: Tensor, max_rounds: int
) -> Filtering:
    """Find a cluster, remove the points that belong to it rather than not, and go on with the rest.

    An anchor is the first point that is left and always belongs to its cluster. Without anchors a round may
    find nobody: the data set is then finished, and what is left was never filtered.
    """
    device = order.device
    found, rows = torch.full_like(order, -1), torch.arange(len(order), device=device)
    left, count = order, torch.full_like(order[:, 0], order.shape[1])
    contexts = []
    for place in range(max_rounds):
        joined = torch.zeros_like(left, dtype=torch.bool)
        context = torch.zeros(len(order), network.width, device=device)
        for block in row_blocks(count, POINTS_AT_ONCE):
            width = int(count[block[0]])
            mask = torch.arange(width, device=device) < count[block].unsqueeze(-1)
            row = rows[block]
            closed = torch.full_like(row, place)
            logits, vector = network.find(encoding, dataset[row], left[block, :width], mask, closed)
            belongs = (logits > 0) & mask
            if network.anchored:
                belongs[:, 0] = True
            joined[block, :width] = belongs
            context[row] = vector
        some = joined.any(-1)
        context[rows[~some]] = 0.0
        contexts.append(context)
        member, position = joined.nonzero(as_tuple=True)
        found[rows[member], left[member, position]] = place
        left, count = those_left(left, count, joined)
        alive = some & (count > 0)
        rows, left, count = rows[alive], left[alive], count[alive]
        if not len(rows):
            break
    return Filtering(found, torch.stack(contexts, 1))


# From rows, their points (R, T) and the logits of these to who joins, (R, T).
_Join = Callable[[Tensor, Tensor, Tensor], Tensor]


class SurestFirstPartition(PartitionDistribution):
    r"""Clusters of a network's own choice: the point with the highest logit is in, all others by chance.

    .. math::
        \log q(c \mid x) = \sum_k \sum_{i \ne a_k} \log \text{Bernoulli}(b_{ki}; m_i(x, \text{left}_k)),
        \qquad a_k = \arg\max_{i \in \text{left}_k} m_i

    Which points are left says which is the anchor: a partition is made in one way only.
    """

    batched: ClassVar[dict[str, int]] = {"dataset": 0}

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

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        def draw(rows: Tensor, points: Tensor, logits: Tensor) -> Tensor:
            return torch.rand_like(logits) < logits.sigmoid()

        return self._made(Size((*sample_shape, *self.batch_shape)), draw)

    def _candidates(self, width: int) -> Tensor:
        best, _ = self._made(self.batch_shape, lambda rows, points, logits: logits > 0)
        return torch.cat([best.unsqueeze(0), super()._candidates(width)])

    def _log_prob(self, value: Tensor) -> Tensor:
        value = self._expanded(value)
        labels = value.reshape(-1, self.num_points)

        def labelled(rows: Tensor, points: Tensor, logits: Tensor) -> Tensor:
            own = labels[rows].gather(-1, points)
            return own == own.gather(-1, logits.argmax(-1, keepdim=True))

        return self._made(value.shape[:-1], labelled)[1]

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
                closed = torch.full_like(row, place)
                logits, _ = self.finder.find(self.encoding, dataset[row], points, there, closed)
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
