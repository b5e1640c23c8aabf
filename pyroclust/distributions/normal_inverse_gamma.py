"""Normal components with unknown mean and variance in every dimension (diagonal covariance)."""

import math

import torch
from torch import Tensor

from pyroclust.distributions.components import ConjugateComponent, per_point
from pyroclust.partitions import num_clusters

__all__ = ["NormalInverseGamma"]


class NormalInverseGamma(ConjugateComponent):
    r"""Independent normal-inverse-gamma components per dimension, prior mean 0.

    .. math::
        \sigma^2_{kd} \sim IG(a, b), \quad \mu_{kd} \sim N(0, \sigma^2_{kd} / \kappa), \quad
        x_{id} \sim N(\mu_{kd}, \sigma^2_{kd})

    Args:
        dim: dimension D.
        kappa: prior pseudo-observations of the mean.
        shape: a of the inverse gamma.
        rate: b of the inverse gamma, in squared data units.

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 6.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    def __init__(self, dim: int, kappa: float, *, shape: float, rate: float) -> None:
        super().__init__(dim)
        if not (kappa > 0 and shape > 0 and rate > 0):
            raise ValueError(
                f"kappa, shape and rate are {kappa}, {shape} and {rate}, expected positive numbers"
            )
        self.kappa, self.shape, self.rate = float(kappa), float(shape), float(rate)

    @property
    def typical_scale(self) -> float:
        """Square root of b / (a + 1/2), close to the median variance."""
        return math.sqrt(self.rate / (self.shape + 0.5))

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its square per dimension, ``(..., 2 D)``."""
        data = data.double()
        return torch.cat([data, data.square()], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        total, squares = moments.chunk(2, -1)
        kappa, shape = self.kappa + counts, self.shape + 0.5 * counts
        mean = total / kappa.unsqueeze(-1)
        rate = self.rate + 0.5 * (squares - kappa.unsqueeze(-1) * mean.square())
        return kappa, shape, mean, rate.clamp(min=self.rate)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        kappa, shape, _, rate = self._posterior(counts, moments)
        per_dim = (
            shape.lgamma()
            - math.lgamma(self.shape)
            + self.shape * math.log(self.rate)
            + 0.5 * (math.log(self.kappa) - kappa.log())
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
        return torch.cat([mean, precision, torch.stack([power, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats."""
        mean, precision = parameters[..., :-2].chunk(2, -1)
        distance = ((data - mean).square() * precision).log1p().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw variances and means, then points."""
        shape = (*assignments.shape[:-1], int(num_clusters(assignments).max()), self.dim)
        prior = torch.distributions.Gamma(
            torch.tensor(self.shape), torch.tensor(self.rate), validate_args=False
        )
        scale = prior.sample(torch.Size(shape)).rsqrt()
        mean = scale * torch.randn(shape) / math.sqrt(self.kappa)
        centre, spread = per_point(torch.cat([mean, scale], -1), assignments).chunk(2, -1)
        return centre + spread * torch.randn_like(centre)
