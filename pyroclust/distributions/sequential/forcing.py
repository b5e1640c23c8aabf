"""Log-probabilities of given partitions, all steps at once."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.distributions.sequential.steps import ForcedSteps

__all__ = ["teacher_forced_log_prob"]


def teacher_forced_log_prob(scorer: Scorer[Any], encoding: Any, dataset: Tensor, labels: Tensor) -> Tensor:
    r"""Sum the log-probabilities of all decisions without a loop over points.

    The state that a cluster shows to step n is the one made when it took its last member before n, so there
    are N states a partition, found by one sort, one segmented float64 sum and one running maximum. Only
    candidates that exist are scored. Cost O(N K) candidates, memory O(N K) a partition, unless the scorer
    evaluates the decisions in a way of its own: :meth:`Scorer.forced_logits`.

    Shape:
        dataset: ``(R,)`` rows of the encoding; labels: ``(R, N)`` canonical in visiting order; output:
            ``(R,)`` float64.
    """
    rows, points = labels.shape
    if points == 1:
        return torch.zeros(rows, dtype=torch.float64, device=labels.device)
    steps = ForcedSteps.of(labels)
    joined, opened = scorer.forced_logits(encoding, dataset, steps)
    log_probs = steps.table(joined, opened).double().log_softmax(-1)
    return log_probs.gather(-1, labels[:, 1:].reshape(-1, 1)).view(rows, points - 1).sum(-1)
