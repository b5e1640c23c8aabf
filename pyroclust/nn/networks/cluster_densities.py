"""Densities of the points of one cluster given a vector that describes it."""

from typing import Any

import torch
from pyro.distributions.transforms import ConditionalAffineAutoregressive
from pyro.nn import ConditionalAutoRegressiveNN
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.modules import MAX_BLOCKS, check_scale

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

    with f of a few autoregressive blocks, every other one in reversed order of the columns (Pyro's). Scoring
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
    draw of z a call, so that the bound is an estimate of itself. Cost O(T (D + W + H) H) a row.

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
