"""Numbers of successes in known numbers of trials, with beta-distributed probabilities."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Beta, Binomial, TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    compile_methods,
    hyper_array,
    log_rising,
    look_up,
    table_of,
    tabulate_rising,
)
from pyroclust.distributions.families.component import COUNTS, Component, ConjugateComponent, log_beta, number
from pyroclust.distributions.hyperparameters import Hyperparameter


class _AtMostTrials(constraints.Constraint):
    """Pairs of whole numbers of which the first is no larger than the second."""

    event_dim = 1
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return COUNTS.check(value) & (value[..., 0] <= value[..., 1])


class SuccessesInTrials(TorchDistribution):
    r"""Pairs (x, n) of successes and trials; trials are known, and have no density.

    .. math:: \log p(x \mid n) = \log \binom{n}{x} + x \log p + (n - x) \log(1 - p)
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, probs: Tensor, trials: Tensor) -> None:
        self.probs, self.trials = probs, trials
        super().__init__(probs.shape, Size((2,)), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return _AtMostTrials()

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SuccessesInTrials":
        return SuccessesInTrials(self.probs.expand(batch_shape), self.trials)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))[:-1]
        trials = self.trials[torch.randint(len(self.trials), shape)].to(self.probs)
        return torch.stack([Binomial(trials, self.probs.expand(shape)).sample(), trials], -1)

    def log_prob(self, value: Tensor) -> Tensor:
        return Binomial(value[..., 1], self.probs, validate_args=False).log_prob(value[..., 0])


