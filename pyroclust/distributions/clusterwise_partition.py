"""Partitions made cluster by cluster: the distribution behind every clusterwise guide."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import torch
from torch import Size, Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.clusterwise_steps import (
    ClusterStep,
    ClusterwiseScorer,
    MembershipLaw,
    members_of,
    row_blocks,
)
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.partitions import canonical
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
    """Make one partition a row, ``(R, N)`` in the data's own order, with the sum of what ``decide`` says."""
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

    Labels say what every decision was, so that no decision waits for another.
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


_POINTS_AT_ONCE = 1 << 20


class ClusterwisePartition(PartitionDistribution):
    r"""Partitions whose clusters are drawn one after the other, each around an anchor.

    The anchor of a cluster is the first point in the visiting order that is still unassigned; its company
    is drawn at once, independent given a latent z:

    .. math::
        q(c \mid x, \pi) = \prod_{k=1}^{K} \int p(z_k \mid d_k, x, c_{<k}) \prod_{i \text{ unassigned}}
        p(b_{ki} \mid z_k, d_k, x, c_{<k}) \, dz_k

    Without a fixed order every draw has its own uniform one, and :math:`q(c \mid x) = E_\pi\, q(c \mid x,
    \pi)`. Log-probabilities are *estimates* wherever z is continuous or the order is free; ``is_exact`` says
    so. ``log_prob`` averages over latents drawn from the posterior network and over orders: its exponential
    has expectation q(c | x). ``sample_and_log_prob`` counts the latents and the order that made the draw
    among those: :math:`1/\hat q` has expectation :math:`1/q`, so that importance weights are unbiased, and
    Metropolis-Hastings with these estimates is exact (pseudo-marginal).

    Args:
        scorer: the network.
        encoding: what it made of the data sets, in the data's own order.
        order: visiting orders ``(B, N)``, one row a data set of the encoding; None for anchors drawn anew for
            every draw.
        dataset: which row each batch element uses, of shape ``batch_shape``.
        num_points: N.
        num_particles: latents averaged over for each cluster.
        num_orders: orders averaged over where none is fixed.
        constraints: on the partitions, if any.

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
        Andrieu & Roberts (2009), pseudo-marginal. https://arxiv.org/abs/0903.5480
    """

    batched: ClassVar[dict[str, int]] = {"dataset": 0}

    def __init__(
        self,
        scorer: ClusterwiseScorer,
        encoding: Any,
        *,
        order: Tensor | None,
        dataset: Tensor,
        num_points: int,
        num_particles: int = 16,
        num_orders: int = 8,
        constraints: Constraints | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.scorer, self.encoding, self.order, self.dataset = scorer, encoding, order, dataset
        self.is_exact = scorer.is_exact and order is not None
        self.num_particles = check_count("num_particles", num_particles)
        num_orders = check_count("num_orders", num_orders)
        self.num_orders = num_orders if order is None else 1
        self.constraints = None if constraints is None else constraints.over(num_points)
        super().__init__(num_points, batch_shape=dataset.shape, validate_args=validate_args)

    def estimated_with(self, *, num_particles: int | None = None, num_orders: int | None = None) -> Self:
        """Return the same distribution whose log-probabilities average over other numbers of particles."""
        new = copy(self)
        if num_particles is not None:
            new.num_particles = check_count("num_particles", num_particles)
        if num_orders is not None and self.order is None:
            new.num_orders = check_count("num_orders", num_orders)
        return new

    def log_prob_and_error(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Estimate log-probabilities in nats, with the standard errors of the averages, to first order.

        Errors are zero where ``is_exact``, and unknown (nan) for a free order with ``num_orders = 1``.
        """
        log_prob, variance = self._estimate(self._checked(value))
        return log_prob, variance.sqrt()

    def _candidates(self, width: int) -> Tensor:
        """Return partitions of most likely latents and memberships, one for each choice of anchors."""
        shape = Size((width if self.order is None else 1, *self.batch_shape))
        return self._run(shape, lambda law: (law.most_likely(), 0.0))[0]

    def latents(self, value: Tensor) -> Tensor:
        """Draw latents of the clusters of given partitions from the posterior network.

        Shape:
            value: ``(..., N)``; output: ``(..., max K, Z)`` in the order in which the clusters are made,
                zero where there is no cluster.
        """
        value = self._expanded(self._checked(value))
        found = self._clusters(*self._forced(value, 1)).latents()
        return found.view(*value.shape[:-1], *found.shape[1:])

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        def draw_and_score(law: MembershipLaw) -> tuple[Tensor, Tensor]:
            joined, latent = law.draw()
            return joined, law.estimate(joined, self.num_particles, latent=latent)[0]

        with torch.no_grad():
            labels, log_prob = self._run(self._extended_shape(sample_shape)[:-1], draw_and_score)
            if self.num_orders > 1:
                others, _ = self._over_orders(labels, self.num_orders - 1)
                log_prob = torch.cat([log_prob.unsqueeze(0), others]).logsumexp(0) - math.log(self.num_orders)
        return labels, log_prob

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._run(self._extended_shape(sample_shape)[:-1], lambda law: (law.draw()[0], 0.0))[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._estimate(value)[0]

    def _estimate(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and relative variances."""
        log_prob, variance = self._over_orders(self._expanded(value), self.num_orders)
        if self.order is not None:
            return log_prob[0], variance[0]
        share = log_prob.softmax(0)
        count = self.num_orders
        spread = (count * share.square().sum(0) - 1) / (count - 1) if count > 1 else variance[0] * math.nan
        return log_prob.logsumexp(0) - math.log(count), spread.clamp(min=0)

    def _over_orders(self, value: Tensor, num_orders: int) -> tuple[Tensor, Tensor]:
        """Estimate under several orders, ``(M, *batch)`` each."""
        batch, (dataset, order, labels) = value.shape[:-1], self._forced(value, num_orders)
        rows = max(1, _POINTS_AT_ONCE // self.num_points)
        parts = [
            self._clusters(d, o, c).log_prob()
            for d, o, c in zip(dataset.split(rows), order.split(rows), labels.split(rows), strict=True)
        ]
        log_prob, variance = (torch.cat(some).view(num_orders, *batch) for some in zip(*parts, strict=True))
        return log_prob, variance

    def _clusters(self, dataset: Tensor, order: Tensor, labels: Tensor) -> ForcedClusters:
        return ForcedClusters(
            self.scorer,
            self.encoding,
            dataset=dataset,
            order=order,
            labels=labels,
            num_particles=self.num_particles,
            constraints=self.constraints,
        )

    def _forced(self, value: Tensor, num_orders: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return data set, order and labels in visiting order for every value and order."""
        dataset = self.dataset.expand(num_orders, *value.shape[:-1]).reshape(-1)
        order = self._orders(dataset)
        labels = value.expand(num_orders, *value.shape).reshape(-1, self.num_points)
        return dataset, order, canonical(labels.gather(-1, order))

    def _orders(self, dataset: Tensor) -> Tensor:
        if self.order is not None:
            return self.order[dataset]
        return torch.rand(len(dataset), self.num_points, dtype=torch.float32, device=dataset.device).argsort(
            -1
        )

    def _run(self, batch: Size, decide: Decide) -> tuple[Tensor, Tensor]:
        """Make partitions and return them with the sums of what was decided."""
        dataset = self.dataset.expand(batch).reshape(-1)
        order = self._orders(dataset)
        rows = max(1, _POINTS_AT_ONCE // self.num_points)
        with torch.no_grad():
            parts = [
                sample_clusters(
                    self.scorer,
                    self.encoding,
                    dataset=d,
                    order=o,
                    decide=decide,
                    constraints=self.constraints,
                )
                for d, o in zip(dataset.split(rows), order.split(rows), strict=True)
            ]
        labels, log_prob = (torch.cat(some) for some in zip(*parts, strict=True))
        return canonical(labels).view(*batch, -1), log_prob.view(batch)
