"""Sequential Monte Carlo over points, with any sequential guide as proposal."""

import time
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_count, check_number
from pyroclust.core.memory import check_memory
from pyroclust.diagnostics.weights.evidence import (
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
from pyroclust.infer.checks import held_to_constraints, one_data_set, points_of, require_likelihood
from pyroclust.infer.smc_population import Population, learn_exponents
from pyroclust.partitions import Draws, canonical

__all__ = ["ParticleBatch", "Particles", "particles_of", "sequential_monte_carlo"]


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
    """Particles of many data sets.

    Attributes:
        assignments: the particles, ``(S, *batch, N)`` int64, those of an island in consecutive rows.
        log_weights: ``(S, *batch)`` float64 in nats; their mean estimates the evidence.
        ess: as in :class:`Particles`, ``(N, *batch)``.
        num_resampled: likewise.
        exponents: likewise.
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
    any threshold, and any proposal that is positive wherever the posterior is. Particles of a run that agree
    so far are one: a step costs O(P K) candidates of the guide and of the model's predictive, with P at most
    S the distinct prefixes, and memory is O(S N) for the labels and O(P K) for the clusters. All islands and
    particles are one batch. Where the number of clusters is bounded, particles outside have weight 0.

    Where the effective number of particles falls below ``ess_threshold`` times S, those of this island are
    resampled: stratified, and over all children of the prefixes rather than over copies. Resampling follows
    the weights to a power that a pilot run learns for every step, since a guide that looks ahead makes
    prefixes whose present weight says little about the final one; see
    :func:`~pyroclust.infer.smc_population.learn_exponents`.

    Args:
        model: the model, its partition prior of Gibbs type and its components conjugate.
        guide: the proposal: ``PredictiveFilter(model)`` is the prior predictive, a trained guide the
            amortized one.
        data: one data set, ``(N, D)``.
        num_particles: S.
        ess_threshold: in [0, 1]; 0 never resamples, which is importance sampling.
        num_islands: independent runs that the particles are divided between; with two or more, the standard
            error of the evidence is known whether there was resampling or not. By default ten where
            ``num_particles`` is a multiple of ten and at least 1000, else one.
        num_pilot: particles of the pilot run; 0 resamples by the weights themselves, which suits proposals
            that are blind to the future.

    Returns:
        the particles with ``log_weights``, of which each island is a chain whose order means nothing, and how
        they came about.

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
    require_likelihood(model, what="sequential Monte Carlo")
    began, points = time.perf_counter(), one_data_set(model, data)
    found = particles_of(
        model,
        guide,
        points,
        num_particles=num_particles,
        ess_threshold=ess_threshold,
        num_islands=num_islands,
        num_pilot=num_pilot,
    )
    log_weights = found.log_weights.view(num_islands, -1).numpy()
    draws = Draws(
        name="sequential Monte Carlo",
        assignments=found.assignments.unflatten(0, (num_islands, -1)).numpy(),
        log_weights=log_weights,
        seconds=time.perf_counter() - began,
    )
    assert draws.log_weights is not None
    return draws, Particles(
        ess=found.ess.numpy(),
        num_resampled=found.num_resampled.numpy(),
        exponents=found.exponents.numpy(),
        evidence=_evidence(log_weights, was_resampled=bool(found.num_resampled.any())),
    )


def _evidence(log_weights: np.ndarray, *, was_resampled: bool) -> LogEvidence:
    if len(log_weights) == 1 and not was_resampled and np.isfinite(log_weights).any():
        return importance_evidence(log_weights)
    return population_evidence(log_weights, method=EvidenceMethod.PARTICLES)


def particles_of(
    model: CollapsedModel,
    guide: PointwiseGuide,
    data: Points,
    *,
    num_particles: int,
    ess_threshold: float,
    num_islands: int,
    num_pilot: int,
) -> ParticleBatch:
    """Run :func:`sequential_monte_carlo` on many data sets, ``(*batch, N, D)``, as one batch."""
    _check_numbers(num_particles, ess_threshold, num_islands, num_pilot)
    data = points_of(model, data)
    check_memory(
        4 * 8 * num_particles * data.shape[:-1].numel(),
        f"num_particles is {num_particles}: particles of {data.shape[-2]} points",
        remedy="use fewer",
    )
    batch, points, size = data.shape[:-2], data.shape[-2], num_particles // num_islands
    with torch.no_grad():
        posterior = _one_order(held_to_constraints(guide, model).posterior(data))
        target = _target(model, posterior, data)
        dataset = posterior.dataset.reshape(-1)
        exponents = torch.ones(points, len(dataset), dtype=torch.float64)
        if num_pilot > 0 and ess_threshold > 0 and size > 1:
            exponents = learn_exponents(_population(posterior, target, dataset, num_pilot), points)
        population = _population(posterior, target, dataset.repeat(num_islands), size)
        ess, resampled = _run(population, exponents.repeat(1, num_islands), ess_threshold)
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


def _run(population: Population, exponents: Tensor, ess_threshold: float) -> tuple[Tensor, Tensor]:
    """Visit all points and return shares of effective particles and what was resampled, ``(N, G)`` each."""
    ones = torch.ones_like(exponents[0])
    ess, resampled = [ones], [torch.zeros_like(ones, dtype=torch.bool)]
    last = len(exponents) - 1
    for step in range(1, last + 1):
        # After the last point weights serve better than copies.
        threshold = ess_threshold if step < last else 0.0
        report = population.advance(step, exponent=exponents[step], ess_threshold=threshold)
        ess.append(report.ess)
        resampled.append(report.resampled)
    return torch.stack(ess), torch.stack(resampled)


def _population(
    posterior: SequentialPartition, target: tuple[FilterScorer, FilterEncoding], dataset: Tensor, size: int
) -> Population:
    proposal = (posterior.scorer, posterior.encoding)
    return Population(proposal, target, dataset=dataset, num_particles=size)


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
    own = FilterScorer(model.prior, component)
    flat = data.reshape(-1, *data.shape[-2:])
    return own, own.encode(flat.gather(1, posterior.order.unsqueeze(-1).expand_as(flat)))


def _check_numbers(num_particles: int, ess_threshold: float, num_islands: int, num_pilot: int) -> None:
    check_count("num_islands", num_islands)
    if num_particles % num_islands:
        raise ValueError(
            f"num_particles is {num_particles}, expected a positive multiple of num_islands, {num_islands}"
        )
    check_number("ess_threshold", ess_threshold, at_least=0, at_most=1)
    if check_count("num_pilot", num_pilot, at_least=0) == 1:
        raise ValueError(f"num_pilot is {num_pilot}, expected 0 for no pilot run, or at least 2 particles")
