"""Sequential Monte Carlo over points, with any sequential guide as proposal."""

import time
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_number
from pyroclust.diagnostics.evidence import (
    EvidenceMethod,
    LogEvidence,
    importance_evidence,
    population_evidence,
)
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel, PointwiseGuide
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.distributions.sequential.sampling import Prefixes
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.infer.checks import constrained_guide, one_data_set, require_likelihood
from pyroclust.partitions import Draws, canonical

# Powers of the weights that resampling follows are at least this.
_SMALLEST_EXPONENT = 0.01


@dataclass(frozen=True)
class Particles:
    """What :func:`sequential_monte_carlo` knows of its draws beside them.

    Attributes:
        ess: expected effective number of particles at every step before resampling, by the weights to the
            power ``exponents``, ``(N,)``.
        num_resampled: islands that were resampled at every step, ``(N,)`` int64.
        exponents: power of the weights that resampling follows at every step, ``(N,)``.
        evidence: log p(data). With several islands its error comes from their own estimates; with one it is
            that of importance sampling, and nan where the island was resampled, as particles then depend on
            one another.
    """

    ess: np.ndarray
    num_resampled: np.ndarray
    exponents: np.ndarray
    evidence: LogEvidence


@dataclass(frozen=True)
class ParticleBatch:
    """Particles of many data sets: ``assignments`` ``(S, *batch, N)``, an island in consecutive rows.

    ``log_weights`` ``(S, *batch)`` float64; the others are those of :class:`Particles`, ``(N, *batch)``.
    """

    assignments: Tensor
    log_weights: Tensor
    ess: Tensor
    num_resampled: Tensor
    exponents: Tensor


def sequential_monte_carlo(
    model: CollapsedModel,
    guide: PointwiseGuide,
    data: Points,
    *,
    num_particles: int,
    ess_threshold: float = 0.5,
    num_islands: int | None = None,
    num_pilot: int = 100,
) -> tuple[Draws, Particles]:
    r"""Extend weighted particles by one point after the other; resample where their weights degenerate.

    .. math::
        w_n = w_{n-1} \, \frac{p(c_{\le n}, x_{\le n})}{p(c_{<n}, x_{<n}) \, q(c_n \mid c_{<n}, x)}, \qquad
        \hat p(x) = \frac1S \sum_s w_N^{(s)}

    Points come in the guide's order. The estimate of the evidence is unbiased for any number of particles,
    any threshold, and any proposal that is positive wherever the posterior is. A step costs O(P K) candidates
    for P distinct prefixes; memory is O(S N).

    Where the effective number of particles of an island falls below ``ess_threshold`` times S, they are
    resampled, stratified, by their weights to a power that a pilot run learns for every step: a guide that
    looks ahead makes prefixes whose present weight says little about the final one.


    Args:
        model: a mixture of a conjugate family.
        guide: the proposal, one that labels points one after the other.
        data: one data set, ``(N, D)``.
        num_particles: S.
        ess_threshold: in [0, 1]; 0 never resamples, which is importance sampling.
        num_islands: independent runs that the particles are divided between; of two or more, the standard
            error of the evidence is known. By default ten for 1000 particles or more in a multiple of ten,
            else one.
        num_pilot: particles of the pilot run; 0 resamples by the weights themselves.

    Returns:
        the particles with ``log_weights``, each island a chain whose order means nothing; and their record.

    Raises:
        ValueError: if the data are no one finite data set, the model is not conjugate, its hyperparameters
            are random, the guide is not sequential, or a number is out of range.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.infer import log_evidence
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> draws, particles = sequential_monte_carlo(model, PredictiveFilter(model), data, num_particles=200)
        >>> draws.assignments.shape
        (1, 200, 3)
        >>> abs(particles.evidence.estimate - log_evidence(model, data).item()) < 0.05
        True

    References:
        Fearnhead (2004), Particle filters for mixture models with an unknown number of components.
        https://doi.org/10.1023/B:STCO.0000009418.04621.cd
        Del Moral, Doucet and Jasra (2006), Sequential Monte Carlo samplers.
        https://doi.org/10.1111/j.1467-9868.2006.00553.x
    """
    num_particles = check_count("num_particles", num_particles)
    if num_islands is None:
        num_islands = 10 if num_particles >= 1000 and num_particles % 10 == 0 else 1
    if num_particles % check_count("num_islands", num_islands):
        raise ValueError(
            f"num_particles is {num_particles}, expected a positive multiple of num_islands, {num_islands}"
        )
    check_number("ess_threshold", ess_threshold, at_least=0, at_most=1)
    if check_count("num_pilot", num_pilot, at_least=0) == 1:
        raise ValueError(f"num_pilot is {num_pilot}, expected 0 for no pilot run, or at least 2 particles")
    require_likelihood(model, what="sequential Monte Carlo")
    began, points = time.perf_counter(), one_data_set(model, data)
    check_memory(
        4 * 8 * num_particles * len(points),
        f"num_particles is {num_particles}: particles of {len(points)} points",
        remedy="use fewer",
    )
    particles = particles_of(
        model,
        guide,
        points,
        num_particles=num_particles,
        ess_threshold=ess_threshold,
        num_islands=num_islands,
        num_pilot=num_pilot,
    )
    log_weights = particles.log_weights.view(num_islands, -1).numpy()
    draws = Draws(
        name="sequential Monte Carlo",
        assignments=particles.assignments.unflatten(0, (num_islands, -1)).numpy(),
        log_weights=log_weights,
        seconds=time.perf_counter() - began,
    )
    if num_islands == 1 and not particles.num_resampled.any() and np.isfinite(log_weights).any():
        evidence = importance_evidence(log_weights)
    else:
        evidence = population_evidence(log_weights, method=EvidenceMethod.PARTICLES)
    return draws, Particles(
        ess=particles.ess.numpy(),
        num_resampled=particles.num_resampled.numpy(),
        exponents=particles.exponents.numpy(),
        evidence=evidence,
    )


