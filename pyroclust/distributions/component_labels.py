"""Points that choose a component each, independently: their partitions, and their data."""

import math
from typing import Any, ClassVar, Self

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.partitions import canonical

MOST_COMPONENTS = 14
"""Components up to which the log-probability of a partition is summed over all ways to name its blocks."""

_NUMBERS_AT_ONCE = 1 << 23


class ComponentLabels(PartitionDistribution):
    r"""Partitions whose points choose among K components, independently given the data.

    .. math::
        q(c) = \sum_{\pi} \prod_i r_{i, \pi(c_i)}

    over all ways :math:`\pi` to name the blocks by different components, summed exactly; ``log_shares`` is
    log r, ``(*batch, N, K)``. Cost of a log-probability O(N K^2 + K^2 2^K), of a draw O(N K).
    """

    batched: ClassVar[dict[str, int]] = {"log_shares": 2}

    def __init__(self, log_shares: Tensor, *, validate_args: bool | None = None) -> None:
        if log_shares.shape[-1] > MOST_COMPONENTS:
            raise ValueError(
                f"log_shares has {log_shares.shape[-1]} components, expected at most {MOST_COMPONENTS}: the "
                "names of blocks are summed out"
            )
        self.log_shares = log_shares.double()
        super().__init__(log_shares.shape[-2], batch_shape=log_shares.shape[:-2], validate_args=validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        bounds = self.log_shares.exp().cumsum(-1)
        shape = (*sample_shape, *self.batch_shape, self.num_points)
        uniform = torch.rand(shape, dtype=torch.float64, device=bounds.device) * bounds[..., -1]
        labels = torch.searchsorted(
            bounds.expand(*shape, bounds.shape[-1]).contiguous(), uniform.unsqueeze(-1), right=True
        )
        return canonical(labels.squeeze(-1).clamp(max=bounds.shape[-1] - 1))

    def _candidates(self, width: int) -> Tensor:
        best = canonical(self.log_shares.argmax(-1)).unsqueeze(0)
        return torch.cat([best, super()._candidates(width)])

    def _log_prob(self, value: Tensor) -> Tensor:
        components = self.log_shares.shape[-1]
        value = self._expanded(value)
        labels, batch = value.reshape(-1, self.num_points), value.shape[:-1]
        places = torch.arange(self.batch_shape.numel(), device=value.device).view(self.batch_shape)
        places = places.expand(batch).reshape(-1)
        shares = self.log_shares.reshape(-1, self.num_points, components)
        rows = max(1, _NUMBERS_AT_ONCE // (components * max(self.num_points, 1 << components)))
        parts = [
            _log_sum_over_names(one, shares[place])
            for one, place in zip(labels.split(rows), places.split(rows), strict=True)
        ]
        return torch.cat(parts).view(batch)


def _log_sum_over_names(labels: Tensor, log_shares: Tensor) -> Tensor:
    """Sum over the ways to name blocks by different components, ``(R, N), (R, N, K) -> (R,)``."""
    components, device = log_shares.shape[-1], labels.device
    blocks = labels.amax(-1) + 1
    most = min(int(blocks.max()), components)
    block = labels.clamp(max=components - 1).unsqueeze(-1).expand_as(log_shares)
    # What each block is worth under each component.
    worth = torch.zeros(len(labels), components, components, dtype=log_shares.dtype, device=device)
    worth = worth.scatter_add(1, block, log_shares)
    subsets = torch.arange(1 << components, device=device)
    bits = 1 << torch.arange(components, device=device)
    holds = (subsets.unsqueeze(-1) & bits) != 0
    without = subsets.unsqueeze(-1) ^ bits
    # Of the first blocks, by the subset of components that name them.
    named = torch.full((len(labels), len(subsets)), -torch.inf, dtype=worth.dtype, device=device)
    named[:, 0] = 0.0
    found = torch.full((len(labels),), -torch.inf, dtype=worth.dtype, device=device)
    for number in range(most):
        ways = named[:, without.where(holds, 0)] + worth[:, number].unsqueeze(1)
        named = ways.masked_fill(~holds, -torch.inf).logsumexp(-1)
        found = torch.where(blocks == number + 1, named.logsumexp(-1), found)
    return found


_SMALLEST_VARIANCE = 1e-6


class DiagonalMixture(TorchDistribution):
    r"""Data sets of independent points from mixtures of diagonal Gaussians, the labels summed out.

    .. math:: \log p(x) = \sum_i \log \sum_k \pi_k \, N\big(x_i; \mu_k, \mathrm{diag}(\sigma_k^2)\big)

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
        sizes = self.means.shape[-2:]
        return DiagonalMixture(
            self.log_weights.expand(*batch_shape, sizes[0]),
            self.means.expand(*batch_shape, *sizes),
            self.scales.expand(*batch_shape, *sizes),
            num_points=self.event_shape[0],
        )

    def sample(self, sample_shape: Any = Size()) -> Tensor:
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
        r"""Return the mixture after one step of expectation maximisation on data sets, ``(*batch, N, D)``.

        .. math::
            r_{ik} \propto \pi_k N(x_i; \mu_k, \sigma_k), \qquad \pi_k = \bar r_k, \quad
            \mu_k = \frac{\sum_i r_{ik} x_i}{\sum_i r_{ik}}, \quad
            \sigma_k^2 = \frac{\sum_i r_{ik} (x_i - \mu_k)^2}{\sum_i r_{ik}}

        Variances stay above 1e-6, and a component of less than a thousandth of a point stays where it is.
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
