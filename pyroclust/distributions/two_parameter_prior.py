"""What the priors of the two-parameter family share."""

from abc import abstractmethod

import torch
from torch import Tensor

from pyroclust.distributions.partition_prior import PartitionPrior
from pyroclust.distributions.two_parameter import log_two_parameter_v

__all__ = ["TwoParameterPrior"]


class TwoParameterPrior(PartitionPrior):
    r"""A Gibbs-type prior whose weights are given by a discount and a concentration.

    .. math:: V_N(K) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}

    Subclasses translate their hyperparameters in ``_two_parameters``.
    """

    @abstractmethod
    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        """Return discount and concentration, float64, broadcast together."""

    @property
    def block_discount(self) -> Tensor:
        """The discount d of the block weights, ``()`` or ``(*batch)`` float64."""
        return self._two_parameters()[0]

    def log_opening_odds(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log(a + K d), the log-weight of a new cluster after n points in K.

        Shape:
            clusters: ``(...)``, broadcast with ``batch_shape``; output: their broadcast, float64; minus
            infinity where there can be no further cluster, and where K clusters are impossible.
        """
        discount, concentration = (one.to(clusters.device) for one in self._two_parameters())
        weight = concentration + clusters * discount
        possible = (weight > 0) & (clusters >= 1) & (clusters <= num_points)
        return torch.where(possible, torch.where(possible, weight, 1.0).log(), -torch.inf)

    def log_opening_table(self, num_points: int, width: int) -> Tensor:
        """Tabulate :meth:`log_opening_odds` for every number of points and clusters, in O(1) an entry.

        For hyperparameters that are single numbers.

        Shape:
            output: ``(num_points, width)`` float64 for n = 0, ..., num_points - 1 and K = 0, ..., width - 1.
        """
        clusters = torch.arange(width)
        odds = self.log_opening_odds(num_points, clusters)
        possible = clusters <= torch.arange(num_points).unsqueeze(-1)
        return torch.where(possible, odds, -torch.inf)

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        discount, concentration = self._two_parameters()
        return log_two_parameter_v(discount, concentration, num_points=num_points, clusters=clusters)
