"""The scorer of tables, whose columns are a set of any number and kind; below it in compiled code."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from pyroclust.core.compiling import inner
from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    Family,
    column_functions,
    log_predictives_by_column,
    refresh,
)
from pyroclust.distributions.families.component import ConjugateComponent
from pyroclust.distributions.families.partly_observed import ColumnGroups
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.compiled.filter import array_of, can_foresee
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.foresight_loops import Foreseer
from pyroclust.nn.compiled.networks import matrix, multiply, silu
from pyroclust.nn.compiled.prefixes import PrefixSampler, add_point
from pyroclust.nn.scorers.network_scorer import ForeseeingScorer, NetworkScorer, progress_of

# What a group of columns says of a candidate, of a cluster, and of a point.
_OF_CANDIDATE, _OF_CLUSTER, _OF_POINT = 7, 3, 3


@dataclass(frozen=True)
class ColumnEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, G + F) float64: log densities alone, then the filter's moments
    there: Tensor  # (B, N, G) float32, 1 where a cell is there
    whole: Tensor  # (B, N, G) float64, gain of a cell from all points as one cluster, in nats
    cohesion: Tensor  # (B, G) float64, mean gain of a cell in that cluster
    context: Tensor  # (B, N, W)
    filter: FilterEncoding
    foresight: Foresight | None


@register(NetworkScorer)
class ColumnScorer(ForeseeingScorer[ColumnEncoding]):
    r"""Scores candidates of any table by what its columns say, which are pooled as a set.

    .. math::
        \text{logit}_k = \ell_k + \text{head}\Big(C_n + \text{pool}(\textstyle\sum_j g(t_j)) + A t_k +
        P \sum_{d \text{ there}} \phi(f_{nkd})\Big)

    with the exact filter's log-weights :math:`\ell_k`, contexts C_n of points and states t_k of clusters. A
    column enters in nats alone, so that kinds and units do not matter: f holds the log Bayes factor of the
    cell for the cluster, :math:`\log p(x_{nd} \mid \text{cluster}) - \log p(x_{nd} \mid \text{alone})`, the
    same for all points as one cluster, the cluster's number of cells, and its cohesion,

    .. math:: \frac1{n_{kd}} \Big(\log p(x_{C_k d}) - \sum_{i \in C_k} \log p(x_{id})\Big).

    Missing cells drop out. Training starts at the filter; :meth:`of` gives the same weights for another
    table. Cost of a candidate: ``G (7 V + V^2) + W^2`` multiply-adds for G groups of columns, and the
    foresight.

    Args:
        prior: partition prior of the model.
        component: conjugate family of the model; of columns that depend on one another in a cluster, as of a
            full covariance, all enter as one.
        width: W.
        column_width: V, of what a column says.
        foresight: points to come that each candidate is tried on, see docs/real_data.md; 0 for none.

    Raises:
        ValueError: if a number is not possible, a hyperparameter is random, or there are no compiled
            densities to look ahead with.
    """

    filter: FilterScorer
    fits_any_model = True

    def __init__(
        self,
        prior: PartitionPrior,
        component: ConjugateComponent,
        *,
        width: int = 48,
        column_width: int = 24,
        foresight: int = 48,
    ) -> None:
        super().__init__()
        self.width = check_count("width", width)
        self.column_width = check_count("column_width", column_width)
        self.foresight = check_count("foresight", foresight, at_least=0)
        self._take(prior, component)
        self.see_candidate = _column_network(_OF_CANDIDATE, column_width)
        self.see_cluster = _column_network(_OF_CLUSTER, column_width)
        self.see_point = _column_network(_OF_POINT, column_width)
        self.context = nn.Sequential(
            nn.Linear(2 * column_width + 5, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.state = nn.Sequential(
            nn.Linear(2 * column_width + 2, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.state_to_head = nn.Linear(width, width, bias=False)
        self.contribute = nn.Linear(width, width)
        self.pool = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.columns_to_head = nn.Linear(2 * column_width + 1, width, bias=False)
        self._make_head(at_zero=True)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but prior and component, which are those of the guide's model."""
        return {
            "width": self.width,
            "column_width": self.column_width,
            "foresight": self.foresight,
        }

    def of(self, prior: PartitionPrior, component: ConjugateComponent) -> Self:
        """Return the scorer of another table: a view with the same weights.

        Raises:
            ValueError: as the constructor.
        """
        view = copy.copy(self)
        view._take(prior, component)
        return view

    def positions(self, data: Tensor) -> Tensor:
        """Return sufficient statistics of the points, of mean 0 and variance 1; missing cells are zeros."""
        moments = self.groups.component.moments(data.detach().double())
        centred = moments - moments.mean(1, keepdim=True)
        spread = centred.square().mean(1, keepdim=True).sqrt()
        return torch.where(spread > 0, centred / spread, 0.0)

    def _take(self, prior: PartitionPrior, component: ConjugateComponent) -> None:
        self.groups = ColumnGroups(component)
        self.filter = FilterScorer(prior, self.groups.component)
        if self.foresight and not can_foresee(self.filter):
            raise ValueError(
                f"foresight is {self.foresight}, expected 0: {type(component).__name__} has no compiled "
                "predictive densities"
            )

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> ColumnEncoding:
        """Encode data sets in visiting order, ``(B, N, D)``, nan where a cell is missing, O(N G)."""
        filtered = self.filter.encode(data)
        points, moments = filtered.points, filtered.moments
        groups, family = self.groups, self.groups.component
        alone = groups.log_predictive(points, family.prior_predictive_parameters())
        there = groups.counts(moments)
        every, total = points.new_full(points.shape[:1], points.shape[1]), moments.sum(1)
        together = family.predictive_parameters(every, total).unsqueeze(1)
        whole = groups.log_predictive(points, together) - alone
        gained = groups.log_marginal(every, total) - alone.sum(1)
        cohesion = gained / groups.counts(total).clamp(min=1)
        dtype = self.new_cluster.dtype
        seen = torch.stack([whole.asinh(), cohesion.unsqueeze(1).expand_as(whole), there], -1).to(dtype)
        context = self._context(self._pooled(self.see_point(seen), there.to(dtype)), there.to(dtype))
        ahead = Foresight(filtered, self.foresight) if self.foresight else None
        both = torch.cat([alone, moments], -1)
        return ColumnEncoding(both, there.to(dtype), whole, cohesion, context, filtered, ahead)

    def _context(self, pooled: Tensor, there: Tensor) -> Tensor:
        observed, progress = there.sum(-1, keepdim=True), progress_of(there)
        parts = [pooled, progress, observed.log1p() / 3, observed / there.shape[-1]]
        return self.context(torch.cat(parts, -1))

    def absorb(
        self, encoding: ColumnEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack cells and cohesion of each column, head input, contribution and the filter's state."""
        groups, dtype = self.groups, encoding.context.dtype
        alone, own = moments.tensor_split((groups.num_groups,), -1)
        cells = groups.counts(own)
        cohesion = (groups.log_marginal(counts, own) - alone) / cells.clamp(min=1)
        whole = encoding.cohesion[dataset].unsqueeze(1).expand_as(cohesion)
        seen = torch.stack([cohesion, whole, cells.log1p() / 3], -1).to(dtype)
        pooled = self._pooled(self.see_cluster(seen), (cells > 0).to(dtype))
        size = counts.to(dtype)
        state = self.state(torch.cat([pooled, torch.stack([size.log() / 3, 1 / size], -1)], -1))
        parts = [cells.log1p() / 3, cohesion, self.state_to_head(state), self.contribute(state)]
        return torch.cat([*parts, self.filter.absorb(encoding.filter, dataset, steps, counts, own)], -1)

    def _sampler(self, encoding: ColumnEncoding) -> PrefixSampler | None:
        if not can_foresee(self.filter):
            return None
        there, groups = encoding.there.double(), self.groups.num_groups
        cohesion = encoding.cohesion.unsqueeze(1).expand_as(encoding.whole)
        with torch.no_grad():
            opening = array_of(self.own_of_new(encoding.whole, encoding.there, cohesion).flatten(0, 1))
        sampler = PrefixSampler(
            self,
            encoding,
            # Gains of cells are no sums over points: they are added as points come.
            torch.cat([torch.zeros_like(there), there, encoding.filter.moments], -1),
            put=_put,
            see=_see,
            tables=lambda thread: Columns.of(self, encoding, opening, thread),
            num_kept=groups,
            exponentials=groups * self.column_width,
        )
        thread: Any = sampler.foresight.threads(0, 1)[0].content
        return None if column_functions(thread.family) is None else sampler

    def contribution(self, states: Tensor) -> Tensor:
        """Return the part of a state that clusters sum up."""
        start = 2 * self.groups.num_groups + self.width
        return states[..., start : start + self.width]

    def query(
        self, encoding: ColumnEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack what all candidates share, what the point's columns say, and the filter's query."""
        dtype, groups = encoding.context.dtype, self.groups.num_groups
        shared = encoding.context[dataset, step] + self.pool(pooled.to(dtype))
        own = [encoding.moments[dataset, step, :groups], encoding.whole[dataset, step]]
        columns = [encoding.there[dataset, step], encoding.cohesion[dataset]]
        filtered = self.filter.query(encoding.filter, dataset, step, pooled[..., :0], clusters)
        return torch.cat([shared, *own, *columns, filtered], -1)

    def join(self, query: Tensor, states: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score existing clusters, told what they do to the points to come or not, ``(M, 8)``."""
        groups, width = self.groups.num_groups, self.width
        shared, alone, whole, there, cohesion, point = self._split(query)
        cells, own, state, _, packed = states.tensor_split(
            (groups, 2 * groups, 2 * groups + width, 2 * groups + 2 * width), -1
        )
        log_density = self.groups.log_predictive(point[..., :-1], packed[..., :-1])
        seen = self._columns(log_density - alone, whole, there, cohesion, cells=cells, own=own)
        logit = self._logit(shared, state.to(shared) + seen, self.to_join, ahead)
        return logit + (packed[..., -1] + log_density.sum(-1)).to(logit)

    def open(self, query: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score a new cluster, told what it does to the points to come or not, ``(Q, 8)``."""
        shared, _, whole, there, cohesion, point = self._split(query)
        own = self.own_of_new(whole, there, cohesion)
        return self._logit(shared, own, self.to_open, ahead) + point[..., -1].to(shared)

    def own_of_new(self, whole: Tensor, there: Tensor, cohesion: Tensor) -> Tensor:
        """Return what a new cluster has for itself, from ``(..., G)`` each, giving ``(..., W)``."""
        none = torch.zeros_like(whole)
        return self.new_cluster + self._columns(none, whole, there, cohesion, cells=none, own=none)

    def _split(self, query: Tensor) -> tuple[Tensor, ...]:
        groups, width = self.groups.num_groups, self.width
        cuts = tuple(width + place * groups for place in range(5))
        shared, *others = query.tensor_split(cuts, -1)
        return shared.to(self.new_cluster.dtype), *others

    def _columns(
        self, gain: Tensor, whole: Tensor, there: Tensor, cohesion: Tensor, *, cells: Tensor, own: Tensor
    ) -> Tensor:
        """Describe candidates by their columns, ``(..., G)`` each, giving ``(..., W)``."""
        compared = [one.asinh() for one in (gain, whole, gain - whole, gain - own)]
        features = [*compared, cells, own, cohesion]
        dtype = self.new_cluster.dtype
        seen = self.see_candidate(torch.stack(features, -1).to(dtype))
        total = gain.sum(-1, keepdim=True).asinh().to(dtype)
        return self.columns_to_head(torch.cat([self._pooled(seen, there.to(dtype)), total], -1))

    def _pooled(self, seen: Tensor, there: Tensor) -> Tensor:
        """Pool over the columns that are there, as a mean and as a sum that grows with their root."""
        number = there.sum(-1, keepdim=True).clamp(min=1)
        total = (seen * there.unsqueeze(-1)).sum(-2)
        return torch.cat([total / number, total / number.sqrt()], -1)


def _column_network(features: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())


class Layers(NamedTuple):
    """Two linear layers, each before a sigmoid linear unit; matrices are ``(inputs, outputs)``."""

    first: np.ndarray
    first_bias: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray

    @classmethod
    def of(cls, network: Any) -> "Layers":
        """Lay out the weights."""
        one, two = network[0], network[2]
        return cls(matrix(one), array_of(one.bias), matrix(two), array_of(two.bias))


class Columns(NamedTuple):
    """Weights of the column scorer, data sets laid end to end, and scratch space of a thread.

    Of the moments that clusters sum up the first G are gains: log densities of their cells, each given the
    points before it, less those of the cells alone. Then come the numbers of cells, and the filter's.
    """

    family: Family  # of the filter
    functions: np.ndarray  # of its columns
    candidate: Layers  # what a column says of a candidate
    cluster: Layers  # what it says of a cluster
    state: Layers  # of a cluster
    to_head: np.ndarray  # (2 V + 1, W) float32
    there: np.ndarray  # (B N, G), which cells are there
    alone: np.ndarray  # (B N, G), log densities of cells alone
    whole: np.ndarray  # (B N, G), gains of cells from all points as one cluster
    cohesion: np.ndarray  # (B, G), mean gain of a cell in that cluster
    opening: np.ndarray  # (B N, W) float32, what a new cluster has for itself
    sums: np.ndarray  # moments of the family's clusters, of which the first is used here
    gain: np.ndarray  # (G,), of the cells of a point
    seen: np.ndarray  # (G, 7) float32, what there is to see of each column
    hidden: np.ndarray  # (G, V) float32, of the first layer
    all_hidden: np.ndarray  # the same memory in a row
    outer: np.ndarray  # (G, V) float32, of the second layer
    all_outer: np.ndarray  # the same memory in a row
    pooled: np.ndarray  # (2 V + 2,) float32, over columns

    @classmethod
    def of(cls, scorer: Any, encoding: Any, opening: np.ndarray, thread: Foreseer) -> "Columns":
        """Lay out weights and data sets."""
        functions: Any = column_functions(thread.family)
        groups, width = encoding.there.shape[-1], scorer.column_width
        hidden, outer = np.zeros((2, groups, width), np.float32)
        return cls(
            thread.family,
            functions,
            Layers.of(scorer.see_candidate),
            Layers.of(scorer.see_cluster),
            Layers.of(scorer.state),
            matrix(scorer.columns_to_head),
            array_of(encoding.there.flatten(0, 1) > 0),
            array_of(encoding.moments.flatten(0, 1)[:, :groups]),
            array_of(encoding.whole.flatten(0, 1)),
            array_of(encoding.cohesion),
            opening,
            thread.lanes.sums,
            np.zeros(groups),
            np.zeros((groups, 7), np.float32),
            hidden,
            hidden.reshape(-1),
            outer,
            outer.reshape(-1),
            np.zeros(2 * width + 2, np.float32),
        )


@inner
def _gain(own: Any, prefixes: Any, point: int, at: int) -> None:
    """Write what each cell of a point gains from a cluster that it is not in."""
    groups, moments = len(own.gain), prefixes.moments[at]
    for f in range(own.sums.shape[1]):
        own.sums[0, f] = moments[2 * groups + f]
    refresh(own.family, own.sums, 0, int(prefixes.counts[at]))
    log_predictives_by_column(own.family, own.functions, point, 0, own.gain)
    for g in range(groups):
        own.gain[g] -= own.alone[point, g]


@inner
def _pool(own: Any, layers: Any, room: Any, number: int) -> None:
    """Pool what so many columns say, as a mean and as a sum that grows with their root."""
    hidden, outer, pooled, width = own.hidden, own.outer, own.pooled, own.hidden.shape[1]
    for i in range(number):
        one = hidden[i]
        for j in range(width):
            one[j] = layers.first_bias[j]
        multiply(layers.first, own.seen[i], one)
    silu(room, own.all_hidden, number * width)
    for i in range(number):
        one = outer[i]
        for j in range(width):
            one[j] = layers.second_bias[j]
        multiply(layers.second, hidden[i], one)
    silu(room, own.all_outer, number * width)
    for j in range(width):
        pooled[j] = 0.0
    for i in range(number):
        one = outer[i]
        for j in range(width):
            pooled[j] += one[j]
    mean = np.float32(1.0 / max(number, 1))
    root = np.sqrt(mean)
    for j in range(width):
        pooled[width + j] = pooled[j] * root
        pooled[j] *= mean


@inner
def _put(own: Any, room: Any, points: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Put a point into a cluster, and write the state of that."""
    groups, width, moments = len(own.gain), len(room.one), prefixes.moments[at]
    if prefixes.counts[at] > 0.0:
        _gain(own, prefixes, point, at)
        for g in range(groups):
            moments[g] += own.gain[g]
    add_point(points, prefixes, at, point)
    state, size, number = prefixes.state[at], prefixes.counts[at], np.int64(0)
    for g in range(groups):
        cells = moments[groups + g]
        if cells > 0.0:
            seen = own.seen[number]
            state[2 * width + g] = math.log1p(cells) / 3.0
            seen[0], seen[1] = moments[g] / cells, own.cohesion[dataset, g]
            seen[2] = state[2 * width + g]
            number += 1
    _pool(own, own.cluster, room, number)
    own.pooled[len(own.pooled) - 2] = math.log(size) / 3.0
    own.pooled[len(own.pooled) - 1] = 1.0 / size
    one, two = room.one, room.two
    for j in range(width):
        one[j], two[j] = own.state.first_bias[j], own.state.second_bias[j]
    multiply(own.state.first, own.pooled, one)
    silu(room, one, width)
    multiply(own.state.second, one, two)
    silu(room, two, width)


@inner
def _see(own: Any, room: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Add to the input of the head what a cluster is, and what the cells of the point say of it."""
    groups, width = len(own.gain), len(room.one)
    if at < 0:
        opening = own.opening[point]
        for j in range(width):
            room.one[j] += opening[j]
        return
    _gain(own, prefixes, point, at)
    moments, state, number, total = prefixes.moments[at], prefixes.state[at], np.int64(0), 0.0
    for g in range(groups):
        if own.there[point, g]:
            seen, gain, whole = own.seen[number], own.gain[g], own.whole[point, g]
            mean = moments[g] / max(moments[groups + g], 1.0)
            seen[0], seen[1] = np.arcsinh(gain), np.arcsinh(whole)
            seen[2], seen[3] = np.arcsinh(gain - whole), np.arcsinh(gain - mean)
            seen[4], seen[5], seen[6] = state[2 * width + g], mean, own.cohesion[dataset, g]
            total += gain
            number += 1
    _pool(own, own.candidate, room, number)
    own.pooled[len(own.pooled) - 2] = np.arcsinh(total)
    for j in range(width):
        room.one[j] += state[j]
    multiply(own.to_head, own.pooled, room.one)
