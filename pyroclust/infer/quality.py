"""How far a guide is from the posterior of its model, data set by data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.diagnostics import pareto_k
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel, JointModel, PartitionGuide
from pyroclust.infer.checks import log_joint_of, points_of, require_likelihood
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.simulation import group_by_size
from pyroclust.partitions import bell_number

# Partitions scored at once against one block of data sets, and points drawn at once.
_PARTITIONS_AT_ONCE = 1 << 16
_POINTS_AT_ONCE = 1 << 20
# Log-probability below which a partition's share in a divergence is not worth an estimate: 1e-7.
_NEGLIGIBLE = -16.1


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    r"""Return :math:`KL(p \| q) = \sum_c p_c (\log p_c - \log q_c)` in nats over tabled laws."""
    return torch.where(log_p.isfinite(), log_p.exp() * (log_p - log_q), 0.0).sum(-1)


@torch.no_grad()
def divergences(model: JointModel, guide: PartitionGuide, data: Tensor) -> Tensor:
    r"""Return the divergence of a guide from the exact posterior of each data set, in nats.

    .. math:: KL(p \| q) = \sum_c p(c \mid x) \log \frac{p(c \mid x)}{q(c \mid x)}

    All partitions are enumerated: cost O(Bell(N)) log-probabilities a data set. Where the guide's
    log-probabilities are estimates, partitions of posterior probability below 1e-7 are left out, and the
    divergence comes out too large by half of the estimates' mean squared error.

    Shape:
        data: ``(B, N, D)``; output: ``(B,)`` float64.

    Raises:
        ValueError: if N is above 10, or the data are not finite.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> divergences(model, PredictiveFilter(model), torch.zeros(3, 5, 2)).shape
        torch.Size([3])
    """
    require_likelihood(model, what="the divergence from the posterior")
    data = _data_sets(model, data)
    rows = max(1, _PARTITIONS_AT_ONCE // bell_number(data.shape[-model.event_dim]))
    columns = []
    for block in data.split(rows):
        partitions, log_p = exact_posterior(model, block)
        posterior = guide.posterior(block)
        if posterior.is_exact:
            every = partitions.unsqueeze(1).expand(-1, len(block), -1)
        else:
            log_p, likely = log_p.topk(int((log_p > _NEGLIGIBLE).sum(-1).max()), -1)
            every = partitions[likely].movedim(1, 0)
        log_q = posterior.merged_log_prob(every).double().movedim(0, -1)
        columns.append(divergence(log_p, log_q))
    return torch.cat(columns)


def efficiencies(model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int) -> Tensor:
    r"""Return the effective share of a guide's draws as importance samples of each data set's posterior.

    .. math:: \frac{(\sum_s w_s)^2}{S \sum_s w_s^2}, \qquad w_s = \frac{p(c_s, x)}{q(c_s \mid x)}

    Cost O(S) draws a data set, in blocks of data sets of bounded memory.

    Shape:
        data: ``(B, N, D)``; output: ``(B,)`` float64, between 1 / S and 1.

    Raises:
        ValueError: if the data are not finite, or ``num_draws`` is below 1.

    References:
        Kong, Liu & Wong (1994). https://doi.org/10.1080/01621459.1994.10476469

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> efficiencies(model, PredictiveFilter(model), torch.zeros(3, 9, 2), num_draws=50).shape
        torch.Size([3])
    """
    return effective_shares(log_importance_weights(model, guide, data, num_draws=num_draws))


def effective_shares(log_weights: Tensor) -> Tensor:
    r"""Return the effective shares :math:`(\sum w)^2 / (S \sum w^2)` of weighted draws of many data sets."""
    return (2 * log_weights.logsumexp(0) - (2 * log_weights).logsumexp(0) - math.log(len(log_weights))).exp()


@torch.no_grad()
def log_importance_weights(
    model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int
) -> Tensor:
    """Return log weights of a guide's draws of data sets ``(B, N, D)``, ``(S, B)`` float64 in nats."""
    require_likelihood(model, what="importance sampling")
    num_draws, data = check_count("num_draws", num_draws), _data_sets(model, data)
    rows = max(1, _POINTS_AT_ONCE // (num_draws * data.shape[-model.event_dim]))
    log_weights = []
    for block in data.split(rows):
        labels, log_prob = guide.posterior(block).sample_and_log_prob((num_draws,))
        log_weights.append(log_joint_of(model, block, labels) - log_prob.double())
    return torch.cat(log_weights, 1)


def _data_sets(model: JointModel, data: Points) -> Tensor:
    points = points_of(model, data)
    if points.dim() != model.event_dim + 1 or not len(points):
        raise ValueError(
            f"data has shape {tuple(points.shape)}, expected data sets (B, N, D), at least one: "
            "add the dimension of data sets, data[None]"
        )
    return points


@dataclass(frozen=True)
class AmortizationGap:
    r"""Divergences of a guide from the posterior, one number a data set, float64 ``(B,)``.

    Attributes:
        gap: log p(x) - ELBO = KL(q || p(c | x)) in nats.
        gap_error: its Monte Carlo standard error, 0 where exact.
        forward_kl: KL(p(c | x) || q) in nats.
        forward_kl_error: its standard error, 0 where exact.
        efficiency: effective share of weighted draws of q, :math:`1 / E_q[\bar w^2]`, in (0, 1].
        log_evidence: log p(x) in nats.
        elbo: :math:`E_q[\log p(c, x) - \log q(c)]` in nats.
        pareto_k: tail of the weights behind ``log_evidence``; reliable below 0.7, -inf where exact.
    """

    gap: Tensor
    gap_error: Tensor
    forward_kl: Tensor
    forward_kl_error: Tensor
    efficiency: Tensor
    log_evidence: Tensor
    elbo: Tensor
    pareto_k: Tensor

    def __repr__(self) -> str:
        size = f"{len(self.gap)} data sets"
        return f"AmortizationGap({size}, mean gap {self.gap.mean():.3g} nats)"


def amortization_gap(
    model: CollapsedModel,
    guide: PartitionGuide,
    data: Points | Sequence[Points],
    *,
    num_draws: int = 1000,
    others: Sequence[PartitionGuide] = (),
    max_enumerated: int = 8,
    seed: int = 0,
) -> AmortizationGap:
    r"""Measure the amortization gap of a guide on data sets.

    .. math:: \log p(x) - E_q\Big[\log \frac{p(c, x)}{q(c \mid x)}\Big] = KL(q(c \mid x) \,\|\, p(c \mid x))

    Small data sets are enumerated. For larger ones the ELBO is an average over draws of the guide, and the
    evidence an importance-sampling estimate with the mixture of the guide and ``others`` as proposal (the
    balance heuristic). A guide that misses a mode sees no gap by itself: give a guide that has it, as the
    guide before fine-tuning. Where ``pareto_k`` is above 0.7 the evidence is too low, and so is the gap.

    Cost: Bell(N) log-probabilities a data set, or ``num_draws`` draws of every guide, scored under every
        other.

    Args:
        model: a model with ``log_joint``.
        guide: the guide to measure; its posterior has exact log-probabilities.
        data: data sets of one size or of several.
        num_draws: draws of each guide a data set.
        others: further guides for the evidence and ``forward_kl``.
        max_enumerated: largest N that is enumerated, at most 9.
        seed: of the draws.

    Shape:
        data: ``(*batch, N, D)``, or a sequence of ``(N, D)``; output: ``(B,)`` in the order of the data.

    Raises:
        ValueError: if ``num_draws`` is below 2, ``max_enumerated`` above 9, or the data do not fit.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import overlap2d
        >>> measured = amortization_gap(overlap2d(), PredictiveFilter(overlap2d()), torch.randn(3, 5, 2))
        >>> measured.gap.shape, bool((measured.gap > 0).all())
        (torch.Size([3]), True)

    References:
        Cremer, Li & Duvenaud (2018), Inference suboptimality in variational autoencoders.
        https://arxiv.org/abs/1801.03558
        Veach & Guibas (1995), Optimally combining sampling techniques. https://doi.org/10.1145/218380.218498
    """
    num_draws = check_count("num_draws", num_draws, at_least=2, hint="one draw has no standard error")
    max_enumerated = check_count(
        "max_enumerated", max_enumerated, at_least=0, at_most=9, hint="larger sets take too long"
    )
    seed = check_seed(seed)
    require_likelihood(model, what="the amortization gap")
    groups = group_by_size(data, model.component.dim)
    parts: list[AmortizationGap] = []
    with torch.no_grad(), pyro_seeded(seed):
        for _, sets in groups:
            num_points = sets.shape[1]
            if num_points <= max_enumerated:
                rows = max(1, _PARTITIONS_AT_ONCE // bell_number(num_points))
                parts += [_enumerated(model, guide, block) for block in sets.split(rows)]
            else:
                rows = max(1, _POINTS_AT_ONCE // (num_draws * (1 + len(others)) * num_points))
                parts += [_sampled(model, [guide, *others], block, num_draws) for block in sets.split(rows)]
    back = torch.cat([positions for positions, _ in groups]).argsort()
    columns = (torch.cat([getattr(part, field.name) for part in parts]) for field in fields(AmortizationGap))
    return AmortizationGap(*(column[back] for column in columns))


def _enumerated(model: JointModel, guide: Any, data: Tensor) -> AmortizationGap:
    partitions, log_posterior = exact_posterior(model, data)
    every = partitions.unsqueeze(1).expand(-1, len(data), -1)
    log_q = guide.posterior(data).log_prob(every).T.double()
    mode = log_posterior.argmax(-1, keepdim=True)
    joint = log_joint_of(model, data, partitions[mode[:, 0]])
    log_evidence = joint - log_posterior.gather(-1, mode)[:, 0]
    gap, forward = divergence(log_q, log_posterior), divergence(log_posterior, log_q)
    second_moment = (2 * log_posterior - log_q).logsumexp(-1)
    zero = torch.zeros_like(gap)
    return AmortizationGap(
        gap=gap,
        gap_error=zero,
        forward_kl=forward,
        forward_kl_error=zero,
        efficiency=(-second_moment).exp(),
        log_evidence=log_evidence,
        elbo=log_evidence - gap,
        pareto_k=torch.full_like(gap, -torch.inf),
    )


def _sampled(model: JointModel, guides: Sequence[Any], data: Tensor, num_draws: int) -> AmortizationGap:
    posteriors = [guide.posterior(data) for guide in guides]
    draws = torch.cat([posterior.sample((num_draws,)) for posterior in posteriors])
    log_qs = torch.stack([posterior.log_prob(draws).double() for posterior in posteriors])
    log_mixture = log_qs.logsumexp(0) - torch.tensor(float(len(guides))).log()
    log_joint = log_joint_of(model, data, draws)
    pooled, by_guide = log_joint - log_mixture, (len(guides), num_draws)
    log_w = log_joint[:num_draws] - log_qs[0, :num_draws]
    evidence = pooled.logsumexp(0) - math.log(len(pooled))
    relative = (pooled - evidence).exp()
    surprise = log_joint - evidence - log_qs[0]
    forward = (relative * surprise).mean(0)
    # What one draw contributes to each estimate to first order; errors are those of its mean.
    to_gap = relative.unflatten(0, by_guide).clone()
    to_gap[0] -= len(guides) * log_w
    to_forward = (relative * (surprise - forward) - (relative - 1)).unflatten(0, by_guide)
    return AmortizationGap(
        gap=evidence - log_w.mean(0),
        gap_error=_stratified_error(to_gap),
        forward_kl=forward,
        forward_kl_error=_stratified_error(to_forward),
        efficiency=effective_shares(log_w),
        log_evidence=evidence,
        elbo=log_w.mean(0),
        pareto_k=torch.tensor([pareto_k(column) for column in pooled.T.cpu().numpy()], dtype=torch.float64),
    )


def _stratified_error(influence: Tensor) -> Tensor:
    """Return the standard error of a mean over S draws of each of G guides, ``(G, S, *batch)``."""
    return (influence.var(1).mean(0) / (influence.shape[0] * influence.shape[1])).sqrt()
