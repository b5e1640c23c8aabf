"""The law of a new point given draws of partitions and of the parameters of their clusters."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from pyroclust.core.random_state import seeded
from pyroclust.distributions.points import Points, as_points, check_points
from pyroclust.models.mixture import Mixture
from pyroclust.models.predictive import MAX_ENTRIES, NewPoints, next_cluster_log_weights
from pyroclust.partitions import as_partitions, label_range


class SampledPredictive(NewPoints):
    r"""The law of one more point under a family that is not conjugate, averaged over S draws.

    .. math:: p(x^* \mid x) \approx \frac{1}{S} \sum_s \Big[ \sum_{k \le K_s} p(c^* = k \mid c^{(s)}) \,
        F(x^*; \theta_k^{(s)}) + p(\text{new} \mid c^{(s)}) \, \frac{1}{R} \sum_r F(x^*; \theta_r) \Big],
        \qquad \theta_r \sim G_0

    Draws of partition and parameters take the place of the integral that conjugate families have in
    :class:`~pyroclust.models.PosteriorPredictive`, and R draws of the prior that of a new cluster.

    Args:
        model: a mixture, its hyperparameters known or integrated out.
        data: points, ``(N, D)``.
        assignments: draws of the partition, canonical labels ``(S, N)``.
        parameters: of the clusters of every draw, by name, ``(S, K, *event)``; K is the largest number of
            clusters, and rows of clusters that a draw lacks are passed over.
        num_prior: R.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data, draws = torch.tensor([[0.0, 0.0], [30.0, 0.0]]), torch.tensor([[0, 1]])
        >>> centres = {"loc": torch.tensor([[[0.0, 0.0], [30.0, 0.0]]])}
        >>> law = SampledPredictive(gaussian2d(), data, draws, parameters=centres)
        >>> law.cluster_probs(torch.tensor([29.0, 0.0]), torch.tensor([0, 1])).round().tolist()
        [0.0, 1.0, 0.0]

    """

    def __init__(
        self,
        model: Mixture,
        data: Points,
        assignments: Tensor,
        *,
        parameters: Mapping[str, Tensor],
        num_prior: int = 1000,
    ) -> None:
        self.model, self._data, self._num_prior = model, as_points(data).double(), num_prior
        check_points(self._data, model.event_shape)
        self._labels = as_partitions("assignments", assignments, num_points=len(self._data))
        if self._labels.dim() != 2:
            raise ValueError(f"assignments has shape {tuple(assignments.shape)}, expected (S, N)")
        self._clusters = label_range(self._labels)
        draws, slots = len(self._labels), int(self._clusters.max())
        for name, value in parameters.items():
            if value.shape[:2] != (draws, slots):
                raise ValueError(
                    f"parameters has {name!r} of shape {tuple(value.shape)}, expected ({draws}, {slots}, ...)"
                )
        counts = torch.zeros(draws, slots + 1, dtype=torch.float64)
        self._counts = counts.scatter_add_(
            1, self._labels, torch.ones_like(self._labels, dtype=torch.float64)
        )
        self._parameters = {name: value.double().flatten(0, 1) for name, value in parameters.items()}
        # The law of a new cluster is the same whenever it is asked for.
        with seeded(0):
            drawn = model.component.sample_prior((num_prior,))
        self._prior = {name: value.double() for name, value in drawn.items()}
        self._log_weights = next_cluster_log_weights(model, self._counts, self._clusters)

    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        r"""Return the log predictive density of points of the data, each left out of it.

        .. math:: p(x_i \mid x_{-i}) = 1 \Big/ E\big[ 1 / p(x_i \mid c_{-i}, \theta) \,\big|\, x \big]

        with importance weights :math:`1 / p(x_i \mid c_{-i}, \theta)` that are truncated at their mean times
        the root of S. Cost O(S K D) a point.

        Shape:
            rows: places of points, ``(M,)`` int64; output: ``(M,)`` float64, in nats.

        Args:
            rows: which points.
            hidden: of no use here: these families take no missing cells.

        References:
            Ionides (2008), Truncated importance sampling. https://doi.org/10.1198/106186008X320456
        """
        found = torch.cat([self._left_out(some) for some in rows.split(self._at_once)])
        draws = found.shape[-1]
        largest = (-found).logsumexp(-1, keepdim=True) - math.log(draws) + 0.5 * math.log(draws)
        weights = torch.minimum(-found, largest)
        return (weights + found).logsumexp(-1) - weights.logsumexp(-1)

    def _left_out(self, rows: Tensor) -> Tensor:
        """Return log p(x_i | c_{-i}, theta) of each draw, ``(M, S)``."""
        own = self._labels[:, rows].T.unsqueeze(-1)
        counts = self._counts.expand(len(rows), *self._counts.shape)
        counts = counts.scatter_add(-1, own, torch.full_like(own, -1, dtype=counts.dtype))
        left = counts.gather(-1, own).squeeze(-1)
        clusters = self._clusters - (left == 0).long()
        weights = next_cluster_log_weights(self.model, counts, clusters, new_at=self._clusters)
        return (self._log_density(self._data[rows]) + weights).logsumexp(-1)

    def _log_joint(self, points: Tensor) -> Tensor:
        return self._log_density(points.double()) + self._log_weights

    def _log_density(self, points: Tensor) -> Tensor:
        """Return the log density of points in all clusters of each draw, ``(M, S, K + 1)``."""
        draws, columns = self._counts.shape
        own = self._log_likelihood(points, self._parameters).unflatten(-1, (draws, columns - 1))
        new = self._log_likelihood(points, self._prior).logsumexp(-1) - math.log(self._num_prior)
        density = torch.cat([own, torch.full_like(own[..., :1], -torch.inf)], -1)
        at = self._clusters.view(1, -1, 1).expand(len(points), -1, 1)
        return density.scatter(-1, at, new.view(-1, 1, 1).expand_as(at).to(density))

    def _log_likelihood(self, points: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        law = self.model.component.likelihood(parameters)
        found: Tensor = law.log_prob(points.unsqueeze(-2)).double()
        return found.nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)

    @property
    def _at_once(self) -> int:
        each = self._counts.numel() + self._num_prior
        return max(1, MAX_ENTRIES // (each * self._data.shape[-1]))