def particles_of(
    model: CollapsedModel,
    guide: PointwiseGuide,
    data: Tensor,
    *,
    num_particles: int,
    ess_threshold: float,
    num_islands: int,
    num_pilot: int,
) -> ParticleBatch:
    """Run :func:`sequential_monte_carlo` on many data sets, ``(*batch, N, D)``, as one batch."""
    batch, points, size = data.shape[:-2], data.shape[-2], num_particles // num_islands
    with torch.no_grad():
        posterior = _one_order(constrained_guide(guide, model).posterior(data))
        target = _target(model, posterior, data)
        proposal, dataset = (posterior.scorer, posterior.encoding), posterior.dataset.reshape(-1)
        exponents = torch.ones(points, len(dataset), dtype=torch.float64)
        if num_pilot > 0 and ess_threshold > 0 and size > 1:
            pilot = Population(proposal, target, dataset=dataset, num_particles=num_pilot)
            exponents = learn_exponents(pilot, points)
        population = Population(proposal, target, dataset=dataset.repeat(num_islands), num_particles=size)
        ess, resampled = population.run(exponents.repeat(1, num_islands), ess_threshold)
        labels, log_weights = population.particles()
    labels = labels.view(num_islands, len(dataset), size, points).transpose(1, 2).flatten(0, 1)
    order = posterior.order[dataset].expand_as(labels)
    assignments = canonical(torch.empty_like(labels).scatter_(-1, order, labels))
    log_weights = log_weights.view(num_islands, -1, size).transpose(1, 2).reshape(num_particles, *batch)
    if model.constraints is not None:
        enough = model.constraints.is_inside(assignments).view(num_particles, *batch)
        log_weights = log_weights.masked_fill(~enough, -torch.inf)
    return ParticleBatch(
        assignments=assignments.view(num_particles, *batch, points),
        log_weights=log_weights,
        ess=size * ess.view(points, num_islands, *batch).sum(1),
        num_resampled=resampled.view(points, num_islands, *batch).sum(1),
        exponents=exponents.view(points, *batch),
    )


