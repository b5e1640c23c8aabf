"""Sampling partitions cluster by cluster, all draws in one batch, only unassigned points evaluated."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from pyroclust.distributions.clusterwise.members import FreeMembers, KnownGroups
from pyroclust.distributions.clusterwise.steps import (
    ClusterStep,
    ClusterwiseScorer,
    MembershipLaw,
    row_blocks,
)

__all__ = [
    "ClusterwiseDraws",
    "Decide",
    "Decision",
    "DrawAndScore",
    "draw",
    "most_likely",
    "sample_clusters",
    "those_left",
]

_ENTRIES_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Decision:
    """Who joined, with what is known of the probability.

    Attributes:
        joined: ``(R, T)`` bool.
        log_prob: nats, ``(R,)`` float64.
        variance: relative variance of its exponential, ``(R,)``.
    """

    joined: Tensor
    log_prob: Tensor | float = 0.0
    variance: Tensor | float = 0.0


class Decide(Protocol):
    """What to do with the law of one cluster."""

    def __call__(self, law: MembershipLaw) -> Decision:
        """Decide who joins."""
        ...


def draw(law: MembershipLaw) -> Decision:
    """Draw who joins."""
    return Decision(law.draw()[0])


def most_likely(law: MembershipLaw) -> Decision:
    """Take who joins with probability above one half at the most likely latent."""
    return Decision(law.most_likely())


@dataclass(frozen=True)
class DrawAndScore:
    """Draw who joins, and estimate the probability with the latent that it came from as one of several.

    Attributes:
        num_particles: latents that are averaged over.
    """

    num_particles: int

    def __call__(self, law: MembershipLaw) -> Decision:
        """Draw and estimate."""
        joined, latent = law.draw()
        return Decision(joined, *law.estimate(joined, self.num_particles, latent=latent))


@dataclass(frozen=True)
class ClusterwiseDraws:
    """Partitions with what is known of their probability.

    Attributes:
        labels: ``(R, N)`` in the data's own order, numbered as the clusters were made.
        log_prob: nats, ``(R,)`` float64.
        variance: relative variance of its exponential, ``(R,)``.
    """

    labels: Tensor
    log_prob: Tensor
    variance: Tensor


def sample_clusters(
    scorer: ClusterwiseScorer,
    encoding: Any,
    *,
    dataset: Tensor,
    order: Tensor,
    decide: Decide,
    known: KnownGroups | None = None,
) -> ClusterwiseDraws:
    """Make one partition a row: the first unassigned point is the anchor, then all others are asked at once.

    One batched step a cluster. Cost O(N K) point evaluations a draw, memory O(N) a draw beside blocks of
    bounded size.

    Args:
        scorer: the network.
        encoding: what it made of the data sets.
        dataset: rows of the encoding, ``(R,)``.
        order: visiting orders, ``(R, N)``.
        decide: :func:`draw`, :func:`most_likely` or :class:`DrawAndScore`.
        known: what is known of the partitions; None for nothing.
    """
    rows = torch.arange(len(dataset), device=dataset.device)
    zeros = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    draws = ClusterwiseDraws(torch.zeros_like(order), zeros, zeros.clone())
    left, count = order, torch.full_like(rows, order.shape[1])
    closed = torch.zeros(len(rows), scorer.num_contributions, device=rows.device)
    for cluster in range(order.shape[1]):
        joined = torch.zeros_like(left, dtype=torch.bool)
        joined[:, 0] = True
        for block in row_blocks(count - 1, _ENTRIES_AT_ONCE):
            row, width = rows[block], int(count[block[0]])
            anchor, others = left[block, 0], left[block, 1:width]
            mask = torch.arange(1, width, device=row.device) < count[block].unsqueeze(-1)
            step = ClusterStep(
                dataset=dataset[row],
                anchor=anchor,
                others=others,
                mask=mask,
                members=FreeMembers(mask) if known is None else known.members(anchor, others, mask),
                closed=closed[block],
                num_closed=torch.full_like(row, cluster),
            )
            if width > 1:
                decision = decide(scorer.law(encoding, step))
                joined[block, 1:width] = decision.joined
                draws.log_prob[row] += decision.log_prob
                draws.variance[row] += decision.variance
            closed[block] += scorer.contribution(encoding, step, joined[block, 1:width])
        member, position = joined.nonzero(as_tuple=True)
        draws.labels[rows[member], left[member, position]] = cluster
        left, count = those_left(left, count, joined)
        alive = count > 0
        rows, left, count, closed = rows[alive], left[alive], count[alive], closed[alive]
        if not len(rows):
            break
    return draws


def those_left(left: Tensor, count: Tensor, joined: Tensor) -> tuple[Tensor, Tensor]:
    """Move the points that did not join to the front, in their order.

    Args:
        left: points, of which the first ``count`` are there, ``(R, T)``.
        count: ``(R,)``.
        joined: ``(R, T)`` bool.

    Example:
        >>> left, joined = torch.tensor([[4, 2, 7]]), torch.tensor([[True, False, False]])
        >>> those_left(left, torch.tensor([3]), joined)
        (tensor([[2, 7]]), tensor([2]))
    """
    slots = torch.arange(left.shape[1], device=left.device)
    stays = (slots < count.unsqueeze(-1)) & ~joined
    remaining = stays.sum(-1)
    row, position = stays.nonzero(as_tuple=True)
    target = stays.cumsum(-1)[row, position] - 1
    moved = left.new_zeros(len(left), int(remaining.max()))
    moved[row, target] = left[row, position]
    return moved, remaining
