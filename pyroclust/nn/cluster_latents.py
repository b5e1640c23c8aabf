"""Latents of clusters: a Gaussian with a posterior network, or a few values without one."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pyroclust.nn.memberships import DiscreteMemberships, GaussianMemberships, Logits

__all__ = ["ClusterLatents", "DiscreteLatents", "GaussianLatents"]


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

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        ...

    def connect(self, width: int) -> None:
        """Make the layers for contexts of a width."""
        ...

    def memberships(
        self, context: Tensor, logits: Logits, mask: Tensor, summary: Callable[[Tensor], Tensor]
    ) -> GaussianMemberships | DiscreteMemberships:
        """Return the law of who joins.

        Args:
            context: of the cluster, ``(R, W)``.
            logits: the decoder.
            mask: who may join, ``(R, T)``.
            summary: describes who joins and who does not, ``(R, T) -> (R, 2 W)``.
        """
        ...


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
        self.num_latents = num_latents

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"num_latents": self.num_latents}

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
        self, context: Tensor, logits: Logits, mask: Tensor, summary: Callable[[Tensor], Tensor]
    ) -> GaussianMemberships:
        """Return the law of who joins."""
        mean, log_scale = self.prior(context).chunk(2, -1)
        log_scale = _bounded(log_scale)

        def posterior(joined: Tensor) -> tuple[Tensor, Tensor]:
            hidden = self.posterior(torch.cat([context, summary(joined)], -1))
            shift, widening = self.change(hidden).chunk(2, -1)
            return mean + shift, _bounded(log_scale + widening)

        return GaussianMemberships(logits, mask, (mean, log_scale), posterior)


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
        self.num_latents, self.num_values = num_latents, num_values

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"num_latents": self.num_latents, "num_values": self.num_values}

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
        self, context: Tensor, logits: Logits, mask: Tensor, summary: Callable[[Tensor], Tensor]
    ) -> DiscreteMemberships:
        """Return the law of who joins; the summary is not needed."""
        values = self.values(context).unflatten(-1, self.places.shape) + self.places
        log_weights = self.weights(context).double().log_softmax(-1)
        return DiscreteMemberships(logits, mask, values.transpose(0, 1), log_weights.T)


def _bounded(log_scale: Tensor) -> Tensor:
    return 4 * (log_scale / 4).tanh()
