"""Counts that vary more than Poisson counts do."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Beta, Categorical, Gamma, Poisson, TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import compile_family, compile_methods, hyper_array
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, number
from pyroclust.distributions.hyperparameters import Hyperparameter

# Shapes of the gamma noise: a variance of m + m^2 / r about a mean of m; the last is nearly Poisson.
_SHAPES = (0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 50.0, 1e4)


class NegativeBinomials(TorchDistribution):
    r"""Columns of counts, each negative binomial.

    .. math:: p(x) = \frac{\Gamma(x + r)}{\Gamma(r)\, x!}\, p^r (1 - p)^x
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, shape: Tensor, probs: Tensor) -> None:
        self.noise, self.probs = shape, probs
        super().__init__(probs.shape[:-1], probs.shape[-1:], validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return COUNTS

    def expand(self, batch_shape: Any, _instance: Any = None) -> "NegativeBinomials":
        shape = (*batch_shape, *self.event_shape)
        return NegativeBinomials(self.noise.expand(shape), self.probs.expand(shape))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))
        rate = self.probs / (1 - self.probs)
        return Poisson(Gamma(self.noise.expand(shape), rate.expand(shape)).sample()).sample()

    def log_prob(self, value: Tensor) -> Tensor:
        ways = (value + self.noise).lgamma() - self.noise.lgamma() - (value + 1).lgamma()
        return (ways + self.noise * self.probs.log() + value * (-self.probs).log1p()).sum(-1)


