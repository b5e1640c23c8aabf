"""Tempered populations: their law, their evidence, random hyperparameters, and what they are for."""

import numpy as np
import pytest
import torch
from cases import four_heaps, short_and_long, some_of
from partition_laws import check_law, check_log_joint
from pyro.distributions import Beta, Gamma, Poisson
from scipy.special import logsumexp, softmax

from pyroclust.data.datasets import read_table
from pyroclust.data.tables import standardise
from pyroclust.diagnostics import EvidenceMethod, co_assignment
from pyroclust.diagnostics.evidence import population_evidence
from pyroclust.distributions import (
    Categories,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    PartlyObserved,
    PitmanYorPrior,
    Product,
    student_t,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import annealed_log_evidence, log_evidence, refine, tempered_populations
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, SliceHyperparameters
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import Mixture, gaussian2d, nig_mixture, normal_mixture, overlap2d, warped_clusters
from pyroclust.partitions import Draws, enumerate_partitions
from pyroclust.partitions.constraints import Constraints

NUM_POPULATIONS = 40


@pytest.fixture(scope="module")
def seven():
    return 3 * torch.randn(7, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def of_each(draws):
    """Return draws of every population by its own weights, ``(R, S, N)``."""
    weights = torch.from_numpy(draws.log_weights).softmax(-1)
    rows = torch.multinomial(weights, weights.shape[1], replacement=True)
    return torch.from_numpy(draws.assignments)[torch.arange(len(rows)).unsqueeze(-1), rows]


def mixed():
    parts = [PartlyObserved(NormalInverseGamma(1, 0.1, shape=2.0, rate=0.5), 1), Categories([3])]
    return Mixture(FiniteMixturesPrior(1.0, Poisson(torch.tensor(2.0))), Product(parts))


# Powers reach every family in the same way, which kernels of tempered chains are tested for.
@short_and_long("num_particles", 30, 100)
@pytest.mark.parametrize(
    "name",
    some_of(
        [("known",), ("random concentration",), ("full covariance",), ("mixed kinds, gaps",)],
        [("random concentration",)],
    ),
)
def test_law_and_evidence_are_those_of_enumeration(name, seven, num_particles):
    full = Mixture(PitmanYorPrior(0.2, 0.7), NormalInverseWishart(2, 0.1, dof=4.0, scale=1.0))
    model, data = {
        "known": (overlap2d(), seven),
        "random concentration": (Mixture(GammaConcentration(2.0, 1.0), overlap2d().component), seven),
        "full covariance": (full, seven),
        "mixed kinds, gaps": (
            mixed(),
            torch.stack([seven[:, 0].masked_fill(seven[:, 0] > 3, torch.nan), torch.arange(7) % 3], -1),
        ),
    }[name]
    torch.manual_seed(0)
    draws, found = tempered_populations(
        model,
        data,
        num_particles=num_particles,
        num_populations=NUM_POPULATIONS,
        sweeps=1,
        share=0.8,
        kernel=CollapsedGibbs(model),
        seed=1,
    )
    check_law(model, data, of_each(draws))
    ratios = np.exp(draws.log_weights - log_evidence(model, data).item()).mean(-1)
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / NUM_POPULATIONS**0.5 < 0.2
    assert abs(found.evidence.estimate - log_evidence(model, data).item()) < 4 * found.evidence.error


@short_and_long("num_particles", 50, 200)
def test_random_hyperparameters_have_their_posterior(seven, num_particles):
    """By quadrature over a grid of two of them, for every partition."""
    model = Mixture(
        PitmanYorPrior(Beta(2.0, 3.0), 1.0), NormalInverseGamma(2, 0.2, shape=3.0, rate=Gamma(3.0, 3.0))
    )
    kernel = Compose([CollapsedGibbs(model), SliceHyperparameters(model)])
    draws, found = tempered_populations(
        model, seven, num_populations=20, num_particles=num_particles, sweeps=1, kernel=kernel, seed=0
    )
    partitions = enumerate_partitions(7)
    discounts, rates = torch.linspace(0.005, 0.995, 100).double(), torch.linspace(0.02, 8, 400).double()
    prior = torch.stack([PitmanYorPrior(one, 1.0).log_prob(partitions) for one in discounts.tolist()])
    prior = prior + Beta(2.0, 3.0).log_prob(discounts).unsqueeze(-1)
    fit = torch.stack(
        [
            Mixture(PitmanYorPrior(0.5, 1.0), NormalInverseGamma(2, 0.2, shape=3.0, rate=rate)).log_joint(
                seven, partitions
            )
            - PitmanYorPrior(0.5, 1.0).log_prob(partitions)
            for rate in rates.tolist()
        ]
    ) + Gamma(3.0, 3.0).log_prob(rates).unsqueeze(-1)
    # Given the partition, the two numbers are independent.
    of_partition = prior.logsumexp(0) + fit.logsumexp(0)
    steps = (discounts[1] - discounts[0]) * (rates[1] - rates[0])
    exact = (of_partition.logsumexp(0) + steps.log()).item()
    assert abs(found.evidence.estimate - exact) < 4 * found.evidence.error + 0.01
    columns = softmax(draws.log_weights, axis=-1)
    for name, grid, log_masses in (("discount", discounts, prior), ("rate", rates, fit)):
        values = (columns * draws.parameters[name]).sum(-1)
        truth = (grid @ log_masses.softmax(0) @ of_partition.softmax(0)).item()
        assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / 20**0.5


@pytest.mark.prove
def test_two_modes_get_their_shares():
    model, heaps = four_heaps()
    draws, found = tempered_populations(model, heaps, num_particles=400, seed=0)
    together = co_assignment(draws)
    assert abs(together[0, 15] - together[0, 45]) < 0.25
    first, second = (
        co_assignment(labels, weights=softmax(weights))
        for labels, weights in zip(draws.assignments, draws.log_weights, strict=True)
    )
    assert np.abs(first - second).max() < 0.35
    assert len(np.unique(found.ancestors)) > 50
    alone = named_kernel("merge-split+gibbs", model).run(heaps, num_draws=500, num_chains=4, seed=0)
    one = co_assignment(alone.assignments[0])
    assert abs(one[0, 15] - one[0, 45]) > 0.5


def test_same_seed_same_particles_and_the_end_is_that_of_the_model(seven):
    state = torch.get_rng_state()
    (draws, found), (again, _), (another, _) = (
        tempered_populations(overlap2d(), seven, num_particles=40, seed=seed) for seed in (5, 5, 6)
    )
    first, second = (
        annealed_log_evidence(gaussian2d(), seven, num_particles=20, repetitions=2, seed=5) for _ in range(2)
    )
    assert first == second
    assert torch.equal(state, torch.get_rng_state())
    np.testing.assert_array_equal(draws.assignments, again.assignments)
    np.testing.assert_array_equal(draws.log_weights, again.log_weights)
    assert not np.array_equal(draws.log_weights, another.log_weights)
    check_log_joint(overlap2d(), seven, draws)
    assert all(powers[0] == 0 and powers[-1] == 1 and np.all(np.diff(powers) > 0) for powers in found.powers)
    assert repr(found).startswith("Populations(2 of ")
    assert found.ancestors[1].min() >= 40 > found.ancestors[0].max()


def test_runs_are_joined(seven):
    runs = [tempered_populations(overlap2d(), seven, num_particles=30, seed=seed)[0] for seed in (1, 2)]
    found = Draws.joined(runs)
    assert found.assignments.shape == (4, 30, 7)
    evidence = population_evidence(found.log_weights, method=EvidenceMethod.TEMPERED)
    assert evidence.estimate == pytest.approx(logsumexp(found.log_weights) - np.log(120))
    fewer, _ = tempered_populations(overlap2d(), seven, num_particles=20, seed=3)
    for wrong in ([], [runs[0], fewer]):
        with pytest.raises(ValueError, match="expected one size"):
            Draws.joined(wrong)


def test_what_it_refuses(seven):
    with pytest.raises(ValueError, match="conjugate"):
        tempered_populations(Mixture(PitmanYorPrior(0.2, 0.7), student_t()), seven[:, :1])
    with pytest.raises(ValueError, match="constraints"):
        tempered_populations(gaussian2d().under(Constraints.of(7, must_link=[(0, 1)])), seven)
    with pytest.raises(ValueError, match="num_populations is 1"):
        tempered_populations(gaussian2d(), seven, num_populations=1)
    with pytest.raises(ValueError, match=r"share is 1\.0"):
        tempered_populations(gaussian2d(), seven, share=1.0)
    with pytest.raises(ValueError, match="kernel belongs to the model"):
        tempered_populations(gaussian2d(), seven, kernel=CollapsedGibbs(overlap2d()))


@pytest.fixture(scope="module")
def eight():
    return torch.randn(8, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3


def test_equals_enumeration(eight):
    exact = log_evidence(gaussian2d(), eight).item()
    found = [annealed_log_evidence(gaussian2d(), eight, num_particles=200, seed=seed) for seed in range(12)]
    estimates = np.array([one.estimate for one in found])
    assert abs(estimates.mean() - exact) < 4 * estimates.std() / 12**0.5 < 0.05
    z = (estimates - exact) / [one.error for one in found]
    # Student's t with five degrees of freedom: six repetitions each.
    assert np.abs(z).max() < 12


def test_a_random_concentration_is_integrated_out(eight):
    model = Mixture(GammaConcentration(2.0, 1.0), gaussian2d().component)
    exact = log_evidence(model, eight).item()
    found = annealed_log_evidence(model, eight, num_particles=300, seed=0)
    assert abs(found.estimate - exact) < max(6 * found.error, 0.02)


@pytest.mark.parametrize("known", [None, Constraints.of(8, must_link=[(0, 2)], cannot_link=[(0, 1)])])
def test_a_random_scale_is_integrated_out(eight, known):
    model = normal_mixture(2) if known is None else normal_mixture(2).under(known)
    exact = log_evidence(model, eight / 3).item()
    found = annealed_log_evidence(model, eight / 3, num_particles=1000, seed=0)
    assert abs(found.estimate - exact) < max(6 * found.error, 0.02) < 0.15


def test_galaxies_as_by_the_bridge():
    """The truth is of the predictive decomposition, by python benchmarks/evidence.py --only galaxies."""
    data = torch.from_numpy(standardise(read_table("galaxies")).data)
    model = nig_mixture()
    annealed = annealed_log_evidence(model, data, seed=0)
    assert annealed.is_reliable
    assert abs(annealed.estimate + 100.37) < 4 * np.hypot(annealed.error, 0.04)
    stated = refine(model, PredictiveFilter(model), data, num_draws=500, seed=0)[1].log_evidence
    assert abs(stated.estimate + 100.37) < 4 * np.hypot(stated.error, 0.04)
    assert stated.error < 0.1


def test_models_that_it_cannot_serve(eight):
    with pytest.raises(ValueError, match="conjugate"):
        annealed_log_evidence(warped_clusters(), eight)
    with pytest.raises(ValueError, match="repetitions is 1"):
        annealed_log_evidence(gaussian2d(), eight, repetitions=1)
