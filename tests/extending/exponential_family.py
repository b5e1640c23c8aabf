"""A component family in one file: waiting times, exponential within a cluster; conjugate."""

import torch
from pyro import sample
from pyro.distributions import Exponential, Gamma, TorchDistribution
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.registry import register
from pyroclust.distributions import Component, ConjugateComponent


@register(Component)
class ExponentialGamma(ConjugateComponent):
    r"""Exponential columns whose rates have a gamma prior.

    .. math:: \theta_{kd} \sim \mathrm{Gamma}(a, b), \qquad x_{id} \sim \mathrm{Exp}(\theta_{c_i d})

    Args:
        dim: number of columns.
        shape: a.
        rate: b, in units of the data.
    """

    hyper_names = ("shape", "rate")
    support = constraints.independent(constraints.positive, 1)
    expected = "positive numbers"

    def __init__(self, dim: int, shape: float = 2.0, *, rate: float = 1.0) -> None:
        super().__init__(dim)
        self.shape, self.rate = shape, rate
        self._check_positive("shape", "rate")

    @property
    def typical_scale(self) -> float:
        """A typical waiting time."""
        return float(self.rate) / float(self.shape)

    def parameters(self) -> dict[str, Tensor]:
        """Sample the rates of a cluster."""
        law = Gamma(self.value("shape"), self.value("rate")).expand((self.dim,))
        return {"intensity": sample("intensity", law.to_event(1))}

    def likelihood(self, parameters: dict[str, Tensor]) -> TorchDistribution:
        """Return the law of a point."""
        return Exponential(parameters["intensity"]).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """A block enters through its number of points and their sum."""
        return data.double()

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks."""
        a, b, n = self.value("shape"), self.value("rate"), counts.double().unsqueeze(-1)
        each = a * b.log() - a.lgamma() + (a + n).lgamma() - (a + n) * (b + moments).log()
        return each.sum(-1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the posterior of the rates: D rates of it and their shape."""
        shape = self.value("shape") + counts.double()
        return torch.cat([self.value("rate") + moments, shape.unsqueeze(-1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log-density of further points: Lomax in every column."""
        rate, shape = parameters[..., :-1], parameters[..., -1:]
        return (shape.log() + shape * rate.log() - (shape + 1) * (rate + data).log()).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw the rates of blocks from their posterior."""
        shape = (self.value("shape") + counts.double()).unsqueeze(-1).expand_as(moments)
        return {"intensity": Gamma(shape, self.value("rate") + moments).sample()}
