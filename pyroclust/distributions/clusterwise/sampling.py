"""Clusters one after the other, all draws in one batch; or those of given partitions, all at once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.clusterwise.members import members_of
from pyroclust.distributions.clusterwise.steps import (
    ClusterStep,
    ClusterwiseScorer,
    MembershipLaw,
    row_blocks,
)
from pyroclust.partitions.constraints import Constraints

# Entries of a block of rows, so that activations stay in the processor's cache; those of given partitions
# are times particles.
_DRAWN_AT_ONCE, _FORCED_AT_ONCE = 1 << 15, 1 << 16

Decide = Callable[[MembershipLaw], tuple[Tensor, Tensor | float]]
"""What to do with the law of one cluster: who joins ``(R, T)``, and with what log-probability ``(R,)``."""


def sample_clusters(
    scorer: ClusterwiseScorer,
    encoding: Any,
    *,
    dataset: Tensor,
    order: Tensor,
    decide: Decide,
    constraints: Constraints | None,
) -> tuple[Tensor, Tensor]:
    """Make one partition a row: the first unassigned point is the anchor, then all others are asked at once.

    One batched step a cluster. Cost O(N K) point evaluations a draw, memory O(N) a draw beside blocks of
    bounded size.

    Shape:
        dataset: ``(R,)``; order: ``(R, N)``; output: labels ``(R, N)`` in the data's own order, numbered as
            the clusters were made, and ``(R,)`` float64 in nats.
    """
    rows = torch.arange(len(dataset), device=dataset.device)
    labels = torch.zeros_like(order)
    log_prob = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    left, count = order, torch.full_like(rows, order.shape[1])
    closed = torch.zeros(len(rows), scorer.num_contributions, device=rows.device)
    for cluster in range(order.shape[1]):
        joined = torch.zeros_like(left, dtype=torch.bool)
        joined[:, 0] = True
        for block in row_blocks(count - 1, _DRAWN_AT_ONCE):
            row, width = rows[block], int(count[block[0]])
            anchor, others = left[block, 0], left[block, 1:width]
            mask = torch.arange(1, width, device=row.device) < count[block].unsqueeze(-1)
            step = ClusterStep(
                dataset=dataset[row],
                anchor=anchor,
                others=others,
                mask=mask,
                members=members_of(constraints, anchor, others, mask),
                closed=closed[block],
                num_closed=torch.full_like(row, cluster),
            )
            if width > 1:
                joined[block, 1:width], own = decide(scorer.law(encoding, step))
                log_prob[row] += own
            closed[block] += scorer.contribution(encoding, step, joined[block, 1:width])
        member, position = joined.nonzero(as_tuple=True)
        labels[rows[member], left[member, position]] = cluster
        left, count = those_left(left, count, joined)
        alive = count > 0
        rows, left, count, closed = rows[alive], left[alive], count[alive], closed[alive]
        if not len(rows):
            break
    return labels, log_prob


def those_left(left: Tensor, count: Tensor, joined: Tensor) -> tuple[Tensor, Tensor]:
    """Move the points that did not join to the front, in their order; the first ``count`` are there."""
    slots = torch.arange(left.shape[1], device=left.device)
    stays = (slots < count.unsqueeze(-1)) & ~joined
    remaining = stays.sum(-1)
    row, position = stays.nonzero(as_tuple=True)
    target = stays.cumsum(-1)[row, position] - 1
    moved = left.new_zeros(len(left), int(remaining.max()))
    moved[row, target] = left[row, position]
    return moved, remaining


class ForcedClusters:
    """The clusters of given partitions as rows of one batch, each with the points that were left for it.

    The clusters of a partition are made in the order of their first points in the visiting order, which are
    their anchors; so the labels say what every decision was, and no decision waits for another. Cost O(N K)
    point evaluations a partition; memory is bounded by blocks of rows of similar length.
    """

    def __init__(
        self,
        scorer: ClusterwiseScorer,
        encoding: Any,
        *,
        dataset: Tensor,
        order: Tensor,
        labels: Tensor,
        num_particles: int,
        constraints: Constraints | None,
    ) -> None:
        self.scorer, self.encoding, self.constraints = scorer, encoding, constraints
        self.dataset, self.order, self.labels = dataset, order, labels
        self.num_particles = num_particles
        num_clusters = labels.amax(-1) + 1
        slots = torch.arange(int(num_clusters.max()), device=labels.device)
        self.shape = len(labels), len(slots)
        self.row, self.cluster = (slots < num_clusters.unsqueeze(-1)).nonzero(as_tuple=True)
        sizes = torch.zeros(self.shape, dtype=torch.int64, device=labels.device)
        sizes.scatter_add_(1, labels, torch.ones_like(labels))
        left = sizes.flip(-1).cumsum(-1).flip(-1)
        self.counts = left[self.row, self.cluster] - 1
        self.blocks = list(row_blocks(self.counts, max(1, _FORCED_AT_ONCE // num_particles)))
        self.steps = self._steps()

    def log_prob(self) -> tuple[Tensor, Tensor]:
        """Return log-probabilities in nats and relative variances of their exponentials, ``(R,)`` each."""
        total = torch.zeros(len(self.labels), dtype=torch.float64, device=self.labels.device)
        variance = torch.zeros_like(total)
        for block, (step, joined) in zip(self.blocks, self.steps, strict=True):
            if step.others.shape[1]:
                one, spread = self.scorer.law(self.encoding, step).estimate(joined, self.num_particles)
                total = total.index_add(0, self.row[block], one)
                variance = variance.index_add(0, self.row[block], spread)
        return total, variance

    def latents(self) -> Tensor:
        """Draw the latents of all clusters, ``(R, max K, Z)``, zero where there is no cluster."""
        found = self.steps[0][0].closed.new_zeros(*self.shape, self.scorer.num_latents)
        for block, (step, joined) in zip(self.blocks, self.steps, strict=True):
            drawn = self.scorer.law(self.encoding, step).latents(joined)
            found = found.index_put((self.row[block], self.cluster[block]), drawn)
        return found

    def _steps(self) -> list[tuple[ClusterStep, Tensor]]:
        """Lay out the rows, block by block, and sum over the clusters that were made before each."""
        steps = [self._step(block) for block in self.blocks]
        added = torch.cat([self.scorer.contribution(self.encoding, step, joined) for step, joined in steps])
        where = torch.cat(self.blocks)
        table = added.new_zeros(*self.shape, added.shape[-1])
        table = table.index_put((self.row[where], self.cluster[where]), added)
        before = table.cumsum(1) - table
        return [
            (replace(step, closed=before[self.row[block], self.cluster[block]]), joined)
            for block, (step, joined) in zip(self.blocks, steps, strict=True)
        ]

    def _step(self, block: Tensor) -> tuple[ClusterStep, Tensor]:
        row, cluster = self.row[block], self.cluster[block].unsqueeze(-1)
        labels, width = self.labels[row], int(self.counts[block[0]])
        # The anchor is the first of those left: after a stable sort it stands in front.
        left = (labels >= cluster).to(torch.uint8)
        position = left.argsort(dim=-1, descending=True, stable=True)[:, : width + 1]
        point = self.order[row].gather(-1, position)
        mask = torch.arange(width, device=labels.device) < self.counts[block].unsqueeze(-1)
        anchor, others = point[:, 0], point[:, 1:]
        step = ClusterStep(
            dataset=self.dataset[row],
            anchor=anchor,
            others=others,
            mask=mask,
            members=members_of(self.constraints, anchor, others, mask),
            closed=torch.empty(len(block), 0, device=labels.device),
            num_closed=self.cluster[block],
        )
        return step, (labels.gather(-1, position)[:, 1:] == cluster) & mask