def _one_order(posterior: Any) -> SequentialPartition:
    if not isinstance(posterior, SequentialPartition):
        raise ValueError(
            f"guide.posterior(data) is a {type(posterior).__name__}, expected a SequentialPartition: "
            "use guide.mixed(1) for a guide that mixes visiting orders, and importance_sample with guides "
            "that do not label point by point"
        )
    return posterior


def _target(
    model: CollapsedModel, posterior: SequentialPartition, data: Tensor
) -> tuple[FilterScorer, FilterEncoding]:
    """Return the model's exact filter on the points in visiting order, the guide's own if it is that."""
    component = ConjugateComponent.of(
        model.component, otherwise="weights need the predictive density of a point given its cluster"
    )
    if posterior.scorer.is_filter_of(model.prior, component):
        return cast(FilterScorer, posterior.scorer), posterior.encoding
    scorer = FilterScorer(model.prior, component)
    flat = data.reshape(-1, *data.shape[-2:])
    return scorer, scorer.encode(flat.gather(1, posterior.order.unsqueeze(-1).expand_as(flat)))


def group_logsumexp(values: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """Sum exponentials over all entries ``(M, W)`` of the rows of each group, in log space."""
    rows = values.logsumexp(-1)
    highest = rows.new_full((num_groups,), -torch.inf).scatter_reduce_(0, group, rows, "amax")
    highest = highest.nan_to_num(neginf=0.0)
    return rows.new_zeros(num_groups).index_add_(0, group, (rows - highest[group]).exp()).log() + highest


def allocate_particles(
    log_mass: Tensor, group: Tensor, *, num_particles: int, num_groups: int
) -> tuple[Tensor, Tensor]:
    r"""Return the entries of ``(M, W)`` masses that get particles, and how many, S in total for each group.

    Stratified: particle s of a group goes to the entry at :math:`(s + u_s) / S` of the group's cumulative
    mass, with independent uniform numbers u_s: entry j expects S r_j particles, its number varies less than
    under independent draws, and particles in different strata are independent. (One number u for all strata,
    systematic sampling, would make particles of equal mass choose alike.) Rows are sorted by group.

    Douc, Cappe and Moulines (2005), Comparison of resampling schemes for particle filtering.
    https://doi.org/10.1109/ISPA.2005.195385
    """
    cumulative = log_mass.exp().flatten().cumsum(0)
    last_row = torch.searchsorted(group, torch.arange(num_groups, device=group.device), right=True)
    end = cumulative[last_row * log_mass.shape[1] - 1].unsqueeze(-1)
    start = torch.cat([end.new_zeros(1, 1), end[:-1]])
    strata = torch.arange(num_particles, device=group.device)
    uniform = torch.rand(num_groups, num_particles, dtype=end.dtype, device=group.device)
    place = start + (end - start) * ((strata + uniform) / num_particles)
    # Rounding must not push the last particle into the next group.
    place = place.minimum(end.nextafter(start))
    entry = torch.searchsorted(cumulative, place.flatten(), right=True)
    return entry.unique_consecutive(return_counts=True)


@dataclass(frozen=True)
class StepReport:
    """One step: effective shares, whether there was resampling, ``(G,)``; parents, log weights, ``(M,)``."""

    ess: Tensor
    resampled: Tensor
    parent: Tensor
    log_weight: Tensor


@dataclass
class _View:
    """A scorer, what it made of the data sets, and its states of the prefixes."""

    scorer: Scorer[Any]
    encoding: Any
    prefixes: Prefixes

    def logits(self, step: int) -> Tensor:
        return self.prefixes.logits(self.scorer, self.encoding, step)

    def grow(self, step: int, parent: Tensor, label: Tensor) -> None:
        self.prefixes.grow(self.scorer, self.encoding, step, parent=parent, label=label)


class Population:
    r"""Particles in G groups; those of a group that agree so far are one member with a number of copies.

    A group is one run on one data set. Its S particles move together: they are allocated to all children of
    its members by masses r, and a child gets the weight

    .. math:: w' = \frac{m}{S} \, w \, \frac{\gamma_{n+1}}{\gamma_n} \Big/ r

    where m is the number of copies of its parent and :math:`\gamma_n = p(c_{\le n}, x_{\le n})`. Masses
    :math:`r = (m / S) q` draw labels from the guide and resample nothing; masses proportional to :math:`(m /
    S) \, q \, (w \gamma_{n+1} / (\gamma_n q))^\beta` resample by the weights to the power beta. Whatever r,
    sums of weights stay unbiased. ``dataset`` are the rows of the encodings, one a group, ``(G,)``.
    """

    def __init__(
        self,
        proposal: tuple[Scorer[Any], Any],
        target: tuple[FilterScorer, FilterEncoding],
        *,
        dataset: Tensor,
        num_particles: int,
    ) -> None:
        self.num_particles, self.num_groups, self._prior = num_particles, len(dataset), target[0].prior
        self._num_points = target[1].points.shape[1]
        distinct, self._prefix = dataset.unique(return_inverse=True)
        first = torch.zeros_like(distinct)
        self._target = _View(*target, Prefixes.of_labels(*target, distinct, first.unsqueeze(-1)))
        self._proposal = self._target
        if proposal[0] is not target[0]:
            self._proposal = _View(*proposal, Prefixes.of_labels(*proposal, distinct, first.unsqueeze(-1)))
        self._group = torch.arange(self.num_groups, device=dataset.device)
        self._copies = torch.full_like(self._group, num_particles)
        self._log_weight = target[1].opening[dataset, 0]
        self._history: list[tuple[Tensor, Tensor]] = [(first, first)]

    def run(self, exponents: Tensor, ess_threshold: float) -> tuple[Tensor, Tensor]:
        """Visit all points; return shares of effective particles and what was resampled, ``(N, G)`` each."""
        ones, last = torch.ones_like(exponents[0]), len(exponents) - 1
        ess, resampled = [ones], [torch.zeros_like(ones, dtype=torch.bool)]
        for step in range(1, last + 1):
            # After the last point weights serve better than copies.
            threshold = ess_threshold if step < last else 0.0
            report = self.advance(step, exponent=exponents[step], ess_threshold=threshold)
            ess.append(report.ess)
            resampled.append(report.resampled)
        return torch.stack(ess), torch.stack(resampled)

    def advance(self, step: int, *, exponent: Tensor, ess_threshold: float) -> StepReport:
        """Label the point of ``step`` in every particle; O(P K) candidates for P distinct prefixes."""
        draw, joint = self._masses(step)
        power = exponent[self._group].unsqueeze(-1)
        log_ratio = power * torch.where(draw.isfinite(), joint - draw, -torch.inf)
        total = self._sum(draw + log_ratio)
        ess = (2 * total - self._sum(draw + 2 * log_ratio)).exp().nan_to_num(nan=0.0)
        resampled = (ess < ess_threshold) & total.isfinite()
        spread = draw + log_ratio - total[self._group].unsqueeze(-1)
        mass = torch.where(resampled[self._group].unsqueeze(-1), spread, draw)
        parent = self._allocate(step, mass, joint)
        return StepReport(ess, resampled, parent, self._log_weight)

    def _masses(self, step: int) -> tuple[Tensor, Tensor]:
        """Return log (m / S) q, and log (m / S) w times the ratio of targets, of all children, ``(M, W)``."""
        copies = (self._copies.double() / self.num_particles).log()
        logits, clusters = self._target.logits(step), self._target.prefixes.clusters
        sizes = torch.arange(int(clusters.max()) + 1, device=clusters.device)
        before, after = (self._prior.log_v(points, sizes) for points in (step, step + 1))
        # The filter's logits are relative to V_{n+1}(K), the prefix carries V_n(K).
        carried = torch.where(before.isfinite(), after - before, -torch.inf)[clusters]
        guided = logits if self._proposal is self._target else self._proposal.logits(step)
        draw = copies.unsqueeze(-1) + guided.log_softmax(-1)[self._prefix]
        weight = copies + self._log_weight + carried[self._prefix]
        return draw, weight.unsqueeze(-1) + logits[self._prefix]

    def _allocate(self, step: int, mass: Tensor, joint: Tensor) -> Tensor:
        """Replace the members by those children that get particles, and return the parents of these."""
        width = mass.shape[1]
        entry, copies = allocate_particles(
            mass, self._group, num_particles=self.num_particles, num_groups=self.num_groups
        )
        member, label = entry // width, entry % width
        key, prefix = (self._prefix[member] * width + label).unique(return_inverse=True)
        self._log_weight = (joint - mass)[member, label]
        self._group, self._copies, self._prefix = self._group[member], copies, prefix
        parent, child = key // width, key % width
        if step + 1 < self._num_points:
            self._target.grow(step, parent, child)
            if self._proposal is not self._target:
                self._proposal.grow(step, parent, child)
        self._history.append((parent, child))
        return member

    def particles(self) -> tuple[Tensor, Tensor]:
        """Return labels ``(G, S, n)`` canonical in visiting order, and log weights ``(G, S)`` in nats."""
        row = torch.arange(len(self._history[-1][0]), device=self._group.device)
        columns = []
        for parent, label in reversed(self._history):
            columns.append(label[row])
            row = parent[row]
        labels = torch.stack(columns[::-1], -1)
        shape = (self.num_groups, self.num_particles)
        member = self.members()
        return labels[self._prefix[member]].view(*shape, -1), self._log_weight[member].view(shape)

    def members(self) -> Tensor:
        """Return which member each particle belongs to, ``(G S,)``."""
        every = torch.arange(len(self._copies), device=self._copies.device)
        return every.repeat_interleave(self._copies)

    def _sum(self, values: Tensor) -> Tensor:
        return group_logsumexp(values, self._group, self.num_groups)


def learn_exponents(pilot: Population, num_points: int) -> Tensor:
    r"""Run a pilot without resampling and regress final log weights on those of every step, ``(N, G)``.

    .. math::
        \beta_n = \frac{\mathrm{Cov}(\log w_N, \log w_n)}{\mathrm{Var}(\log w_n)}, \qquad
        w_n = \frac{p(c_{\le n}, x_{\le n})}{q(c_{\le n} \mid x)}

    The best weight to resample by is what a particle's final weight can be expected to be, given its present
    one. For a proposal that is blind to the future, log weights add up without being taken back, and beta is
    about 1. A guide that looks ahead pays now for what the points to come give back: its prefixes look bad
    although they are right, and beta is small until the end.
    """
    ones = torch.ones(pilot.num_groups, dtype=torch.float64)
    reports = [pilot.advance(step, exponent=ones, ess_threshold=0.0) for step in range(1, num_points)]
    member, backwards = pilot.members(), []
    for report in reversed(reports):
        backwards.append(report.log_weight[member])
        member = report.parent[member]
    # At the first step all weights are equal.
    backwards.append(torch.zeros(len(member), dtype=torch.float64))
    log_weights = torch.stack(backwards[::-1]).view(num_points, pilot.num_groups, -1)
    alive = log_weights.isfinite() & log_weights[-1].isfinite()
    centred = _centred(log_weights, alive)
    covariance = (centred * _centred(log_weights[-1].expand_as(log_weights), alive)).sum(-1)
    slope = covariance / centred.square().sum(-1)
    return slope.nan_to_num(nan=1.0, posinf=1.0, neginf=1.0).clamp(_SMALLEST_EXPONENT, 1.0)


def _centred(values: Tensor, alive: Tensor) -> Tensor:
    kept = torch.where(alive, values, 0.0)
    mean = kept.sum(-1, keepdim=True) / alive.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(alive, kept - mean, 0.0)
