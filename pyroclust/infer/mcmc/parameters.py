"""Parameters of clusters given the partition: the clusters of all chains in one list, and ways to draw."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from pyro import poutine
from torch import Size, Tensor
from torch.distributions import Distribution, Transform, biject_to

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.random_state import seeded
from pyroclust.distributions import Component, ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.partitions import as_partitions

_PRIOR_DRAWS = 1000
# Prior draws of which a chain's first parameters are chosen.
_GUESSES = 64
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22
# Candidates evaluated at once.
_CANDIDATES = 16
# By then a bracket is narrower than floating-point numbers are apart.
_MAX_ROUNDS = 20
_LOG_WIDEST = np.log(16.0)


@dataclass(frozen=True)
class ChainClusters:
    """Partitions of C chains whose T clusters, chain after chain, are the rows of one table of parameters.

    Shape:
        labels and the row of each point's cluster: ``(C, N)``; chain_of_row: ``(T,)``; parameters:
        ``(T, *event)`` by name, none where they are still to come.
    """

    labels: Tensor
    rows: Tensor
    chain_of_row: Tensor
    parameters: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Tensor) -> Self:
        """Return the clusters of partitions ``(C, N)``, canonical, without parameters."""
        counts = labels.amax(-1) + 1
        first = counts.cumsum(0) - counts
        chain_of_row = torch.arange(len(counts)).repeat_interleave(counts)
        return cls(labels, labels + first.unsqueeze(-1), chain_of_row)

    def with_parameters(self, parameters: dict[str, Tensor]) -> Self:
        """Return the same clusters with parameters, ``(T, *event)`` by name."""
        return replace(self, parameters=parameters)

    @property
    def num_rows(self) -> int:
        """Number T of clusters of all chains."""
        return len(self.chain_of_row)

    def of_points(self) -> dict[str, Tensor]:
        """Return the parameters of every point's cluster, ``(C, N, *event)`` by name."""
        return {name: value[self.rows] for name, value in self.parameters.items()}


@dataclass(frozen=True)
class ChainFamilies:
    """The component family of every chain: one for all, or one each where its hyperparameters are random."""

    model: CollapsedModel
    values: dict[str, Tensor] = field(default_factory=dict)

    def of(self, chains: Tensor) -> Component:
        """Return the families of some chains as one, whose batch shape is that of ``chains``."""
        if not self.values:
            return self.model.component
        return self.model.given({name: value[chains] for name, value in self.values.items()}).component


def log_likelihood(
    component: Component, parameters: dict[str, Tensor], data: Tensor, *, batch: int
) -> Tensor:
    """Return log p(x | parameters) in nats, float64; minus infinity where it is no number.

    Shape:
        parameters: ``(*batch, *event)`` by name, with ``batch`` batch dimensions; data: ``(..., D)``; output:
        the broadcast of ``(...)`` and ``(*batch)``.
    """
    # Families with batches of hyperparameters want a last dimension over clusters: here one of each.
    apart = {name: value.unsqueeze(batch) for name, value in parameters.items()}
    return finite_or_impossible(component.likelihood(apart).log_prob(data.unsqueeze(-2)).squeeze(-1))


def finite_or_impossible(log_density: Tensor) -> Tensor:
    """Return log densities as float64, minus infinity for nan and infinity: parameters beyond arithmetic."""
    return log_density.double().nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)


