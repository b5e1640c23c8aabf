"""Log-probabilities of given partitions, all steps at once."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.forced_steps import ForcedScorer, ForcedSteps
from pyroclust.distributions.scorer import Scorer

__all__ = ["teacher_forced_log_prob"]


def teacher_forced_log_prob(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    r"""Sum the log-probabilities of all decisions without a loop over points.

    The state that a cluster shows to step n is the one made when it took its last member before n, so there
    are N states a partition, found by one sort, one segmented float64 sum and one running maximum. Only
    candidates that exist are scored. Cost O(N K) candidates, memory O(N K) a partition. A scorer with a
    method ``forced_logits`` evaluates the decisions itself.

    Shape:
        dataset: ``(R,)`` rows of the encoding; labels: ``(R, N)`` canonical in visiting order; output:
            ``(R,)`` float64.
    """
    rows, points = labels.shape
    if points == 1:
        return torch.zeros(rows, dtype=torch.float64, device=labels.device)
    steps = ForcedSteps.of(labels)
    if isinstance(scorer, ForcedScorer):
        joined, opened = scorer.forced_logits(encoding, dataset, steps)
    else:
        joined, opened = _forced_logits(scorer, encoding, dataset, steps)
    log_probs = steps.table(joined, opened).double().log_softmax(-1)
    return log_probs.gather(-1, labels[:, 1:].reshape(-1, 1)).view(rows, points - 1).sum(-1)


def _forced_logits(
    scorer: Scorer[Any], encoding: Any, dataset: Tensor, forced: ForcedSteps
) -> tuple[Tensor, Tensor]:
    """Make the states of all steps, then the queries of all decisions, then the candidates."""
    rows, points = forced.labels.shape
    moments = encoding.moments[dataset]
    counts, sums, previous = _prefix_sums(moments, forced.labels)
    steps = torch.arange(points, device=dataset.device)
    states = scorer.absorb(encoding, dataset, steps, counts, sums)
    pooled = _pooled_before(scorer.contribution(states), previous)[:, :-1]
    query = scorer.query(
        encoding,
        dataset.repeat_interleave(points - 1),
        steps[1:].repeat(rows),
        pooled.flatten(0, 1),
        forced.clusters,
    )
    state = states.flatten(0, 1).index_select(0, forced.member)
    return scorer.join(query.index_select(0, forced.decision), state), scorer.open(query)


def _prefix_sums(moments: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return for every point its cluster's count and sum up to it, and the member before it (or -1)."""
    ranked, order = labels.sort(dim=-1, stable=True)
    position = torch.arange(labels.shape[-1], device=labels.device).expand_as(labels)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = torch.where(starts, position, 0).cummax(-1).values
    wide = order.unsqueeze(-1).expand_as(moments)
    running = moments.gather(1, wide).cumsum(1)
    before = torch.cat([torch.zeros_like(running[:, :1]), running[:, :-1]], 1)
    segment = running - before.gather(1, first.unsqueeze(-1).expand_as(moments))
    sums = torch.zeros_like(moments).scatter(1, wide, segment)
    counts = torch.zeros_like(labels).scatter(1, order, position - first + 1)
    shifted = torch.cat([torch.full_like(order[:, :1], -1), order[:, :-1]], 1)
    previous = torch.zeros_like(labels).scatter(1, order, torch.where(starts, -1, shifted))
    return counts.double(), sums, previous


def _pooled_before(contributions: Tensor, previous: Tensor) -> Tensor:
    """Sum the contributions of all clusters after every step, in float64 against drift."""
    wide = contributions.double()
    index = previous.clamp(min=0).unsqueeze(-1).expand_as(wide)
    replaced = torch.where((previous >= 0).unsqueeze(-1), wide.gather(1, index), 0.0)
    return (wide - replaced).cumsum(1)
