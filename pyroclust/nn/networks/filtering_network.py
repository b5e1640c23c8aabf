"""The network that finds one cluster among the points that are left, and densities that describe it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from pyro.distributions.transforms import ConditionalAffineAutoregressive
from pyro.nn import ConditionalAutoRegressiveNN
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.clusterwise_steps import ClusterStep, ClusterwiseScorer, Members
from pyroclust.nn.attention import MultiheadAttentionBlock, PooledAttention, SetEncoder
from pyroclust.nn.encoders import Encoder, vectors_of
from pyroclust.nn.modules import MAX_BLOCKS, check_scale
from pyroclust.nn.networks.clusterwise_network import points_at, seen_offsets
from pyroclust.nn.networks.latents import DiscreteMemberships

_SMALLEST_SCALE = 1e-3
# Data sets are some ten times as wide as their clusters.
_WIDE = 10


@register(None)
class GaussianDensity(nn.Module):
    r"""A Gaussian whose covariance is diagonal, or diagonal and one outer product.

    .. math:: x \sim N\big(\mu(\theta), \, \mathrm{diag}(\sigma(\theta)^2) + v(\theta) v(\theta)^T\big)

    Cost O(T D + D W) a row.

    Args:
        dim: D.
        width: W of the vector :math:`\theta`.
        scale: typical standard deviation within a cluster.
        rank_one: whether there is an outer product; v = 0 otherwise.

    Example:
        >>> GaussianDensity(2, 8)(torch.randn(3, 8), torch.randn(3, 5, 2)).shape
        torch.Size([3, 5])
    """

    def __init__(self, dim: int, width: int, *, scale: float = 1.0, rank_one: bool = False) -> None:
        super().__init__()
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        self.scale, self.rank_one = check_scale("scale", scale), bool(rank_one)
        self.parameters_of = nn.Linear(width, (3 if rank_one else 2) * dim)

    def moments(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and standard deviations of the diagonal part, ``(R, D)`` each."""
        mean, spread = self.parameters_of(context)[..., : 2 * self.dim].chunk(2, -1)
        return _WIDE * self.scale * mean, self.scale * (F.softplus(spread) + _SMALLEST_SCALE)

    def forward(self, context: Tensor, points: Tensor) -> Tensor:
        points = points.to(context.dtype)
        mean, scale = (one.unsqueeze(-2) for one in self.moments(context))
        if not self.rank_one:
            return torch.distributions.Normal(mean, scale).log_prob(points).sum(-1)
        along = self.scale * self.parameters_of(context)[..., 2 * self.dim :].unsqueeze(-2)
        law = torch.distributions.LowRankMultivariateNormal(mean, along.unsqueeze(-1), scale.square())
        return law.log_prob(points)


@register(None)
class FlowDensity(nn.Module):
    r"""A conditional masked autoregressive flow on top of a Gaussian.

    .. math:: \log p(x \mid \theta) = \log N\big(f_\theta(u); 0, I\big) + \log |\det \partial f_\theta| -
        \textstyle\sum_d \log \sigma_d(\theta), \qquad u = (x - \mu(\theta)) / \sigma(\theta)

    with f of a few of Pyro's autoregressive blocks, every other one in reversed order of the columns. Scoring
    is one pass; drawing would be one a column. Cost O(T (D + W + H) H) a row and block.

    Args:
        dim: D, at least 2.
        width: W of the vector :math:`\theta`.
        scale: typical standard deviation within a cluster.
        num_blocks: autoregressive blocks.
        hidden_width: H.

    Example:
        >>> FlowDensity(2, 8, hidden_width=16)(torch.randn(3, 8), torch.randn(3, 5, 2)).shape
        torch.Size([3, 5])

    References:
        Papamakarios, Pavlakou & Murray (2017), Masked autoregressive flow. https://arxiv.org/abs/1705.07057
    """

    def __init__(
        self, dim: int, width: int, *, scale: float = 1.0, num_blocks: int = 4, hidden_width: int = 128
    ) -> None:
        super().__init__()
        self.dim, self.width = check_count("dim", dim, at_least=2), check_count("width", width)
        self.num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.hidden_width = check_count("hidden_width", hidden_width)
        self.scale = check_scale("scale", scale)
        self.gaussian = GaussianDensity(dim, width, scale=scale)
        straight: Any = torch.arange(dim)
        self.blocks = nn.ModuleList(
            ConditionalAutoRegressiveNN(
                dim, width, [self.hidden_width], permutation=straight.flip(0) if place % 2 else straight
            )
            for place in range(self.num_blocks)
        )

    def forward(self, context: Tensor, points: Tensor) -> Tensor:
        points = points.to(context.dtype)
        mean, scale = (one.unsqueeze(-2) for one in self.gaussian.moments(context))
        found = (points - mean) / scale
        total = -scale.log().sum(-1)
        contexts = context.unsqueeze(-2).expand(*points.shape[:-1], -1)
        for block in self.blocks:
            flow: Any = ConditionalAffineAutoregressive(block).condition(contexts)
            after = flow(found)
            total = total + flow.log_abs_det_jacobian(found, after)
            found = after
        base = torch.distributions.Normal(0.0, 1.0).log_prob(found).sum(-1)
        scored: Tensor = base + total
        return scored


