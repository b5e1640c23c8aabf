"""Partitions made cluster by cluster: the distribution behind every clusterwise guide."""

import math
from copy import copy
from typing import Any, ClassVar, Self

import torch
from torch import Size, Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.clusterwise.sampling import Decide, ForcedClusters, sample_clusters
from pyroclust.distributions.clusterwise.steps import ClusterwiseScorer, MembershipLaw
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.partitions import canonical
from pyroclust.partitions.constraints import Constraints

_POINTS_AT_ONCE = 1 << 20


class ClusterwisePartition(PartitionDistribution):
    r"""Partitions whose clusters are drawn one after the other, each around an anchor.

    The anchor of a cluster is the first point in the visiting order that is still unassigned; its company
    is drawn at once, independent given a latent z:

    .. math::
        q(c \mid x, \pi) = \prod_{k=1}^{K} \int p(z_k \mid d_k, x, c_{<k}) \prod_{i \text{ unassigned}}
        p(b_{ki} \mid z_k, d_k, x, c_{<k}) \, dz_k

    With a fixed order this is the law of the partition. Without one every draw has its own uniform order, so
    anchors are uniform among the unassigned points, and :math:`q(c \mid x) = E_\pi\, q(c \mid x, \pi)`.

    Log-probabilities are *estimates* wherever z is continuous or the order is free; ``is_exact`` says so:

    * ``log_prob(value)`` averages over ``num_particles`` latents drawn from the posterior network, for each
      cluster, and over ``num_orders`` orders. Its exponential has expectation q(c | x); the logarithm lies
      below on average, by half of the squared standard error.
    * ``sample_and_log_prob`` counts the latents and the order that made the draw among those averaged over.
      Then :math:`1/\hat q` has expectation :math:`1/q`: importance weights :math:`p(c, x) / \hat q` are
      unbiased, and Metropolis-Hastings with these estimates is exact (pseudo-marginal).

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
        """Return partitions of most likely latents and memberships, one for each of several anchor choices.

        Each cluster takes the mode of its latent and every point whose probability is above one half.
        """
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
