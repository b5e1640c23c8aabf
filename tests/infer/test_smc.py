"""Sequential Monte Carlo against enumeration of all partitions: evidence, posterior, batches."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from exact_guides import ExactGuide
from pyro.distributions import Poisson
from torch import Tensor

from pyroclust import load_guide
from pyroclust.data.datasets import read_table
from pyroclust.diagnostics import EvidenceMethod, normalised_weights
from pyroclust.diagnostics.evidence import population_evidence
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    student_t,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior, log_evidence, sequential_monte_carlo, simulate
from pyroclust.infer.quality import effective_shares
from pyroclust.infer.smc import (
    ParticleBatch,
    allocate_particles,
    group_logsumexp,
    particles_of,
)
from pyroclust.models import Mixture, niw_mixture, overlap2d
from pyroclust.nn import DensestFirst
from pyroclust.partitions import is_canonical, num_clusters

UNIT = 30.0
MODELS: dict[str, Callable[[], Mixture]] = {
    "overlap": overlap2d,
    "gamma": lambda: Mixture(GammaConcentration(2.0, 2.0), niw_mixture(2).component),
    "pitman-yor": lambda: Mixture(PitmanYorPrior(0.4, 0.6), NormalKnownVariance(2, 2.0)),
    "finite": lambda: Mixture(
        FiniteMixturesPrior(0.7, Poisson(1.0)), NormalInverseGamma(2, 0.3, shape=2.0, rate=1.5)
    ),
    "two components": lambda: Mixture(DirichletMultinomialPrior(2, 0.8), PoissonGamma(2, 1.5, rate=0.4)),
}


class FixedGuide:
    """Returns one and the same posterior, order included."""

    def __init__(self, guide: PredictiveFilter, data: Tensor) -> None:
        self.fixed = guide.posterior(data)

    def posterior(self, data: Tensor) -> object:
        return self.fixed


def another_model(model: Mixture) -> Mixture:
    """A poorer proposal: too many clusters, and where that is harmless, other components."""
    known = isinstance(model.component, NormalKnownVariance)
    component = NormalKnownVariance(2, 5.0) if known else model.component
    return Mixture(ChineseRestaurantPrior(2.0), component)


PROPOSALS: dict[str, Callable[[Mixture], object]] = {
    "filter": PredictiveFilter,
    "filter of another model": lambda model: PredictiveFilter(another_model(model)),
    "exact": ExactGuide,
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Mixture:
    return MODELS[request.param]()


@pytest.fixture(params=PROPOSALS)
def guide(request: pytest.FixtureRequest, model: Mixture) -> object:
    return PROPOSALS[request.param](model)


def evidence_of(found: ParticleBatch, num_islands: int) -> tuple[Tensor, Tensor]:
    """Return estimates of log p(x), and standard errors by the islands' own."""
    estimates = island_evidence(found, num_islands)
    error = estimates.std(0) / num_islands**0.5 / estimates.mean(0)
    return estimates.mean(0).log() - UNIT, torch.maximum(error, estimates.log().std(0) / num_islands**0.5)


def island_evidence(found: ParticleBatch, num_islands: int) -> Tensor:
    # A common unit, so that neither under- nor overflows.
    weights = found.log_weights.unflatten(0, (num_islands, -1))
    return (weights.logsumexp(1) - math.log(weights.shape[1]) + UNIT).exp()


def data_of(model: Mixture, *batch: int) -> Tensor:
    return simulate(model, torch.empty(*batch, model.component.dim))[0]


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_evidence_within_its_error(model: Mixture, guide: object, threshold: float) -> None:
    data = data_of(model, 2, 7)
    for one in data:
        draws, found = sequential_monte_carlo(
            model, guide, one, num_particles=8000, num_islands=20, ess_threshold=threshold, num_pilot=20
        )
        assert draws.log_weights.shape == (20, 400)
        error = found.evidence.estimate - log_evidence(model, one).item()
        assert abs(error) <= 4.5 * found.evidence.error + 1e-9


