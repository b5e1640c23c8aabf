"""Normal components with unknown mean and variance in every dimension (diagonal covariance)."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import Gamma, InverseGamma, Normal, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component, ConjugateComponent, number, per_point
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.partitions import most_clusters

__all__ = ["NormalInverseGamma"]


@register(Component)
class NormalInverseGamma(ConjugateComponent):
    r"""Independent normal-inverse-gamma components per dimension.

    .. math::
        \sigma^2_{kd} \sim IG(a, b), \quad \mu_{kd} \sim N(m, \sigma^2_{kd} / \kappa), \quad
        x_{id} \sim N(\mu_{kd}, \sigma^2_{kd})

    Parameters of a cluster: ``"loc"`` ``(D,)``, ``"variance"`` ``(D,)``.

    Args:
        dim: dimension D.
        kappa: prior pseudo-observations of the mean.
        shape: a of the inverse gamma.
        rate: b of the inverse gamma, in squared data units.
        mean: prior mean m of the cluster means in every column.

    Raises:
        ValueError: if kappa, shape or rate is not positive.

    Example:
        >>> family = NormalInverseGamma(1, 0.5, shape=2.0, rate=2.0)  # a point is Student-t(4), scale sqrt(3)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(1))).item()
        -1.53...

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 6.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    hyper_names = ("mean", "kappa", "shape", "rate")
    reach = 1e6

    def __init__(
        self,
        dim: int,
        kappa: Hyperparameter,
        *,
        shape: Hyperparameter,
        rate: Hyperparameter,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(dim)
        self.mean, self.kappa = number(mean), number(kappa)
        self.shape, self.rate = number(shape), number(rate)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("kappa", "shape", "rate")

    @property
    def typical_scale(self) -> float:
        """Square root of b / (a + 1/2), close to the median variance."""
        return math.sqrt(self._typical("rate") / (self._typical("shape") + 0.5))

    def parameters(self) -> dict[str, Tensor]:
        """Sample the variances of a cluster, then its means."""
        law = InverseGamma(self.per_column("shape"), self.per_column("rate"), validate_args=False)
        variance = site("variance", law.to_event(1))
        scale = (variance / self.per_column("kappa")).sqrt()
        loc = site("loc", Normal(self.per_column("mean"), scale, validate_args=False).to_event(1))
        return {"loc": loc, "variance": variance}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the normal law of a point."""
        return Normal(parameters["loc"], parameters["variance"].sqrt(), validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its square per dimension, ``(..., 2 D)``."""
        data = data.double()
        return torch.cat([data, data.square()], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return kappa, shape, mean less m, and rates of the posterior."""
        counts, moments = self.over_batch(counts, moments)
        prior_mean, prior_rate = self.hyper("mean", trailing=2), self.hyper("rate", trailing=2)
        total, squares = moments.chunk(2, -1)
        shift = counts.unsqueeze(-1) * prior_mean
        squares = squares - prior_mean * (2 * total - shift)
        kappa, shape = self.hyper("kappa") + counts, self.hyper("shape") + 0.5 * counts
        mean = (total - shift) / kappa.unsqueeze(-1)
        rate = prior_rate + 0.5 * (squares - kappa.unsqueeze(-1) * mean.square())
        return kappa, shape, mean, rate.maximum(prior_rate)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        counts, moments = self.over_batch(counts, moments)
        prior_kappa, prior_shape = self.hyper("kappa"), self.hyper("shape")
        kappa, shape, _, rate = self._posterior(counts, moments)
        per_dim = (
            shape.lgamma()
            - prior_shape.lgamma()
            + prior_shape * self.hyper("rate").log()
            + 0.5 * (prior_kappa.log() - kappa.log())
            - 0.5 * counts * math.log(2 * math.pi)
        )
        return self.dim * per_dim - shape * rate.log().sum(-1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive Student-t: mean D, inverse squared widths D, power, log normaliser."""
        kappa, shape, mean, rate = self._posterior(counts, moments)
        precision = (kappa / (kappa + 1)).unsqueeze(-1) / (2 * rate)
        power = shape + 0.5
        log_norm = self.dim * (
            power.lgamma() - shape.lgamma() - 0.5 * math.log(math.pi)
        ) + 0.5 * precision.log().sum(-1)
        mean = self.hyper("mean", trailing=2) + mean
        return torch.cat([mean, precision, torch.stack([power, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats."""
        mean, precision = parameters[..., :-2].chunk(2, -1)
        distance = ((data - mean).square() * precision).log1p().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw variances, then means, from their normal-inverse-gamma posterior."""
        kappa, shape, mean, rate = self._posterior(counts, moments)
        variance = 1 / Gamma(shape.unsqueeze(-1), rate, validate_args=False).sample()
        noise = torch.randn_like(mean) * (variance / kappa.unsqueeze(-1)).sqrt()
        return {"loc": self.hyper("mean", trailing=2) + mean + noise, "variance": variance}

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw variances and means, then points."""
        prior_mean, kappa, prior_shape, rate = (self.hyper(name, trailing=2) for name in self.hyper_names)
        shape = (*assignments.shape[:-1], most_clusters(assignments), self.dim)
        dtype, device = torch.get_default_dtype(), assignments.device
        prior_shape, rate = (one.to(dtype=dtype, device=device) for one in (prior_shape, rate))
        law = Gamma(prior_shape, rate, validate_args=False)
        scale = law.expand(shape).sample().rsqrt()
        mean = prior_mean + scale * torch.randn(shape, device=device) / kappa.sqrt()
        centre, spread = per_point(torch.cat([mean, scale.to(mean)], -1), assignments).chunk(2, -1)
        return (centre + spread * torch.randn_like(centre)).to(dtype)
