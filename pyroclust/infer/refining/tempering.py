"""Populations of partitions on the way from the prior to the posterior, moved by a kernel at every step."""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.core.counts import check_count, check_number, check_seed
from pyroclust.core.memory import check_memory
from pyroclust.core.progress import progress_bar
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.diagnostics.weights.evidence import EvidenceMethod, LogEvidence, population_evidence
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import refuse_weights, require_likelihood
from pyroclust.infer.importance import resampled
from pyroclust.infer.mcmc.defaults import own_or_default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.powered_chains import PoweredChains
from pyroclust.infer.mcmc.states import ChainStates, Trace
from pyroclust.partitions import Draws, canonical

__all__ = ["Populations", "tempered_populations"]

# Effective share of the particles below which a population is resampled.
_ENOUGH = 0.5
_HALVINGS = 60
# The largest first power, and the largest ratio of two: where all particles are alike, weights say nothing.
_FIRST, _RATIO = 0.01, 1.1


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
        """Return how many there are, and how far they are apart."""
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

    The particles are draws of the prior. At every step the next power is the largest at which weights
    :math:`p(x \mid c)^{\beta_{t+1} - \beta_t}` leave ``share`` of the particles effective, but at most 1.1
    times the last, as weights of particles that are alike see no other partition coming; the particles are
    weighted, resampled where less than half of them are effective over all steps since the last time, and
    moved by some draws of the kernel at the new power. The mean weight of a population estimates p(x).

    It is for posteriors whose chains do not meet, as in many columns with full covariances: chains cannot
    leave a partition that every move makes worse, whereas populations divide among such partitions while the
    likelihood still counts little. Where a population misses one it does not know, and its estimate of p(x)
    is too low as a rule: compare the populations, by ``evidence.spread`` and the co-assignment of some chains
    with that of the others, and look at how many ``ancestors`` are left. Averages weigh populations by their
    estimates of p(x).

    Cost: R S T ``sweeps`` draws of the kernel, with T fifty to two hundred powers, more for larger tables;
    memory O((R S + 32 F) N).

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
        the particles with ``log_weights``, of which each population is a chain whose order means nothing, and
        how they came about.

    Raises:
        ValueError: if the model is not conjugate or has constraints, the kernel belongs to another model or
            is of another kind, the data are no one finite data set, a number is out of range, or the
            particles do not fit into memory.

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
    kernel = own_or_default_kernel(model, kernel)
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
    trace = Trace.of_rows([one.states for one in populations])
    log_weights = torch.stack([one.log_weights for one in populations]).numpy()
    draws = trace.draws("tempered populations", seconds=time.perf_counter() - began)
    first = num_particles * np.arange(num_populations)[:, None]
    return replace(draws, log_weights=log_weights), Populations(
        ancestors=torch.stack([one.ancestors for one in populations]).numpy() + first,
        powers=tuple(tuple(one.powers) for one in populations),
        evidence=population_evidence(log_weights, method=EvidenceMethod.TEMPERED),
    )


class _Population:
    """Particles at the last of ``powers``, the mean of whose weights estimates the normalising constant."""

    def __init__(
        self, kernel: PartitionKernel, chains: PoweredChains, num_points: int, num_particles: int
    ) -> None:
        self._chains = chains
        self.powers = [0.0]
        self.ancestors = torch.arange(num_particles)
        self.log_weights = torch.zeros(num_particles, dtype=torch.float64)
        self.states = _prior_draws(kernel, num_points, num_particles)
        self.states, self._fit = chains.advance(self.states, 1.0, 0)

    def advance(self, share: float, sweeps: int) -> None:
        """Go to the next power."""
        power = _next_power(self._fit, self.log_weights, self.powers[-1], share)
        self.log_weights = self.log_weights + (power - self.powers[-1]) * self._fit
        self.powers.append(power)
        shares = self.log_weights.log_softmax(0)
        if power < 1 and -(2 * shares).logsumexp(0) < np.log(_ENOUGH * len(shares)):
            self._resample(shares)
        self.states, self._fit = self._chains.advance(self.states, power, sweeps)

    def _resample(self, shares: Tensor) -> None:
        rows = resampled(shares, len(shares))
        mean = self.log_weights.logsumexp(0) - np.log(len(shares))
        self.log_weights, self.ancestors = mean.expand(len(shares)).clone(), self.ancestors[rows]
        self.states = ChainStates(
            self.states.assignments[rows],
            {name: values[rows] for name, values in self.states.hyperparameters.items()},
            self.states.log_joint[rows],
        )


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
    r"""Return the largest power that is allowed and leaves a share of the particles effective.

    .. math::
        \Big(\sum_s W_s u_s\Big)^2 \ge \text{share} \sum_s W_s u_s^2, \qquad
        u_s = p(x \mid c_s)^{\beta' - \beta}
    """
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
