"""Draws of a guide with their weights: where refining begins."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.diagnostics import LogEvidence, importance_evidence, log_evidences
from pyroclust.diagnostics.weights.importance import (
    importance_efficiency,
    importance_weights,
    smooth_log_weights,
    stratified_draws,
)
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc.compiled_filter import CompiledFilter, can_compile
from pyroclust.infer.refining.clock import Clock
from pyroclust.large_tables import LARGE_TABLE
from pyroclust.progress import progress_bar
from pyroclust.protocols import Guide, JointModel, Model, PartitionGuide, some_points

__all__ = [
    "NUM_ORDERS",
    "PROPOSALS",
    "Proposals",
    "draw_proposals",
    "evidences_of",
    "most_at_once",
    "posterior_of",
    "shared_log_prob",
    "warm_up",
]

PROPOSALS = 5
"""Draws of the guide for each that is refined, where nobody says otherwise."""

NUM_ORDERS = 8
"""Posteriors of the guide, each with a visiting order of its own, that share the draws in equal parts."""

# Numbers of a block of draws that is scored at once.
_NUMBERS_AT_ONCE = 1 << 22
# What a draw keeps of a point is a sum of its cluster, of a node that of its blocks: not all of a long row.
_MOST_NUMBERS_A_POINT = 256
# Rows of a large table on which a guide is warmed up.
_WARM_ROWS = 50


def most_at_once(data: Tensor) -> int:
    """Return how many draws of a data set make one block of limited memory.

    Shape:
        data: ``(N, D)``.

    Example:
        >>> most_at_once(torch.zeros(1024, 4))
        1024
    """
    return max(1, _NUMBERS_AT_ONCE // (len(data) * min(data[0].numel(), _MOST_NUMBERS_A_POINT)))


def posterior_of(guide: PartitionGuide, data: Tensor) -> Any:
    """Return a posterior; that of the exact filter is compiled where that pays, with other random numbers.

    It pays for large tables, and for families of several parts, of which each step calls all.

    Args:
        guide: any.
        data: one data set, ``(N, D)``.
    """
    found = guide.posterior(data)
    component = getattr(getattr(guide, "model", None), "component", None)
    pays = len(data) > LARGE_TABLE or getattr(component, "num_parts", 1) > 1
    return CompiledFilter(found) if pays and can_compile(found) else found


def warm_up(guide: Guide, data: Tensor) -> None:
    """Draw once, so that seconds of later draws are those of drawing; of the first rows where these are many.

    Args:
        guide: any.
        data: one data set, ``(N, D)``.
    """
    few = data if len(data) <= LARGE_TABLE else some_points(guide.model, data, slice(_WARM_ROWS))
    guide.posterior(few).sample((1,))


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """Draws of several posteriors of one guide, with their weights.

    Attributes:
        assignments: ``(P, N)`` int64.
        log_prob: log q of each by the posterior that it came from, ``(P,)`` float64 in nats.
        log_joint: log p(proposal, data) in nats, ``(P,)`` float64; nan where it has no formula.
        is_exact: whether log q is exact, not an estimate.
        num_orders: visiting orders that share the draws in equal parts, one after the other.
    """

    assignments: Tensor
    log_prob: Tensor
    log_joint: Tensor
    is_exact: bool
    num_orders: int

    def __repr__(self) -> str:
        """Return the sizes, and what the weights are worth."""
        draws, points = self.assignments.shape
        worth = f"efficiency {self.efficiency:.3f}" if self.has_weights else "no weights"
        return f"Proposals({draws} draws of {points} points, {worth})"

    def __len__(self) -> int:
        """Return the number of draws."""
        return len(self.assignments)

    @property
    def has_weights(self) -> bool:
        """Whether the model has a likelihood."""
        return not bool(self.log_joint.isnan().any())

    @property
    def log_weights(self) -> Tensor:
        """Unnormalised, ``(P,)`` in nats."""
        return self.log_joint - self.log_prob

    @property
    def pareto_k(self) -> float:
        """Shape of the tail of the weights; nan without weights."""
        return smooth_log_weights(self.log_weights.numpy())[1] if self.has_weights else math.nan

    @property
    def efficiency(self) -> float:
        """Effective share of the proposals; nan without weights."""
        return importance_efficiency(self.log_weights.numpy()) if self.has_weights else math.nan

    def resample(self, num_draws: int) -> Tensor:
        """Return the proposals that go on, ``(S,)`` in order; without weights all."""
        if not self.has_weights:
            return torch.arange(num_draws)
        weights = importance_weights(self.log_weights.numpy())
        uniform = torch.rand(num_draws, dtype=torch.float64).numpy()
        return torch.from_numpy(stratified_draws(weights, uniform))


def draw_proposals(
    model: Model,
    new_posterior: Callable[[], Any],
    data: Tensor,
    *,
    number: int,
    at_once: int,
    clock: Clock,
    num_orders: int = NUM_ORDERS,
    shown: bool = False,
) -> tuple[Proposals, tuple[Any, ...]]:
    """Draw in equal parts from several posteriors of a guide, and weigh where the model has a likelihood.

    Args:
        model: of the guide.
        new_posterior: gives a posterior of the guide, each time with a visiting order of its own.
        data: one data set, ``(N, D)``, for the likelihood.
        number: P, draws of all posteriors together.
        at_once: draws of a block; other blocks, other draws.
        clock: gets the seconds as "draw" and "weigh".
        num_orders: posteriors.
        shown: whether to show a bar on standard error.

    Returns:
        the draws, and the posteriors that they came from.
    """
    labels, log_prob, log_joint, posteriors = [], [], [], []
    done, rows = 0, most_at_once(data)
    with progress_bar("proposals", number, shown=shown) as tell:
        for size in (len(part) for part in torch.arange(number).tensor_split(min(num_orders, number))):
            with clock.timed("draw"):
                posterior = new_posterior()
                sizes = [min(at_once, size - first) for first in range(0, size, at_once)]
                parts = [posterior.sample_and_log_prob((one,)) for one in sizes]
            labels += [part for part, _ in parts]
            log_prob += [own.double() for _, own in parts]
            if model.has_likelihood and isinstance(model, JointModel):
                with clock.timed("weigh"):
                    log_joint += [
                        log_joint_of(model, data, block).double()
                        for part, _ in parts
                        for block in part.split(rows)
                    ]
            posteriors.append(posterior)
            done += size
            tell(done, "")
    scores = torch.cat(log_prob)
    found = Proposals(
        assignments=torch.cat(labels),
        log_prob=scores,
        log_joint=torch.cat(log_joint) if log_joint else torch.full_like(scores, math.nan),
        is_exact=all(one.is_exact for one in posteriors),
        num_orders=num_orders_of(posteriors),
    )
    return found, tuple(posteriors)


def shared_log_prob(posteriors: Sequence[Any], assignments: Tensor) -> Tensor:
    """Return log q of partitions in nats, of which each posterior scores its share.

    The identities behind reciprocal and bridge sampling hold for every posterior, and so for their sums.

    Shape:
        assignments: ``(S, N)``; output: ``(S,)`` float64.
    """
    every = len(posteriors)
    scored = torch.empty(len(assignments), dtype=torch.float64)
    for place, posterior in enumerate(posteriors):
        share = assignments[place::every]
        if len(share):
            scored[place::every] = posterior.merged_log_prob(share).double()
    return scored


def evidences_of(
    found: Proposals, posteriors: Sequence[Any], assignments: Tensor, log_joint: Tensor
) -> tuple[LogEvidence, ...]:
    """Estimate log p(data) from the weights, and from draws after the sweeps where these have log q.

    Args:
        found: the proposals; without weights there is no estimate.
        posteriors: those that the proposals came from.
        assignments: draws after the sweeps, ``(S, N)``.
        log_joint: of these, ``(S,)`` in nats.
    """
    if not found.has_weights:
        return ()
    alone = importance_evidence(found.log_weights.numpy())
    if not found.is_exact:
        return (alone,)
    scored = shared_log_prob(posteriors, assignments)
    if not bool(scored.isfinite().all()):
        return (alone,)
    return log_evidences(
        log_joint.numpy(),
        scored.numpy(),
        guide_log_joint=found.log_joint.numpy(),
        guide_log_prob=found.log_prob.numpy(),
    )
