"""Ways to draw the parameters of clusters given the partition."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled
from pyroclust.core.counts import check_count, check_number
from pyroclust.distributions import Component, ConjugateComponent
from pyroclust.infer.mcmc.parameters.clusters import ChainClusters, ChainFamilies
from pyroclust.infer.mcmc.parameters.target import ParameterTarget

__all__ = ["BoundUpdates", "ExactParameters", "ParameterUpdates", "SliceParameters", "accept", "propose"]


@compiled
def propose(low: np.ndarray, high: np.ndarray, uniforms: np.ndarray, offsets: np.ndarray) -> None:
    """Write the candidates that shrinkage comes to if none of them is accepted, and shrink the brackets.

    Where the next candidate lies depends on rejections alone, not on densities: all can be evaluated at once.

    Args:
        low: lower ends of the brackets about 0, ``(T,)``, overwritten.
        high: upper ends, ``(T,)``, overwritten.
        uniforms: uniform random numbers, ``(Q, T)``.
        offsets: output, ``(Q, T)``.
    """
    for t in range(len(low)):
        for q in range(len(uniforms)):
            offset = low[t] + (high[t] - low[t]) * uniforms[q, t]
            offsets[q, t] = offset
            if offset < 0.0:
                low[t] = offset
            else:
                high[t] = offset


@compiled
def accept(values: np.ndarray, level: np.ndarray, chosen: np.ndarray) -> int:
    """Choose the first candidate above the level wherever none is chosen yet.

    Args:
        values: log densities of the candidates, ``(Q, T)``.
        level: log heights of the slices, ``(T,)``.
        chosen: index of the accepted candidate, negative where there is none, ``(T,)``, overwritten.

    Returns:
        How many have none still.
    """
    left = 0
    for t in range(len(level)):
        if chosen[t] >= 0:
            continue
        for q in range(len(values)):
            if values[q, t] > level[t]:
                chosen[t] = q
                break
        if chosen[t] < 0:
            left += 1
    return left


# Candidates evaluated at once.
_CANDIDATES = 16
# By then a bracket is narrower than floating-point numbers are apart.
_MAX_ROUNDS = 20
_LOG_WIDEST = np.log(16.0)


class BoundUpdates(ABC):
    """Updates of the parameters of clusters of one data set."""

    @abstractmethod
    def start(self, clusters: ChainClusters) -> ChainClusters:
        """Return the clusters with parameters to start from."""

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
        """False: draws are independent."""
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

    def start(self, clusters: ChainClusters) -> ChainClusters:
        return clusters

    def draw(self, clusters: ChainClusters, families: ChainFamilies) -> ChainClusters:
        rows = clusters.rows.reshape(-1)
        counts = torch.bincount(rows, minlength=clusters.num_rows).double()
        every = self._moments.expand(len(clusters.labels), -1, -1).reshape(len(rows), -1)
        moments = every.new_zeros(clusters.num_rows, every.shape[-1]).index_add_(0, rows, every)
        family = families.of(clusters.chain_of_row)
        assert isinstance(family, ConjugateComponent)
        drawn = family.sample_parameters(counts.unsqueeze(-1), moments.unsqueeze(-2))
        return clusters.holding({name: value.squeeze(1) for name, value in drawn.items()})


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
        """Check the settings."""
        object.__setattr__(self, "rounds", check_count("rounds", self.rounds))
        object.__setattr__(self, "width", check_number("width", self.width, above=0))

    @property
    def keeps_parameters(self) -> bool:
        """True: parameters move from where they are."""
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
        return clusters.holding(self._target.guess(clusters))

    def draw(self, clusters: ChainClusters, families: ChainFamilies) -> ChainClusters:
        vectors = self._target.space.unconstrain(clusters.parameters)
        for _ in range(self._rounds):
            for coordinate in range(vectors.shape[-1]):
                vectors = self._slice(vectors, coordinate, clusters)
        return clusters.holding(self._target.parameters(vectors))

    def _slice(self, vectors: Tensor, coordinate: int, clusters: ChainClusters) -> Tensor:
        """Draw one coordinate of every cluster given the others."""
        count = len(vectors)
        width = float(self._widths[coordinate]) * np.exp(_LOG_WIDEST * self._generator.random(count))
        low = -width * self._generator.random(count)
        high = low + width
        chosen, found, level = np.full(count, -1), np.zeros(count), np.zeros(count)
        for attempt in range(_MAX_ROUNDS):
            offsets = np.zeros((_CANDIDATES + (attempt == 0), count))
            propose(low, high, self._generator.random((_CANDIDATES, count)), offsets[-_CANDIDATES:])
            moved = vectors.expand(len(offsets), -1, -1).clone()
            moved[..., coordinate] += torch.from_numpy(offsets)
            values = self._target.log_density(moved, clusters).numpy()
            if attempt == 0:
                level = _level(values[0], self._generator)
            fresh = chosen < 0
            left = accept(values[-_CANDIDATES:], level, chosen)
            fresh &= chosen >= 0
            found[fresh] = offsets[-_CANDIDATES:][chosen[fresh], fresh.nonzero()[0]]
            if left == 0:
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
