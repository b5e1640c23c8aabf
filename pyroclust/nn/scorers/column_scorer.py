"""The scorer of tables: columns are a set, of any number and kind, and cells may be missing."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.families.component import ConjugateComponent
from pyroclust.distributions.families.partly_observed import ColumnGroups
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.compiled.columns import ColumnSampler
from pyroclust.nn.compiled.filter_tables import can_foresee
from pyroclust.nn.compiled.foresight import Foresight
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

    .. math:: \frac1{n_{kd}} \Big(\log p(x_{C_k d}) - \sum_{i \in C_k} \log p(x_{id})\Big),

    which is large in columns that tell the cluster from others. Missing cells drop out. The head starts at
    zero, so that training starts at the filter; :meth:`of` gives the same weights for another table.

    Cost of a candidate: ``G (7 V + V^2) + W^2`` multiply-adds for G groups of columns, and the foresight.

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
        """Return the sufficient statistics of the points, each of mean 0 and variance 1 in its data set.

        Of categories these are ones and zeros; missing cells count as zeros.
        """
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

    def _sampler(self, encoding: ColumnEncoding) -> ColumnSampler | None:
        if not can_foresee(self.filter):
            return None
        sampler = ColumnSampler(self, encoding)
        return None if sampler.columns is None else sampler

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
