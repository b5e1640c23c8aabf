"""The log evidence by populations that take in the points a few at a time, moved by a kernel in between."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.core.counts import check_count, check_seed
from pyroclust.core.progress import progress_bar
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.diagnostics.weights.evidence import EvidenceMethod, LogEvidence, repeated_log_evidence
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.infer.checks import log_joint_of, refuse_weights, require_likelihood
from pyroclust.infer.importance import resampled
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.short_chains import ShortChains
from pyroclust.partitions import label_range

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
    default kernel of the posterior of the points so far. A random scale of clusters is drawn from its prior
    first, and by the kernel then. The mean weights multiply to an estimate of p(x)
    that is right on average whatever the number of particles and sweeps.

    Under constraints the estimate is that of log p(x, C); groups of points that are named come first, each
    placed as a whole by its probability given all before it, in O(K) densities a particle. Particles that
    cannot become partitions of as many clusters as there may be lose their weight.

    It needs no guide, and no overlap of a guide with the posterior. The repetitions are independent and visit
    the points in orders of their own: the standard error comes from how far they lie apart.

    Cost: about N / 10 times R S sweeps over the points so far, and N steps of the filter a repetition.

    Args:
        model: a mixture of a conjugate family whose hyperparameters are known, but for a random scale of
            its clusters; a ``GammaConcentration`` is integrated out.
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
    refuse_weights(model, "the exact filter does not count by")
    component = ConjugateComponent.of(
        model.component, otherwise="points are taken in by their predictive density given a cluster"
    )
    scorer = FilterScorer(model.prior, component, conditions=sorted(component.integrated_names))
    points = as_points(data, like=DOUBLE)
    default_kernel(model).check(points)
    root = seed_from_torch() if seed is None else check_seed(seed)
    found = []
    with seeded(root), torch.no_grad(), progress_bar("evidence", repetitions, shown=progress) as tell:
        for done in range(repetitions):
            order, stages = _stages(model, len(points))
            found.append(_annealed(stages, scorer, points[order], num_particles, sweeps))
            tell(done + 1, "")
    if -math.inf in found:
        raise ValueError(
            f"num_particles is {num_particles}, and none of a population has as many clusters as the model "
            "may have, expected some: take more"
        )
    estimate, error, spread = repeated_log_evidence(np.array(found))
    return LogEvidence(EvidenceMethod.ANNEALED, estimate, error, math.nan, spread)


class _Stage(NamedTuple):
    """What is taken in up to some point: a group that constraints name, as one, or some free points."""

    end: int
    is_group: bool
    model: CollapsedModel
    kernel: PartitionKernel


def _stages(model: CollapsedModel, num_points: int) -> tuple[Tensor, list[_Stage]]:
    """Return a random order of the points, and how they are taken in: groups first, and each as a whole.

    Were the points of a group taken in one by one, the first would be placed without a look at the others.
    """
    order = torch.randperm(num_points)
    if model.constraints is None:
        kernel = default_kernel(model)
        return order, [_Stage(end, False, model, kernel) for end in _ends(0, num_points)]
    known = model.constraints.over(num_points)
    place = torch.empty_like(order).scatter_(0, order, torch.arange(num_points))
    first = torch.full((known.num_groups,), num_points).scatter_reduce(0, known.groups, place, "amin")
    rank = first[known.groups]
    rank[known.bound_points] -= num_points
    order = rank.argsort(stable=True)
    groups = known.groups[order[: len(known.bound_points)]]
    sizes = groups.unique_consecutive(return_counts=True)[1]
    ends = [(int(end), True) for end in sizes.cumsum(0)]
    ends += [(end, False) for end in _ends(len(groups), num_points)]
    stages = []
    for end, is_group in ends:
        own = cast(Any, model).under(known.on(order[:end]))
        stages.append(_Stage(end, is_group, own, default_kernel(own)))
    return order, stages


def _ends(begin: int, num_points: int) -> list[int]:
    return sorted({*range(begin + _BLOCK, num_points, _BLOCK), num_points} - {begin})


def _annealed(
    stages: list[_Stage], scorer: FilterScorer, points: Tensor, num_particles: int, sweeps: int
) -> float:
    """Return one estimate in nats, the points taken in in the order that they have."""
    total, labels = 0.0, torch.empty(num_particles, 0, dtype=torch.int64)
    hyper = {
        name: scorer.component.hyperpriors[name].sample(Size((num_particles,))).double()
        for name in scorer.conditions
    }
    log_joint = log_weights = torch.zeros(num_particles, dtype=torch.float64)
    for stage in stages:
        seen = points[: stage.end]
        if stage.is_group:
            labels, log_prob = _with_group(stage.model, seen, labels, hyper)
        else:
            labels, log_prob = _extended(scorer, seen, labels, hyper)
        joint = _log_joint(stage.model, seen, labels, hyper)
        # What has more clusters than there may be keeps none of its weight.
        more = log_weights + joint - log_joint - log_prob
        log_weights, log_joint = torch.where(joint == -torch.inf, -torch.inf, more), joint
        shares = log_weights.log_softmax(0)
        if stage.end < len(points) and -(2 * shares).logsumexp(0) < math.log(_ENOUGH * num_particles):
            total += float(log_weights.logsumexp(0)) - math.log(num_particles)
            rows = resampled(shares, num_particles)
            chains = ShortChains(stage.kernel, seen, labels[rows], seed=seed_from_torch())
            at = chains.states.hyperparameters | {name: values[rows] for name, values in hyper.items()}
            chains.states = replace(chains.states, hyperparameters=at)
            chains.advance(sweeps)
            labels = chains.states.assignments
            hyper = {name: chains.states.hyperparameters[name] for name in hyper}
            log_joint = _log_joint(stage.model, seen, labels, hyper)
            log_weights = torch.zeros_like(log_weights)
    return total + float(log_weights.logsumexp(0)) - math.log(num_particles)


def _log_joint(model: CollapsedModel, points: Tensor, labels: Tensor, hyper: Mapping[str, Tensor]) -> Tensor:
    """Return log p(c, x | h) of particles."""
    return log_joint_of(model.given(hyper) if hyper else model, points, labels).double()


def _with_group(
    model: CollapsedModel, points: Tensor, labels: Tensor, hyper: Mapping[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Draw the cluster of the last points, a group, given all others, ``(S, n) -> (S, N)``, with log q."""
    clusters = label_range(labels) if labels.shape[1] else labels.new_zeros(len(labels))
    candidates = torch.arange(int(clusters.max()) + 1)
    row, chosen = (candidates <= clusters.unsqueeze(-1)).nonzero(as_tuple=True)
    group = chosen.unsqueeze(-1).expand(-1, len(points) - labels.shape[1])
    at = {name: values[row] for name, values in hyper.items()}
    joint = _log_joint(model, points, torch.cat([labels[row], group], -1), at)
    log_q = joint.new_full((len(labels), len(candidates)), -torch.inf)
    log_q[row, chosen] = joint
    # Where no cluster is open to the group, any will do: its weight is 0.
    log_q[:, 0] = torch.where((log_q == -torch.inf).all(-1), 0.0, log_q[:, 0])
    log_q = log_q.log_softmax(-1)
    drawn = torch.multinomial(log_q.exp(), 1)
    return torch.cat([labels, drawn.expand(-1, group.shape[1])], -1), log_q.gather(-1, drawn).squeeze(-1)


def _extended(
    scorer: FilterScorer, points: Tensor, labels: Tensor, hyper: Mapping[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Draw labels of the last points by the exact filter, ``(S, n) -> (S, N)``, with their log q."""
    rows, num_free = len(labels), len(points) - labels.shape[1]
    sets = rows if hyper else 1
    filtered = SequentialPartition(
        scorer,
        scorer.encode(points.expand(sets, -1, -1), hyper),
        order=torch.arange(len(points)).expand(sets, -1),
        dataset=torch.arange(rows) % sets,
    )
    padded = torch.cat([labels, labels.new_zeros(rows, num_free)], -1)
    return cast(tuple[Tensor, Tensor], filtered.given(padded, num_free=num_free).sample_and_log_prob(Size()))
