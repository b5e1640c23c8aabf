"""Normal components with known variance and a normal prior on the mean."""

import math

import torch
from torch import Tensor

from pyroclust.distributions.components import ConjugateComponent, per_point
from pyroclust.partitions import num_clusters

__all__ = ["NormalKnownVariance"]


class NormalKnownVariance(ConjugateComponent):
    r"""Isotropic normal clusters whose means are unknown.

    .. math:: \mu_k \sim N(0, \lambda^2 I), \quad x_i \sim N(\mu_k, \sigma^2 I)

    Args:
        dim: dimension D.
        prior_scale: standard deviation of the cluster means.
        scale: standard deviation within a cluster.

    Example:
        >>> family = NormalKnownVariance(1, prior_scale=3.0)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(1))).item()  # N(0; 0, 10)
        -2.07...

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 2.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    def __init__(self, dim: int, prior_scale: float = 10.0, *, scale: float = 1.0) -> None:
        super().__init__(dim)
        if not (prior_scale > 0 and scale > 0):
            raise ValueError(
                f"prior_scale and scale are {prior_scale} and {scale}, expected positive numbers"
            )
        self.prior_scale, self.scale = float(prior_scale), float(scale)

    @property
    def typical_scale(self) -> float:
        """The known standard deviation."""
        return self.scale

    @property
    def scale_is_known(self) -> bool:
        """True: only the means are unknown."""
        return True

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its squared norm, ``(..., D + 1)``."""
        data = data.double()
        return torch.cat([data, data.square().sum(-1, keepdim=True)], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        total, squares = moments[..., :-1], moments[..., -1]
        noise, prior = self.scale**2, self.prior_scale**2
        precision = counts / noise + 1 / prior
        quadratic = squares / noise - (total / noise).square().sum(-1) / precision
        log_scale = counts * math.log(2 * math.pi * noise) + (prior * precision).log()
        return -0.5 * (self.dim * log_scale + quadratic)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack mean, half precision and log normaliser of the predictive normal, ``(..., D + 2)``."""
        noise, prior = self.scale**2, self.prior_scale**2
        precision = counts / noise + 1 / prior
        mean = moments[..., :-1] / noise / precision.unsqueeze(-1)
        variance = noise + 1 / precision
        log_norm = -0.5 * self.dim * (2 * math.pi * variance).log()
        return torch.cat([mean, torch.stack([0.5 / variance, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats."""
        distance = (data - parameters[..., :-2]).square().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw means, then points."""
        shape = (*assignments.shape[:-1], int(num_clusters(assignments).max()), self.dim)
        mean = self.prior_scale * torch.randn(shape, device=assignments.device)
        points = per_point(mean, assignments)
        return points + self.scale * torch.randn_like(points)
