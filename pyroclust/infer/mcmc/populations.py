"""Populations of weighted partitions, moved by a kernel: point after point, or power of the likelihood."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.core.long_runs import progress_bar
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.diagnostics.evidence import (
    EvidenceMethod,
    LogEvidence,
    population_evidence,
    repeated_log_evidence,
)
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.infer.checks import log_joint_of, refuse_weights, require_likelihood
from pyroclust.infer.importance import resampled
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.named_kernels import default_kernel, kernel_or_default
from pyroclust.infer.mcmc.parallel_tempering import PoweredChains
from pyroclust.infer.mcmc.states import ChainStates, Trace
from pyroclust.partitions import Draws, canonical, label_range

# Effective share of the particles below which a population is resampled.
_ENOUGH = 0.5
# Points that are taken in between two looks at the weights.
_BLOCK = 4
# The largest first power, and the largest ratio of two: where all particles are alike, weights say nothing.
_FIRST, _RATIO = 0.01, 1.1
_HALVINGS = 60


class _Weights:
    """Log weights of the particles of a population, whose mean estimates a normalising constant."""

    def __init__(self, num_particles: int) -> None:
        self.log_weights = torch.zeros(num_particles, dtype=torch.float64)

    @property
    def log_mean(self) -> Tensor:
        return self.log_weights.logsumexp(0) - math.log(len(self.log_weights))

    def resample_if_poor(self) -> Tensor | None:
        """Return places of particles of equal weight from now on; None where enough are effective."""
        shares = self.log_weights.log_softmax(0)
        is_poor = bool(-(2 * shares).logsumexp(0) < math.log(_ENOUGH * len(shares)))
        if not is_poor:
            return None
        self.log_weights = self.log_mean.expand(len(shares)).clone()
        return torch.from_numpy(resampled(shares.exp().numpy(), len(shares)))


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

    The exact filter extends the particles by four points at a time, and they are weighted by
    :math:`p(c, x) / q(c \mid x)` of what was added. Where less than half of them are effective they are
    resampled, and moved by the default kernel on the points so far. The estimate of p(x) is unbiased whatever
    the number of particles and sweeps. Under constraints C it is that of p(x, C).

    It needs no guide. The repetitions visit the points in orders of their own: the standard error comes from
    how far they lie apart. Cost: about N / 10 times R S sweeps over the points so far, and N steps of the
    filter a repetition.

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
        ValueError: if the model is of another kind, the data do not fit, or a number is out of range.

    Example:
        >>> from pyroclust.infer import log_evidence
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0], [31.0, 0.0]])
        >>> evidence = annealed_log_evidence(model, data, seed=0)
        >>> abs(evidence.estimate - log_evidence(model, data).item()) < 4 * evidence.error
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
    estimates = []
    with seeded(root), torch.no_grad(), progress_bar("evidence", repetitions, shown=progress) as tell:
        for done in range(repetitions):
            order, stages = _stages(model, len(points))
            estimates.append(_annealed(stages, scorer, points[order], num_particles, sweeps))
            tell(done + 1, "")
    if -math.inf in estimates:
        raise ValueError(
            f"num_particles is {num_particles}, and none of a population has as many clusters as the model "
            "may have, expected some: take more"
        )
    estimate, error, spread = repeated_log_evidence(np.array(estimates))
    return LogEvidence(EvidenceMethod.ANNEALED, estimate, error, math.nan, spread)


class _Stage(NamedTuple):
    """What is taken in up to some point: a group that constraints name, as one, or some free points."""

    end: int
    is_group: bool
    model: CollapsedModel
    kernel: PartitionKernel


def _stages(model: CollapsedModel, num_points: int) -> tuple[Tensor, list[_Stage]]:
    """Return a random order of the points, and how they are taken in: groups first, and each as a whole."""
    order = torch.randperm(num_points)
    if model.constraints is None:
        kernel = default_kernel(model)
        return order, [_Stage(end, False, model, kernel) for end in _ends(0, num_points)]
    constraints = model.constraints.over(num_points)
    group_of = constraints.groups
    place = torch.empty_like(order).scatter_(0, order, torch.arange(num_points))
    first = torch.full((constraints.num_groups,), num_points).scatter_reduce(
        0, constraints.groups, place, "amin"
    )
    rank = first[group_of]
    rank[constraints.bound_points] -= num_points
    order = rank.argsort(stable=True)
    groups = group_of[order[: len(constraints.bound_points)]]
    sizes = groups.unique_consecutive(return_counts=True)[1]
    ends = [(int(end), True) for end in sizes.cumsum(0)]
    ends += [(end, False) for end in _ends(len(groups), num_points)]
    stages = []
    for end, is_group in ends:
        constrained = cast(Any, model).under(constraints.on(order[:end]))
        stages.append(_Stage(end, is_group, constrained, default_kernel(constrained)))
    return order, stages


def _ends(begin: int, num_points: int) -> list[int]:
    return sorted({*range(begin + _BLOCK, num_points, _BLOCK), num_points} - {begin})


def _annealed(
    stages: list[_Stage], scorer: FilterScorer, points: Tensor, num_particles: int, sweeps: int
) -> float:
    """Return one estimate in nats, the points taken in in the order that they have."""
    labels = torch.empty(num_particles, 0, dtype=torch.int64)
    hyper = {
        name: scorer.component.hyperpriors[name].sample(Size((num_particles,))).double()
        for name in scorer.conditions
    }
    weights, log_joint = _Weights(num_particles), torch.zeros(num_particles, dtype=torch.float64)
    for stage in stages:
        seen = points[: stage.end]
        if stage.is_group:
            labels, log_prob = _with_group(stage.model, seen, labels, hyper)
        else:
            labels, log_prob = _extended(scorer, seen, labels, hyper)
        joint = _log_joint(stage.model, seen, labels, hyper)
        # What has more clusters than there may be keeps none of its weight.
        more = weights.log_weights + joint - log_joint - log_prob
        weights.log_weights, log_joint = torch.where(joint == -torch.inf, -torch.inf, more), joint
        rows = weights.resample_if_poor() if stage.end < len(points) else None
        if rows is not None:
            chains = Chains(stage.kernel, seen, labels[rows], seed=seed_from_torch())
            at = chains.states.hyperparameters | {name: values[rows] for name, values in hyper.items()}
            chains.states = replace(chains.states, hyperparameters=at)
            chains.advance(sweeps)
            labels = chains.states.assignments
            hyper = {name: chains.states.hyperparameters[name] for name in hyper}
            log_joint = _log_joint(stage.model, seen, labels, hyper)
    return float(weights.log_mean)


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


@dataclass(frozen=True, kw_only=True)
class Populations:
    """What :func:`tempered_populations` knows of its draws beside them.

    Attributes:
        ancestors: which draw of the prior each came from, ``(R, S)`` int64, numbered over all populations.
        powers: of the likelihood, those that each population went through.
        evidence: log p(data), with a standard error from how far the populations lie apart.
    """

    ancestors: np.ndarray
    powers: tuple[tuple[float, ...], ...]
    evidence: LogEvidence

    def __repr__(self) -> str:
        left, evidence = len(np.unique(self.ancestors)), self.evidence
        return (
            f"Populations({len(self.powers)} of {left} ancestors, log evidence {evidence.estimate:.2f}, "
            f"spread {evidence.spread:.2f})"
        )


def tempered_populations(
    model: CollapsedModel,
    data: Points,
    *,
    num_particles: int = 200,
    num_populations: int = 2,
    sweeps: int = 8,
    share: float = 0.97,
    kernel: PartitionKernel | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> tuple[Draws, Populations]:
    r"""Carry populations of partitions from the prior to the posterior by powers of the likelihood.

    .. math:: \pi_\beta(c) \propto p(c) \, p(x \mid c)^\beta, \qquad 0 = \beta_0 < \beta_1 < \dots < 1

    The particles are draws of the prior. The next power is the largest at which weights
    :math:`p(x \mid c)^{\beta_{t+1} - \beta_t}` leave ``share`` of the particles effective, and at most 1.1
    times the last. The particles are weighted, resampled where less than half of them are effective, and
    moved by the kernel. The mean weight of a population estimates p(x).

    It is for posteriors whose chains do not meet: populations divide among partitions that chains cannot
    leave while the likelihood still counts little. A population that misses one does not know it, and its
    estimate of p(x) is too low as a rule: compare the populations, by ``evidence.spread`` and co-assignments,
    and look at how many ``ancestors`` are left.

    Cost: R S T ``sweeps`` draws of the kernel, T fifty to two hundred powers or more; memory O((R S + 32 F)
        N).

    Args:
        model: a mixture of a conjugate family, without constraints.
        data: one data set, ``(N, D)``.
        num_particles: S, particles of a population.
        num_populations: R, independent populations, at least 2.
        sweeps: draws of the kernel at every power.
        share: effective share of the particles that a step may leave, in (0, 1).
        kernel: one that is made of compiled moves; the default kernel of the model by default.
        seed: same seed, same particles; None takes one from torch's generator.
        progress: show a bar on standard error.

    Returns:
        the particles with ``log_weights``, each population a chain whose order means nothing; and their
        record.

    Raises:
        ValueError: if model or kernel are of another kind, the data do not fit, or a number is out of range.

    Example:
        >>> from pyroclust.infer import log_evidence
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0], [31.0, 0.0]])
        >>> draws, populations = tempered_populations(model, data, seed=0)
        >>> draws
        Draws(tempered populations: 2 chains of 200 draws, 4 points, 2.0 clusters on average)
        >>> abs(populations.evidence.estimate - log_evidence(model, data).item()) < 0.2
        True

    References:
        Del Moral, Doucet and Jasra (2006), Sequential Monte Carlo samplers.
        https://doi.org/10.1111/j.1467-9868.2006.00553.x
        Zhou, Johansen and Aston (2016), Toward automatic model comparison: an adaptive sequential Monte Carlo
        approach. https://doi.org/10.1080/10618600.2015.1060885
    """
    num_particles = check_count("num_particles", num_particles, at_least=2)
    num_populations = check_count("num_populations", num_populations, at_least=2)
    sweeps = check_count("sweeps", sweeps)
    share = check_number("share", share, above=0, below=1)
    require_likelihood(model, what="tempering")
    ConjugateComponent.of(
        model.component, otherwise="partitions are weighted by the likelihood of all their clusters"
    )
    if model.constraints is not None:
        raise ValueError(
            "model has constraints, which draws of the prior break: use CollapsedGibbs, MergeSplit, or "
            "annealed_log_evidence for the evidence"
        )
    refuse_weights(model, "draws of the prior do not count by")
    kernel = kernel_or_default(model, kernel)
    points = as_points(data, like=DOUBLE)
    kernel.check(points)
    check_memory(
        4 * 8 * num_particles * num_populations * len(points),
        f"num_particles is {num_particles}: particles of {len(points)} points",
        remedy="use fewer",
    )
    root = seed_from_torch() if seed is None else check_seed(seed)
    populations, began = [], time.perf_counter()
    with seeded(root), torch.no_grad(), progress_bar("tempering", num_populations, shown=progress) as tell:
        chains = PoweredChains(kernel, points, seed=root)
        for done in range(num_populations):
            population = _Population(kernel, chains, len(points), num_particles)
            while population.powers[-1] < 1:
                population.advance(share, sweeps)
                tell(done, f"power {population.powers[-1]:.3f}")
            populations.append(population)
            tell(done + 1, "")
    trace = Trace.of_rows([population.states for population in populations])
    log_weights = torch.stack([population.log_weights for population in populations]).numpy()
    draws = trace.draws("tempered populations", seconds=time.perf_counter() - began)
    first = num_particles * np.arange(num_populations)[:, None]
    return replace(draws, log_weights=log_weights), Populations(
        ancestors=torch.stack([population.ancestors for population in populations]).numpy() + first,
        powers=tuple(tuple(population.powers) for population in populations),
        evidence=population_evidence(log_weights, method=EvidenceMethod.TEMPERED),
    )


class _Population(_Weights):
    """Particles at the last of ``powers``."""

    def __init__(
        self, kernel: PartitionKernel, chains: PoweredChains, num_points: int, num_particles: int
    ) -> None:
        super().__init__(num_particles)
        self._chains, self.powers = chains, [0.0]
        self.ancestors = torch.arange(num_particles)
        start = _prior_draws(kernel, num_points, num_particles)
        self.states, self._fit = chains.advance(start, 1.0, 0)

    def advance(self, share: float, sweeps: int) -> None:
        power = _next_power(self._fit, self.log_weights, self.powers[-1], share)
        self.log_weights = self.log_weights + (power - self.powers[-1]) * self._fit
        self.powers.append(power)
        rows = self.resample_if_poor() if power < 1 else None
        if rows is not None:
            states, self.ancestors = self.states, self.ancestors[rows]
            hyper = {name: values[rows] for name, values in states.hyperparameters.items()}
            self.states = ChainStates(states.assignments[rows], hyper, states.log_joint[rows])
        self.states, self._fit = self._chains.advance(self.states, power, sweeps)


def _prior_draws(kernel: PartitionKernel, num_points: int, num_particles: int) -> ChainStates:
    """Draw hyperparameters, and partitions given them."""
    model, shape = kernel.model, Size((num_particles,))
    hyper = {name: model.hyperpriors[name].sample(shape).double() for name in sorted(kernel.updates)}
    known = {name: values for name, values in hyper.items() if name in model.prior.hyperpriors}
    prior = model.prior.given(known) if known else model.prior
    partition = prior.partition(num_points)
    labels = partition.sample(Size() if known else shape)
    return ChainStates(canonical(labels), hyper, torch.full(shape, torch.nan, dtype=torch.float64))


def _next_power(fit: Tensor, log_weights: Tensor, power: float, share: float) -> float:
    """Return the largest power that is allowed and leaves a share of the particles effective."""
    log_shares = log_weights.log_softmax(0)

    def left(further: float) -> float:
        grown = log_shares + further * fit
        return float((2 * grown.logsumexp(0) - (grown + further * fit).logsumexp(0)).exp())

    most = min(1.0, _RATIO * power) if power > 0 else _FIRST
    if left(most - power) >= share:
        return most
    low, high = 0.0, most - power
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) >= share else (low, middle)
    return power + low
