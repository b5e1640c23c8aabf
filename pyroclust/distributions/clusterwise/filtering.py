"""Filtering: clusters found and removed one after the other until no point is left."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from pyroclust.distributions.clusterwise.sampling import those_left
from pyroclust.distributions.clusterwise.steps import row_blocks
from pyroclust.partitions import canonical

__all__ = ["POINTS_AT_ONCE", "ClusterFinder", "Filtering", "filter_clusters"]

POINTS_AT_ONCE = 1 << 15
"""Points of a block of rows that are looked at together."""


class ClusterFinder(Protocol):
    """A network that finds one cluster among points, as :class:`~pyroclust.nn.FilteringNetwork`.

    Attributes:
        anchored: whether it finds the cluster of the first point; else one of its own choice.
        width: W, of the vectors that describe clusters.
    """

    anchored: bool
    width: int

    def find(self, encoding: Any, dataset: Tensor, points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of belonging to the cluster, and the vector that describes it.

        Shape:
            dataset: rows of the encoding, ``(R,)``; points: ``(R, T)``; mask: ``(R, T)``, the first always
            true; output: ``(R, T)`` and ``(R, W)``.
        """
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
        """Say how many clusters there are, and how many points were never filtered."""
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
    find nobody: the data set is then finished, and what is left was never filtered. Filtered points and
    finished data sets drop out of the computation, so that the cost is that of the points that are left in
    each round, O(N K) at most.

    Args:
        network: what finds clusters.
        encoding: what it made of the data sets.
        dataset: the row of the encoding that is filtered, ``(B,)``; one may be filtered several times.
        order: in which points become anchors, ``(B, N)``.
        max_rounds: most clusters of a data set.
    """
    device = order.device
    found = torch.full_like(order, -1)
    rows, left, count = (
        torch.arange(len(order), device=device),
        order,
        torch.full_like(order[:, 0], order.shape[1]),
    )
    contexts = []
    for place in range(max_rounds):
        joined = torch.zeros_like(left, dtype=torch.bool)
        context = torch.zeros(len(order), network.width, device=device)
        for block in row_blocks(count, POINTS_AT_ONCE):
            width = int(count[block[0]])
            mask = torch.arange(width, device=device) < count[block].unsqueeze(-1)
            logits, vector = network.find(encoding, dataset[rows[block]], left[block, :width], mask)
            belongs = (logits > 0) & mask
            if network.anchored:
                belongs[:, 0] = True
            joined[block, :width] = belongs
            context[rows[block]] = vector
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
