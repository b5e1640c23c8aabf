"""Mixtures of diagonal Gaussians whose components are summed out."""

import math
from typing import Any, Self

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.points import broadcast_shapes

_SMALLEST_VARIANCE = 1e-6


class DiagonalMixture(TorchDistribution):
    r"""Data sets of independent points from mixtures of diagonal Gaussians, the labels summed out.

    .. math:: \log p(x) = \sum_i \log \sum_k \pi_k \, N\big(x_i; \mu_k, \mathrm{diag}(\sigma_k^2)\big)

    A component of weight 0 is not there. Cost and memory O(N K D) a data set.

    Args:
        log_weights: log of the weights, ``(*batch, K)``, minus infinity where there is no component.
        means: ``(*batch, K, D)``.
        scales: standard deviations, ``(*batch, K, D)``.
        num_points: N.

    Shape:
        batch_shape: ``(*batch)``; event_shape: ``(N, D)``.

    Example:
        >>> law = DiagonalMixture(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2), num_points=3)
        >>> round(law.log_prob(torch.zeros(3, 2)).item(), 3)  # -3 log(2 pi)
        -5.514
    """

    support = constraints.independent(constraints.real, 2)
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, log_weights: Tensor, means: Tensor, scales: Tensor, *, num_points: int) -> None:
        batch = broadcast_shapes(log_weights.shape[:-1], means.shape[:-2], scales.shape[:-2])
        components, dim = means.shape[-2:]
        self.log_weights = log_weights.expand(*batch, components)
        self.means, self.scales = (one.expand(*batch, components, dim) for one in (means, scales))
        super().__init__(batch, Size((num_points, dim)), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "DiagonalMixture":
        """Return the same distribution with a larger batch shape."""
        sizes = self.means.shape[-2:]
        return DiagonalMixture(
            self.log_weights.expand(*batch_shape, sizes[0]),
            self.means.expand(*batch_shape, *sizes),
            self.scales.expand(*batch_shape, *sizes),
            num_points=self.event_shape[0],
        )

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw data sets, ``(*sample_shape, *batch, N, D)``."""
        with torch.no_grad():
            shape = self._extended_shape(Size(sample_shape))[:-1]
            laws = torch.distributions.Categorical(logits=self.log_weights.unsqueeze(-2).expand(*shape, -1))
            label = laws.sample().unsqueeze(-1).expand(*shape, self.event_shape[1])
            centre, scale = (
                one.expand(*shape[:-1], *one.shape[-2:]).gather(-2, label)
                for one in (self.means, self.scales)
            )
            return centre + scale * torch.randn_like(centre)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-density of data sets, ``(...)`` in nats."""
        return self.log_joint(value).logsumexp(-1).sum(-1)

    def log_joint(self, value: Tensor) -> Tensor:
        r"""Return :math:`\log \pi_k N(x_i; \mu_k, \sigma_k)` of every point and component in nats.

        Shape:
            value: ``(..., N, D)``; output: ``(..., N, K)``.
        """
        scales = self.scales.unsqueeze(-3)
        off = (value.unsqueeze(-2) - self.means.unsqueeze(-3)) / scales
        density = -0.5 * off.square().sum(-1) - scales.log().sum(-1)
        return density + (self.log_weights.unsqueeze(-2) - 0.5 * value.shape[-1] * math.log(2 * math.pi))

    def after_one_step(self, value: Tensor) -> Self:
        r"""Return the mixture after one step of expectation maximisation on data sets.

        .. math::
            r_{ik} \propto \pi_k N(x_i; \mu_k, \sigma_k), \qquad \pi_k = \bar r_k, \quad
            \mu_k = \frac{\sum_i r_{ik} x_i}{\sum_i r_{ik}}, \quad
            \sigma_k^2 = \frac{\sum_i r_{ik} (x_i - \mu_k)^2}{\sum_i r_{ik}}

        Variances stay above 1e-6, and a component of less than a thousandth of a point stays where it is.

        Shape:
            value: ``(*batch, N, D)``.
        """
        share = self.log_joint(value).softmax(-1)
        total = share.sum(-2)
        some = (total > 1e-3).unsqueeze(-1)
        weight = share / total.clamp(min=1e-3).unsqueeze(-2)
        means = weight.mT @ value
        off = (value.unsqueeze(-2) - means.unsqueeze(-3)).square()
        variances = (weight.unsqueeze(-1) * off).sum(-3).clamp(min=_SMALLEST_VARIANCE)
        return type(self)(
            (total / value.shape[-2]).log(),
            torch.where(some, means, self.means),
            torch.where(some, variances.sqrt(), self.scales),
            num_points=self.event_shape[0],
        )
