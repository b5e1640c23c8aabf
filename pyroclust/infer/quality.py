"""How far a guide is from the posterior of its model, data set by data set."""

import math

import torch
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import JointModel, PartitionGuide
from pyroclust.infer.checks import log_joint_of, points_of, require_likelihood
from pyroclust.infer.exact import exact_posterior
from pyroclust.partitions import bell_number

__all__ = [
    "PARTITIONS_AT_ONCE",
    "POINTS_AT_ONCE",
    "divergence",
    "divergences",
    "effective_shares",
    "efficiencies",
    "log_importance_weights",
]

# Partitions scored at once against one block of data sets, and points drawn at once.
PARTITIONS_AT_ONCE = 1 << 16
POINTS_AT_ONCE = 1 << 20
# Log-probability below which a partition's share in a divergence is not worth an estimate: 1e-7.
_NEGLIGIBLE = -16.1


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    r"""Return :math:`KL(p \| q) = \sum_c p_c (\log p_c - \log q_c)` in nats over tabled laws.

    A partition that is impossible under p contributes nothing: 0 log 0 = 0.

    Shape:
        log_p, log_q: ``(..., C)``, log-probabilities; output: ``(...)``.

    Example:
        >>> divergence(torch.tensor([1.0, 0.0]).log(), torch.tensor([0.5, 0.5]).log()).exp()
        tensor(2.)
    """
    return torch.where(log_p.isfinite(), log_p.exp() * (log_p - log_q), 0.0).sum(-1)


@torch.no_grad()
def divergences(model: JointModel, guide: PartitionGuide, data: Tensor) -> Tensor:
    r"""Return the divergence of a guide from the exact posterior of each data set, in nats.

    .. math:: KL(p \| q) = \sum_c p(c \mid x) \log \frac{p(c \mid x)}{q(c \mid x)}

    All partitions are enumerated, in blocks of bounded memory: cost O(Bell(N)) log-probabilities a data set;
    guides that label point by point score every prefix once, a fifth of a partition's steps. Where the
    guide's log-probabilities are estimates, partitions of posterior probability below 1e-7 are left out, and
    the divergence comes out too large by half of the estimates' mean squared error.

    Args:
        model: a model with ``log_joint``.
        guide: a guide.
        data: data sets of at most 10 points.

    Shape:
        data: ``(B, N, D)``; output: ``(B,)`` float64.

    Raises:
        ValueError: if N is above 10, or the data are not finite.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> from pyroclust.models import gaussian2d
        >>> class PriorGuide:
        ...     def posterior(self, data):
        ...         return ChineseRestaurantProcess(0.7, data.shape[-2]).expand(data.shape[:-2])
        >>> divergences(gaussian2d(), PriorGuide(), torch.zeros(3, 5, 2)).shape
        torch.Size([3])
    """
    require_likelihood(model, what="the divergence from the posterior")
    data = _data_sets(model, data)
    rows = max(1, PARTITIONS_AT_ONCE // bell_number(data.shape[-model.event_dim]))
    found = []
    for block in data.split(rows):
        partitions, log_p = exact_posterior(model, block)
        posterior = guide.posterior(block)
        if posterior.is_exact:
            every = partitions.unsqueeze(1).expand(-1, len(block), -1)
        else:
            log_p, likely = log_p.topk(int((log_p > _NEGLIGIBLE).sum(-1).max()), -1)
            every = partitions[likely].movedim(1, 0)
        log_q = posterior.merged_log_prob(every).double().movedim(0, -1)
        found.append(divergence(log_p, log_q))
    return torch.cat(found)


def efficiencies(model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int) -> Tensor:
    r"""Return the effective share of a guide's draws as importance samples of each data set's posterior.

    .. math:: \frac{(\sum_s w_s)^2}{S \sum_s w_s^2}, \qquad w_s = \frac{p(c_s, x)}{q(c_s \mid x)}

    Cost O(S) draws a data set, in blocks of data sets of bounded memory.

    Args:
        model: a model with ``log_joint``.
        guide: a guide whose posterior has exact log-probabilities.
        data: data sets.
        num_draws: draws S a data set.

    Shape:
        data: ``(B, N, D)``; output: ``(B,)`` float64, between 1 / S and 1.

    Raises:
        ValueError: if the data are not finite, or ``num_draws`` is below 1.

    References:
        Kong, Liu & Wong (1994). https://doi.org/10.1080/01621459.1994.10476469

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> from pyroclust.models import gaussian2d
        >>> class PriorGuide:
        ...     def posterior(self, data):
        ...         return ChineseRestaurantProcess(0.7, data.shape[-2]).expand(data.shape[:-2])
        >>> bool((efficiencies(gaussian2d(), PriorGuide(), torch.zeros(3, 9, 2), num_draws=50) <= 1).all())
        True
    """
    return effective_shares(log_importance_weights(model, guide, data, num_draws=num_draws))


def effective_shares(log_weights: Tensor) -> Tensor:
    r"""Return the effective shares :math:`(\sum w)^2 / (S \sum w^2)` of weighted draws of many data sets.

    Shape:
        log_weights: ``(S, *batch)`` in nats; output: ``(*batch)``.

    Example:
        >>> effective_shares(torch.tensor([0.0, 0.0, -torch.inf]))
        tensor(0.6667)
    """
    return (2 * log_weights.logsumexp(0) - (2 * log_weights).logsumexp(0) - math.log(len(log_weights))).exp()


@torch.no_grad()
def log_importance_weights(
    model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int
) -> Tensor:
    """Return log weights of a guide's draws of many data sets, drawn in blocks of bounded memory.

    Shape:
        data: ``(B, N, D)``; output: ``(S, B)`` float64 in nats.

    Raises:
        ValueError: if the data are not finite, or ``num_draws`` is below 1.
    """
    require_likelihood(model, what="importance sampling")
    num_draws, data = check_count("num_draws", num_draws), _data_sets(model, data)
    rows = max(1, POINTS_AT_ONCE // (num_draws * data.shape[-model.event_dim]))
    found = []
    for block in data.split(rows):
        labels, log_prob = guide.posterior(block).sample_and_log_prob((num_draws,))
        found.append(log_joint_of(model, block, labels) - log_prob.double())
    return torch.cat(found, 1)


def _data_sets(model: JointModel, data: Points) -> Tensor:
    """Return data sets ``(B, N, D)``, at least one."""
    points = points_of(model, data)
    if points.dim() != model.event_dim + 1 or not len(points):
        raise ValueError(
            f"data has shape {tuple(points.shape)}, expected data sets (B, N, D), at least one: "
            "add the dimension of data sets, data[None]"
        )
    return points
