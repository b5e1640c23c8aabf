"""Categories, or vectors of counts over categories, with Dirichlet-distributed probabilities."""

import math
from collections.abc import Mapping

import torch
from pyro import sample as site
from pyro.distributions import Dirichlet, Multinomial, TorchDistribution
from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter

__all__ = ["MultinomialDirichlet"]


@register(Component)
class MultinomialDirichlet(ConjugateComponent):
    r"""Counts over D categories given their total: bags of words, genotypes, or one-hot categories.

    .. math:: p_k \sim \mathrm{Dirichlet}(a, \ldots, a), \qquad
        x_i \mid T_i \sim \mathrm{Multinomial}(T_i, p_k), \quad T_i = \sum_d x_{id}

    All densities are conditional on the totals, which may differ between points. Parameters of a cluster:
    ``"probs"`` ``(D,)``.

    Args:
        dim: number D of categories, at least 2.
        concentration: a, prior pseudo-observations of every category.
        total: total count of the points that are simulated.

    Raises:
        ValueError: if the concentration is not positive, dim is below 2, or total is below 1.

    Example:
        >>> family = MultinomialDirichlet(2)  # uniform: two points of the same category have mean of p^2
        >>> block = family.moments(torch.tensor([[1, 0], [1, 0]])).sum(0)
        >>> round(family.log_marginal(torch.tensor(2.0), block).exp().item(), 6)
        0.333333

    References:
        Minka (2000), Estimating a Dirichlet distribution. https://tminka.github.io/papers/dirichlet/
    """

    hyper_names = ("concentration",)
    support = COUNTS
    expected = "counts 0, 1, 2, ... of at most 2**53 in every category"

    def __init__(self, dim: int, concentration: Hyperparameter = 1.0, *, total: int = 1) -> None:
        super().__init__(dim)
        if dim < 2:
            raise ValueError(f"dim is {dim}, expected at least 2 categories")
        if total < 1:
            raise ValueError(f"total is {total}, expected at least 1")
        self.concentration, self.total = number(concentration), int(total)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")

    @property
    def typical_scale(self) -> float:
        """Square root of the prior mean of T p (1 - p)."""
        mean = 1 / self.dim
        spread = 1 + 1 / (self.dim * self._typical("concentration"))
        return math.sqrt(self.total * mean * (1 - mean) / spread)

    def parameters(self) -> dict[str, Tensor]:
        """Sample the probabilities of a cluster."""
        return {"probs": site("probs", Dirichlet(self.per_column("concentration"), validate_args=False))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the multinomial law of a point; its log-density takes points of any total."""
        return Multinomial(self.total, parameters["probs"], validate_args=False)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its log multinomial coefficient, ``(..., D + 1)``."""
        return torch.cat([data.double(), _log_coefficient(data.double()).unsqueeze(-1)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> Tensor:
        _, moments = self.over_batch(counts, moments)
        return self.hyper("concentration", trailing=2) + moments[..., :-1]

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats, the counts of points not needed."""
        prior = self._posterior(torch.zeros_like(counts), torch.zeros_like(moments))
        gain = _log_dirichlet_norm(self._posterior(counts, moments)) - _log_dirichlet_norm(prior)
        return moments[..., -1] + gain

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the Dirichlet of the posterior and its log normaliser, ``(..., D + 1)``."""
        posterior = self._posterior(counts, moments)
        return torch.cat([posterior, _log_dirichlet_norm(posterior).unsqueeze(-1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive probability of points in nats, given their totals."""
        data = data.double()
        return _log_coefficient(data) + _log_dirichlet_norm(parameters[..., :-1] + data) - parameters[..., -1]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw probabilities from their Dirichlet posterior."""
        posterior = self._posterior(counts, moments)
        return {"probs": Dirichlet(posterior, validate_args=False).sample()}


def _log_dirichlet_norm(concentration: Tensor) -> Tensor:
    return concentration.lgamma().sum(-1) - concentration.sum(-1).lgamma()


def _log_coefficient(data: Tensor) -> Tensor:
    return (data.sum(-1) + 1).lgamma() - (data + 1).lgamma().sum(-1)
