"""What weighted draws of partitions can be asked, wherever the weights come from."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

__all__ = ["WeightedPartitions"]


class WeightedPartitions(ABC):
    r"""Draws :math:`c_1, \ldots, c_S` with weights whose mean estimates the evidence without bias.

    .. math:: E\Big[\frac1S \sum_s w_s \, f(c_s)\Big] = \sum_c p(c, x) \, f(c)

    Attributes:
        assignments: the draws, ``(S, *batch, N)`` int64.
    """

    assignments: Tensor

    if TYPE_CHECKING:

        @property
        def log_weights(self) -> Tensor:
            """Log weights, ``(S, *batch)`` in nats."""

    @property
    @abstractmethod
    def normalised_log_weights(self) -> Tensor:
        """Log weights for averages over the draws, ``(S, *batch)`` in nats; they sum to one over S."""

    @property
    def log_evidence(self) -> Tensor:
        r"""Estimate of log p(x) in nats, :math:`\log \frac1S \sum_s w_s`, ``(*batch)``, unbiased in w."""
        return self.log_weights.logsumexp(0) - math.log(len(self.log_weights))

    @property
    def efficiency(self) -> Tensor:
        r"""Effective share of the draws :math:`(\sum w)^2 / (S \sum w^2)`, in (0, 1], ``(*batch)``.

        References:
            Kong, Liu and Wong (1994). https://doi.org/10.1080/01621459.1994.10476469
        """
        weights = self.log_weights
        return (2 * weights.logsumexp(0) - (2 * weights).logsumexp(0) - math.log(len(weights))).exp()

    def expectation(self, values: Tensor) -> Tensor:
        r"""Return posterior means :math:`\sum_s \bar w_s v_s` of a functional, one value a draw.

        Shape:
            values: ``(S, *batch, *event)``; output: ``(*batch, *event)`` float64.

        Raises:
            ValueError: if ``values`` does not begin with the shape of the weights.
        """
        weights = self.normalised_log_weights.exp()
        if values.shape[: weights.dim()] != weights.shape:
            raise ValueError(
                f"values has shape {tuple(values.shape)}, expected it to begin with {tuple(weights.shape)}, "
                "one value a draw"
            )
        weights = weights.view(*weights.shape, *(1,) * (values.dim() - weights.dim()))
        return (weights * values.double()).sum(0)

    def resample(self, num_draws: int) -> Tensor:
        """Draw partitions with the probabilities of their weights, independently and with replacement.

        Shape:
            output: ``(num_draws, *batch, N)`` int64.

        Raises:
            ValueError: if ``num_draws`` is below 1.
        """
        if num_draws < 1:
            raise ValueError(f"num_draws is {num_draws}, expected at least 1")
        weights = self.normalised_log_weights.exp()
        columns = weights.reshape(len(weights), -1).T
        index = torch.multinomial(columns, num_draws, replacement=True).T.reshape(
            num_draws, *weights.shape[1:]
        )
        return self.assignments.gather(
            0, index.unsqueeze(-1).expand(*index.shape, self.assignments.shape[-1])
        )