@register(None)
class AutoencoderDensity(nn.Module):
    r"""A bound on the density of images, by a variational autoencoder that knows the cluster.

    .. math::
        \log p(x \mid \theta) \ge E_{q(z \mid x, \theta)} \big[\log p(x \mid z, \theta) +
        \log p(z \mid \theta) - \log q(z \mid x, \theta)\big]

    with Gaussian pixels of one learned deviation, a Gaussian q, and a flow in the place of the prior. One
    draw of z a call: the bound is an estimate of itself. Cost O(T (D + W + H) H) a row.

    Args:
        dim: D, numbers of an image.
        width: W of the vector :math:`\theta`.
        num_latents: dimensions of z, at least 2.
        hidden_width: H.

    Example:
        >>> AutoencoderDensity(64, 8, hidden_width=16)(torch.randn(3, 8), torch.rand(3, 5, 64)).shape
        torch.Size([3, 5])

    References:
        Kingma & Welling (2014), Auto-encoding variational Bayes. https://arxiv.org/abs/1312.6114
    """

    def __init__(self, dim: int, width: int, *, num_latents: int = 8, hidden_width: int = 128) -> None:
        super().__init__()
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        self.num_latents = check_count("num_latents", num_latents, at_least=2)
        self.hidden_width = check_count("hidden_width", hidden_width)
        self.encode = _two_layers(dim + width, hidden_width, 2 * num_latents)
        self.decode = _two_layers(num_latents + width, hidden_width, dim)
        self.prior = FlowDensity(num_latents, width, num_blocks=2, hidden_width=hidden_width)
        self.log_noise = nn.Parameter(torch.tensor(-1.5))

    def forward(self, context: Tensor, points: Tensor) -> Tensor:
        points = points.to(context.dtype)
        contexts = context.unsqueeze(-2).expand(*points.shape[:-1], -1)
        mean, spread = self.encode(torch.cat([points, contexts], -1)).chunk(2, -1)
        posterior = torch.distributions.Normal(mean, F.softplus(spread) + _SMALLEST_SCALE)
        latent = posterior.rsample()
        seen = self.decode(torch.cat([latent, contexts], -1)).sigmoid()
        pixels = torch.distributions.Normal(seen, self.log_noise.exp()).log_prob(points).sum(-1)
        bound: Tensor = pixels + self.prior(context, latent) - posterior.log_prob(latent).sum(-1)
        return bound


def _two_layers(before: int, hidden: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(before, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, after)
    )


class FilteringEncoding(NamedTuple):
    """Data sets, embedded once for all rounds and draws."""

    positions: Tensor  # (B, N, D), in units of the scale
    embedded: Tensor  # (B, N, W)


class FilteredCluster(NamedTuple):
    """A cluster that a round found: who is in it, and what describes it."""

    logits: Tensor  # of belonging to the cluster, given the likeliest value of the latent, (R, T)
    context: Tensor  # the vector that describes it, (R, W)


