"""The pass of Neal's Algorithm 8 over all points: compiled visits between a few batched likelihoods."""

import math

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.memory import check_memory
from pyroclust.distributions import PartitionPrior
from pyroclust.infer.mcmc.compiled.seating import Seating, Tables, collect, more_slots, seat, visit_points
from pyroclust.infer.mcmc.parameters.clusters import (
    ChainClusters,
    ChainFamilies,
    finite_or_impossible,
    log_likelihood,
)

__all__ = ["AuxiliaryPass", "AuxiliaryPool", "seating_weights"]

# Draws made at once: enough that the price of a Pyro program is small beside them.
_DRAWS = 1 << 13
# Bytes for which nobody looks how much memory is left, which takes a tenth of a sweep of few points.
_SMALL = 1 << 26


class AuxiliaryPool:
    """Draws auxiliary parameters of every point, with their log-likelihoods, for several sweeps at once.

    Where the family of a chain changes between sweeps, draws are made one sweep at a time.

    Args:
        data: points, ``(N, D)``.
        num_auxiliary: draws m a point.
        num_chains: number of chains C.
        dtype: what parameters are kept in.
    """

    def __init__(self, data: Tensor, num_auxiliary: int, *, num_chains: int, dtype: torch.dtype) -> None:
        self._data, self._num_chains, self._dtype = data, num_chains, dtype
        self._num_auxiliary = num_auxiliary
        self._parameters: dict[str, Tensor] = {}
        self._log_likelihood = torch.empty(0)
        self._left = 0

    @property
    def num_draws(self) -> int:
        """Draws that one point needs, over all chains."""
        return self._num_auxiliary * self._num_chains

    def take(self, families: ChainFamilies, start: int, stop: int) -> tuple[dict[str, Tensor], Tensor]:
        """Return auxiliary parameters of the points ``start`` to ``stop``, never the same twice.

        Shape:
            output: ``(C, B, m, *event)`` by name, and their log-likelihoods, ``(C, B, m)`` float64.
        """
        sweeps = max(1, _DRAWS // (self.num_draws * len(self._data)))
        if families.values or stop - start < len(self._data) or sweeps == 1:
            parameters, log_likelihood = self._draw(families, 1, self._data[start:stop])
            return {name: value[0] for name, value in parameters.items()}, log_likelihood[0]
        if self._left == 0:
            self._parameters, self._log_likelihood = self._draw(families, sweeps, self._data)
            self._left = sweeps
        self._left -= 1
        parameters = {name: value[self._left] for name, value in self._parameters.items()}
        return parameters, self._log_likelihood[self._left]

    def _draw(self, families: ChainFamilies, sweeps: int, data: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        family = families.of(torch.arange(self._num_chains).view(-1, 1, 1))
        shape = (sweeps, self._num_chains, len(data), self._num_auxiliary, 1)
        needed = 2 * math.prod(shape) * data.shape[-1] * self._dtype.itemsize
        if needed > _SMALL:
            what = f"num_auxiliary is {self._num_auxiliary}: parameters for {len(data)} points"
            check_memory(needed, what, remedy="take fewer")
        drawn = {name: value.to(self._dtype) for name, value in family.sample_prior(shape).items()}
        log_prob = family.likelihood(drawn).log_prob(data.view(-1, 1, 1, data.shape[-1])).squeeze(-1)
        return {name: value.squeeze(4) for name, value in drawn.items()}, finite_or_impossible(log_prob)


# Entries of the table of log-likelihoods, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22
_SPARE_SLOTS = 16


# In nats, of a point that has to stay alone beside the fewest clusters: no likelihood weighs against it.
_SURE = 1e9


def seating_weights(
    prior: PartitionPrior,
    num_points: int,
    *,
    num_chains: int,
    num_auxiliary: int,
    clusters: tuple[int, int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the log weights of joining a cluster of n points, and of every choice that opens one beside K.

    .. math:: \log(n - d), \qquad \log \frac{V_N(K + 1)}{V_N(K)} - \log m

    Where the number of clusters is bounded, none is opened beside the most, and one is in any case beside
    fewer than the fewest.

    Shape:
        output: ``(C, N + 1)`` each, for n and K = 0, ..., N; cost O(C N).
    """
    sizes = torch.arange(1, num_points + 1)
    log_join = (sizes - prior.block_discount.unsqueeze(-1)).log().expand(num_chains, -1)
    log_v = prior.log_v(num_points, sizes.unsqueeze(-1)).mT.expand(num_chains, -1)
    log_open = torch.where(log_v[:, 1:].isfinite(), log_v.diff(dim=-1), -torch.inf) - math.log(num_auxiliary)
    pad = torch.nn.functional.pad
    log_join, log_open = pad(log_join, (1, 0), value=-torch.inf), pad(log_open, (1, 1), value=-torch.inf)
    if clusters is not None:
        fewest, most = clusters
        log_open[:, most:] = -torch.inf
        log_open[:, fewest - 1] = _SURE
    return log_join.numpy(), log_open.numpy()


class AuxiliaryPass:
    """Draws the cluster of every point given all others and the parameters of the clusters.

    Args:
        data: points, ``(N, D)``.
        pool: where auxiliary parameters come from.
        generator: where the visits take their randomness from.
    """

    def __init__(self, data: Tensor, pool: AuxiliaryPool, generator: np.random.Generator) -> None:
        self._data, self._pool, self._generator = data, pool, generator

    def __call__(
        self, clusters: ChainClusters, families: ChainFamilies, weights: tuple[np.ndarray, np.ndarray]
    ) -> tuple[ChainClusters, Tensor]:
        """Visit every point of every chain once.

        Points go in blocks whose table of log-likelihoods has bounded memory.

        Args:
            clusters: partitions and parameters.
            families: the component of every chain.
            weights: those of :func:`seating_weights`.

        Returns:
            The new partitions with their parameters, and the log-likelihood of every point, ``(C, N)``.
        """
        num_points, start = len(self._data), 0
        log_own = torch.empty(clusters.labels.shape, dtype=torch.float64)
        while start < num_points:
            widest = max(2 * clusters.num_rows + _SPARE_SLOTS, self._pool.num_draws)
            stop = min(num_points, start + max(1, _MAX_ENTRIES // widest))
            block = _Block(clusters, families, self._data[start:stop], start)
            auxiliary = self._pool.take(families, start, stop)
            clusters = block.visit(auxiliary, weights, self._generator.random(auxiliary[1].shape[:2]))
            log_own[:, start:stop] = torch.from_numpy(block.seating.log_own[:, start:stop])
            start = stop
        return clusters, log_own


class _Block:
    """Consecutive points, and the log-likelihoods of all under every cluster: a table that gains columns."""

    def __init__(self, clusters: ChainClusters, families: ChainFamilies, data: Tensor, start: int) -> None:
        self._families, self._data, self._start = families, data, start
        taken, slots = clusters.num_rows, 2 * clusters.num_rows + _SPARE_SLOTS
        self.seating: Seating = seat(clusters.rows.numpy(), taken, slots)
        self._parameters = {name: _lengthen(value, slots) for name, value in clusters.parameters.items()}
        self._table = torch.empty(len(data), slots, dtype=torch.float64)
        family = families.of(clusters.chain_of_row)
        self._table[:, :taken] = log_likelihood(family, clusters.parameters, data.unsqueeze(1), batch=1)

    def visit(
        self,
        auxiliary: tuple[dict[str, Tensor], Tensor],
        weights: tuple[np.ndarray, np.ndarray],
        uniforms: np.ndarray,
    ) -> ChainClusters:
        parameters, log_auxiliary = auxiliary
        tables = Tables(*weights, self._table.numpy(), log_auxiliary.numpy(), uniforms)
        while visit_points(self.seating, tables, self._start):
            self._open(parameters)
            if self.seating.num_free[0] < len(uniforms):
                self._grow()
                tables = tables._replace(log_likelihood=self._table.numpy())
        labels, rows, slots, chains = (torch.from_numpy(one) for one in collect(self.seating))
        kept = {name: value[slots] for name, value in self._parameters.items()}
        return ChainClusters(labels, rows, chains, kept)

    def _open(self, auxiliary: dict[str, Tensor]) -> None:
        """Give opened clusters their parameters, and later points the log-likelihoods under them."""
        chains = np.flatnonzero(self.seating.opened >= 0)
        slots = torch.from_numpy(self.seating.opened[chains])
        visited = self.seating.position[chains]
        index = tuple(torch.from_numpy(one) for one in (chains, visited - 1, self.seating.choice[chains]))
        new = {name: value[index] for name, value in auxiliary.items()}
        for name, value in new.items():
            self._parameters[name][slots] = value
        first = int(visited.min())
        if first < len(self._data):
            later = self._data[first:].unsqueeze(1)
            self._table[first:, slots] = log_likelihood(self._families.of(index[0]), new, later, batch=1)

    def _grow(self) -> None:
        slots = 2 * self._table.shape[1]
        self.seating = more_slots(self.seating, slots)
        self._parameters = {name: _lengthen(value, slots) for name, value in self._parameters.items()}
        self._table = torch.nn.functional.pad(self._table, (0, slots - self._table.shape[1]))


def _lengthen(values: Tensor, rows: int) -> Tensor:
    return torch.cat([values, values[:1].expand(rows - len(values), *values.shape[1:])])