@register(Component)
class BinomialBeta(ConjugateComponent):
    r"""Successes in known numbers of trials: votes, methylated reads, answers that are right.

    .. math:: p_k \sim \mathrm{Beta}(\alpha, \beta), \qquad x_i \mid n_i \sim \mathrm{Binomial}(n_i, p_k)

    Points are pairs :math:`(x_i, n_i)`; trials are known, so that densities are of successes alone. Parameter
    of a cluster: ``"probs"`` ``(1,)``. Several such columns are a
    :class:`~pyroclust.distributions.PartlyObserved` of one.

    Args:
        alpha: prior pseudo-observations of successes.
        beta: prior pseudo-observations of failures.
        trials: numbers of trials that simulated points have, each equally probable.

    Raises:
        ValueError: if alpha or beta is not positive, or trials are no whole numbers.

    Example:
        >>> family = BinomialBeta()  # uniform: every number of successes has the same probability
        >>> point = family.moments(torch.tensor([3.0, 9.0]))
        >>> round(family.log_marginal(torch.tensor(1.0), point).exp().item(), 6)
        0.1

    References:
        Gelman et al. (2013), Bayesian Data Analysis, section 2.4. http://www.stat.columbia.edu/~gelman/book/
    """

    hyper_names = ("alpha", "beta")
    support = _AtMostTrials()
    expected = "counts of successes and of trials, of trials at least as many"

    def __init__(
        self, alpha: Hyperparameter = 1.0, *, beta: Hyperparameter = 1.0, trials: Sequence[int] = (10,)
    ) -> None:
        super().__init__(2)
        self.alpha, self.beta = number(alpha), number(beta)
        self.trials = tuple(check_count("trials", one, at_least=0) for one in trials)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_positive("alpha", "beta")

    @property
    def typical_scale(self) -> float:
        """Prior standard deviation of successes in the mean number of trials."""
        alpha, beta = self._typical("alpha"), self._typical("beta")
        mean = max(1.0, sum(self.trials) / len(self.trials))
        return math.sqrt(mean * alpha * beta / ((alpha + beta) * (alpha + beta + 1)))

    def parameters(self) -> dict[str, Tensor]:
        alpha, beta = (self.per_column(name)[..., :1] for name in self.hyper_names)
        return {"probs": site("probs", Beta(alpha, beta, validate_args=False).to_event(1))}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return SuccessesInTrials(parameters["probs"].squeeze(-1), torch.tensor(self.trials))

    def moments(self, data: Tensor) -> Tensor:
        """Return successes, failures, and the logarithm of the number of ways, ``(..., 3)``."""
        successes, failures = data[..., 0].double(), (data[..., 1] - data[..., 0]).double()
        return torch.stack([successes, failures, _log_ways(successes, failures)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        _, moments = self.over_batch(counts, moments)
        return self.hyper("alpha") + moments[..., 0], self.hyper("beta") + moments[..., 1]

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        prior = log_beta(self.hyper("alpha"), self.hyper("beta"))
        return log_beta(*self._posterior(counts, moments)) - prior + moments[..., 2]

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the posterior pseudo-observations, ``(..., 2)``."""
        return torch.stack(self._posterior(counts, moments), -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        point, (alpha, beta) = self.moments(data), parameters.unbind(-1)
        with_point = log_beta(alpha + point[..., 0], beta + point[..., 1])
        return with_point - log_beta(alpha, beta) + point[..., 2]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        law = Beta(*self._posterior(counts, moments), validate_args=False)
        return {"probs": law.sample().unsqueeze(-1)}


def _log_ways(successes: Tensor, failures: Tensor) -> Tensor:
    return (successes + failures + 1).lgamma() - (successes + 1).lgamma() - (failures + 1).lgamma()


_ALPHA, _BETA = range(2)


@compile_methods
class BinomialTables(NamedTuple):
    r"""Log rising factorials of :math:`\alpha`, :math:`\beta` and their sum, and totals of clusters.

    With :math:`r_a(m) = \log \Gamma(a + m) / \Gamma(a)`, s successes and f failures in a cluster, a point of
    x successes and y failures has the log predictive :math:`[r_\alpha(s + x) - r_\alpha(s)] +
    [r_\beta(f + y) - r_\beta(f)] - [r_{\alpha + \beta}(s + f + x + y) - r_{\alpha + \beta}(s + f)]` and
    the logarithm of the number of ways.
    """

    hyper: np.ndarray
    successes: np.ndarray  # (N,)
    failures: np.ndarray  # (N,)
    log_ways: np.ndarray  # (N,)
    rising_alpha: np.ndarray
    rising_beta: np.ndarray
    rising_both: np.ndarray
    totals: np.ndarray  # successes and failures, (S, 2)
    heights: np.ndarray  # log marginal likelihood but for the ways, (S,)

    def tabulate(self) -> None:
        tabulate_rising(self.rising_alpha, self.hyper[_ALPHA])
        tabulate_rising(self.rising_beta, self.hyper[_BETA])
        tabulate_rising(self.rising_both, self.hyper[_ALPHA] + self.hyper[_BETA])

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        successes, failures = int(sums[0] + 0.5), int(sums[1] + 0.5)
        self.totals[slot, 0], self.totals[slot, 1] = successes, failures
        self.heights[slot] = (
            look_up(self.rising_alpha, self.hyper[_ALPHA], successes)
            + look_up(self.rising_beta, self.hyper[_BETA], failures)
            - look_up(self.rising_both, self.hyper[_ALPHA] + self.hyper[_BETA], successes + failures)
        )

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        successes = self.totals[slot, 0] + self.successes[point]
        failures = self.totals[slot, 1] + self.failures[point]
        return (
            look_up(self.rising_alpha, self.hyper[_ALPHA], successes)
            + look_up(self.rising_beta, self.hyper[_BETA], failures)
            - look_up(self.rising_both, self.hyper[_ALPHA] + self.hyper[_BETA], successes + failures)
            - self.heights[slot]
            + self.log_ways[point]
        )

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        successes = self.totals[slot, 0] - self.successes[point]
        failures = self.totals[slot, 1] - self.failures[point]
        return (
            self.heights[slot]
            - look_up(self.rising_alpha, self.hyper[_ALPHA], successes)
            - look_up(self.rising_beta, self.hyper[_BETA], failures)
            + look_up(self.rising_both, self.hyper[_ALPHA] + self.hyper[_BETA], successes + failures)
            + self.log_ways[point]
        )

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        alpha, beta = self.hyper[_ALPHA], self.hyper[_BETA]
        found: float = log_rising(alpha, sums[0]) + log_rising(beta, sums[1]) + sums[2]
        return found - log_rising(alpha + beta, sums[0] + sums[1])


@compile_family.register
def _(component: BinomialBeta, data: np.ndarray, num_slots: int, num_points: int) -> BinomialTables:
    successes, failures = data[:, 0], data[:, 1] - data[:, 0]
    ways = _log_ways(torch.from_numpy(successes), torch.from_numpy(failures)).numpy()
    return BinomialTables(
        hyper=hyper_array(component),
        successes=np.rint(successes).astype(np.int64),
        failures=np.rint(failures).astype(np.int64),
        log_ways=ways,
        rising_alpha=table_of(successes.sum(keepdims=True), num_points),
        rising_beta=table_of(failures.sum(keepdims=True), num_points),
        rising_both=table_of(data[:, 1].sum(keepdims=True), num_points),
        totals=np.zeros((num_slots, 2), np.int64),
        heights=np.zeros(num_slots),
    )
