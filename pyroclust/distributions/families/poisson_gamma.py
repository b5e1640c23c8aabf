"""Counts with gamma-distributed intensities."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import Gamma, Poisson, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter

__all__ = ["PoissonGamma"]


@register(Component)
class PoissonGamma(ConjugateComponent):
    r"""Columns of counts, independent within a cluster.

    .. math:: \lambda_{kd} \sim \mathrm{Gamma}(a, b), \qquad x_{id} \sim \mathrm{Poisson}(\lambda_{kd})

    Parameters of a cluster: ``"intensity"`` ``(D,)``.

    Args:
        dim: number D of columns.
        shape: a of the gamma prior.
        rate: b of the gamma prior; the prior mean of an intensity is a / b.

    Raises:
        ValueError: if shape or rate is not positive.

    Example:
        >>> family = PoissonGamma(1, shape=1.0, rate=1.0)  # one count is geometric(1/2)
        >>> round(family.log_marginal(torch.tensor(1.0), family.moments(torch.tensor([2.0]))).exp().item(), 6)
        0.125

    References:
        Gelman et al. (2013), Bayesian Data Analysis, section 2.6. http://www.stat.columbia.edu/~gelman/book/
    """

    hyper_names = ("shape", "rate")
    support = COUNTS
    expected = "counts 0, 1, 2, ... of at most 2**53 in every column"

    def __init__(self, dim: int, shape: Hyperparameter, *, rate: Hyperparameter) -> None:
        super().__init__(dim)
        self.shape, self.rate = number(shape), number(rate)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("shape", "rate")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean intensity."""
        return math.sqrt(self._typical("shape") / self._typical("rate"))

    def parameters(self) -> dict[str, Tensor]:
        """Sample the intensities of a cluster."""
        law = Gamma(self.per_column("shape"), self.per_column("rate"), validate_args=False)
        return {"intensity": site("intensity", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the Poisson law of a point."""
        return Poisson(parameters["intensity"], validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and the sum of the log factorials of its columns, ``(..., D + 1)``."""
        return torch.cat([data.double(), _log_factorials(data.double()).unsqueeze(-1)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return the shapes ``(..., D)`` and the rate ``(...)`` of the posterior."""
        counts, moments = self.over_batch(counts, moments)
        return self.hyper("shape", trailing=2) + moments[..., :-1], self.hyper("rate") + counts

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        prior_shape, prior_rate = self.hyper("shape"), self.hyper("rate")
        shape, rate = self._posterior(counts, moments)
        prior = prior_shape.lgamma() - prior_shape * prior_rate.log()
        posterior = shape.lgamma().sum(-1) - shape.sum(-1) * rate.log()
        return posterior - self.dim * prior - moments[..., -1]

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the negative binomial: shapes D, log probability of a further count, log normaliser."""
        shape, rate = self._posterior(counts, moments)
        log_norm = shape.sum(-1) * (rate / (rate + 1)).log() - shape.lgamma().sum(-1)
        return torch.cat([shape, torch.stack([-rate.log1p(), log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive probability of points in nats."""
        data = data.double()
        ways = (parameters[..., :-2] + data).lgamma().sum(-1) - _log_factorials(data)
        return parameters[..., -1] + ways + parameters[..., -2] * data.sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw intensities from their gamma posterior."""
        shape, rate = self._posterior(counts, moments)
        return {"intensity": Gamma(shape, rate.unsqueeze(-1), validate_args=False).sample()}


def _log_factorials(data: Tensor) -> Tensor:
    return (data + 1).lgamma().sum(-1)
