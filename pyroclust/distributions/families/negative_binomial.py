"""Counts that vary more than Poisson counts do."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Beta, Categorical, NegativeBinomial, TorchDistribution
from torch import Tensor

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import compile_family, compile_methods, hyper_array, log_sum
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, log_beta, number
from pyroclust.distributions.hyperparameters import Hyperparameter

# Shapes of the gamma noise: a variance of m + m^2 / r about a mean of m; the last is nearly Poisson.
_SHAPES = (0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 50.0, 1e4)


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
        probs = parameters["probs"]
        logits = (-probs).log1p() - probs.log()
        return NegativeBinomial(shape, logits=logits, validate_args=False).to_event(1)

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
        joint = rising.unflatten(-1, (self.dim, -1)) + log_beta(after, beta) + alpha.log()
        return joint - math.log(len(shape)), after.expand_as(beta), beta

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        return self._posterior(counts, moments)[0].logsumexp(-1).sum(-1) - moments[..., -1]

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack what every shape weighs, and the beta parameters of the next count but for that."""
        joint, alpha, beta = self._posterior(counts, moments)
        weights = joint.log_softmax(-1) - log_beta(alpha, beta)
        after = alpha + torch.tensor(_SHAPES, dtype=torch.float64)
        return torch.stack([weights, after, beta], -1).flatten(-3)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        data = data.double().unsqueeze(-1)
        weights, alpha, beta = parameters.unflatten(-1, (self.dim, len(_SHAPES), 3)).unbind(-1)
        shape = torch.tensor(_SHAPES, dtype=torch.float64)
        ways = (data + shape).lgamma() - shape.lgamma() - (data + 1).lgamma()
        return (weights + ways + log_beta(alpha, beta + data)).logsumexp(-1).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        joint, alpha, beta = self._posterior(counts, moments)
        place = Categorical(logits=joint, validate_args=False).sample()
        alpha, beta = (one.gather(-1, place.unsqueeze(-1)).squeeze(-1) for one in (alpha, beta))
        return {"shape": place, "probs": Beta(alpha, beta, validate_args=False).sample()}


@compile_methods
class NegativeBinomialTables(NamedTuple):
    r"""Log rising factorials of the counts, and marginal likelihoods of clusters.

    A block of n counts with the sum s has the marginal likelihood :math:`\frac1A \sum_a \prod_i
    \frac{\Gamma(x_i + r_a)}{\Gamma(r_a) x_i!} \frac{B(\alpha_a + n r_a, 1 + s)}{B(\alpha_a, 1)}`; predictive
    probabilities are ratios of two.
    """

    hyper: np.ndarray
    counts: np.ndarray  # (N, D)
    rising: np.ndarray  # log rising factorials of the shapes, (N, D A)
    log_factorials: np.ndarray  # sums over columns, (N,)
    shapes: np.ndarray  # (A,)
    log_gammas: np.ndarray  # of the first beta parameter by cluster size, with log alpha, (A, N + 1)
    sums: np.ndarray  # counts, then log rising factorials, (S, D (1 + A))
    log_totals: np.ndarray  # log sums over the grid of each column, without factorials, (S, D)
    scratch: np.ndarray  # (A,)

    def tabulate(self) -> None:
        for a in range(len(self.shapes)):
            for size in range(self.log_gammas.shape[1]):
                self.log_gammas[a, size] = _log_gamma_of_first(self, a, size)

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        for f in range(self.sums.shape[1]):
            self.sums[slot, f] = sums[f]
        for d in range(self.counts.shape[1]):
            self.log_totals[slot, d] = _log_total(self, sums, d, size, -1, 0)

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        found = -self.log_factorials[point]
        for d in range(self.counts.shape[1]):
            found += _log_total(self, self.sums[slot], d, size, point, 1) - self.log_totals[slot, d]
        return found

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        found = -self.log_factorials[point]
        for d in range(self.counts.shape[1]):
            found += self.log_totals[slot, d] - _log_total(self, self.sums[slot], d, size, point, -1)
        return found

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        found: Any = -sums[self.sums.shape[1]]
        for d in range(self.counts.shape[1]):
            found += _log_total(self, sums, d, size, -1, 0) - math.log(len(self.shapes))
        return found


@inner
def _log_gamma_of_first(tables: Any, a: int, size: int) -> float:
    prior = 1.0 + tables.shapes[a] / tables.hyper[0]
    return _log_gamma(prior + size * tables.shapes[a]) + math.log(prior)


@inner
def _log_total(tables: Any, sums: Any, d: int, size: int, point: int, sign: int) -> float:
    """Return the log sum over the grid of one column of a block, with a point, without it, or as it is."""
    dim, number = tables.counts.shape[1], len(tables.shapes)
    total, size = sums[d], size + sign
    if sign != 0:
        total += sign * tables.counts[point, d]
    log_gamma_of_total = math.lgamma(1.0 + total)
    for a in range(number):
        shape, rising = tables.shapes[a], sums[dim + d * number + a]
        if sign != 0:
            rising += sign * tables.rising[point, d * number + a]
        both = 2.0 + shape / tables.hyper[0] + size * shape + total
        # Of hyperparameters that are tried out there are no tables.
        first = tables.log_gammas[a, size] if sign != 0 else _log_gamma_of_first(tables, a, size)
        tables.scratch[a] = rising + first + log_gamma_of_total - _log_gamma(both)
    return log_sum(tables.scratch)


@inner
def _log_gamma(x: float) -> float:
    """Return the log gamma function, of larger numbers by Stirling's series, to 1e-12."""
    if x < 10.0:
        return math.lgamma(x)
    inverse = 1.0 / (x * x)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + series


@compile_family.register
def _(
    component: NegativeBinomialBeta, data: np.ndarray, num_slots: int, num_points: int
) -> NegativeBinomialTables:
    moments = component.moments(torch.from_numpy(data)).numpy()
    dim = component.dim
    return NegativeBinomialTables(
        hyper=hyper_array(component),
        counts=np.ascontiguousarray(data),
        rising=np.ascontiguousarray(moments[:, dim:-1]),
        log_factorials=np.ascontiguousarray(moments[:, -1]),
        shapes=np.array(_SHAPES),
        log_gammas=np.zeros((len(_SHAPES), num_points + 2)),
        sums=np.zeros((num_slots, moments.shape[1] - 1)),
        log_totals=np.zeros((num_slots, dim)),
        scratch=np.zeros(len(_SHAPES)),
    )
