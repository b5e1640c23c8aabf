"""Component families: what a cluster's points are drawn from, where they lie, and sites of parameters."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from pyro.distributions import TorchDistribution
from pyro.distributions.torch_distribution import TorchDistributionMixin
from pyro.poutine.messenger import Messenger, block_messengers
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import seeded
from pyroclust.distributions.hyperparameters import (
    Hyperparameter,
    Hyperparameterised,
    Integral,
    integral_over,
)
from pyroclust.distributions.points import broadcast_shapes, check_tensor
from pyroclust.partitions import most_clusters

ParameterProgram = Callable[[], dict[str, Tensor]]
"""A Pyro program that samples the parameters of a cluster and returns them by the names of their sites."""


class PrefixedSites(Messenger):
    """Put a prefix before the names of all sites."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def _pyro_sample(self, msg: dict) -> None:
        msg["name"] = self.prefix + msg["name"]


class BatchedSites(Messenger):
    """Draw every site over a batch shape: what plates do, at a tenth of their price."""

    def __init__(self, shape: Size) -> None:
        super().__init__()
        self.shape = shape

    def _pyro_sample(self, msg: dict) -> None:
        _refuse_plates(msg)
        if not msg["is_observed"]:
            msg["fn"] = msg["fn"].expand(self.shape)


