"""A guide that is the exact posterior of few points, or a known distortion of it."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.infer import exact_posterior
from pyroclust.partitions import enumerate_partitions


class EnumeratedPosterior(PartitionDistribution):
    """A law over all partitions, one row of log-probabilities a data set."""

    def __init__(self, log_probs: Tensor, num_points: int) -> None:
        super().__init__(num_points, batch_shape=log_probs.shape[:-1], validate_args=False)
        self.log_probs, self.partitions = log_probs, enumerate_partitions(num_points)
        self.powers = num_points ** torch.arange(num_points - 1, -1, -1)
        self.keys = self.partitions @ self.powers

    def _sample(self, shape: torch.Size) -> Tensor:
        return self.sample_and_log_prob(shape)[0]

    def sample_and_log_prob(self, shape: Any = ()) -> tuple[Tensor, Tensor]:
        index = torch.distributions.Categorical(logits=self.log_probs).sample(torch.Size(shape))
        draws = self.partitions[index]
        return draws, self.log_prob(draws)

    def _log_prob(self, value: Tensor) -> Tensor:
        index = torch.searchsorted(self.keys, value @ self.powers)
        rows = self.log_probs.expand(*index.shape, -1)
        return rows.gather(-1, index.unsqueeze(-1)).squeeze(-1)


class EnumeratedGuide:
    """The exact posterior of ``believed``, raised to a power: exact if that is the model and the power 1."""

    conditions = ()
    mixes_orders = False

    def __init__(self, model: Any, *, believed: Any | None = None, power: float = 1.0) -> None:
        self.model, self.believed, self.power = model, believed or model, power

    def posterior(self, data: Tensor) -> EnumeratedPosterior:
        log_probs = exact_posterior(self.believed, data)[1]
        return EnumeratedPosterior((self.power * log_probs).log_softmax(-1), data.shape[-2])
