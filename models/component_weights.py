"""The weights of finitely many components, as Pyro programs whose labels can be enumerated."""

import math
from abc import ABC, abstractmethod

import pyro
import pyro.distributions as dist
import torch
from scipy.special import gammaincinv
from torch import Tensor, nn

from pyroclust.core.counts import check_count
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    PartitionPrior,
    PitmanYorPrior,
)
from pyroclust.distributions.priors.component_numbers import log_component_numbers

_QUANTILES = 2000


class ComponentWeights(ABC):
    """How a partition prior spreads its points over T components."""

    def __init__(self, prior: PartitionPrior, num_components: int) -> None:
        self.prior, self.num_components = prior, num_components

    @abstractmethod
    def sample(self) -> Tensor:
        """Sample the weights as Pyro sites and return their logarithms, ``(*plates, T)``.

        The last of the plates is the one over points, of size one.
        """

    @abstractmethod
    def truncation_error(self, num_points: int) -> Tensor:
        """Bound the total variation between the laws of the partition with T and all components, ``()``."""


class StickBreaking(ComponentWeights):
    r"""The first T components of a Pitman-Yor or Dirichlet process; the last takes the rest of the stick.

    .. math:: w_k = v_k \prod_{j<k} (1 - v_j), \quad v_k \sim \mathrm{Beta}(1 - d, a + k d), \quad v_T = 1

    Site ``"sticks"``, T - 1 of them.
    """

    def sample(self) -> Tensor:
        with pyro.plate("sticks_plate", self.num_components - 1, dim=-1):
            sticks = pyro.sample("sticks", self.law())
        return self.weights_of(sticks).unsqueeze(-2)

    def law(self) -> dist.Beta:
        """Return the law of the sticks, ``(*batch, T - 1)``."""
        discount, concentration = (_over_plate(one) for one in self._two_parameters())
        number = torch.arange(1, self.num_components)
        return dist.Beta(1 - discount, concentration + number * discount)

    @staticmethod
    def weights_of(sticks: Tensor) -> Tensor:
        """Return log w of given sticks, ``(*any, T - 1) -> (*any, T)``."""
        left = (-sticks).log1p().cumsum(-1)
        none = torch.zeros_like(left[..., :1])
        return torch.cat([sticks.log(), none], -1) + torch.cat([none, left], -1)

    def truncation_error(self, num_points: int) -> Tensor:
        r"""Bound the total variation that truncation brings.

        The truncated labels are the full ones, all those from T on made equal. With R_T the mass beyond the
        first T components, the partitions differ only if one of N points lies beyond, and only if two points
        lie in different components from T on:

        .. math::
            \min\left( N E[R_T], \; \binom{N}{2} E[R_{T-1}^2] \frac{a + T d}{1 + a + (T-1) d} \right), \quad
            E[R_T] = \prod_{k=1}^T \frac{a + k d}{1 + a + (k-1) d}
        """
        discount, concentration = self._two_parameters()
        number = torch.arange(1, self.num_components + 1, dtype=torch.float64)
        left, taken = concentration + number * discount, 1 - discount
        mean = left / (left + taken)
        square = mean * (left + 1) / (left + taken + 1)
        beyond = num_points * mean.prod()
        apart = math.comb(num_points, 2) * square[:-1].prod() * mean[-1]
        return torch.minimum(beyond, apart).clamp(max=1.0)

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        return self.prior.block_discount, self.prior.value("concentration")


class StickBreakingGamma(ComponentWeights):
    """The first T components of a Dirichlet process whose concentration is a site with a Gamma prior."""

    def sample(self) -> Tensor:
        shape, rate = (self.prior.value(name) for name in ("shape", "rate"))
        concentration = pyro.sample("concentration", dist.Gamma(shape, rate))
        return self._given(concentration.squeeze(-1) if concentration.dim() else concentration).sample()

    def truncation_error(self, num_points: int) -> Tensor:
        """Average the bound of :class:`StickBreaking` over quantiles of the concentration."""
        shape, rate = (self.prior.value(name).item() for name in ("shape", "rate"))
        levels = (torch.arange(_QUANTILES) + 0.5) / _QUANTILES
        values = (gammaincinv(shape, levels.numpy()) / rate).clip(1e-12).tolist()
        return torch.stack([self._given(one).truncation_error(num_points) for one in values]).mean()

    def _given(self, concentration: Tensor | float) -> StickBreaking:
        prior = ChineseRestaurantPrior(1.0)
        prior.concentration = concentration
        return StickBreaking(prior, self.num_components)


class SymmetricDirichlet(ComponentWeights):
    """All M components of a Dirichlet-multinomial prior: nothing is truncated. Site ``"weights"``."""

    def sample(self) -> Tensor:
        weight = _over_plate(self.prior.value("weight_concentration")).unsqueeze(-1)
        return pyro.sample(
            "weights", dist.Dirichlet(weight.expand(*weight.shape[:-1], self.num_components))
        ).log()

    def truncation_error(self, num_points: int) -> Tensor:
        """Return zero."""
        return torch.zeros((), dtype=torch.float64)


