"""Latents of clusters, and memberships that are independent given them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.clusterwise_steps import Members

Logits = Callable[[Tensor], Tensor]
"""From latents ``(P, R, Z)`` to logits ``(P, R, T)``."""


@dataclass(frozen=True)
class GaussianMemberships:
    r"""Memberships with a Gaussian latent.

    .. math:: p(b) = \int N(z; \mu, \sigma^2) \prod_i p(b_i \mid z) \, dz
    """

    logits: Logits  # the decoder
    members: Members  # the law of who joins, by log-odds
    prior: tuple[Tensor, Tensor]  # means and log standard deviations of z, (R, Z) each
    posterior: Callable[[Tensor], tuple[Tensor, Tensor]]  # the same given who joins, from (R, T) bool

    def draw(self) -> tuple[Tensor, Tensor]:
        mean, log_scale = self.prior
        latent = mean + log_scale.exp() * torch.randn_like(mean)
        return self.members.draw(self.logits(latent.unsqueeze(0)).squeeze(0)), latent

    def most_likely(self) -> Tensor:
        return self.members.most_likely(self.logits(self.prior[0].unsqueeze(0)).squeeze(0))

    def latents(self, joined: Tensor) -> Tensor:
        """Draw z from the posterior network."""
        mean, log_scale = self.posterior(joined)
        return mean + log_scale.exp() * torch.randn_like(mean)

    def estimate(
        self, joined: Tensor, num_particles: int, *, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        r"""Average importance weights of latents from the posterior network.

        .. math:: \log \frac{1}{P} \sum_{p=1}^{P} w_p, \qquad
            w_p = \frac{p(z_p) \, p(b \mid z_p)}{r(z_p \mid b)}, \quad z_p \sim r

        Its gradient is doubly reparameterised (Tucker et al., 2019, https://arxiv.org/abs/1810.04152): that
        of the posterior network flows through z alone, weighted by the squares of the normalised weights.
        """
        mean, log_scale = self.posterior(joined)
        noise = torch.randn(num_particles, *mean.shape, dtype=mean.dtype, device=mean.device)
        latents = mean + log_scale.exp() * noise
        if latent is not None:
            latents = torch.cat([latent.unsqueeze(0), latents[1:]])
        log_weight = (
            _normal_log_prob(latents, *self.prior)
            + self.members.log_prob(self.logits(latents), joined)
            - _normal_log_prob(latents, mean.detach(), log_scale.detach())
        )
        share = log_weight.detach().softmax(0)
        if latents.requires_grad:
            latents.register_hook(lambda gradient: gradient * share.unsqueeze(-1).to(gradient))
        return log_weight.logsumexp(0) - math.log(num_particles), _relative_variance(share)


@dataclass(frozen=True)
class DiscreteMemberships:
    r"""Memberships with a latent of few values: a mixture, whose probabilities are exact.

    .. math:: p(b) = \sum_{m=1}^{M} \pi_m \prod_i p(b_i \mid z_m)
    """

    logits: Logits  # the decoder
    members: Members  # the law of who joins, by log-odds
    values: Tensor  # of z, (M, R, Z)
    log_weights: Tensor  # their log-probabilities, (M, R)

    def draw(self) -> tuple[Tensor, Tensor]:
        latent = self._chosen(self.log_weights)
        return self.members.draw(self.logits(latent.unsqueeze(0)).squeeze(0)), latent

    def most_likely(self) -> Tensor:
        """Threshold the probabilities at the most likely value of z."""
        latent = self._pick(self.log_weights.argmax(0))
        return self.members.most_likely(self.logits(latent.unsqueeze(0)).squeeze(0))

    def latents(self, joined: Tensor) -> Tensor:
        """Draw z from its exact posterior."""
        return self._chosen(self.log_weights + self.members.log_prob(self.logits(self.values), joined))

    def estimate(
        self, joined: Tensor, num_particles: int, *, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Sum over all values of z, exactly, whatever the number of particles."""
        each = self.log_weights + self.members.log_prob(self.logits(self.values), joined)
        total = each.logsumexp(0)
        return total, torch.zeros_like(total)

    def _chosen(self, log_weights: Tensor) -> Tensor:
        return self._pick(log_weights.softmax(0).T.multinomial(1).squeeze(-1))

    def _pick(self, which: Tensor) -> Tensor:
        return self.values[which, torch.arange(len(which), device=which.device)]


def _normal_log_prob(value: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    scaled = (value - mean) * (-log_scale).exp()
    each = -0.5 * scaled.square() - log_scale - 0.5 * math.log(2 * math.pi)
    return each.sum(-1, dtype=torch.float64)


def _relative_variance(share: Tensor) -> Tensor:
    """Return the variance of an average of weights over its squared mean, from normalised weights."""
    count = len(share)
    if count == 1:
        return share.new_full(share.shape[1:], math.nan)
    return ((count * share.square().sum(0) - 1) / (count - 1)).clamp(min=0)


class ClusterLatents(Protocol):
    """What a clusterwise network asks of its latents.

    Attributes:
        num_latents: Z.
        is_exact: the probability of memberships is a finite sum.
        needs_summary: a posterior network wants to know who joins.
    """

    num_latents: int
    is_exact: bool
    needs_summary: bool

    def connect(self, width: int) -> None: ...

    def memberships(
        self, context: Tensor, logits: Logits, members: Members, summary: Callable[[Tensor], Tensor]
    ) -> GaussianMemberships | DiscreteMemberships:
        """Return the law of who joins."""
        ...


@register(ClusterLatents)
class GaussianLatents(nn.Module):
    r"""A Gaussian latent a cluster, integrated by importance sampling from a posterior network.

    .. math:: z \sim N(\mu(C), \operatorname{diag} \sigma^2(C)), \qquad
        r(z \mid b) = N(\mu + \Delta\mu(C, U_{in}, U_{out}), \sigma^2 e^{2 \Delta(C, U_{in}, U_{out})})

    The last layer of the posterior network starts at zero, at the prior.

    Args:
        num_latents: Z.
    """

    is_exact = False
    needs_summary = True

    def __init__(self, num_latents: int = 6) -> None:
        super().__init__()
        self.num_latents = check_count("num_latents", num_latents)

    def connect(self, width: int) -> None:
        """Make the layers for contexts of a width."""
        self.prior = nn.Sequential(nn.SiLU(), nn.Linear(width, 2 * self.num_latents))
        self.posterior = nn.Sequential(
            nn.Linear(3 * width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.change = nn.Linear(width, 2 * self.num_latents)
        nn.init.zeros_(self.change.weight)
        nn.init.zeros_(self.change.bias)

    def memberships(
        self, context: Tensor, logits: Logits, members: Members, summary: Callable[[Tensor], Tensor]
    ) -> GaussianMemberships:
        """Return the law of who joins."""
        mean, log_scale = self.prior(context).chunk(2, -1)
        log_scale = _bounded(log_scale)

        def posterior(joined: Tensor) -> tuple[Tensor, Tensor]:
            hidden = self.posterior(torch.cat([context, summary(joined)], -1))
            shift, widening = self.change(hidden).chunk(2, -1)
            return mean + shift, _bounded(log_scale + widening)

        return GaussianMemberships(logits, members, (mean, log_scale), posterior)


@register(ClusterLatents)
class DiscreteLatents(nn.Module):
    r"""A latent of M values, whose places and weights depend on the cluster: exact probabilities.

    .. math:: z \in \{z_1(C), \ldots, z_M(C)\}, \qquad \pi = \mathrm{softmax}(A C)

    Args:
        num_latents: Z.
        num_values: M.
    """

    is_exact = True
    needs_summary = False

    def __init__(self, num_latents: int = 6, num_values: int = 8) -> None:
        super().__init__()
        self.num_latents = check_count("num_latents", num_latents)
        self.num_values = check_count("num_values", num_values)

    def connect(self, width: int) -> None:
        """Make the layers for contexts of a width."""
        self.weights = nn.Sequential(nn.SiLU(), nn.Linear(width, self.num_values))
        self.values = nn.Sequential(
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, self.num_values * self.num_latents),
        )
        self.places = nn.Parameter(torch.randn(self.num_values, self.num_latents))

    def memberships(
        self, context: Tensor, logits: Logits, members: Members, summary: Callable[[Tensor], Tensor]
    ) -> DiscreteMemberships:
        """Return the law of who joins; the summary is not needed."""
        values = self.values(context).unflatten(-1, self.places.shape) + self.places
        log_weights = self.weights(context).double().log_softmax(-1)
        return DiscreteMemberships(logits, members, values.transpose(0, 1), log_weights.T)


def _bounded(log_scale: Tensor) -> Tensor:
    return 4 * (log_scale / 4).tanh()
