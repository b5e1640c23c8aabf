"""Draws of a guide with their weights: where refining begins."""

import math
from collections.abc import Callable
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
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc.compiled_filter import CompiledFilter, can_compile
from pyroclust.infer.refining.clock import Clock
from pyroclust.large_tables import LARGE_TABLE
from pyroclust.progress import progress_bar
from pyroclust.protocols import JointModel, Model, PartitionGuide

__all__ = ["NUM_ORDERS", "PROPOSALS", "Proposals", "most_at_once", "posterior_of", "warm_up"]

PROPOSALS = 5
"""Draws of the guide for each that is refined, where nobody says otherwise."""

NUM_ORDERS = 8
"""Posteriors of the guide, each with a visiting order of its own, that share the draws in equal parts."""

# Numbers of a block of draws that is scored at once.
_NUMBERS_AT_ONCE = 1 << 22
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
    return max(1, _NUMBERS_AT_ONCE // data.numel())


def posterior_of(guide: PartitionGuide, data: Tensor) -> Any:
    """Return a posterior; of large tables that of the exact filter is compiled, with other random numbers.

    Args:
        guide: any.
        data: one data set, ``(N, D)``.
    """
    found = guide.posterior(data)
    return CompiledFilter(found) if len(data) > LARGE_TABLE and can_compile(found) else found


def warm_up(guide: PartitionGuide, data: Tensor) -> None:
    """Draw once, so that seconds of later draws are those of drawing; of the first rows where these are many.

    Args:
        guide: any.
        data: one data set, ``(N, D)``.
    """
    guide.posterior(data if len(data) <= LARGE_TABLE else data[:_WARM_ROWS]).sample((1,))


@dataclass(frozen=True)
class Proposals:
    """Draws of several posteriors of one guide, with their weights.

    Attributes:
        assignments: ``(P, N)``.
        log_prob: log q of each by the posterior that it came from, ``(P,)`` in nats.
        log_joint: ``(P,)`` in nats; nan where the model has none.
        posteriors: with the numbers of draws of each.
    """

    assignments: Tensor
    log_prob: Tensor
    log_joint: Tensor
    posteriors: tuple[tuple[Any, int], ...]

    @classmethod
    def drawn(
        cls,
        model: Model,
        new_posterior: Callable[[], Any],
        data: Tensor,
        *,
        number: int,
        at_once: int,
        clock: Clock,
        num_orders: int = 1,
        shown: bool = False,
    ) -> "Proposals":
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
                posteriors.append((posterior, size))
                done += size
                tell(done, "")
        scores = torch.cat(log_prob)
        joint = torch.cat(log_joint) if log_joint else torch.full_like(scores, math.nan)
        return cls(torch.cat(labels), scores, joint, tuple(posteriors))

    @property
    def is_exact(self) -> bool:
        """Whether log q is exact, not an estimate."""
        return all(posterior.is_exact for posterior, _ in self.posteriors)

    @property
    def num_orders(self) -> int:
        """Visiting orders that share the draws: one where posteriors have none, or all the same."""
        orders = [posterior.order for posterior, _ in self.posteriors if hasattr(posterior, "order")]
        differ = not any(torch.equal(one, orders[0]) for one in orders[1:])
        return len(orders) if differ and len(orders) == len(self.posteriors) else 1

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

    def evidences(self, assignments: Tensor, log_joint: Tensor) -> tuple[LogEvidence, ...]:
        """Estimate log p(data) from the weights, and from draws after the sweeps where these have log q.

        Each posterior scores its share of those draws: the identities behind reciprocal and bridge sampling
        hold for every posterior, and so for their sums.
        """
        if not self.has_weights:
            return ()
        alone = importance_evidence(self.log_weights.numpy())
        if not self.is_exact:
            return (alone,)
        every = len(self.posteriors)
        scored = torch.empty_like(log_joint)
        for place, (posterior, _) in enumerate(self.posteriors):
            scored[place::every] = posterior.merged_log_prob(assignments[place::every]).double()
        if not bool(scored.isfinite().all()):
            return (alone,)
        return log_evidences(
            log_joint.numpy(),
            scored.numpy(),
            guide_log_joint=self.log_joint.numpy(),
            guide_log_prob=self.log_prob.numpy(),
        )