@dataclass(frozen=True)
class IndependentMemberships:
    """Memberships that are independent given the anchor."""

    logits: Tensor  # (R, T)
    members: Members  # the law of who joins, by log-odds

    def draw(self) -> tuple[Tensor, Tensor]:
        joined = self.members.draw(self.logits)
        return joined, self.latents(joined)

    def most_likely(self) -> Tensor:
        return self.members.most_likely(self.logits)

    def estimate(
        self, joined: Tensor, num_particles: int, *, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        total = self.members.log_prob(self.logits, joined)
        return total, torch.zeros_like(total)

    def latents(self, joined: Tensor) -> Tensor:
        return self.logits.new_zeros(len(joined), 0)


@register(None)
class FilteringNetwork(nn.Module, ClusterwiseScorer):
    r"""The network of deep amortized clustering: attention among the points that are left finds one cluster.

    .. math::
        H = \mathrm{ISAB}^L(\mathrm{MAB}(X, x_a)), \qquad \theta = \mathrm{PMA}_1(H), \qquad
        \text{logit}_i = \text{linear}(\mathrm{ISAB}^L(\mathrm{MAB}(H, \theta)))_i

    Around an anchor a it finds the anchor's cluster. Without anchors the first block is left out, and it
    finds a cluster of its own choice. Cost O(T m W + T W^2) a round for T points and m inducing points.

    As published, memberships are independent given the anchor: points that may be a cluster together, or part
    of the anchor's, are broken up. With a latent of M values,

    .. math:: p(b \mid a) = \sum_{v=1}^{M} \mathrm{softmax}(A \theta)_v \prod_i
        \text{Bernoulli}(b_i; \mathrm{sigmoid}(\text{logit}_{iv}))

    Args:
        dim: dimension D of what is embedded.
        scale: typical standard deviation within a cluster.
        density: of the points of a cluster given its vector; None for memberships alone.
        width: W.
        num_blocks: L.
        num_inducing: m.
        num_heads: heads of the attention, a divisor of the width.
        anchored: whether there are anchors.
        differences: whether points are seen relative to the anchor.
        encoder: maps points of any shape to vectors ``(B, N, D)``, once a data set; None for vectors.
        num_values: M; 0 for independent memberships.
        progress: whether the network sees how many points are left, how many are in clusters, and in how
            many.

    Raises:
        ValueError: if the density has another width, or the vectors of the encoder another dimension, or
            differences or values of a latent are asked for without anchors.

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """

    def __init__(
        self,
        dim: int,
        scale: float,
        *,
        density: GaussianDensity | FlowDensity | AutoencoderDensity | None = None,
        width: int = 128,
        num_blocks: int = 4,
        num_inducing: int = 32,
        num_heads: int = 4,
        anchored: bool = True,
        differences: bool = False,
        encoder: Encoder | None = None,
        num_values: int = 0,
        progress: bool = False,
    ) -> None:
        super().__init__()
        if encoder is not None and encoder.dim != dim:
            raise ValueError(f"dim is {dim}, expected {encoder.dim}, that of the encoder's vectors")
        if density is not None and density.width != width:
            raise ValueError(f"density has width {density.width}, expected {width}, that of the network")
        if differences and not anchored:
            raise ValueError("differences is True and anchored False, expected anchors to be seen from")
        self.num_values = check_count("num_values", num_values, at_least=0)
        if num_values and not anchored:
            raise ValueError(
                f"num_values is {num_values} and anchored False, expected 0: each value has its surest point"
            )
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.width, self.num_blocks = check_count("width", width), check_count("num_blocks", num_blocks)
        self.num_inducing, self.num_heads = num_inducing, num_heads
        self.anchored, self.differences = bool(anchored), bool(differences)
        self.progress = bool(progress)
        self.encoder: Any = encoder
        self.density = density
        self.embed = nn.Linear(2 * dim, width)
        self.from_anchor = nn.Linear(2 * dim + 1, width) if differences else None
        self.to_anchor = MultiheadAttentionBlock(width, num_heads=num_heads) if anchored else None
        sizes = {"num_blocks": num_blocks, "num_inducing": num_inducing, "num_heads": num_heads}
        self.among = SetEncoder(width, **sizes)
        self.pool = PooledAttention(width, num_heads=num_heads)
        self.to_cluster = MultiheadAttentionBlock(width, num_heads=num_heads)
        self.again = SetEncoder(width, **sizes)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, max(1, num_values)))
        self.to_values = nn.Linear(width, num_values) if num_values else None
        self.from_progress = nn.Linear(3, width) if progress else None

    @property
    def num_latents(self) -> int:
        return self.num_values

    @property
    def num_contributions(self) -> int:
        return 0

    @property
    def is_exact(self) -> bool:
        return True

    def encode(self, data: Tensor) -> FilteringEncoding:
        positions = vectors_of(self.encoder, data).to(self.embed.weight.dtype) / self.scale
        embedded = self.embed(torch.cat([positions / 10, positions.asinh()], -1))
        return FilteringEncoding(positions, embedded)

    def contribution(self, encoding: FilteringEncoding, step: ClusterStep, joined: Tensor) -> Tensor:
        return encoding.embedded.new_zeros(len(joined), 0)

    def law(
        self, encoding: FilteringEncoding, step: ClusterStep
    ) -> IndependentMemberships | DiscreteMemberships:
        if not self.anchored:
            raise ValueError(
                "network has no anchors, expected anchored=True: SurestFirstPartition needs none"
            )
        return self.law_and_context(encoding, step)[0]

    def law_and_context(
        self, encoding: FilteringEncoding, step: ClusterStep
    ) -> tuple[IndependentMemberships | DiscreteMemberships, Tensor]:
        """Return the law of who joins, and the vectors that describe the clusters, ``(R, W)``."""
        points = torch.cat([step.anchor.unsqueeze(-1), step.others], -1)
        mask = F.pad(step.mask, (1, 0), value=True)
        hidden, context = self._look(encoding, step.dataset, points, mask, step.num_closed)
        logits = self.head(hidden[:, 1:])
        if self.to_values is None:
            return IndependentMemberships(logits.squeeze(-1), step.members), context

        def given(values: Tensor) -> Tensor:
            return torch.einsum("prv,rtv->prt", values, logits)

        values = torch.eye(self.num_values).to(logits).unsqueeze(1).expand(-1, len(logits), -1)
        weights = self.to_values(context).double().log_softmax(-1).T
        return DiscreteMemberships(given, step.members, values, weights), context

    def find(
        self, encoding: FilteringEncoding, dataset: Tensor, points: Tensor, mask: Tensor, num_closed: Tensor
    ) -> FilteredCluster:
        """Find a cluster among points: that of the first, the anchor, or one of the network's choice.

        Shape:
            dataset: rows of the encoding, ``(R,)``; points: their places, ``(R, T)``, padded with any; mask:
                which of them are there, ``(R, T)``, the first always; num_closed: clusters before, ``(R,)``.
        """
        hidden, context = self._look(encoding, dataset, points, mask, num_closed)
        logits = self.head(hidden)
        if self.to_values is not None:
            best = self.to_values(context).argmax(-1).view(-1, 1, 1)
            logits = logits.gather(-1, best.expand(*logits.shape[:2], 1))
        return FilteredCluster(logits.squeeze(-1), context)

    def _look(
        self, encoding: FilteringEncoding, dataset: Tensor, points: Tensor, mask: Tensor, num_closed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return vectors of the points ``(R, T, W)``, and of the cluster ``(R, W)``."""
        hidden = points_at(encoding.embedded, dataset, points)
        if self.from_anchor is not None:
            positions = points_at(encoding.positions, dataset, points)
            hidden = hidden + self.from_anchor(seen_offsets(positions - positions[:, :1]))
        if self.from_progress is not None:
            left = mask.sum(-1)
            done = encoding.embedded.shape[1] - left
            seen = torch.stack([left.log1p() / 3, done.log1p() / 3, num_closed.log1p()], -1)
            hidden = hidden + self.from_progress(seen.to(hidden)).unsqueeze(1)
        if self.to_anchor is not None:
            hidden = self.to_anchor(hidden, hidden[:, :1])
        hidden = self.among(hidden, mask)
        context = self.pool(hidden, mask)
        return self.again(self.to_cluster(hidden, context), mask), context.squeeze(-2)
