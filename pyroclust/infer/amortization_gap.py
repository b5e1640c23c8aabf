"""How far a guide is from the posterior of given data sets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.counts import check_count, check_seed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.diagnostics import pareto_k
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel, JointModel, PartitionGuide
from pyroclust.infer.checks import log_joint_of, require_likelihood
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.quality import PARTITIONS_AT_ONCE, POINTS_AT_ONCE, divergence, effective_shares
from pyroclust.infer.simulation import group_by_size
from pyroclust.partitions import bell_number

__all__ = ["AmortizationGap", "amortization_gap"]


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
        """Return how many data sets, and the mean gap."""
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

    Cost: enumeration, Bell(N) log-probabilities a data set; else ``num_draws`` draws of every guide, and
    their log-probabilities under every other one. Memory is bounded by splitting data sets.

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
        >>> found = amortization_gap(overlap2d(), PredictiveFilter(overlap2d()), torch.randn(3, 5, 2))
        >>> found.gap.shape, bool((found.gap > 0).all())
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
    found: list[AmortizationGap] = []
    with torch.no_grad(), pyro_seeded(seed):
        for _, some in groups:
            if some.shape[1] <= max_enumerated:
                found.append(_enumerated(model, guide, some))
            else:
                found.append(_sampled(model, [guide, *others], some, num_draws))
    back = torch.cat([positions for positions, _ in groups]).argsort()
    return _select(_concatenated(found), back)


def _enumerated(model: JointModel, guide: PartitionGuide, data: Tensor) -> AmortizationGap:
    rows = max(1, PARTITIONS_AT_ONCE // bell_number(data.shape[1]))
    return _concatenated([_enumerated_block(model, guide, some) for some in data.split(rows)])


def _enumerated_block(model: JointModel, guide: Any, data: Tensor) -> AmortizationGap:
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


def _sampled(
    model: JointModel, guides: Sequence[PartitionGuide], data: Tensor, num_draws: int
) -> AmortizationGap:
    rows = max(1, POINTS_AT_ONCE // (num_draws * len(guides) * data.shape[1]))
    return _concatenated([_sampled_block(model, guides, some, num_draws) for some in data.split(rows)])


def _sampled_block(model: JointModel, guides: Sequence[Any], data: Tensor, num_draws: int) -> AmortizationGap:
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
        pareto_k=torch.tensor([pareto_k(one) for one in pooled.T.cpu().numpy()], dtype=torch.float64),
    )


def _stratified_error(influence: Tensor) -> Tensor:
    """Return the standard error of a mean over S draws of each of G guides, ``(G, S, *batch)``."""
    return (influence.var(1).mean(0) / (influence.shape[0] * influence.shape[1])).sqrt()


def _concatenated(parts: Sequence[AmortizationGap]) -> AmortizationGap:
    columns = (torch.cat([getattr(part, field.name) for part in parts]) for field in fields(AmortizationGap))
    return AmortizationGap(*columns)


def _select(found: AmortizationGap, index: Tensor) -> AmortizationGap:
    return AmortizationGap(*(getattr(found, field.name)[index] for field in fields(AmortizationGap)))
