"""The log evidence by populations that take in the points a few at a time, moved by a kernel in between."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.counts import check_count, check_seed
from pyroclust.diagnostics.weights.evidence import EvidenceMethod, LogEvidence, repeated_log_evidence
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.sequential.constrained import ConstrainedScorer
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.infer.checks import log_joint_of, require_likelihood
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.short_chains import ShortChains
from pyroclust.infer.smc_population import allocate_particles
from pyroclust.points import Points, as_points
from pyroclust.progress import progress_bar
from pyroclust.protocols import CollapsedModel
from pyroclust.random_state import seed_from_torch, seeded

__all__ = ["annealed_log_evidence"]

# Points that are taken in between two looks at the weights, and the effective share below which a population
# is resampled and moved.
_BLOCK, _ENOUGH = 4, 0.5


def annealed_log_evidence(
    model: CollapsedModel,
    data: Points,
    *,
    num_particles: int = 128,
    repetitions: int = 6,
    sweeps: int = 5,
    seed: int | None = None,
    progress: bool = False,
) -> LogEvidence:
    r"""Estimate log p(x) by populations of partitions that take in the points a few at a time.

    .. math:: p(x) = \prod_n p(x_n \mid x_{<n})

    The particles are draws of the posterior of the first points. The exact filter extends them by four points
    at a time, and they are weighted by :math:`p(c, x) / q(c \mid x)` of what was added. Where the effective
    share of the particles falls below one half they are resampled, and each is moved by some draws of the
    default kernel of the posterior of the points so far. The mean weights multiply to an estimate of p(x)
    that is right on average whatever the number of particles and sweeps.

    Under constraints the first points have those among them, and the estimate is that of log p(x, C).

    It needs no guide, and no overlap of a guide with the posterior. The repetitions are independent and visit
    the points in orders of their own: the standard error comes from how far they lie apart.

    Cost: about N / 10 times R S sweeps over the points so far, and N steps of the filter a repetition.

    Args:
        model: a mixture of a conjugate family whose hyperparameters are known; a ``GammaConcentration`` is
            integrated out.
        data: one data set, ``(N, D)``.
        num_particles: S, particles of a population.
        repetitions: R, populations.
        sweeps: draws of the kernel after each resampling.
        seed: same seed, same estimate; None takes one from torch's generator.
        progress: show a bar on standard error.

    Raises:
        ValueError: if the model is not conjugate or has random hyperparameters, the data are no one finite
            data set, or a number is out of range.

    Example:
        >>> from pyroclust.infer import log_evidence
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0], [31.0, 0.0]])
        >>> found = annealed_log_evidence(model, data, seed=0)
        >>> abs(found.estimate - log_evidence(model, data).item()) < 4 * found.error
        True

    References:
        Chopin (2002), A sequential particle filter method for static models.
        https://doi.org/10.1093/biomet/89.3.539
        Del Moral, Doucet and Jasra (2006), Sequential Monte Carlo samplers.
        https://doi.org/10.1111/j.1467-9868.2006.00553.x
    """
    num_particles = check_count("num_particles", num_particles, at_least=2)
    repetitions, sweeps = check_count("repetitions", repetitions, at_least=2), check_count("sweeps", sweeps)
    require_likelihood(model, what="annealing over the points")
    component = ConjugateComponent.of(
        model.component, otherwise="points are taken in by their predictive density given a cluster"
    )
    scorer = FilterScorer(model.prior, component)
    points = as_points(data, like=DOUBLE)
    default_kernel(model).check(points)
    root = seed_from_torch() if seed is None else check_seed(seed)
    found = []
    with seeded(root), torch.no_grad(), progress_bar("evidence", repetitions, shown=progress) as tell:
        for done in range(repetitions):
            order = _visit(model, len(points))
            found.append(_annealed(_targets(model, scorer, order), points[order], num_particles, sweeps))
            tell(done + 1, "")
    estimate, error, spread = repeated_log_evidence(np.array(found))
    return LogEvidence(EvidenceMethod.ANNEALED, estimate, error, math.nan, spread)


class _Target(NamedTuple):
    """The posterior of some points: its model, how points are taken in, and what moves them."""

    model: CollapsedModel
    scorer: Scorer[Any]
    kernel: PartitionKernel


def _visit(model: CollapsedModel, num_points: int) -> Tensor:
    """Return a random order, in which groups that constraints name come first and stay together.

    A point that has to follow another one far back would find a cluster that was not made for it.
    """
    order = torch.randperm(num_points)
    if model.constraints is None:
        return order
    known = model.constraints.over(num_points)
    place = torch.empty_like(order).scatter_(0, order, torch.arange(num_points))
    first = torch.full((known.num_groups,), num_points).scatter_reduce(0, known.groups, place, "amin")
    rank = first[known.groups]
    rank[known.bound_points] -= num_points
    return rank.argsort(stable=True)


def _targets(model: CollapsedModel, scorer: FilterScorer, order: Tensor) -> Callable[[int], _Target]:
    """Return the target of so many first points, by their number."""
    known = model.constraints
    if known is None:
        same = _Target(model, scorer, default_kernel(model))
        return lambda end: same
    every = known.over(len(order))

    def among_first(end: int) -> _Target:
        some = every.on(order[:end])
        own = cast(Any, model).under(some)
        return _Target(own, ConstrainedScorer(scorer, some), default_kernel(own))

    return among_first


def _annealed(targets: Callable[[int], _Target], points: Tensor, num_particles: int, sweeps: int) -> float:
    """Return one estimate in nats, the points taken in in the order that they have."""
    total, labels = 0.0, torch.empty(num_particles, 0, dtype=torch.int64)
    log_joint = log_weights = torch.zeros(num_particles, dtype=torch.float64)
    for end in (*range(_BLOCK, len(points), _BLOCK), len(points)):
        target = targets(end)
        labels, log_prob = _extended(target.scorer, points[:end], labels)
        joint = log_joint_of(target.model, points[:end], labels).double()
        log_weights, log_joint = log_weights + joint - log_joint - log_prob, joint
        shares = log_weights.log_softmax(0)
        if end < len(points) and -(2 * shares).logsumexp(0) < math.log(_ENOUGH * num_particles):
            total += float(log_weights.logsumexp(0)) - math.log(num_particles)
            entry, copies = allocate_particles(
                shares.unsqueeze(0),
                torch.zeros(1, dtype=torch.int64),
                num_particles=num_particles,
                num_groups=1,
            )
            chains = ShortChains(
                target.kernel, points[:end], labels[entry.repeat_interleave(copies)], seed=seed_from_torch()
            )
            chains.advance(sweeps)
            labels, log_joint = chains.states.assignments, chains.states.log_joint
            log_weights = torch.zeros_like(log_weights)
    return total + float(log_weights.logsumexp(0)) - math.log(num_particles)


def _extended(scorer: Scorer[Any], points: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Draw labels of the last points by the exact filter, ``(S, n) -> (S, N)``, with their log q."""
    rows, num_free = len(labels), len(points) - labels.shape[1]
    filtered = SequentialPartition(
        scorer,
        scorer.encode(points.unsqueeze(0)),
        order=torch.arange(len(points)).unsqueeze(0),
        dataset=torch.zeros(rows, dtype=torch.int64),
    )
    padded = torch.cat([labels, labels.new_zeros(rows, num_free)], -1)
    return cast(tuple[Tensor, Tensor], filtered.given(padded, num_free=num_free).sample_and_log_prob(Size()))
