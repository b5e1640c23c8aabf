"""Normal components with known variance and a normal prior on the mean."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import Normal, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component, ConjugateComponent, number, per_point
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.partitions import most_clusters

__all__ = ["NormalKnownVariance"]


@register(Component)
class NormalKnownVariance(ConjugateComponent):
    r"""Isotropic normal clusters whose means are unknown.

    .. math:: \mu_k \sim N(m, \lambda^2 I), \quad x_i \sim N(\mu_k, \sigma^2 I)

    Parameters of a cluster: ``"loc"`` ``(D,)``.

    Args:
        dim: dimension D.
        prior_scale: standard deviation of the cluster means.
        scale: standard deviation within a cluster.
        mean: prior mean of the cluster means in every column.

    Raises:
        ValueError: if a scale is not positive.

    Example:
        >>> family = NormalKnownVariance(1, prior_scale=3.0)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(1))).item()  # N(0; 0, 10)
        -2.07...

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 2.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    hyper_names = ("mean", "prior_scale", "scale")
    reach = 1e6

    def __init__(
        self,
        dim: int,
        prior_scale: Hyperparameter = 10.0,
        *,
        scale: Hyperparameter = 1.0,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(dim)
        self.mean, self.prior_scale, self.scale = number(mean), number(prior_scale), number(scale)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("prior_scale", "scale")

    @property
    def typical_scale(self) -> float:
        """The known standard deviation."""
        return self._typical("scale")

    @property
    def scale_is_known(self) -> bool:
        """Whether the standard deviation is one known number."""
        return isinstance(self.scale, float)

    def parameters(self) -> dict[str, Tensor]:
        """Sample the mean of a cluster."""
        law = Normal(self.per_column("mean"), self.per_column("prior_scale"), validate_args=False)
        return {"loc": site("loc", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the normal law of a point."""
        loc = parameters["loc"]
        return Normal(loc, self.hyper("scale", trailing=2).to(loc), validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its squared norm, ``(..., D + 1)``."""
        data = data.double()
        return torch.cat([data, data.square().sum(-1, keepdim=True)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the posterior precision, its mean less m, and the squares about m."""
        counts, moments = self.over_batch(counts, moments)
        mean, noise, prior = self.hyper("mean"), self.hyper("scale") ** 2, self.hyper("prior_scale") ** 2
        total, squares = moments[..., :-1], moments[..., -1]
        squares = squares - mean * (2 * total.sum(-1) - self.dim * counts * mean)
        precision = counts / noise + 1 / prior
        shift = (total - (counts * mean).unsqueeze(-1)) / (noise * precision).unsqueeze(-1)
        return precision, shift, squares

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        counts, moments = self.over_batch(counts, moments)
        noise, prior = self.hyper("scale") ** 2, self.hyper("prior_scale") ** 2
        precision, shift, squares = self._posterior(counts, moments)
        quadratic = squares / noise - shift.square().sum(-1) * precision
        log_scale = counts * (2 * math.pi * noise).log() + (prior * precision).log()
        return -0.5 * (self.dim * log_scale + quadratic)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack mean, half precision and log normaliser of the predictive normal, ``(..., D + 2)``."""
        precision, shift, _ = self._posterior(counts, moments)
        variance = self.hyper("scale") ** 2 + 1 / precision
        log_norm = -0.5 * self.dim * (2 * math.pi * variance).log()
        mean = self.hyper("mean", trailing=2) + shift
        return torch.cat([mean, torch.stack([0.5 / variance, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats."""
        distance = (data - parameters[..., :-2]).square().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw means from their normal posterior."""
        precision, shift, _ = self._posterior(counts, moments)
        noise = torch.randn_like(shift) / precision.sqrt().unsqueeze(-1)
        return {"loc": self.hyper("mean", trailing=2) + shift + noise}

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw means, then points."""
        mean, prior_scale, scale = (self.hyper(name, trailing=2) for name in self.hyper_names)
        shape = (*assignments.shape[:-1], most_clusters(assignments), self.dim)
        points = per_point(mean + prior_scale * torch.randn(shape, device=assignments.device), assignments)
        return (points + scale * torch.randn_like(points)).to(torch.get_default_dtype())