def test_weights_without_resampling_are_those_of_importance_sampling(model: Mixture, guide: object) -> None:
    """Checks the increments, the order of points and the order of particles, exactly."""
    data = data_of(model, 2, 3, 7)
    fixed = FixedGuide(guide, data)
    sample = particles_of(
        model, fixed, data, num_particles=60, num_islands=3, ess_threshold=0.0, num_pilot=100
    )
    labels = sample.assignments
    assert labels.shape == (60, 2, 3, 7)
    assert is_canonical(labels).all()
    expected = model.log_joint(data, labels) - fixed.fixed.log_prob(labels)
    torch.testing.assert_close(sample.log_weights, expected, rtol=0, atol=1e-6)
    assert sample.num_resampled.sum() == 0


@pytest.mark.parametrize("num_pilot", [0, 20])
@pytest.mark.parametrize("threshold", [0.0, 0.6, 1.0])
def test_evidence_is_unbiased(threshold: float, num_pilot: int) -> None:
    """Five particles, a poor proposal, and ten thousand repetitions."""
    model = MODELS["pitman-yor"]()
    guide = PredictiveFilter(Mixture(ChineseRestaurantPrior(1.5), NormalKnownVariance(2, 3.0)))
    data = data_of(model, 3, 7)
    sample = particles_of(
        model,
        guide,
        data,
        num_particles=50_000,
        num_islands=10_000,
        ess_threshold=threshold,
        num_pilot=num_pilot,
    )
    estimate = sample.log_weights.unflatten(0, (10_000, 5)).logsumexp(1) - math.log(5)
    ratio = (estimate - log_evidence(model, data)).exp()
    assert ((ratio.mean(0) - 1).abs() < 4 * ratio.std(0) / 100).all()


def test_standard_error_is_calibrated() -> None:
    model = overlap2d()
    data = data_of(model, 7).expand(400, 7, 2)
    sample = particles_of(
        model,
        PredictiveFilter(model),
        data,
        num_particles=400,
        num_islands=20,
        ess_threshold=0.8,
        num_pilot=0,
    )
    found = [
        population_evidence(one, method=EvidenceMethod.PARTICLES)
        for one in sample.log_weights.T.reshape(400, 20, 20).numpy()
    ]
    estimates, errors = torch.tensor([(one.estimate, one.error) for one in found]).double().T
    z = (estimates - log_evidence(model, data[0])) / errors
    assert sample.num_resampled.sum() > 0
    # Student's t of 19 degrees of freedom.
    assert 0.9 < z.std() / (19 / 17) ** 0.5 < 1.12
    assert z.mean().abs() < 0.3


@pytest.mark.parametrize("threshold", [0.0, 0.8])
def test_posterior_in_total_variation(model: Mixture, threshold: float) -> None:
    islands = 40
    data = data_of(model, 5)
    draws, particles = sequential_monte_carlo(
        model,
        PredictiveFilter(another_model(model)),
        data,
        num_particles=400 * islands,
        num_islands=islands,
        ess_threshold=threshold,
    )
    partitions, log_probs = exact_posterior(model, data)
    exact = log_probs.exp().numpy()
    hit = (draws.assignments[:, :, None] == partitions.numpy()).all(-1)
    found = normalised_weights(draws) @ hit.reshape(-1, len(partitions))
    # The delta method for a ratio of means over islands.
    weights = np.exp(draws.log_weights - particles.evidence.estimate)
    residual = (weights[..., None] * (hit - exact)).mean(1)
    noise = residual.std(0, ddof=1) / islands**0.5
    expected = 0.5 * (2 / math.pi) ** 0.5 * noise.sum()
    spread = 0.5 * ((1 - 2 / math.pi) * (noise**2).sum()) ** 0.5
    variation = 0.5 * np.abs(found - exact).sum()
    assert variation < expected + 5 * spread + 1e-9
    assert variation > 0


