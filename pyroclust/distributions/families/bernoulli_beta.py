"""Binary columns with beta-distributed probabilities."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import Bernoulli, Beta, TorchDistribution
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component, ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter

__all__ = ["BernoulliBeta"]


@register(Component)
class BernoulliBeta(ConjugateComponent):
    r"""Columns of zeros and ones, independent within a cluster (latent class analysis).

    .. math:: p_{kd} \sim \mathrm{Beta}(\alpha, \beta), \qquad x_{id} \sim \mathrm{Bernoulli}(p_{kd})

    Parameters of a cluster: ``"probs"`` ``(D,)``.

    Args:
        dim: number D of columns.
        alpha: prior pseudo-observations of ones.
        beta: prior pseudo-observations of zeros.

    Raises:
        ValueError: if alpha or beta is not positive.

    Example:
        >>> family = BernoulliBeta(1)  # uniform: p(1, 1) is the mean of p^2
        >>> block = family.moments(torch.ones(2, 1)).sum(0)
        >>> round(family.log_marginal(torch.tensor(2.0), block).exp().item(), 6)
        0.333333

    References:
        Gelman et al. (2013), Bayesian Data Analysis, section 2.4. http://www.stat.columbia.edu/~gelman/book/
    """

    hyper_names = ("alpha", "beta")
    support = constraints.independent(constraints.boolean, 1)
    expected = "0 or 1 in every column"

    def __init__(self, dim: int, alpha: Hyperparameter = 1.0, *, beta: Hyperparameter = 1.0) -> None:
        super().__init__(dim)
        self.alpha, self.beta = number(alpha), number(beta)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("alpha", "beta")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean of p (1 - p)."""
        alpha, beta = self._typical("alpha"), self._typical("beta")
        return math.sqrt(alpha * beta / ((alpha + beta) * (alpha + beta + 1)))

    def parameters(self) -> dict[str, Tensor]:
        """Sample the probabilities of a cluster."""
        law = Beta(self.per_column("alpha"), self.per_column("beta"), validate_args=False)
        return {"probs": site("probs", law.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the Bernoulli law of a point."""
        return Bernoulli(parameters["probs"], validate_args=False).to_event(1)

    def moments(self, data: Tensor) -> Tensor:
        """Return x, ``(..., D)``."""
        return data.double()

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        counts, moments = self.over_batch(counts, moments)
        ones = self.hyper("alpha", trailing=2) + moments
        return ones, self.hyper("beta", trailing=2) + (counts.unsqueeze(-1) - moments)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        ones, zeros = self._posterior(counts, moments)
        prior = _log_beta(self.hyper("alpha"), self.hyper("beta"))
        return _log_beta(ones, zeros).sum(-1) - self.dim * prior

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the log-odds of a one per column and the log-probability of all zeros, ``(..., D + 1)``."""
        ones, zeros = self._posterior(counts, moments)
        all_zeros = (zeros / (ones + zeros)).log().sum(-1, keepdim=True)
        return torch.cat([(ones / zeros).log(), all_zeros], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive probability of points in nats."""
        return parameters[..., -1] + (data * parameters[..., :-1]).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw probabilities from their beta posterior."""
        return {"probs": Beta(*self._posterior(counts, moments), validate_args=False).sample()}


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return a.lgamma() + b.lgamma() - (a + b).lgamma()