class UnconstrainedSpace:
    r"""Maps the parameters of clusters to vectors of P real numbers and back.

    Every site of ``component.parameters()`` goes through torch's ``biject_to(support)``, so that a density
    :math:`p(\theta)` becomes :math:`p(\theta(u)) \, |d\theta / du|`.
    """

    def __init__(self, component: Component) -> None:
        laws, others = _laws(component), _laws(component)
        self._transforms: dict[str, Transform] = {}
        self._events: dict[str, Size] = {}
        self._inner: dict[str, Size] = {}
        for name, law in laws.items():
            _check_site(name, law, others[name])
            transform = biject_to(law.support)
            self._transforms[name], self._events[name] = transform, law.event_shape
            self._inner[name] = Size(transform.inverse_shape(law.event_shape))
        self.num_coordinates = sum(inner.numel() for inner in self._inner.values())

    def unconstrain(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Return parameters, ``(*batch, *event)`` by name, as vectors ``(*batch, P)`` of real numbers."""
        columns = []
        for name, transform in self._transforms.items():
            value = parameters[name].double()
            batch = value.shape[: value.dim() - len(self._events[name])]
            columns.append(transform.inv(value).reshape(*batch, -1))
        return torch.cat(columns, -1)

    def constrain(self, vectors: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Return the parameters of vectors ``(*batch, P)``, and the log volume that they take up."""
        batch = vectors.shape[:-1]
        parameters, log_jacobian = {}, vectors.new_zeros(batch)
        pieces = vectors.split([inner.numel() for inner in self._inner.values()], -1)
        for piece, (name, transform) in zip(pieces, self._transforms.items(), strict=True):
            inside = piece.reshape(*batch, *self._inner[name])
            parameters[name] = transform(inside)
            volume = transform.log_abs_det_jacobian(inside, parameters[name])
            log_jacobian = log_jacobian + volume.reshape(*batch, -1).sum(-1)
        return parameters, log_jacobian


def _laws(component: Component) -> dict[str, Distribution]:
    with torch.no_grad(), poutine.block():
        trace = poutine.trace(component.parameters).get_trace()
    laws: dict[str, Any] = {name: node["fn"] for name, node in trace.iter_stochastic_nodes()}
    return laws


def _check_site(name: str, law: Distribution, other: Distribution) -> None:
    """Refuse supports that no fixed bijection maps to real numbers."""
    if law.support is not None and law.support.is_discrete:
        raise ValueError(
            f"component.parameters has the discrete site {name!r}, expected continuous ones: "
            "sum it out in the likelihood"
        )
    try:
        zero = torch.zeros(biject_to(law.support).inverse_shape(law.event_shape))
    except NotImplementedError as error:
        raise ValueError(
            f"component.parameters has the site {name!r} with the support {law.support}, expected one that "
            "torch's biject_to knows: register a bijection, or use another parametrisation"
        ) from error
    if not torch.equal(biject_to(law.support)(zero), biject_to(other.support)(zero)):
        raise ValueError(
            f"component.parameters has the site {name!r} whose support depends on other parameters, "
            "expected a fixed one: sample it on a fixed range and scale it in the likelihood"
        )


def working_dtype(component: Component, data: Tensor) -> torch.dtype:
    """Return float64, or the type of a component's own draws where its program cannot take float64."""
    drawn = component.sample_prior((2,))
    try:
        wide = {name: value.double() for name, value in drawn.items()}
        component.log_prior(wide)
        component.likelihood(wide).log_prob(data[:1].double())
    except RuntimeError:
        return next(iter(drawn.values())).dtype
    return torch.float64


class ParameterTarget:
    r"""The density that slice sampling of cluster parameters leaves unchanged.

    .. math:: \log p(\theta_k(u)) + \log |d\theta_k / du| + \sum_{i : c_i = k} \log p(x_i \mid \theta_k(u))
    """

    def __init__(self, component: Component, data: Tensor, *, dtype: torch.dtype) -> None:
        self.space = UnconstrainedSpace(component)
        self._component, self._data, self._dtype = component, data, dtype

    def prior_spread(self) -> Tensor:
        """Return half the central 68 % of the prior of each coordinate, ``(P,)``."""
        draws = self.space.unconstrain(self._component.sample_prior((_PRIOR_DRAWS,)))
        low, high = draws.quantile(torch.tensor([0.16, 0.84], dtype=torch.float64), dim=0)
        return 0.5 * (high - low)

    def parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        """Return the parameters at vectors of real numbers."""
        return {name: value.to(self._dtype) for name, value in self.space.constrain(vectors)[0].items()}

    def log_density(self, vectors: Tensor, clusters: ChainClusters) -> Tensor:
        """Return the log density ``(Q, T)`` of candidates ``(Q, T, P)`` in nats, minus infinity for nan."""
        parameters, log_jacobian = self.space.constrain(vectors)
        parameters = {name: value.to(self._dtype) for name, value in parameters.items()}
        log_prior = self._component.log_prior(parameters).double()
        total = log_prior + log_jacobian + self._log_likelihood(parameters, clusters)
        return finite_or_impossible(total)

    def guess(self, clusters: ChainClusters) -> dict[str, Tensor]:
        """Choose first parameters for every cluster among draws of the prior, by likelihood."""
        drawn = self._component.sample_prior((_GUESSES, clusters.num_rows))
        drawn = {name: value.to(self._dtype) for name, value in drawn.items()}
        score = self._log_likelihood(drawn, clusters)
        best = (score - torch.empty_like(score).exponential_().log()).argmax(0)
        return {name: value[best, torch.arange(clusters.num_rows)] for name, value in drawn.items()}

    def _log_likelihood(self, parameters: dict[str, Tensor], clusters: ChainClusters) -> Tensor:
        """Sum the log-likelihoods of the points of every cluster, ``(Q, T)``, in slices of bounded memory."""
        rows = clusters.rows.reshape(-1)
        data = self._data.expand(len(clusters.labels), -1, -1).reshape(len(rows), -1)
        wide = sum(value[0, 0].numel() for value in parameters.values()) + data.shape[-1]
        count, step = len(next(iter(parameters.values()))), max(1, _MAX_ENTRIES // (wide * len(rows)))
        total = torch.zeros(count, clusters.num_rows, dtype=torch.float64)
        for first in range(0, count, step):
            part = slice(first, first + step)
            of_points = {name: value[part, rows] for name, value in parameters.items()}
            log_prob = log_likelihood(self._component, of_points, data, batch=2)
            total[part].index_add_(1, rows, log_prob)
        return total


@compiled
def propose(low: np.ndarray, high: np.ndarray, uniforms: np.ndarray, offsets: np.ndarray) -> None:
    """Write the candidates ``(Q, T)`` that shrinkage comes to if none is accepted, and shrink the brackets.

    Where the next candidate lies depends on rejections alone, not on densities: all can be evaluated at once.
    Brackets lie about 0, ``(T,)``.
    """
    for t in range(len(low)):
        for q in range(len(uniforms)):
            offset = low[t] + (high[t] - low[t]) * uniforms[q, t]
            offsets[q, t] = offset
            if offset < 0.0:
                low[t] = offset
            else:
                high[t] = offset


class BoundUpdates(ABC):
    """Updates of the parameters of clusters of one data set."""

    def start(self, clusters: ChainClusters) -> ChainClusters:
        """Return the clusters with parameters to start from, where draws depend on these."""
        return clusters

    @abstractmethod
    def draw(self, clusters: ChainClusters, families: ChainFamilies) -> ChainClusters:
        """Return the clusters with parameters drawn given the partitions."""


class ParameterUpdates(ABC):
    """A way to draw the parameters of clusters given the partition."""

    @property
    @abstractmethod
    def keeps_parameters(self) -> bool:
        """Whether draws depend on the parameters before, so that nothing else may change the partition."""

    @abstractmethod
    def bind(
        self, component: Component, data: Tensor, *, dtype: torch.dtype, generator: np.random.Generator
    ) -> BoundUpdates:
        """Prepare updates for a data set ``(N, D)``."""


@dataclass(frozen=True)
class ExactParameters(ParameterUpdates):
    """Draw parameters from their posterior given the partition, in a conjugate family.

    Example:
        >>> ExactParameters().keeps_parameters
        False
    """

    @property
    def keeps_parameters(self) -> bool:
        return False

    def bind(
        self, component: Component, data: Tensor, *, dtype: torch.dtype, generator: np.random.Generator
    ) -> BoundUpdates:
        """Compute the sufficient statistics of all points.

        Raises:
            ValueError: if the component is not conjugate.
        """
        family = ConjugateComponent.of(component, otherwise="use parameter_updates=SliceParameters()")
        return _Exact(family.moments(data))


class _Exact(BoundUpdates):
    def __init__(self, moments: Tensor) -> None:
        self._moments = moments

    def draw(self, clusters: ChainClusters, families: ChainFamilies) -> ChainClusters:
        rows = clusters.rows.reshape(-1)
        counts = torch.bincount(rows, minlength=clusters.num_rows).double()
        every = self._moments.expand(len(clusters.labels), -1, -1).reshape(len(rows), -1)
        moments = every.new_zeros(clusters.num_rows, every.shape[-1]).index_add_(0, rows, every)
        family = families.of(clusters.chain_of_row)
        assert isinstance(family, ConjugateComponent)
        drawn = family.sample_parameters(counts.unsqueeze(-1), moments.unsqueeze(-2))
        return clusters.with_parameters({name: value.squeeze(1) for name, value in drawn.items()})


@dataclass(frozen=True)
class SliceParameters(ParameterUpdates):
    r"""Update parameters by slice sampling unconstrained coordinates one by one, all clusters at once.

    The bracket of a coordinate is ``width`` times its spread under the prior, times a random number between 1
    and 16, and shrinks until it meets the slice: about 3 log(bracket / posterior spread) steps, so nothing
    needs tuning. The candidates of a bracket depend on rejections alone, so many are evaluated in one call: a
    round costs one or two calls of O(16 N D) a coordinate.

    Args:
        rounds: rounds over all coordinates a sweep.
        width: least width of a bracket, in half-widths of the central 68 % of the prior.

    Raises:
        ValueError: if one of them is not positive.

    Example:
        >>> SliceParameters(rounds=2).keeps_parameters
        True

    References:
        Neal (2003), Slice sampling, section 4. https://doi.org/10.1214/aos/1056562461
    """

    rounds: int = 1
    width: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", check_count("rounds", self.rounds))
        object.__setattr__(self, "width", check_number("width", self.width, above=0))

    @property
    def keeps_parameters(self) -> bool:
        return True

    def bind(
        self, component: Component, data: Tensor, *, dtype: torch.dtype, generator: np.random.Generator
    ) -> BoundUpdates:
        """Map the parameters to real numbers and measure the spread of their prior.

        Raises:
            ValueError: if a parameter is discrete, or its support depends on another parameter.
        """
        target = ParameterTarget(component, data, dtype=dtype)
        return _Slices(target, self.rounds, self.width * target.prior_spread(), generator)


class _Slices(BoundUpdates):
    def __init__(
        self, target: ParameterTarget, rounds: int, widths: Tensor, generator: np.random.Generator
    ) -> None:
        self._target, self._rounds, self._widths, self._generator = target, rounds, widths, generator

    def start(self, clusters: ChainClusters) -> ChainClusters:
        return clusters.with_parameters(self._target.guess(clusters))

    def draw(self, clusters: ChainClusters, families: ChainFamilies) -> ChainClusters:
        vectors = self._target.space.unconstrain(clusters.parameters)
        for _ in range(self._rounds):
            for coordinate in range(vectors.shape[-1]):
                vectors = self._slice(vectors, coordinate, clusters)
        return clusters.with_parameters(self._target.parameters(vectors))

    def _slice(self, vectors: Tensor, coordinate: int, clusters: ChainClusters) -> Tensor:
        """Draw one coordinate of every cluster given the others."""
        count = len(vectors)
        width = float(self._widths[coordinate]) * np.exp(_LOG_WIDEST * self._generator.random(count))
        low = -width * self._generator.random(count)
        high = low + width
        accepted, found, level = np.zeros(count, dtype=bool), np.zeros(count), np.zeros(count)
        for attempt in range(_MAX_ROUNDS):
            offsets = np.zeros((_CANDIDATES + (attempt == 0), count))
            propose(low, high, self._generator.random((_CANDIDATES, count)), offsets[-_CANDIDATES:])
            moved = vectors.expand(len(offsets), -1, -1).clone()
            moved[..., coordinate] += torch.from_numpy(offsets)
            values = self._target.log_density(moved, clusters).numpy()
            if attempt == 0:
                level = _level(values[0], self._generator)
            above = values[-_CANDIDATES:] > level
            fresh = above.any(0) & ~accepted
            found[fresh] = offsets[-_CANDIDATES:][above.argmax(0)[fresh], fresh.nonzero()[0]]
            accepted |= fresh
            if accepted.all():
                break
        new = vectors.clone()
        new[:, coordinate] += torch.from_numpy(found)
        return new


def _level(values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(
            "the points of a cluster have density zero under its parameters, expected parameters that allow "
            "all its points: start with init=Singletons()"
        )
    return values + np.log1p(-generator.random(len(values)))


def parameters_of_draws(
    model: CollapsedModel,
    data: Tensor,
    draws: Tensor,
    *,
    generator: np.random.Generator,
    sweeps: int = 50,
) -> dict[str, Tensor]:
    r"""Draw the parameters of every cluster given its points, by slice moves.

    One draw of the parameters for each draw of the partition, after so many sweeps over all coordinates.

    Shape:
        draws: ``(S, N)``; output: ``(S, K, *event)`` float64 by name, K the largest number of clusters; rows
        of clusters that a draw lacks repeat its last one.
    """
    labels = as_partitions("draws", draws, num_points=len(data))
    with seeded(int(generator.integers(2**31))), torch.no_grad():
        moves = SliceParameters().bind(model.component, data, dtype=torch.float64, generator=generator)
        clusters = moves.start(ChainClusters.of(labels))
        families = ChainFamilies(model)
        for _ in range(sweeps):
            clusters = moves.draw(clusters, families)
    counts = labels.amax(-1) + 1
    first = counts.cumsum(0) - counts
    column = torch.arange(int(counts.max()))
    rows = first.unsqueeze(-1) + torch.minimum(column, counts.unsqueeze(-1) - 1)
    return {name: value[rows].double() for name, value in clusters.parameters.items()}