class ScoredSites(Messenger):
    """Set every site to a value and add up the log-densities."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.values = values
        self.log_density: Tensor | float = 0.0

    def _pyro_sample(self, msg: dict) -> None:
        _refuse_plates(msg)
        name, law = msg["name"], msg["fn"]
        if not msg["is_observed"]:
            if name not in self.values:
                raise ValueError(
                    f"parameters has no {name!r}, expected {', '.join(self.values)} and the site {name!r}"
                )
            msg["value"] = self.values[name]
        msg["done"] = True
        self.log_density = self.log_density + law.log_prob(msg["value"])


def without_handlers() -> Any:
    """Keep the sites of a program from all handlers outside."""
    return block_messengers(lambda _: True)


def _refuse_plates(msg: dict) -> None:
    if not isinstance(msg["fn"], TorchDistributionMixin):
        raise ValueError(
            f"the parameter program has a plate {msg['name']!r}, expected none: "
            "use .expand([...]).to_event(...) for the dimensions of its sites"
        )


# Larger whole numbers are not all exact in double precision, and their log factorials may overflow.
COUNTS = constraints.independent(constraints.integer_interval(0, 2**53), 1)


class GroupedSupport(constraints.Constraint):
    """Consecutive groups of columns, each with its constraint and its number of columns."""

    event_dim = 1

    def __init__(self, groups: Sequence[tuple[Any, int]]) -> None:
        self.groups = tuple(groups)
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(support.is_discrete for support, _ in self.groups)

    def check(self, value: Tensor) -> Tensor:
        columns = value.split([width for _, width in self.groups], -1)
        pairs = zip(self.groups, columns, strict=True)
        return torch.stack([support.check(own) for (support, _), own in pairs]).all(0)

    def __repr__(self) -> str:
        return f"grouped({', '.join(f'{support} over {width} columns' for support, width in self.groups)})"


class OrMissing(constraints.Constraint):
    """Values of a constraint, or nan."""

    event_dim = 1

    def __init__(self, base: Any) -> None:
        self.base = base
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return bool(self.base.is_discrete)

    def check(self, value: Tensor) -> Tensor:
        return self.base.check(filled(value))

    def __repr__(self) -> str:
        return f"{self.base!r} or missing"


def of_levels(levels: Sequence[int]) -> OrMissing:
    """Return the support of categories 0, 1, ... below the number of each column, or missing."""
    columns = [constraints.independent(constraints.integer_interval(0, one - 1), 1) for one in levels]
    return OrMissing(GroupedSupport([(one, 1) for one in columns]))


def filled(data: Tensor) -> Tensor:
    """Put zeros, which every family takes, where cells are missing."""
    return data.nan_to_num(0.0, posinf=torch.inf, neginf=-torch.inf) if data.is_floating_point() else data


class Component(Hyperparameterised, ABC):
    r"""A family of clusters: a prior of the parameters and the law of a point given them.

    .. math:: \theta_k \sim G_0, \qquad x_i \mid c, \theta \sim F(\theta_{c_i})

    Subclasses write :meth:`parameters`, :meth:`likelihood` and :attr:`typical_scale`, and may list
    hyperparameters in ``hyper_names``: numbers, batches with one number a data set, or priors.

    Attributes:
        dim: dimension D of a point.
        support: where points lie, a constraint of event dimension 1.
        expected: the support in words, for errors.
        takes_missing: whether cells of points may be missing, nan.
        reach: how many typical scales from 0 points may lie before sums lose the digits that matter.

    Raises:
        ValueError: if ``dim`` is not positive.
    """

    support: constraints.Constraint = constraints.real_vector
    expected: str = "finite numbers"
    reach: float = math.inf
    takes_missing: bool = False

    def __init__(self, dim: int) -> None:
        self.dim = check_count("dim", dim)

    @property
    @abstractmethod
    def typical_scale(self) -> float:
        """A typical standard deviation within a cluster, in data units: where networks start looking."""

    @property
    def scale_is_known(self) -> bool:
        """Whether all clusters have the same known covariance, ``typical_scale**2`` times the identity."""
        return False

    @abstractmethod
    def parameters(self) -> dict[str, Tensor]:
        """Sample the parameters of a cluster: a Pyro program, run where every site stands for many clusters.

        Each site has its own name, no plate of its own, and a batch shape that broadcasts with
        ``(*batch, clusters)``.

        Shape:
            output: ``(*plates, *event)`` by name, the last plate over clusters.
        """

    @abstractmethod
    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        """Return the law of a point given its cluster's parameters.

        Shape:
            parameters: ``(*batch, *event)`` by name; output: batch shape ``(*batch)``, event shape ``(D,)``.
        """

    @property
    def batch_shape(self) -> Size:
        """The broadcast shape of the hyperparameters given as batches."""
        values = (getattr(self, name) for name in self.hyper_names)
        shapes = [one.shape for one in values if isinstance(one, Tensor)]
        return broadcast_shapes(*shapes) if shapes else Size()

    def sample_prior(self, shape: Size | tuple[int, ...]) -> dict[str, Tensor]:
        """Draw parameters of many clusters, outside of any enclosing Pyro program.

        Shape:
            shape: ``(..., K)``, ``batch_shape`` broadcast against the dimensions before K; output:
            ``(*shape, *event)`` by name.
        """
        with torch.no_grad(), without_handlers(), BatchedSites(Size(shape)):
            return self.parameters()

    def log_prior(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Return the log-density of parameters under the prior in nats.

        Shape:
            parameters: ``(..., K, *event)`` by name; output: ``(..., K)``.

        Raises:
            ValueError: if a parameter is missing, or the program has no sites.
        """
        scored = ScoredSites(parameters)
        with without_handlers(), scored:
            self.parameters()
        if not isinstance(scored.log_density, Tensor):
            raise ValueError("parameters() has no sites, expected at least one pyro.sample statement")
        return scored.log_density

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw parameters for every cluster, then points, in O(N).

        Shape:
            assignments: ``(..., N)`` canonical; output: ``(..., N, D)``.
        """
        clusters = (*assignments.shape[:-1], most_clusters(assignments))
        parameters = self.sample_prior(clusters)
        with torch.no_grad():
            return self.likelihood(parameters_of_points(parameters, assignments)).sample()

    def check(self, data: Tensor) -> None:
        """Refuse data outside the support.

        Shape:
            data: ``(..., D)``.

        Raises:
            ValueError: if the last dimension is not D, or a point lies outside the support.
        """
        check_tensor("data", data)
        if data.dim() < 1 or data.shape[-1] != self.dim:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected (..., {self.dim})")
        self.check_reach(data)
        if not data.numel():
            return
        inside = self.support.check(data) & data.isfinite().all(-1)
        if not bool(inside.all()):
            index = tuple((~inside).nonzero()[0].tolist())
            raise ValueError(
                f"data has the point {data[index].tolist()} at index {index}, expected {self.expected} "
                f"for {type(self).__name__}"
            )

    def check_reach(self, data: Tensor) -> None:
        """Refuse points so far away that sums of their squares would lose the digits of a cluster's scale.

        Raises:
            ValueError: if one lies beyond ``reach`` times the typical scale.
        """
        far = float(data.detach().double().abs().max()) if data.numel() else 0.0
        if far > self.reach * self.typical_scale and math.isfinite(far):
            raise ValueError(
                f"data lies up to {far:.3g} from 0, where clusters of {type(self).__name__} are about "
                f"{self.typical_scale:.3g} wide and sums of squares lose their digits, expected at most "
                f"{self.reach:.0g} times that: centre and rescale the data, without --raw on the command line"
            )

    def hyper(self, name: str, *, trailing: int = 1) -> Tensor:
        """Return a hyperparameter shaped for formulas over clusters, float64.

        Shape:
            output: ``()`` for a number, else ``(*batch, 1, ..., 1)`` with ``trailing`` ones.
        """
        value = self.value(name)
        return value.reshape(*value.shape, *(1,) * trailing) if value.dim() else value

    def per_column(self, name: str) -> Tensor:
        """Return a hyperparameter as the parameter of a program's site, in the default dtype.

        Shape:
            output: ``(D,)`` for a number, else ``(*batch, 1, D)``.
        """
        value = self.hyper(name, trailing=2).to(torch.get_default_dtype())
        return value.expand(*value.shape[:-1], self.dim)

    def _typical(self, name: str) -> float:
        """Return a number near a hyperparameter: itself, its mean over the batch, or its prior's median."""
        one = getattr(self, name)
        if isinstance(one, Distribution):
            with seeded(0):
                return float(one.sample(Size((1001,))).median())
        return float(one.detach().double().mean()) if isinstance(one, Tensor) else float(one)


