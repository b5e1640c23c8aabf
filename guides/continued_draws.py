"""Draws of some rows, continued to more rows by the exact filter: a guide of tables that grow."""

from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.sequential.partition import AnchoredPartition
from pyroclust.guides.exact_filter import exact_filter

__all__ = ["ContinuedDraws", "DrawsOfRows"]


class DrawsOfRows(PartitionDistribution):
    r"""Draws of a posterior as a law of it: sampling takes one of them, each as often as another.

    Its log-probability is the log joint density :math:`\log p(c, x)`, which the posterior's exceeds by
    :math:`-\log p(x)`: weights of what is built upon it are relative to that evidence.

    Args:
        model: the mixture.
        data: the rows, ``(N, D)``.
        draws: canonical labels, ``(S, N)``.
    """

    def __init__(self, model: Any, data: Tensor, draws: Tensor) -> None:
        self._model, self._rows, self._draws = model, data, draws
        self._joint: Tensor = model.log_joint(data, draws)
        super().__init__(len(data), batch_shape=Size(), validate_args=False)

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        some = torch.randint(len(self._draws), (sample_shape.numel(),))
        return self._draws[some].reshape(*sample_shape, -1), self._joint[some].reshape(sample_shape)

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._sample_and_log_prob(sample_shape)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        found: Tensor = self._model.log_joint(self._rows, value)
        return found


class ContinuedDraws:
    r"""A guide of old and new rows: the old ones as they were drawn, the new ones by the exact filter.

    .. math:: q(c) = p(c_{old} \mid x_{old}) \prod_{i\ new} p(c_i \mid c_{<i}, x_{\le i})

    Each posterior visits the new rows in another order. Importance weights are
    :math:`\prod_i p(x_i \mid c_{<i}, x_{<i})`, and their mean the evidence :math:`p(x_{new} \mid x_{old})`.

    Args:
        model: a conjugate mixture.
        draws: of the old rows, ``(S, N)``.
    """

    def __init__(self, model: Any, draws: Tensor) -> None:
        self.model, self._draws = model, draws

    def posterior(self, data: Tensor) -> AnchoredPartition:
        """Return the law of the partition of all rows, ``(N + M, D)``, the old ones first.

        Args:
            data: the rows.
        """
        old = self._draws.shape[-1]
        first = torch.arange(old)
        order = torch.cat([first, old + torch.randperm(len(data) - old)])
        filtered = self._filter(data[:old])
        return AnchoredPartition(
            DrawsOfRows(self.model, data[:old], self._draws),
            filtered.posterior(data, order=order),
            filtered.posterior(data[:old], order=first),
        )

    def _filter(self, rows: Tensor) -> Any:
        """Return the exact filter, with random hyperparameters of clusters as draws have them on average."""
        component = self.model.component
        found = component.over_hyperparameters(*block_moments(component, rows, self._draws))
        known = {name: float(one.transform(one.mean.mean())) for name, one in found.items()}
        return exact_filter(self.model.given(known)).eval()