@register(Component)
class NegativeBinomialBeta(ConjugateComponent):
    r"""Columns of counts that vary more than Poisson counts, independent within a cluster.

    .. math::
        r_{kd} \sim \mathrm{Uniform}(\text{grid}), \quad p_{kd} \mid r \sim \mathrm{Beta}(1 + r / m, 1), \quad
        p(x_{id}) = \frac{\Gamma(x + r)}{\Gamma(r)\, x!}\, p^r (1 - p)^x

    These are Poisson counts of which every row has an intensity of its own, gamma-distributed with shape r
    about the cluster's mean :math:`r (1 - p) / p`, which has the prior mean m for every r. The shape sums up
    over a grid from 1/4 to nearly Poisson, p integrates out. Parameters of a cluster: ``"shape"`` ``(D,)``,
    the number of a shape on the grid, ``"probs"`` ``(D,)``.

    Args:
        dim: number D of columns.
        mean: m, prior mean of counts.

    Shape:
        moments: x of each column, its log rising factorials for every shape, and the sum of the log
            factorials, ``(..., D (1 + A) + 1)``.

    Raises:
        ValueError: if the mean is not positive.

    Example:
        >>> family = NegativeBinomialBeta(1, mean=2.0)
        >>> few, many = (family.moments(torch.tensor([x])) for x in (2.0, 40.0))
        >>> one = torch.tensor(1.0)
        >>> bool(family.log_marginal(one, many) < family.log_marginal(one, few))
        True

    References:
        Hilbe (2011), Negative Binomial Regression. https://doi.org/10.1017/CBO9780511973420
    """

    hyper_names = ("mean",)
    support = COUNTS
    expected = "counts 0, 1, 2, ... of at most 2**53 in every column"

    def __init__(self, dim: int = 1, *, mean: Hyperparameter) -> None:
        super().__init__(dim)
        self.mean = number(mean)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("mean")

    @property
    def typical_scale(self) -> float:
        """Standard deviation of counts of the prior mean, with a shape of 1."""
        mean = self._typical("mean")
        return math.sqrt(mean + mean**2)

    def parameters(self) -> dict[str, Tensor]:
        law = Categorical(logits=torch.zeros(self.dim, len(_SHAPES)), validate_args=False)
        place = site("shape", law.to_event(1))
        alpha = 1 + torch.tensor(_SHAPES)[place.long()] / self.per_column("mean")
        probs = Beta(alpha, torch.ones_like(alpha), validate_args=False)
        return {"shape": place, "probs": site("probs", probs.to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        shape = torch.tensor(_SHAPES).to(parameters["probs"])[parameters["shape"].long()]
        return NegativeBinomials(shape, parameters["probs"])

    def moments(self, data: Tensor) -> Tensor:
        data = data.double()
        shape = torch.tensor(_SHAPES, dtype=torch.float64)
        rising = (data.unsqueeze(-1) + shape).lgamma() - shape.lgamma()
        return torch.cat([data, rising.flatten(-2), (data + 1).lgamma().sum(-1, keepdim=True)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return log p(shape, block) of each column, and both beta parameters, ``(..., D, A)`` each."""
        counts, moments = self.over_batch(counts, moments)
        shape = torch.tensor(_SHAPES, dtype=torch.float64)
        alpha = 1 + shape / self.hyper("mean", trailing=3)
        after = alpha + counts[..., None, None] * shape
        totals, rising, _ = moments.tensor_split((self.dim, moments.shape[-1] - 1), -1)
        beta = (1 + totals).unsqueeze(-1).expand_as(after.expand(*totals.shape, len(shape)))
        joint = rising.unflatten(-1, (self.dim, -1)) + _log_beta(after, beta) + alpha.log()
        return joint - math.log(len(shape)), after.expand_as(beta), beta

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        return self._posterior(counts, moments)[0].logsumexp(-1).sum(-1) - moments[..., -1]

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack what every shape weighs, and the beta parameters of the next count but for that."""
        joint, alpha, beta = self._posterior(counts, moments)
        weights = joint.log_softmax(-1) - _log_beta(alpha, beta)
        after = alpha + torch.tensor(_SHAPES, dtype=torch.float64)
        return torch.stack([weights, after, beta], -1).flatten(-3)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        data = data.double().unsqueeze(-1)
        weights, alpha, beta = parameters.unflatten(-1, (self.dim, len(_SHAPES), 3)).unbind(-1)
        shape = torch.tensor(_SHAPES, dtype=torch.float64)
        ways = (data + shape).lgamma() - shape.lgamma() - (data + 1).lgamma()
        return (weights + ways + _log_beta(alpha, beta + data)).logsumexp(-1).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        joint, alpha, beta = self._posterior(counts, moments)
        place = Categorical(logits=joint, validate_args=False).sample()
        alpha, beta = (one.gather(-1, place.unsqueeze(-1)).squeeze(-1) for one in (alpha, beta))
        return {"shape": place, "probs": Beta(alpha, beta, validate_args=False).sample()}


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


@compile_methods
class NegativeBinomialTables(NamedTuple):
    r"""Log rising factorials of the counts, and posterior weights of the shapes in clusters.

    With posterior weights :math:`w_a` of the shapes, a total s and n points, a count has the predictive
    probability :math:`\sum_a w_a \frac{\Gamma(x + r_a)}{\Gamma(r_a) x!}
    \frac{B(\alpha_a + (n + 1) r_a, 1 + s + x)}{B(\alpha_a + n r_a, 1 + s)}`.
    """

    hyper: np.ndarray
    counts: np.ndarray  # (N, D)
    rising: np.ndarray  # log rising factorials of the shapes, (N, D, A)
    log_factorials: np.ndarray  # (N, D)
    shapes: np.ndarray  # (A,)
    totals: np.ndarray  # (S, D)
    sums: np.ndarray  # of the rising factorials, (S, D, A)
    log_weights: np.ndarray  # less the log beta function, (S, D, A)
    log_totals: np.ndarray  # log marginal likelihood but for the factorials, (S, D)
    scratch: np.ndarray  # (A,)

    def tabulate(self) -> None:
        pass

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        dim, number = self.counts.shape[1], len(self.shapes)
        for d in range(dim):
            total, most = sums[d], -np.inf
            self.totals[slot, d] = total
            for a in range(number):
                rise, shape = sums[dim + d * number + a], self.shapes[a]
                self.sums[slot, d, a] = rise
                alpha = 1.0 + shape / self.hyper[0]
                log_beta = _log_beta_of(alpha + size * shape, 1.0 + total)
                self.log_weights[slot, d, a] = -log_beta
                self.scratch[a] = rise + log_beta + math.log(alpha)
                most = max(most, self.scratch[a])
            weight = 0.0
            for a in range(number):
                weight += math.exp(self.scratch[a] - most)
            self.log_totals[slot, d] = most + math.log(weight)
            for a in range(number):
                self.log_weights[slot, d, a] += self.scratch[a] - self.log_totals[slot, d]

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        dim, number, found = self.counts.shape[1], len(self.shapes), 0.0
        for d in range(dim):
            beta, most = 1.0 + self.totals[slot, d] + self.counts[point, d], -np.inf
            for a in range(number):
                alpha = 1.0 + self.shapes[a] / self.hyper[0] + (size + 1) * self.shapes[a]
                weight = self.log_weights[slot, d, a] + self.rising[point, d, a]
                self.scratch[a] = weight + _log_beta_of(alpha, beta)
                most = max(most, self.scratch[a])
            total = 0.0
            for a in range(number):
                total += math.exp(self.scratch[a] - most)
            found += most + math.log(total) - self.log_factorials[point, d]
        return found

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        dim, number, found = self.counts.shape[1], len(self.shapes), 0.0
        for d in range(dim):
            beta, most = 1.0 + self.totals[slot, d] - self.counts[point, d], -np.inf
            for a in range(number):
                prior = 1.0 + self.shapes[a] / self.hyper[0]
                rise = self.sums[slot, d, a] - self.rising[point, d, a]
                log_beta = _log_beta_of(prior + (size - 1) * self.shapes[a], beta)
                self.scratch[a] = rise + log_beta + math.log(prior)
                most = max(most, self.scratch[a])
            total = 0.0
            for a in range(number):
                total += math.exp(self.scratch[a] - most)
            found += self.log_totals[slot, d] - most - math.log(total) - self.log_factorials[point, d]
        return found

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, number = self.counts.shape[1], len(self.shapes)
        found = -sums[dim + dim * number]
        for d in range(dim):
            most = -np.inf
            for a in range(number):
                alpha = 1.0 + self.shapes[a] / self.hyper[0]
                log_beta = _log_beta_of(alpha + size * self.shapes[a], 1.0 + sums[d])
                self.scratch[a] = sums[dim + d * number + a] + log_beta + math.log(alpha)
                most = max(most, self.scratch[a])
            total = 0.0
            for a in range(number):
                total += math.exp(self.scratch[a] - most)
            found += most + math.log(total / number)
        return found


@inner
def _log_beta_of(alpha: float, beta: float) -> float:
    return math.lgamma(alpha) + math.lgamma(beta) - math.lgamma(alpha + beta)


@compile_family.register
def _(
    component: NegativeBinomialBeta, data: np.ndarray, num_slots: int, num_points: int
) -> NegativeBinomialTables:
    moments = component.moments(torch.from_numpy(data)).numpy()
    dim, number = component.dim, len(_SHAPES)
    return NegativeBinomialTables(
        hyper=hyper_array(component),
        counts=np.ascontiguousarray(data),
        rising=np.ascontiguousarray(moments[:, dim:-1].reshape(len(data), dim, number)),
        log_factorials=torch.lgamma(torch.from_numpy(data) + 1).numpy(),
        shapes=np.array(_SHAPES),
        totals=np.zeros((num_slots, dim)),
        sums=np.zeros((num_slots, dim, number)),
        log_weights=np.zeros((num_slots, dim, number)),
        log_totals=np.zeros((num_slots, dim)),
        scratch=np.zeros(number),
    )
