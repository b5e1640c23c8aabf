"""Scoring candidates by the collapsed predictive: exact given the past, blind to the future."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pyroclust.distributions.components import ConjugateComponent
from pyroclust.distributions.partition_prior import PartitionPrior

__all__ = ["FilterEncoding", "FilterScorer"]


@dataclass(frozen=True)
class FilterEncoding:
    """Points in visiting order with their sufficient statistics."""

    points: Tensor  # (B, N, D) float64
    moments: Tensor  # (B, N, F) float64
    opening: Tensor  # (B, N) float64, log predictive density of an empty cluster


class FilterScorer:
    r"""Log-weights of the exact no-look-ahead filter.

    .. math:: q(c_n = k \mid \cdot) \propto p(c_n = k \mid c_{<n}) \, p(x_n \mid x_i, i < n, c_i = k)

    The prior's weights are :math:`n_k - d` of joining a cluster and :math:`V_n(K+1) / V_n(K)` of opening one,
    zero where the prior allows no further cluster.

    Args:
        prior: Gibbs-type partition prior with known hyperparameters, the same for all data sets.
        component: conjugate component family.

    Raises:
        ValueError: if a hyperparameter of the prior is random or a batch.
    """

    def __init__(self, prior: PartitionPrior, component: ConjugateComponent) -> None:
        if prior.batch_shape:
            raise ValueError(
                f"prior has hyperparameters of shape {tuple(prior.batch_shape)}, expected single numbers"
            )
        self.prior, self.component = prior, component
        self._discount = prior.block_discount.item()
        self._empty = component.prior_predictive_parameters()
        self._opening_odds = torch.empty(0, 0, dtype=torch.float64)

    def encode(self, data: Tensor) -> FilterEncoding:
        """Compute sufficient statistics and empty-cluster densities, ``(B, N, D)``, in O(N)."""
        points = data.detach().double()
        opening = self.component.log_predictive(points, self._empty)
        return FilterEncoding(points, self.component.moments(points), opening)

    def absorb(
        self, encoding: FilterEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack predictive parameters and the log-weights of joining."""
        predictive = self.component.predictive_parameters(counts, moments)
        return torch.cat([predictive, (counts - self._discount).log().unsqueeze(-1)], -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Contribute nothing: the filter pools nothing."""
        return states[..., :0]

    def query(
        self, encoding: FilterEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Return the point and the log-weight of a new cluster, ``(Q, D + 1)``."""
        opening = encoding.opening[dataset, step] + self._log_opening_odds(step, clusters)
        return torch.cat([encoding.points[dataset, step], opening.unsqueeze(-1)], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Return log(n_k - d) plus the log predictive density."""
        return states[..., -1] + self.component.log_predictive(query[..., :-1], states[..., :-1])

    def open(self, query: Tensor) -> Tensor:
        """Return the log-weight of a new cluster."""
        return query[..., -1]

    def _log_opening_odds(self, step: Tensor, clusters: Tensor) -> Tensor:
        """Return the prior's log-weight of a new cluster, from a table that grows when needed."""
        steps, width = int(step.max()) + 1, int(clusters.max()) + 1
        if steps > self._opening_odds.shape[0] or width > self._opening_odds.shape[1]:
            self._opening_odds = self.prior.log_opening_table(
                1 << steps.bit_length(), 1 << width.bit_length()
            )
        return self._opening_odds.to(step.device)[step, clusters]
