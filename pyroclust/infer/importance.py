"""Importance sampling of a model's posterior from an amortized guide."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pyroclust.counts import check_count
from pyroclust.diagnostics.weights.importance import smooth_log_weights, stratified_draws
from pyroclust.infer.checks import log_joint_of, points_of, require_likelihood
from pyroclust.memory import check_memory
from pyroclust.points import Points
from pyroclust.protocols import JointModel, PartitionGuide

__all__ = ["ImportanceSample", "WeightedPartitions", "importance_sample", "relative_error", "resampled"]


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
        num_draws = check_count("num_draws", num_draws)
        check_memory(
            4 * 8 * num_draws * self.assignments[0].numel(),
            f"num_draws is {num_draws}: partitions",
            remedy="draw fewer at a time",
        )
        weights = self.normalised_log_weights.exp()
        columns = weights.reshape(len(weights), -1).T
        index = torch.multinomial(columns, num_draws, replacement=True).T.reshape(
            num_draws, *weights.shape[1:]
        )
        return self.assignments.gather(
            0, index.unsqueeze(-1).expand(*index.shape, self.assignments.shape[-1])
        )


@dataclass(frozen=True)
class ImportanceSample(WeightedPartitions):
    r"""Draws of a guide, weighted towards the posterior of a model.

    .. math:: w_s = p(c_s, x) / q(c_s \mid x)

    Averages use Pareto-smoothed weights; the evidence and the efficiency use the weights as they are.

    Attributes:
        assignments: draws of the guide, ``(S, *batch, N)`` int64.
        log_prob: log q in nats, ``(S, *batch)`` float64.
        log_joint: log p(c, x) in nats, ``(S, *batch)`` float64.

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
    """

    assignments: Tensor
    log_prob: Tensor
    log_joint: Tensor

    def __repr__(self) -> str:
        """Return the sizes and the efficiency."""
        draws, *batch = self.log_prob.shape
        sets = f" for {tuple(batch)} data sets" if batch else ""
        share = self.efficiency.median().item()
        return f"ImportanceSample({draws} draws{sets}, median efficiency {share:.2f})"

    @property
    def log_weights(self) -> Tensor:
        """Unnormalised log weights log p(c, x) - log q(c), ``(S, *batch)`` in nats."""
        return self.log_joint - self.log_prob

    @property
    def smoothed_log_weights(self) -> Tensor:
        """Pareto-smoothed log weights, ``(S, *batch)`` float64 in nats; they sum to one over S.

        See :func:`pyroclust.diagnostics.smooth_log_weights`. Where no tail can be fitted they are the plain
        normalised weights. Cost O(S log S) a data set, once a sample.

        Raises:
            ValueError: if a log weight is nan or plus infinity, or all draws of a data set have weight zero.
        """
        return self._smoothed[0]

    @property
    def normalised_log_weights(self) -> Tensor:
        """The smoothed log weights."""
        return self.smoothed_log_weights

    @property
    def pareto_k(self) -> Tensor:
        """Shape of the generalised Pareto tail of the weights, ``(*batch)`` float64; reliable below 0.7.

        Where the largest weight is shared by the whole tail the weights are bounded: k is -inf. Where the
        tail has fewer than five draws k cannot be fitted: it is nan. See
        :func:`pyroclust.diagnostics.smooth_log_weights`.
        """
        return self._smoothed[1]

    @property
    def log_evidence_error(self) -> Tensor:
        r"""Standard error of ``log_evidence`` in nats, ``(*batch)``; nan for one draw.

        .. math:: \frac{\mathrm{sd}(w)}{\sqrt S \, \bar w}

        By the delta method: take it seriously only while :attr:`pareto_k` is below 0.7.
        """
        return relative_error(self.log_weights)

    @cached_property
    def _smoothed(self) -> tuple[Tensor, Tensor]:
        weights = self.log_weights
        columns = weights.reshape(len(weights), -1).T.cpu().numpy()
        smoothed, k = zip(*(smooth_log_weights(column) for column in columns), strict=True)
        tails = torch.tensor(k, dtype=torch.float64, device=weights.device).reshape(weights.shape[1:])
        return torch.from_numpy(np.stack(smoothed, 1)).to(weights.device).reshape(weights.shape), tails


def relative_error(log_weights: Tensor) -> Tensor:
    """Return the standard error of a mean of independent weights over that mean, nan for one weight.

    By the delta method this is the standard error of the log of the mean.

    Shape:
        log_weights: ``(S, *batch)``; output: ``(*batch)``.

    Example:
        >>> relative_error(torch.tensor([1.0, 3.0]).log())
        tensor(0.5000)
    """
    if len(log_weights) < 2:
        return torch.full_like(log_weights[0], math.nan)
    log_mean = log_weights.logsumexp(0) - math.log(len(log_weights))
    return (log_weights - log_mean).exp().std(0) / len(log_weights) ** 0.5


def importance_sample(
    model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int
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
    num_draws = check_count("num_draws", num_draws)
    require_likelihood(model, what="importance sampling")
    data = points_of(model, data)
    with torch.no_grad():
        assignments, log_prob = guide.posterior(data).sample_and_log_prob((num_draws,))
        return ImportanceSample(assignments, log_prob.double(), log_joint_of(model, data, assignments))


def resampled(log_shares: Tensor, num_draws: int) -> Tensor:
    """Return places of weighted draws so that they have equal weights, stratified by torch's generator.

    Args:
        log_shares: log weights that sum to one, ``(S,)`` in nats.
        num_draws: places to return, in order.

    Example:
        >>> resampled(torch.tensor([0.5, 0.0, 0.5]).log(), 4)
        tensor([0, 0, 2, 2])
    """
    uniform = torch.rand(num_draws, dtype=torch.float64)
    return torch.from_numpy(stratified_draws(log_shares.exp().numpy(), uniform.numpy()))
