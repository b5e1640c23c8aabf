"""A mixture with explicit weights, parameters and labels: for NUTS, enumeration and variational inference."""

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, TypeVar

import pyro
import pyro.distributions as dist
import torch
from pyro.ops.indexing import Vindex
from pyro.poutine.messenger import Messenger
from scipy.special import gammaincinv
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    PartitionPrior,
    PitmanYorPrior,
    Product,
)
from pyroclust.distributions.hyperparameters import Hyperparameterised
from pyroclust.distributions.priors.component_numbers import log_component_numbers
from pyroclust.models.mixture import Mixture

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

        With R_T the mass beyond the first T components, partitions differ only if one of N points lies
        beyond, and only if two points lie in different components from T on:

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


class DoubleSites(Messenger):
    """Turn the parameters of every site's distribution into float64, as enumeration wants one type."""

    def _pyro_sample(self, msg: dict[str, Any]) -> None:
        if isinstance(msg["fn"], Distribution):
            msg["fn"] = _doubled(msg["fn"])


def _doubled(law: Distribution) -> Distribution:
    new = copy.copy(law)
    for name, one in vars(law).items():
        if isinstance(one, Tensor) and one.is_floating_point():
            vars(new)[name] = one.double()
        elif isinstance(one, Distribution):
            vars(new)[name] = _doubled(one)
    return new


Part = TypeVar("Part", bound=Hyperparameterised)


