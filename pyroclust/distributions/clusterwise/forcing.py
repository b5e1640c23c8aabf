"""Log-probabilities of given partitions made cluster by cluster, all clusters at once."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.clusterwise.members import FreeMembers, KnownGroups
from pyroclust.distributions.clusterwise.steps import ClusterStep, ClusterwiseScorer, row_blocks

__all__ = ["ForcedClusters"]

_ENTRIES_AT_ONCE = 1 << 16  # times particles: activations stay small enough for the processor's cache


class ForcedClusters:
    """The clusters of given partitions as rows of one batch, each with the points that were left for it.

    The clusters of a partition are made in the order of their first points in the visiting order, which are
    their anchors; so the labels say what every decision was, and no decision waits for another. Cost O(N K)
    point evaluations a partition; memory is bounded by blocks of rows of similar length.

    Args:
        scorer: the network.
        encoding: what it made of the data sets.
        dataset: rows of the encoding, ``(R,)``.
        order: visiting orders, ``(R, N)``.
        labels: canonical in visiting order, ``(R, N)``.
        num_particles: latents averaged over in log-probabilities.
        known: what is known of the partitions; None for nothing.
    """

    def __init__(
        self,
        scorer: ClusterwiseScorer,
        encoding: Any,
        *,
        dataset: Tensor,
        order: Tensor,
        labels: Tensor,
        num_particles: int = 1,
        known: KnownGroups | None = None,
    ) -> None:
        self.scorer, self.encoding, self.known = scorer, encoding, known
        self.dataset, self.order, self.labels = dataset, order, labels
        self.num_particles = num_particles
        self.num_clusters = labels.amax(-1) + 1
        slots = torch.arange(int(self.num_clusters.max()), device=labels.device)
        self.row, self.cluster = (slots < self.num_clusters.unsqueeze(-1)).nonzero(as_tuple=True)
        sizes = torch.zeros(len(labels), len(slots), dtype=torch.int64, device=labels.device)
        sizes.scatter_add_(1, labels, torch.ones_like(labels))
        left = sizes.flip(-1).cumsum(-1).flip(-1)
        self.counts = left[self.row, self.cluster] - 1
        self.blocks = list(row_blocks(self.counts, max(1, _ENTRIES_AT_ONCE // num_particles)))
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
        like = self.steps[0][0].closed
        found = like.new_zeros(len(self.labels), int(self.num_clusters.max()), self.scorer.num_latents)
        for block, (step, joined) in zip(self.blocks, self.steps, strict=True):
            drawn = self.scorer.law(self.encoding, step).latents(joined)
            found = found.index_put((self.row[block], self.cluster[block]), drawn)
        return found

    def _steps(self) -> list[tuple[ClusterStep, Tensor]]:
        """Lay out the rows, block by block, and sum over the clusters that were made before each."""
        steps = [self._step(block) for block in self.blocks]
        added = torch.cat([self.scorer.contribution(self.encoding, step, joined) for step, joined in steps])
        where = torch.cat(self.blocks)
        table = added.new_zeros(len(self.labels), int(self.num_clusters.max()), added.shape[-1])
        table = table.index_put((self.row[where], self.cluster[where]), added)
        before = table.cumsum(1) - table
        return [
            (step.after(before[self.row[block], self.cluster[block]]), joined)
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
            members=FreeMembers(mask) if self.known is None else self.known.members(anchor, others, mask),
            closed=torch.empty(len(block), 0, device=labels.device),
            num_closed=self.cluster[block],
        )
        return step, (labels.gather(-1, position)[:, 1:] == cluster) & mask
