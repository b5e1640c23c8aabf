"""Deep amortized clustering: clusters found and filtered one after the other by attention."""

import copy
import math
from collections.abc import Callable
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import arguments_of, register
from pyroclust.distributions import ClusterwisePartition, Filtering, PartitionDistribution
from pyroclust.distributions.clusterwise_partition import ForcedClusters
from pyroclust.distributions.filtering import (
    POINTS_AT_ONCE,
    SurestFirstPartition,
    filter_clusters,
)
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model, as_model
from pyroclust.guides.base import AmortizedGuide, checked_order, num_columns, visiting_order
from pyroclust.nn import Order, RandomOrder
from pyroclust.nn.encoders import Encoder
from pyroclust.nn.networks.clusterwise_network import points_at
from pyroclust.nn.networks.filtering_network import (
    AutoencoderDensity,
    FilteringNetwork,
    FlowDensity,
    GaussianDensity,
)
from pyroclust.nn.orders import random_orders
from pyroclust.partitions import canonical

_MOST_ROUNDS = 50


@register(AmortizedGuide)
class DeepAmortizedClustering(AmortizedGuide):
    r"""A guide that finds one cluster at a time, describes it, removes it, and goes on with the rest.

    Around an anchor a, uniform among the points that are left,

    .. math::
        L(\phi) = \frac{1}{n} \sum_i \mathrm{BCE}(m_i, 1[c_i = c_a]) -
        \frac{1}{n_a} \sum_{i: c_i = c_a} \log p(x_i \mid \theta)

    and without anchors the minimum over the clusters j of the same with j in the place of :math:`c_a`. With
    anchors it is a distribution over partitions, given the order in which points become anchors:

    .. math:: \log q(c \mid x) = \sum_k \sum_i \log \text{Bernoulli}(b_{ki}; m_i(x, a_k, \text{left}_k))

    exactly. Without them the point with the highest logit takes the place of the anchor. Memberships are
    independent given the anchor, so that a group of points cannot belong as a whole or not at all, unless the
    network has a latent.

    One round a data set, of clusters that are equally likely to have been removed, is not the law of the
    rounds in use: large clusters are found first, and data sets of many clusters have more rounds. With
    ``every_round`` the loss is that of all rounds of a random order,

    .. math:: L(\phi) = -\log q(c \mid x) - \sum_i \log p(x_i \mid \theta_{c_i})

    Args:
        model: whose simulations it is trained on.
        network: what finds a cluster; one that fits the model by default.
        order: rule for the order in which points become anchors; random by default.
        removed: whether clusters are removed before in training, as earlier rounds would have done.
        every_round: whether training sums over all rounds of a random order, in place of one round.
        num_anchors: how many rounds, or orders, of each data set a training averages over.

    Raises:
        ValueError: if the network has no anchors where every round is trained, or a latent where one is.

    Example:
        >>> from pyroclust.models import filtering_clusters
        >>> model = filtering_clusters(4)
        >>> network = filtering_network_for(model, width=16, num_blocks=1)
        >>> guide = DeepAmortizedClustering(model, network=network)
        >>> guide.posterior(torch.randn(3, 20, 2)).sample((5,)).shape
        torch.Size([5, 3, 20])

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """

    network_argument = "network"

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        network: FilteringNetwork | None = None,
        order: Order | None = None,
        removed: bool = True,
        every_round: bool = False,
        num_anchors: int = 1,
    ) -> None:
        super().__init__(model)
        self.network: Any = filtering_network_for(self.model) if network is None else network
        self.order = checked_order(RandomOrder() if order is None else order)
        self.removed, self.every_round = bool(removed), bool(every_round)
        self.num_anchors = check_count("num_anchors", num_anchors)
        if every_round and not self.network.anchored:
            raise ValueError("every_round is True, expected a network with anchors, whose rounds labels say")
        if self.network.num_values and not every_round:
            raise ValueError(
                f"network has num_values {self.network.num_values}, expected 0 where one round is trained: "
                "set every_round"
            )

    @property
    def why_no_constraints(self) -> str:
        return "" if self.network.anchored else "its clusters have no anchors whose groups would come first"

    def posterior(self, data: Points, *, order: Tensor | None = None) -> PartitionDistribution:
        """Embed data sets once and return the distribution over their partitions.

        Orders ``(*batch, N)`` or ``(N,)`` to take anchors from stand in the place of the rule.
        """
        data = self.points(data)
        flat, batch = self._flat(data)
        dataset = torch.arange(len(flat), device=data.device).view(batch)
        encoding = self.network.encode(flat)
        if not self.network.anchored:
            return SurestFirstPartition(self.network, encoding, dataset=dataset, num_points=flat.shape[1])
        return ClusterwisePartition(
            self.network,
            encoding,
            order=visiting_order(self.order, flat, order, batch),
            dataset=dataset,
            num_points=flat.shape[1],
            num_particles=1,
            num_orders=1,
            constraints=self.links,
        )

    def with_latent(self, num_values: int) -> Self:
        """Return a guide whose memberships have a latent, to be trained further, on every round.

        Its network sees progress too. At first the values of the latent are equally likely and differ little,
        and the law is nearly that of this guide, which is not changed.
        """
        old = self.network
        arguments = arguments_of(old) | {"num_values": num_values, "progress": True}
        network = FilteringNetwork(**arguments | {"density": copy.deepcopy(old.density)})
        weights = old.state_dict()
        weight, bias = weights.pop("head.1.weight"), weights.pop("head.1.bias")
        network.load_state_dict(weights, strict=False)
        answer: Any = network.head[1]
        for part in (network.to_values, network.from_progress):
            for parameter in cast(nn.Linear, part).parameters():
                nn.init.zeros_(parameter)
        with torch.no_grad():
            answer.weight[:] = weight + 0.1 * weight.std() * torch.randn_like(answer.weight)
            answer.bias[:] = bias + torch.linspace(-0.5, 0.5, num_values)
        return type(self)(
            self.model,
            network=network,
            order=self.order,
            removed=self.removed,
            every_round=True,
            num_anchors=self.num_anchors,
        )

    def filtering(
        self,
        data: Points,
        *,
        order: Tensor | None = None,
        num_orders: int = 1,
        max_rounds: int = _MOST_ROUNDS,
    ) -> Filtering:
        r"""Find clusters one after the other until no point is left, each of its most likely members.

        Of several random orders of anchors the one stays whose clusters explain the data best,

        .. math:: \log p(x \mid \theta, n) - \tfrac{1}{2} K (2 D + 1) \log N

        with the log-density of :meth:`log_density`. Batches are flat in the result.

        Args:
            data: ``(*batch, N, *event_shape)``.
            order: permutations ``(*batch, N)`` or ``(N,)`` to take anchors from, in place of the rule.
            num_orders: orders of anchors to try, at as many times the cost; of 1 the guide's own rule.
            max_rounds: most clusters; points that are left then are reported.

        Raises:
            ValueError: as :meth:`posterior`, if the guide has constraints, a number is below 1, or several
                orders are to be tried without anchors or a density, or beside one that is given.
        """
        data = self.points(data)
        if self.constraints is not None:
            raise ValueError(
                f"guide has {self.constraints!r}, which filtering does not look at: take "
                "posterior(data).map_partition()"
            )
        check_count("max_rounds", max_rounds)
        self._check_orders(check_count("num_orders", num_orders), order)
        flat, batch = self._flat(data)
        many = num_orders > 1
        visit = (
            random_orders(num_orders, flat).flatten(0, 1)
            if many
            else visiting_order(self.order, flat, order, batch)
        )
        with torch.no_grad():
            found = filter_clusters(
                self.network,
                self.network.encode(flat),
                dataset=torch.arange(len(flat), device=flat.device).repeat(num_orders),
                order=visit,
                max_rounds=max_rounds,
            )
        if not many:
            return found
        again = flat.repeat(num_orders, *[1] * self.event_dim)
        price = found.num_rounds * (2 * flat[0, 0].numel() + 1) * math.log(max(2, flat.shape[1])) / 2
        best = (self.log_density(again, found) - price).view(num_orders, -1).argmax(0)
        return found[best * len(flat) + torch.arange(len(flat), device=flat.device)]

    def _check_orders(self, num_orders: int, order: Tensor | None) -> None:
        if num_orders == 1:
            return
        problem = f"num_orders is {num_orders}"
        if order is not None:
            raise ValueError(f"{problem} and an order is given, expected one of them: leave one out")
        if not self.network.anchored or self.network.density is None:
            raise ValueError(
                f"{problem}, expected 1: orders of anchors are compared by the density of the clusters, "
                "and the network lacks one of both"
            )

    def log_density(self, data: Points, filtering: Filtering) -> Tensor:
        r"""Return the log-density of data sets under the clusters that filtering found, in nats, ``(B,)``.

        .. math:: \sum_i \log \sum_k \frac{n_k}{N} \, p(x_i \mid \theta_k)

        with n the sizes of the clusters; points that were never filtered belong to none of them. Of an
        autoencoder it is a bound, with noise.
        """
        return self._log_joint(data, filtering).logsumexp(1).sum(-1)

    def reassigned(self, data: Points, filtering: Filtering) -> Filtering:
        r"""Give every point to the cluster that is most likely to have made it, in the light of all clusters.

        .. math:: c_i = \arg\max_k \, n_k \, p(x_i \mid \theta_k)
        """
        best, rounds = self._log_joint(data, filtering).max(1)
        return filtering.moved(torch.where(best.isfinite(), rounds, -1))

    def _log_joint(self, data: Points, filtering: Filtering) -> Tensor:
        """Return log (n_k / N) + log p(x_i | theta_k), ``(B, K, N)``."""
        data = self.points(data)
        if self.network.density is None:
            raise ValueError("network has no density, expected one: it was trained to find members alone")
        points = self._flat(data)[0].flatten(2)
        sets, most = filtering.contexts.shape[:2]
        sizes = F.one_hot(filtering.rounds.clamp(min=0), most) * filtering.filtered.unsqueeze(-1)
        weights = sizes.sum(1).double() / points.shape[1]
        joint = points.new_full((sets, most, points.shape[1]), -torch.inf, dtype=torch.float64)
        at_once = max(1, POINTS_AT_ONCE // points.shape[1])
        for some in (weights > 0).nonzero().split(at_once):
            dataset, place = some.unbind(-1)
            with torch.no_grad():
                scored = self.network.density(filtering.contexts[dataset, place], points[dataset])
            joint[dataset, place] = scored.double() + weights[dataset, place].log().unsqueeze(-1)
        return joint

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, ``(*batch)``: N times the loss of one round, or that of all."""
        flat, batch = self._flat(data)
        encoding = self.network.encode(flat)
        rows = torch.arange(len(flat), device=flat.device).repeat(self.num_anchors)
        labels = assignments.reshape(-1, assignments.shape[-1]).repeat(self.num_anchors, 1)
        of_rows = self._losses_of_every_round if self.every_round else self._losses_of_a_round
        return of_rows(flat, encoding, rows, labels).view(self.num_anchors, *batch).mean(0)

    def _losses_of_every_round(self, flat: Tensor, encoding: Any, rows: Tensor, labels: Tensor) -> Tensor:
        order = torch.rand(labels.shape, device=flat.device).argsort(-1)
        forced = ForcedClusters(
            self.network,
            encoding,
            dataset=rows,
            order=order,
            labels=canonical(labels.gather(-1, order)),
            num_particles=1,
            constraints=None,
        )
        values = flat.flatten(2)
        total = torch.zeros(len(rows), dtype=torch.float64, device=flat.device)
        for block, (step, joined) in zip(forced.blocks, forced.steps, strict=True):
            law, context = self.network.law_and_context(encoding, step)
            loss = -law.estimate(joined, 1)[0]
            if self.network.density is not None:
                points = torch.cat([step.anchor.unsqueeze(-1), step.others], -1)
                member = F.pad(joined, (1, 0), value=True)
                scored = self.network.density(context, points_at(values, step.dataset, points))
                loss = loss - torch.where(member, scored, 0.0).sum(-1)
            total = total.index_add(0, forced.row[block], loss)
        return total

    def _losses_of_a_round(self, flat: Tensor, encoding: Any, rows: Tensor, labels: Tensor) -> Tensor:
        points, mask, gone = self._left(labels)
        found = self.network.find(encoding, rows, points, mask, gone)
        own = labels.gather(-1, points)
        if self.network.anchored:
            member = (own == own[:, :1]).unsqueeze(-1)
        else:
            member = own.unsqueeze(-1) == torch.arange(int(labels.max()) + 1, device=labels.device)
        member = member & mask.unsqueeze(-1)
        belongs, logits = member.to(found.logits), torch.where(mask, found.logits, 0.0)
        # BCE with logits l is log(1 + exp l) - t l.
        paid = torch.where(mask, F.softplus(logits), 0.0).sum(-1, keepdim=True)
        loss = (paid - (logits.unsqueeze(-2) @ belongs).squeeze(-2)) / mask.sum(-1, keepdim=True)
        if self.network.density is not None:
            values = points_at(flat.flatten(2), rows, points)
            scored = torch.where(mask, self.network.density(found.context, values), 0.0)
            total = (scored.unsqueeze(-2) @ belongs).squeeze(-2)
            loss = loss - total / belongs.sum(1).clamp(min=1)
        return flat.shape[1] * loss.masked_fill(~member.any(1), torch.inf).amin(-1)

    def _left(self, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Remove some clusters of each data set, and put a random point of the others in front."""
        device = labels.device
        clusters = labels.amax(-1) + 1
        most = int(clusters.max())
        key = torch.rand(len(labels), most, device=device)
        there = torch.arange(most, device=device) < clusters.unsqueeze(-1)
        rank = key.masked_fill(~there, 2.0).argsort(-1).argsort(-1)
        gone = (torch.rand(len(labels), device=device) * clusters).long() if self.removed else 0 * clusters
        left = (rank >= gone.unsqueeze(-1)).gather(-1, labels)
        # A random order of those left: the first is uniform among them.
        points = torch.rand(labels.shape, device=device).masked_fill(~left, 2.0).argsort(-1)
        count = left.sum(-1)
        width = int(count.max())
        return points[:, :width], torch.arange(width, device=device) < count.unsqueeze(-1), gone


@register(DeepAmortizedClustering, name="filtering")
def filtering_network_for(
    model: Model | Callable[[Tensor], Any],
    *,
    width: int = 128,
    num_blocks: int = 4,
    num_inducing: int = 32,
    num_heads: int = 4,
    anchored: bool = True,
    differences: bool = False,
    density: GaussianDensity | FlowDensity | AutoencoderDensity | None = None,
    described: bool = True,
    encoder: Encoder | None = None,
    num_values: int = 0,
    progress: bool = False,
) -> FilteringNetwork:
    """Return an untrained network that fits a model: the published one by default, with anchors.

    The arguments are those of :class:`~pyroclust.nn.FilteringNetwork`. The density is by default a Gaussian
    with a diagonal covariance, with an encoder a variational autoencoder, and there is none without
    ``described``.

    Raises:
        ValueError: if a density is given and clusters are not to be described.
    """
    if density is not None and not described:
        raise ValueError("density is given and described is False, expected one of them: leave one out")
    model = as_model(model)
    dim, scale = num_columns(model), model.typical_scale
    if density is None and described:
        gaussian = GaussianDensity(dim, width, scale=scale)
        density = gaussian if encoder is None else AutoencoderDensity(dim, width)
    return FilteringNetwork(
        dim if encoder is None else encoder.dim,
        scale if encoder is None else 1.0,
        density=density,
        width=width,
        num_blocks=num_blocks,
        num_inducing=num_inducing,
        num_heads=num_heads,
        anchored=anchored,
        differences=differences,
        encoder=encoder,
        num_values=num_values,
        progress=progress,
    )