class Companion:
    r"""The mixture of a model with T components, nothing integrated out: a Pyro program of one data set.

    .. math::
        w \sim \text{weights}, \quad \theta_k \sim G_0 \; (k \le T), \quad
        z_i \sim \mathrm{Categorical}(w), \quad x_i \sim F(\theta_{z_i})

    Sites: the random hyperparameters by name; the weights (``"sticks"``, ``"weights"``, or
    ``"extra_components"`` and ``"gammas"``, by the kind of prior); the family's parameters, in the plate
    ``"components"``; ``"labels"`` and ``"data"`` in the plate ``"points"``. Labels and the number of
    components are marked for parallel enumeration, O(N T) an evaluation, O(N T^2) with a random number of
    components. It runs under ``pyro.infer.NUTS``, ``TraceEnum_ELBO``, ``infer_discrete`` and ``Predictive``.

    Labels are names of components; :func:`~pyroclust.partitions.canonical` turns them into partitions, whose
    prior is that of the mixture but for :meth:`truncation_error`.

    Args:
        mixture: the model; its component may be of any kind.
        num_components: T, at least 2.

    Shape:
        data: ``(N, D)``.

    Raises:
        ValueError: if T does not fit the prior or the memory, a hyperparameter is a batch, or the prior has
            no such program.

    References:
        Ishwaran & James (2001), Gibbs sampling methods for stick-breaking priors.
        https://doi.org/10.1198/016214501750332758
    """

    event_dim = 2
    # Its labels are names of components: it has no site "assignments" to condition on.
    has_likelihood = False

    def __init__(self, mixture: Mixture, num_components: int) -> None:
        _check(mixture, num_components)
        self.mixture, self.num_components = mixture, num_components
        component_weights(mixture.prior, num_components)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mixture!r}, num_components={self.num_components})"

    @property
    def discrete_sites(self) -> tuple[str, ...]:
        """Names of the sites to enumerate, which guides leave out."""
        return "labels", "extra_components"

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on a data set, or on a template of its shape under ``poutine.uncondition``."""
        if data.dim() != 2 or data.shape[-1] != self.mixture.component.dim:
            raise ValueError(
                f"data has shape {tuple(data.shape)}, expected one data set (N, {self.mixture.component.dim})"
            )
        with DoubleSites():
            return self._program(data)

    def _program(self, data: Tensor) -> Tensor:
        prior, component = _sampled(self.mixture.prior), _sampled(self.mixture.component)
        log_weights = component_weights(prior, self.num_components).sample()
        with pyro.plate("components", self.num_components, dim=-1):
            parameters = component.parameters()
        plates = len(component.likelihood(parameters).batch_shape)
        with pyro.plate("points", data.shape[-2], dim=-1):
            law = dist.Categorical(logits=log_weights)
            labels = pyro.sample("labels", law, infer={"enumerate": "parallel"})
            chosen = {name: _choose(one, labels, plates) for name, one in parameters.items()}
            return pyro.sample("data", component.likelihood(chosen), obs=data)

    def truncation_error(self, num_points: int) -> Tensor:
        """Bound the total variation of the companion's law of partition and data from the mixture's, ``()``.

        Zero where the prior has no more than T components. Cost O(T).

        Raises:
            ValueError: if ``num_points`` is no count, or a hyperparameter of the prior is random: set it with
                ``model.given`` first.

        Example:
            >>> from pyroclust.models import gaussian2d
            >>> companion(gaussian2d(), 20).truncation_error(100) < 1e-5
            tensor(True)
        """
        num_points = check_count("num_points", num_points)
        return component_weights(self.mixture.prior, self.num_components).truncation_error(num_points)


def companion(mixture: Mixture, num_components: int | None = None) -> Companion:
    """Return the :class:`Companion` of a mixture.

    Args:
        mixture: the model.
        num_components: T; by default the number M of a Dirichlet-multinomial prior.

    Raises:
        ValueError: as :class:`Companion`, and if ``num_components`` is missing.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import gaussian2d
        >>> program = companion(gaussian2d(), 10)
        >>> trace = poutine.trace(poutine.uncondition(program)).get_trace(torch.empty(30, 2))
        >>> trace.nodes["data"]["value"].shape
        torch.Size([30, 2])
    """
    if num_components is None:
        if not isinstance(mixture.prior, DirichletMultinomialPrior):
            raise ValueError(
                f"num_components is missing, expected a number of components to truncate {mixture.name} at: "
                "see Companion.truncation_error"
            )
        num_components = int(mixture.prior.value("num_components"))
    return Companion(mixture, num_components)


def _check(mixture: Mixture, num_components: int) -> None:
    check_count("num_components", num_components, at_least=2)
    if mixture.constraints is not None or mixture.row_weights is not None:
        has = "weights of rows" if mixture.constraints is None else "constraints"
        raise ValueError(
            f"mixture has {has}, expected one without: labels of components are independent here, and "
            "no group moves as one; use CollapsedGibbs"
        )
    for part in (mixture.prior, mixture.component):
        for name in part.hyper_names:
            if name not in part.hyperpriors and part.value(name).dim() > 0:
                raise ValueError(
                    f"{name} has shape {tuple(part.value(name).shape)}, expected a number: "
                    "a companion has one data set"
                )
    if isinstance(mixture.prior, FiniteMixturesPrior) and mixture.prior.extra_components.batch_shape:
        raise ValueError(
            f"extra_components has shape {tuple(mixture.prior.extra_components.batch_shape)}, expected the "
            "distribution of a number: a companion has one data set"
        )
    if isinstance(mixture.prior, DirichletMultinomialPrior):
        wanted = int(mixture.prior.value("num_components"))
        if num_components != wanted:
            raise ValueError(f"num_components is {num_components}, expected {wanted}, as the prior has it")
    check_memory(
        num_components * (mixture.component.dim + 1) * torch.float64.itemsize,
        f"num_components is {num_components}: weights and parameters",
        remedy="take fewer components, and see Companion.truncation_error",
    )


def _sampled(part: Part) -> Part:
    """Sample the random hyperparameters; those that weights sample themselves stay."""
    priors: dict[str, Any] = {n: one for n, one in part.hyperpriors.items() if n in part.hyper_names}
    values = {name: pyro.sample(name, one) for name, one in priors.items()}
    batches = {name: one.squeeze(-1) if one.dim() else one for name, one in values.items()}
    return _unchecked(part).given(batches) if batches else part


def _unchecked(part: Part) -> Part:
    """Let all values pass: a trajectory of NUTS that diverges leaves every range, and must not raise."""
    new = copy.copy(part)
    vars(new)["_check_hyperparameters"] = _accept
    if isinstance(new, Product):
        new.parts = tuple(_unchecked(one) for one in new.parts)
    return new


def _accept() -> None:
    pass


def _choose(parameter: Tensor, labels: Tensor, plates: int) -> Tensor:
    """Look up ``(*plates, T, *event)`` at labels ``(*plates, N)``, broadcasting the plates."""
    event = parameter.dim() - plates
    index = (..., labels, *(slice(None),) * event)
    return Vindex(parameter.unsqueeze(-event - 2))[index]
