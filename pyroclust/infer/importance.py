"""Draws of a guide with their weights: importance sampling, and where refining begins."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.core.long_runs import progress_bar
from pyroclust.core.numbers import check_count
from pyroclust.diagnostics import LogEvidence, importance_evidence, log_evidences
from pyroclust.diagnostics.importance import stratified_draws
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Guide, JointModel, Model, PartitionGuide, some_points
from pyroclust.infer.checks import log_joint_of, one_data_set, require_likelihood
from pyroclust.partitions import Draws
from pyroclust.partitions.constraints import Constraints

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


def importance_sample(model: JointModel, guide: PartitionGuide, data: Points, *, num_draws: int) -> Draws:
    r"""Draw partitions of a data set from a guide and weight them by a model.

    .. math::
        w_s = p(c_s, x) / q(c_s \mid x), \qquad E\Big[\frac1S \sum_s w_s \, f(c_s)\Big] = \sum_c p(c, x) f(c)

    What the weights are worth say :func:`~pyroclust.diagnostics.importance_efficiency`,
    :func:`~pyroclust.diagnostics.pareto_k` and :func:`~pyroclust.diagnostics.importance_evidence` of
    ``log_weights``. Functions of draws smooth them; :func:`~pyroclust.diagnostics.resample` makes equally
    weighted draws.

    Args:
        model: a model with ``log_joint``.
        guide: a guide whose ``posterior(data)`` has exact log-probabilities.
        data: one data set, ``(N, D)``.
        num_draws: draws S.

    Returns:
        one chain of S draws with ``log_joint``, ``log_prob`` and their difference as ``log_weights``.

    Raises:
        ValueError: if the data are no one finite data set, or ``num_draws`` is below 1.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> draws = importance_sample(model, PredictiveFilter(model), torch.zeros(4, 2), num_draws=50)
        >>> draws.assignments.shape, draws.log_weights.shape
        ((1, 50, 4), (1, 50))

    References:
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
    """
    num_draws = check_count("num_draws", num_draws)
    require_likelihood(model, what="importance sampling")
    data = one_data_set(model, data)
    began = time.perf_counter()
    with torch.no_grad():
        labels, log_prob = guide.posterior(data).sample_and_log_prob((num_draws,))
        log_joint = log_joint_of(model, data, labels)
    draws = Draws(
        name="the guide",
        assignments=labels.unsqueeze(0).cpu().numpy(),
        log_joint=log_joint.double().unsqueeze(0).cpu().numpy(),
        log_prob=log_prob.double().unsqueeze(0).cpu().numpy(),
        seconds=time.perf_counter() - began,
    )
    return replace(draws, log_weights=draws.log_ratios)


def resampled(shares: np.ndarray, num_draws: int) -> np.ndarray:
    """Return places of draws with shares so that they have equal weights, stratified by torch's generator."""
    return stratified_draws(shares, torch.rand(num_draws, dtype=torch.float64).numpy())


