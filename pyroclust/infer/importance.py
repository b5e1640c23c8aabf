"""Importance sampling of a model's posterior from an amortized guide."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from arviz_stats.base import array_stats
from torch import Tensor

from pyroclust.infer.checks import check_finite
from pyroclust.infer.exact import JointModel

__all__ = ["ImportanceSample", "PartitionGuide", "PartitionPosterior", "importance_sample"]


class PartitionPosterior(Protocol):
    """A distribution over partitions that knows the probability of its draws."""

    def sample_and_log_prob(self, sample_shape: Any) -> tuple[Tensor, Tensor]:
        """Return draws ``(S, *batch, N)`` and their log-probabilities ``(S, *batch)`` in nats."""
        ...


class PartitionGuide(Protocol):
    """A guide as importance sampling sees it: one method."""

    def posterior(self, data: Tensor) -> PartitionPosterior:
        """Return the approximate posterior of the partition given data."""
        ...


@dataclass(frozen=True)
class ImportanceSample:
    r"""Draws of a guide, weighted towards the posterior of a model.

    .. math:: w_s = p(c_s, x) / q(c_s \mid x)

    Attributes:
        assignments: draws of the guide, ``(S, *batch, N)`` int64.
        log_prob: log q in nats, ``(S, *batch)`` float64.
        log_joint: log p(c, x) in nats, ``(S, *batch)`` float64.
    """

    assignments: Tensor
    log_prob: Tensor
    log_joint: Tensor

    @property
    def log_weights(self) -> Tensor:
        """Unnormalised log weights log p(c, x) - log q(c), ``(S, *batch)`` in nats."""
        return self.log_joint - self.log_prob

    @property
    def efficiency(self) -> Tensor:
        r"""Effective share of the draws :math:`(\sum w)^2 / (S \sum w^2)`, in (0, 1], ``(*batch)``.

        References:
            Kong, Liu and Wong (1994). https://doi.org/10.1080/01621459.1994.10476469
        """
        weights = self.log_weights
        return (2 * weights.logsumexp(0) - (2 * weights).logsumexp(0) - math.log(len(weights))).exp()

    @property
    def log_evidence(self) -> Tensor:
        r"""Estimate of log p(x) in nats, :math:`\log \frac1S \sum_s w_s`, ``(*batch)``, unbiased in w."""
        return self.log_weights.logsumexp(0) - math.log(len(self.log_weights))

    @property
    def pareto_k(self) -> Tensor:
        """Shape of the generalised Pareto tail of the weights, ``(*batch)`` float64; reliable below 0.7.

        Where the largest weight is shared by the whole tail (log weights within 1e-4 nats, the rounding of
        a float32 guide) the weights are bounded and no tail can be fitted: k is -inf. With fewer than 25
        draws the tail has fewer than five draws and k is nan.

        References:
            Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
        """
        weights = self.log_weights
        columns = weights.reshape(len(weights), -1).T.cpu().numpy()
        return torch.tensor([_pareto_k(column) for column in columns], dtype=torch.float64).reshape(
            weights.shape[1:]
        )


def _pareto_k(log_weights: np.ndarray) -> float:
    num_draws = len(log_weights)
    tail = int(3 * num_draws**0.5) if num_draws > 225 else num_draws // 5
    if tail < 5:
        return math.nan
    highest = np.sort(log_weights)[-tail:]
    if highest[-1] - highest[0] < 1e-4:
        return -math.inf
    # psislw was made for leave-one-out cross-validation and negates its argument.
    return float(array_stats.psislw(-log_weights)[1])


def importance_sample(
    model: JointModel, guide: PartitionGuide, data: Tensor, *, num_draws: int
) -> ImportanceSample:
    """Draw partitions from a guide and weight them by a model.

    Args:
        model: a model with ``log_joint``.
        guide: a guide whose ``posterior(data)`` has exact log-probabilities.
        data: data sets, ``(*batch, N, D)``.
        num_draws: draws S a data set.

    Shape:
        output: see :class:`ImportanceSample`.

    Raises:
        ValueError: if the data are not finite, or ``num_draws`` is below 1.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> from pyroclust.models import gaussian2d
        >>> class PriorGuide:
        ...     def posterior(self, data):
        ...         return ChineseRestaurantProcess(0.7, data.shape[-2])
        >>> sample = importance_sample(gaussian2d(), PriorGuide(), torch.zeros(4, 2), num_draws=50)
        >>> sample.assignments.shape, sample.log_weights.shape
        (torch.Size([50, 4]), torch.Size([50]))
    """
    if num_draws < 1:
        raise ValueError(f"num_draws is {num_draws}, expected at least 1")
    check_finite(data)
    with torch.no_grad():
        assignments, log_prob = guide.posterior(data).sample_and_log_prob((num_draws,))
        return ImportanceSample(assignments, log_prob.double(), model.log_joint(data, assignments))