class ConjugateComponent(Component):
    """A component family whose parameters integrate out.

    A block of points enters only through its count and the sum of ``moments(x)`` over its points, all in
    float64: sums of squares lose too much in float32.

    Shape:
        moments: ``(..., D) -> (..., F)``; counts ``(...)``, or ``(..., K)`` with batches of hyperparameters
        broadcast against the dimensions before K; predictive parameters ``(..., P)``.
    """

    @staticmethod
    def of(component: Component, *, otherwise: str) -> "ConjugateComponent":
        """Return a family whose parameters integrate out as it is, and refuse any other.

        Args:
            component: the family.
            otherwise: why it must be conjugate, or what to do, for the error.

        Raises:
            ValueError: if it is not conjugate.
        """
        if not isinstance(component, ConjugateComponent):
            raise ValueError(
                f"component is a {type(component).__name__}, expected a conjugate family: {otherwise}"
            )
        return component

    @abstractmethod
    def moments(self, data: Tensor) -> Tensor:
        """Return the sufficient statistics of single points, ``(..., D) -> (..., F)`` float64."""

    @abstractmethod
    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats; 0 for an empty block."""

    def log_marginal_of(self, name: str, counts: Tensor, moments: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the log marginal likelihood of blocks as a function of a hyperparameter ``(...)``."""
        return lambda value: self.given({name: value}).log_marginal(counts, moments)

    @property
    def integrated_names(self) -> frozenset[str]:
        """Names of the random hyperparameters where these integrate out, as single ones do."""
        return frozenset(self.hyperpriors) if len(self.hyperpriors) == 1 else frozenset()

    def log_likelihood(self, counts: Tensor, moments: Tensor) -> Tensor:
        r"""Return the log marginal likelihood of partitions in nats, a random hyperparameter integrated out.

        .. math:: \log \int p(h) \prod_k p(x_k \mid h) \, dh

        That is one integral a partition: clusters share the hyperparameter.

        Shape:
            counts: ``(..., K)``; moments: ``(..., K, F)``; output: ``(...)`` float64.
        """
        if not self.integrated_names:
            return self.log_marginal(counts, moments).sum(-1)
        (found,) = self.over_hyperparameters(counts, moments).values()
        return found.log_total

    def over_hyperparameters(self, counts: Tensor, moments: Tensor) -> dict[str, Integral]:
        """Integrate the likelihood of partitions over a random hyperparameter, by its name."""
        if not self.integrated_names:
            return {}
        ((name, prior),) = self.hyperpriors.items()
        blocks = self.log_marginal_of(name, counts, moments)
        return {name: integral_over(prior, lambda value: blocks(value).sum(-1), counts.shape[:-1])}

    @abstractmethod
    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive density of blocks into vectors ``(..., P)`` for :meth:`log_predictive`."""

    @abstractmethod
    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points under packed predictives, O(D) to O(D^2)."""

    @abstractmethod
    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        """Draw the parameters of blocks from their posterior, of the prior where a block is empty.

        Shape:
            counts: ``(..., K)``; moments: ``(..., K, F)``; output: ``(..., K, *event)`` float64, by the names
            of :meth:`parameters`.
        """

    @cached_property
    def num_moments(self) -> int:
        """Length F of the sufficient statistics."""
        return self.moments(torch.zeros(self.dim)).shape[-1]

    def over_batch(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return blocks ``(..., K)`` in float64, expanded over the hyperparameters given as batches."""
        batch = self.batch_shape
        if not batch:
            return counts.double(), moments
        shape = broadcast_shapes((*batch, 1), counts.shape)
        return counts.double().expand(shape), moments.expand(*shape, moments.shape[-1])

    def prior_predictive_parameters(self) -> Tensor:
        """Return the packed predictive density of an empty block, ``(*batch_shape, P)``."""
        zero = torch.zeros(1, dtype=torch.float64)
        return self.predictive_parameters(zero, zero.new_zeros(1, self.num_moments)).squeeze(-2)


def number(value: Hyperparameter) -> Hyperparameter:
    """Turn what is neither a tensor nor random into a float, so that plain families compare by value."""
    if isinstance(value, Tensor | Distribution | bool | str | np.bool_):
        return value
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return the logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def per_point(parameters: Tensor, assignments: Tensor) -> Tensor:
    """Look up cluster parameters ``(..., K, E)`` for points ``(..., N)``, giving ``(..., N, E)``."""
    index = assignments.unsqueeze(-1).expand(*assignments.shape, parameters.shape[-1])
    return parameters.gather(-2, index)


def parameters_of_points(parameters: Mapping[str, Tensor], assignments: Tensor) -> dict[str, Tensor]:
    """Look up cluster parameters ``(..., K, *event)`` for points ``(..., N)``: ``(..., N, *event)``."""
    batch = assignments.dim()
    found = {}
    for name, value in parameters.items():
        flat = value.to(assignments.device).reshape(*value.shape[:batch], -1)
        found[name] = per_point(flat, assignments).reshape(*assignments.shape, *value.shape[batch:])
    return found