def test_a_batch_is_in_law_what_its_data_sets_are_alone() -> None:
    model = overlap2d()
    guide = PredictiveFilter(model, order=DensestFirst(1.4))
    data = torch.stack([data_of(model, 8), 3 * torch.randn(8, 2)])
    settings = {"num_particles": 12_000, "num_islands": 1200, "ess_threshold": 0.8, "num_pilot": 0}
    together = particles_of(model, guide, data, **settings)
    assert together.num_resampled.sum() > 0
    for index, one in enumerate(data):
        alone = particles_of(model, guide, one, **settings)
        for law in (island_evidence, island_clusters):
            ours, theirs = law(together, 1200)[:, index], law(alone, 1200)
            noise = ((ours.var() + theirs.var()) / 1200).sqrt()
            assert (ours.mean() - theirs.mean()).abs() < 4 * noise


def island_clusters(found: ParticleBatch, num_islands: int) -> Tensor:
    clusters = num_clusters(found.assignments).unflatten(0, (num_islands, -1))
    return clusters.double().mean(1)


def test_resampling_happens_and_helps_a_blind_proposal() -> None:
    torch.manual_seed(3)
    model = overlap2d()
    guide, data = PredictiveFilter(model, order=DensestFirst(1.4)), data_of(model, 8, 60)
    errors = []
    for threshold in (0.0, 0.5):
        sample = particles_of(
            model, guide, data, num_particles=2000, num_islands=20, ess_threshold=threshold, num_pilot=0
        )
        errors.append(evidence_of(sample, 20)[1])
        assert sample.ess.shape == sample.num_resampled.shape == (60, 8)
        assert (sample.ess > 0).all()
        assert (sample.ess <= 2000 + 1e-6).all()
        assert bool(sample.num_resampled.sum() > 8 * 20) == (threshold > 0)
    hard = errors[0] > 0.1
    assert hard.sum() >= 3
    assert errors[1][hard].mean() < 0.8 * errors[0][hard].mean()


def test_perfect_look_ahead_is_left_alone() -> None:
    """All final weights equal the evidence; resampling by present weights would spoil that."""
    model = overlap2d()
    data = data_of(model, 3, 7)
    guide = ExactGuide(model)
    settings = {"num_particles": 100, "num_islands": 1, "num_pilot": 100}
    sample = particles_of(model, guide, data, ess_threshold=0.5, **settings)
    assert sample.num_resampled.sum() == 0
    torch.testing.assert_close(
        sample.log_weights, log_evidence(model, data).expand(100, 3), rtol=0, atol=1e-6
    )
    assert (sample.exponents[1:-1] < 0.1).all()
    spoilt = particles_of(model, guide, data, ess_threshold=0.9, **settings | {"num_pilot": 0})
    assert spoilt.num_resampled.sum() > 0
    assert (effective_shares(spoilt.log_weights) < 0.999).any()


def test_pilot_learns_that_a_blind_proposal_does_not_look_ahead() -> None:
    torch.manual_seed(5)
    model = niw_mixture(2)
    settings = {"num_particles": 10, "num_islands": 1, "ess_threshold": 0.5, "num_pilot": 300}
    blind = particles_of(model, PredictiveFilter(model), data_of(model, 8, 50), **settings)
    assert blind.exponents.shape == (50, 8)
    assert ((blind.exponents >= 0.01) & (blind.exponents <= 1)).all()
    torch.testing.assert_close(blind.exponents[-1], torch.ones(8).double())
    guide = load_guide("ncp-overlap2d")
    data = data_of(guide.model, 8, 50)
    ahead, behind = (
        particles_of(guide.model, one, data, **settings).exponents[20:40].mean()
        for one in (guide, PredictiveFilter(guide.model))
    )
    assert ahead < behind - 0.1


def test_one_particle_one_point_and_islands() -> None:
    model = overlap2d()
    guide = PredictiveFilter(model)
    draws, one = sequential_monte_carlo(model, guide, torch.randn(6, 2), num_particles=1)
    assert draws.assignments.shape == (1, 1, 6)
    assert math.isfinite(one.evidence.estimate)
    assert math.isnan(one.evidence.error)
    draws, single = sequential_monte_carlo(model, guide, torch.randn(1, 2), num_particles=4)
    assert (draws.assignments == 0).all()
    assert single.evidence.error == pytest.approx(0.0)
    _, unresampled = sequential_monte_carlo(
        model, guide, torch.randn(6, 2), num_particles=50, ess_threshold=0.0
    )
    assert unresampled.evidence.method is EvidenceMethod.IMPORTANCE
    assert unresampled.evidence.error > 0
    _, resampled = sequential_monte_carlo(
        model, guide, torch.randn(9, 2), num_particles=50, ess_threshold=1.0
    )
    assert math.isnan(resampled.evidence.error)
    draws, many = sequential_monte_carlo(
        model, guide, torch.randn(9, 2), num_particles=1000, ess_threshold=1.0
    )
    assert draws.assignments.shape == (10, 100, 9)
    assert many.evidence.error > 0