class RandomDirichlet(ComponentWeights):
    r"""The components of a mixture of finite mixtures, at most T of them.

    .. math:: w_k = \frac{g_k 1[k \le M]}{\sum_{j \le M} g_j}, \quad g_k \sim \mathrm{Gamma}(\gamma, 1)

    Sites ``"extra_components"`` (M - 1, to be enumerated) and ``"gammas"``, T of them whatever M is, so that
    gradients see a space of fixed dimension.
    """

    prior: FiniteMixturesPrior

    def sample(self) -> Tensor:
        law = dist.Categorical(logits=self._log_numbers()[: self.num_components])
        extra = pyro.sample("extra_components", law, infer={"enumerate": "parallel"})
        weight = _over_plate(self.prior.value("weight_concentration"))
        with pyro.plate("gammas_plate", self.num_components, dim=-1):
            gammas = pyro.sample("gammas", dist.Gamma(weight, torch.ones_like(weight)))
        present = torch.arange(self.num_components) <= extra.unsqueeze(-1)
        return torch.where(present, gammas.log().unsqueeze(-2), -torch.inf).log_softmax(-1)

    def truncation_error(self, num_points: int) -> Tensor:
        """Return the prior probability of more than T components."""
        return self._log_numbers()[self.num_components :].exp().sum()

    def _log_numbers(self) -> Tensor:
        return log_component_numbers(self.prior.extra_components, at_least=self.num_components)


def _over_plate(value: Tensor) -> Tensor:
    """Put a dimension for a plate behind a batch ``(*batch)``; numbers stay."""
    return value.unsqueeze(-1) if value.dim() else value


def component_weights(prior: PartitionPrior, num_components: int) -> ComponentWeights:
    """Return the weights of T components under a prior whose hyperparameters are known or samples."""
    kinds: dict[type[PartitionPrior], type[ComponentWeights]] = {
        ChineseRestaurantPrior: StickBreaking,
        PitmanYorPrior: StickBreaking,
        GammaConcentration: StickBreakingGamma,
        DirichletMultinomialPrior: SymmetricDirichlet,
        FiniteMixturesPrior: RandomDirichlet,
    }
    for kind, weights in kinds.items():
        if isinstance(prior, kind):
            return weights(prior, num_components)
    raise ValueError(
        f"model.prior is a {type(prior).__name__}, expected one of {', '.join(one.__name__ for one in kinds)}"
    )


class LearnedWeights(nn.Module):
    r"""Weights of T components that are parameters: equal ones, or sticks of a process under their prior.

    Sticks are learned on the logit scale. What a training maximises has besides the likelihood

    .. math:: \log p(v) + \sum_k \log v_k (1 - v_k)

    their log-density there, whose mode is no corner. All points together count it once: a batch of N points
    has N / ``num_points`` of it.
    """

    equal: Tensor
    betas: Tensor

    def __init__(
        self, num_components: int, *, prior: PartitionPrior | None = None, num_points: int | None = None
    ) -> None:
        super().__init__()
        equal = torch.full((num_components,), -math.log(num_components))
        self.register_buffer("equal", equal, persistent=False)
        self.sticks: nn.Parameter | None = None
        if prior is None:
            return
        if num_points is None:
            raise ValueError("num_points is None, expected how many points there are: the prior counts once")
        self.num_points = check_count("num_points", num_points)
        process = component_weights(prior, num_components)
        if not isinstance(process, StickBreaking):
            raise ValueError(
                f"prior is a {type(prior).__name__}, expected a process of sticks with known numbers, as "
                "ChineseRestaurantPrior(1.0) or PitmanYorPrior(0.25, 1.0)"
            )
        law = process.law()
        betas = torch.stack([law.concentration1, law.concentration0]).to(equal)
        self.register_buffer("betas", betas, persistent=False)
        # At the start all weights are equal.
        left = torch.arange(num_components - 1, 0, -1)
        self.sticks = nn.Parameter(-left.to(equal).log())

    def log_weights(self) -> Tensor:
        """Return the log-weights, ``(T,)``."""
        return self.equal if self.sticks is None else StickBreaking.weights_of(self.sticks.sigmoid())

    def log_prior(self, num_points: int) -> Tensor:
        """Return what so many points have of the sticks' log-density, ``()``; 0 for equal weights."""
        if self.sticks is None:
            return self.equal.new_zeros(())
        sticks = self.sticks.sigmoid()
        found = dist.Beta(*self.betas).log_prob(sticks) + sticks.log() + (-sticks).log1p()
        return found.sum() * (num_points / self.num_points)
