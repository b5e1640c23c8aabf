"""Normal components whose mean and variance are independent a priori."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import InverseGamma, Normal, TorchDistribution
from torch import Tensor

from pyroclust.distributions.components import ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.variance_integral import VarianceIntegral

__all__ = ["NormalIndependent"]


class NormalIndependent(ConjugateComponent):
    r"""Normal clusters with mean and variance independent a priori, in every column.

    .. math::
        \mu_{kd} \sim N(m, v), \quad \sigma^2_{kd} \sim IG(a, b), \quad x_{id} \sim N(\mu_{kd}, \sigma^2_{kd})

    Not conjugate, but the mean integrates out in closed form given the variance, and what is left is one
    integral a block and column, a function of count and moments alone: ``VarianceIntegral`` does it to 1e-9
    in the log. To everything else this is a conjugate family. Parameters of a cluster: ``"loc"`` ``(D,)``,
    ``"noise_variance"`` ``(D,)``.

    Args:
        mean: prior mean m of the cluster means in every column.
        variance: prior variance v of the cluster means.
        shape: a of the inverse gamma prior of the variances.
        rate: b of the inverse gamma prior, in squared data units.
        dim: dimension D.

    Raises:
        ValueError: if variance, shape or rate is not positive.

    Example:
        >>> family = NormalIndependent(20.0, 100.0, shape=3.0, rate=20.0)  # galaxy velocities in 1000 km/s
        >>> block = family.moments(torch.tensor([[19.0], [21.0]])).sum(0)
        >>> family.log_marginal(torch.tensor(2.0), block).item()
        -5.66...

    References:
        Richardson & Green (1997), On Bayesian analysis of mixtures with an unknown number of components.
        https://doi.org/10.1111/1467-9868.00095
    """

    hyper_names = ("mean", "variance", "shape", "rate")

    def __init__(
        self,
        mean: Hyperparameter,
        variance: Hyperparameter,
        *,
        shape: Hyperparameter,
        rate: Hyperparameter,
        dim: int = 1,
    ) -> None:
        super().__init__(dim)
        self.mean, self.variance = number(mean), number(variance)
        self.shape, self.rate = number(shape), number(rate)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("variance", "shape", "rate")

    @property
    def typical_scale(self) -> float:
        """Square root of b / (a + 1/2), close to the median variance."""
        return math.sqrt(self._typical("rate") / (self._typical("shape") + 0.5))

    def parameters(self) -> dict[str, Tensor]:
        """Sample the means and variances of a cluster."""
        loc = Normal(self.per_column("mean"), self.per_column("variance").sqrt(), validate_args=False)
        noise = InverseGamma(self.per_column("shape"), self.per_column("rate"), validate_args=False)
        return {
            "loc": site("loc", loc.to_event(1)),
            "noise_variance": site("noise_variance", noise.to_event(1)),
        }

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the normal law of a point."""
        scale = parameters["noise_variance"].sqrt()
        return Normal(parameters["loc"], scale, validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its square per dimension, ``(..., 2 D)``."""
        data = data.double()
        return torch.cat([data, data.square()], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, VarianceIntegral]:
        """Return the sums of x - m and the integral over the variance, ``(..., D)``."""
        counts, moments = self.over_batch(counts, moments)
        mean, variance, shape, rate = (self.hyper(name, trailing=2) for name in self.hyper_names)
        total, squares = moments.chunk(2, -1)
        counts = counts.unsqueeze(-1).expand_as(total)
        shift = counts * mean
        squares = squares - mean * (2 * total - shift)
        total = total - shift
        explained = total.square() / counts.clamp(min=1)
        scatter = (squares - explained).clamp(min=0)
        return total, VarianceIntegral(
            counts, shape.to(total).expand_as(total), rate + 0.5 * scatter, 0.5 * explained, counts * variance
        )

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats, by quadrature."""
        counts, moments = self.over_batch(counts, moments)
        shape, rate = self.hyper("shape"), self.hyper("rate")
        _, integral = self._posterior(counts, moments)
        per_dim = shape * rate.log() - shape.lgamma() - 0.5 * counts * math.log(2 * math.pi)
        found = self.dim * per_dim + integral.log_integral().sum(-1)
        return torch.where(counts > 0, found, 0.0)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack count, moments and log marginal of blocks, ``(..., 2 D + 2)``."""
        counts, moments = self.over_batch(counts, moments)
        log_marginal = self.log_marginal(counts, moments)
        counts = counts.expand(moments.shape[:-1])
        return torch.cat([moments, torch.stack([counts, log_marginal], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats, two marginals' difference."""
        together = parameters[..., :-2] + self.moments(data)
        counts = (parameters[..., -2] + 1).expand(together.shape[:-1])
        return self.log_marginal(counts, together) - parameters[..., -1]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw variances from their posterior, the mean integrated out, then means given them."""
        total, integral = self._posterior(counts, moments)
        with torch.no_grad():
            noise = integral.sample().exp()
            precision = 1 / self.hyper("variance", trailing=2) + integral.counts / noise
            loc = total / (noise * precision) + torch.randn_like(total) / precision.sqrt()
            return {"loc": self.hyper("mean", trailing=2) + loc, "noise_variance": noise}