def test_allocation_is_exact_stratified_and_within_groups() -> None:
    torch.manual_seed(6)
    group = torch.tensor([0, 0, 1, 2, 2, 2])
    logits = torch.randn(6, 4).double()
    logits[1, 2:], logits[5, 3], logits[2, 0] = -torch.inf, -torch.inf, -torch.inf
    log_mass = logits - group_logsumexp(logits, group, 3)[group].unsqueeze(-1)
    counts = torch.zeros(20_000, 24, dtype=torch.int64)
    for row in counts:
        entry, copies = allocate_particles(log_mass, group, num_particles=10, num_groups=3)
        row[entry] = copies
    totals = counts.view(-1, 6, 4).sum(-1)
    for one in range(3):
        assert (totals[:, group == one].sum(-1) == 10).all()
    share = 10 * log_mass.exp().flatten()
    assert (counts[:, share == 0] == 0).all()
    variance = share * (1 - share / 10)
    assert ((counts.double().mean(0) - share).abs() <= 4 * (variance / 20_000).sqrt()).all()
    assert (counts.double().var(0) <= 1.05 * variance).all()
    assert (counts - share).abs().max() < 2


def test_impossible_prefixes_die_out() -> None:
    """The proposal opens clusters that a prior of two components forbids."""
    model = MODELS["two components"]()
    guide = PredictiveFilter(another_model(model))
    data = data_of(model, 4, 7)
    for one in data:
        draws, particles = sequential_monte_carlo(model, guide, one, num_particles=4000, num_islands=20)
        possible = draws.num_clusters <= 2
        assert (~possible).any()
        assert (draws.log_weights[~possible] == -np.inf).all()
        error = particles.evidence.estimate - log_evidence(model, one).item()
        assert abs(error) < 4.5 * particles.evidence.error


def test_errors() -> None:
    model = overlap2d()
    guide, data = PredictiveFilter(model), torch.zeros(5, 2)
    for settings, message in (
        ({"num_islands": 3}, "num_particles is 10, expected a positive multiple of num_islands, 3"),
        ({"num_islands": 0}, "num_islands is 0"),
        ({"num_pilot": 1}, "num_pilot is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            sequential_monte_carlo(model, guide, data, num_particles=10, **settings)
    heavy = Mixture(ChineseRestaurantPrior(1.0), student_t(2))
    with pytest.raises(ValueError, match=r"component is a .*, expected a conjugate family: weights need"):
        sequential_monte_carlo(heavy, guide, data, num_particles=10)

    class Averaged:
        def posterior(self, data: Tensor) -> object:
            return guide.order_averaged(data, 2)

    with pytest.raises(ValueError, match="is a OrderAveragedPartition, expected a SequentialPartition"):
        sequential_monte_carlo(model, Averaged(), data, num_particles=10)
    with pytest.raises(ValueError, match=r"data has shape \(3, 5, 2\), expected one data set"):
        sequential_monte_carlo(model, guide, data.expand(3, 5, 2), num_particles=10)


def test_three_components_have_the_published_evidence():
    """Chib (1995) gives -224.1, Neal (1999) corrects it to -226.8: all labellings count, not one."""
    torch.manual_seed(0)
    data = torch.from_numpy(read_table("galaxies").data) / 1000
    component = NormalIndependent(20.0, 100.0, shape=3.0, rate=20.0)
    model = Mixture(DirichletMultinomialPrior(3, 1.0), component)
    _, found = sequential_monte_carlo(model, PredictiveFilter(model), data, num_particles=1600, num_islands=8)
    assert found.evidence.error < 0.05
    assert abs(found.evidence.estimate + 226.8) < 0.2