class Clock:
    """Adds up the wall time of parts, in seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time that the block takes to a part."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began


def most_at_once(data: Tensor) -> int:
    """Return how many draws of a data set make one block of limited memory."""
    return max(1, _NUMBERS_AT_ONCE // (len(data) * min(data[0].numel(), _MOST_NUMBERS_A_POINT)))


def warm_up(guide: Guide, data: Tensor) -> None:
    """Draw once, so that seconds of later draws are those of drawing; of few rows where these are many."""
    few = data if len(data) <= LARGE_TABLE else some_points(guide.model, data, slice(_WARM_ROWS))
    guide.posterior(few).sample((1,))


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
) -> tuple[Draws, tuple[Any, ...]]:
    """Draw in equal parts from several posteriors of a guide, and weigh where the model has a likelihood.

    Each posterior has a visiting order of its own. Returns the draws, one chain with log q, each by the
    posterior that it came from, and log p where the model has a likelihood; and the posteriors. Another
    ``at_once``, the draws of a block, gives other draws. The clock gets the seconds as "draw" and "weigh".
    """
    labels, log_prob, log_joint, posteriors = [], [], [], []
    done, rows = 0, most_at_once(data)
    with progress_bar("proposals", number, shown=shown) as tell:
        for size in (len(part) for part in torch.arange(number).tensor_split(min(num_orders, number))):
            with clock.timed("draw"):
                posterior = new_posterior()
                sizes = [min(at_once, size - first) for first in range(0, size, at_once)]
                parts = [posterior.sample_and_log_prob((block,)) for block in sizes]
            labels += [part for part, _ in parts]
            log_prob += [log_q.double() for _, log_q in parts]
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
    draws = Draws(
        name="the guide",
        assignments=torch.cat(labels).unsqueeze(0).numpy(),
        log_joint=torch.cat(log_joint).unsqueeze(0).numpy() if log_joint else None,
        log_prob=torch.cat(log_prob).unsqueeze(0).numpy(),
        seconds=clock.seconds["draw"],
    )
    return draws, tuple(posteriors)


@dataclass(frozen=True)
class _Inside:
    """A posterior of a guide, given that a partition has as many clusters as it may."""

    posterior: Any
    constraints: Constraints
    log_share: float

    @property
    def is_exact(self) -> bool:
        return bool(self.posterior.is_exact)

    def merged_log_prob(self, assignments: Tensor) -> Tensor:
        log_prob = self.posterior.merged_log_prob(assignments).double() - self.log_share
        return torch.where(self.constraints.is_inside(assignments), log_prob, -torch.inf)


def inside(
    draws: Draws, posteriors: tuple[Any, ...], constraints: Constraints | None
) -> tuple[Draws, tuple[Any, ...], float]:
    """Leave out draws that have more or fewer clusters than they may; return the share that is left, too.

    A guide does not know how many there may be. Log q becomes that of the draws that are left: more by the
    log of their share. Weights keep their ratios, and their mean is the evidence of the partitions inside.
    """
    if constraints is None or constraints.clusters is None:
        return draws, posteriors, 1.0
    kept = constraints.is_inside(torch.from_numpy(draws.assignments[0])).numpy()
    share = float(kept.mean())
    log_share = math.log(share) if share else -math.inf
    left = replace(
        draws,
        assignments=draws.assignments[:, kept],
        log_joint=None if draws.log_joint is None else draws.log_joint[:, kept],
        log_prob=None if draws.log_prob is None else draws.log_prob[:, kept] - log_share,
    )
    return left, tuple(_Inside(posterior, constraints, log_share) for posterior in posteriors), share


def shared_log_prob(posteriors: Sequence[Any], assignments: Tensor) -> Tensor:
    """Return log q of partitions in nats, ``(S,)``, of which each posterior scores its share.

    The identities behind reciprocal and bridge sampling hold for every posterior, and so for their sums.
    """
    step = len(posteriors)
    log_prob = torch.empty(len(assignments), dtype=torch.float64)
    for place, posterior in enumerate(posteriors[: len(assignments)]):
        log_prob[place::step] = posterior.merged_log_prob(assignments[place::step]).double()
    return log_prob


def evidences_of(proposals: Draws, posteriors: Sequence[Any], refined: Draws) -> tuple[LogEvidence, ...]:
    """Estimate log p(data) from the weights, and from draws after the sweeps where these have log q."""
    if proposals.log_joint is None or proposals.log_prob is None or refined.log_joint is None:
        return ()
    alone = importance_evidence(proposals.log_joint - proposals.log_prob)
    if not all(posterior.is_exact for posterior in posteriors):
        return (alone,)
    log_prob = shared_log_prob(posteriors, torch.from_numpy(refined.flat)).numpy()
    if not np.isfinite(log_prob).all():
        return (alone,)
    return log_evidences(
        refined.log_joint,
        log_prob.reshape(refined.log_joint.shape),
        guide_log_joint=proposals.log_joint,
        guide_log_prob=proposals.log_prob,
    )
