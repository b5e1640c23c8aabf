"""The law of AuxiliaryGibbs: enumeration for conjugate families, quadrature and enumeration for others."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from cases import short_and_long, some_of
from joint_laws import functionals, invariance_scores, simulate, states_at
from partition_laws import (
    BATCHES,
    check_law,
    effective_partitions,
    log_subsets,
    posterior_of_subsets,
)
from pyro.distributions import Gamma, Poisson
from pyro.infer import MCMC
from scipy import stats

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    MultinomialDirichlet,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    student_t,
    von_mises,
)
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    OneCluster,
    Singletons,
    SliceHyperparameters,
    SliceParameters,
    assignments,
    auxiliary_gibbs,
)
from pyroclust.infer.mcmc.parameters import ChainClusters, ChainFamilies, ParameterTarget
from pyroclust.models import Mixture

PRIORS = {
    "restaurant": ChineseRestaurantPrior(0.9),
    "pitman_yor": PitmanYorPrior(0.4, 0.5),
    "finite": FiniteMixturesPrior(0.8, Poisson(torch.tensor(1.5))),
    "three": DirichletMultinomialPrior(3, 1.2),
    "gamma": GammaConcentration(2.0, 2.0),
}
FAMILIES = {
    "known": NormalKnownVariance(1, 2.0),
    "nig": NormalInverseGamma(1, 0.2, shape=2.0, rate=0.5),
    "niw": NormalInverseWishart(2, 0.2, dof=4.0, scale=1.0),
    "poisson": PoissonGamma(2, 1.5, rate=0.5),
    "mixed": Product([NormalInverseGamma(1, 0.2, shape=2.0, rate=0.5), BernoulliBeta(2, 0.7, beta=0.7)]),
}
UNCOLLAPSED = {
    "student": (student_t(prior_scale=3.0), torch.tensor([-1.5, -1.3, -0.6, 0.3, 1.1, 1.2, 4.0])),
    "mises": (von_mises(shape=2.0, rate=0.4), torch.tensor([-3.1, -2.6, -0.2, 0.1, 0.5, 2.7, 3.12])),
}
# Centre, precision: where the quadrature reaches to, in these units and in their logarithm.
GRIDS = {"student": ((-40.0, 40.0), (-9.0, 5.0)), "mises": ((-math.pi, math.pi), (-11.0, 5.0))}


def points(component, seed=11):
    torch.manual_seed(seed)
    return component.sample(torch.tensor([0, 0, 0, 1, 1, 2, 2]))


@cache
def quadrature(name):
    """Return log p(x_S) of all 128 subsets S of seven points."""
    component, data = UNCOLLAPSED[name]
    (low, high), (narrow, wide) = GRIDS[name]
    loc = torch.linspace(low, high, 801, dtype=torch.float64)[:-1]
    return log_subsets(component, data, loc, torch.linspace(narrow, wide, 201, dtype=torch.float64))


def test_quadrature_knows_its_integrals():
    """The empty set has probability 1: the grids hold all of the prior."""
    assert quadrature("student")[0].abs() < 1e-6
    assert quadrature("mises")[0].abs() < 1e-6


@short_and_long("num_draws", 50, 160)
@pytest.mark.parametrize(
    ("prior", "name"), some_of(product(PRIORS, UNCOLLAPSED), [("pitman_yor", "student"), ("finite", "mises")])
)
def test_uncollapsed_law(prior, name, num_draws):
    component, data = UNCOLLAPSED[name]
    model = Mixture(PRIORS[prior], component)
    exact = posterior_of_subsets(PRIORS[prior], quadrature(name))
    assert effective_partitions(exact[1]) > 5
    kernel = AuxiliaryGibbs(model)
    draws = kernel.run(data.unsqueeze(-1), num_draws=num_draws, warmup=40, num_chains=10 * BATCHES, seed=2)
    check_law(model, data, draws.assignments, exact)


@short_and_long("num_draws", 50, 100)
@pytest.mark.parametrize(
    "settings", [{"num_auxiliary": 1}, {"num_auxiliary": 8}, {"init": OneCluster()}], ids=str
)
def test_settings_leave_the_law_alone(settings, num_draws):
    model = Mixture(PRIORS["pitman_yor"], FAMILIES["nig"])
    data = points(model.component)
    draws = AuxiliaryGibbs(model, **settings).run(
        data, num_draws=num_draws, warmup=20, num_chains=10 * BATCHES, seed=3
    )
    check_law(model, data, draws.assignments)


# Blocks of single points, and of some points at a time.
@pytest.mark.parametrize("entries", some_of([(1,), (200,)], [(1,)]))
def test_small_blocks_have_the_same_law(entries, monkeypatch):
    monkeypatch.setattr(auxiliary_gibbs, "_MAX_ENTRIES", entries)
    monkeypatch.setattr(auxiliary_gibbs, "_DRAWS", 1)
    model = Mixture(PRIORS["pitman_yor"], FAMILIES["nig"])
    data = points(model.component)
    draws = AuxiliaryGibbs(model).run(data, num_draws=250, warmup=20, num_chains=BATCHES, seed=4)
    check_law(model, data, draws.assignments)


@pytest.mark.parametrize("family", some_of([("nig",), ("poisson",)], [("nig",)]))
def test_slice_updates_in_a_conjugate_family(family):
    model = Mixture(PRIORS["restaurant"], FAMILIES[family])
    data = points(model.component)
    kernel = AuxiliaryGibbs(model, parameter_updates=SliceParameters())
    draws = kernel.run(data, num_draws=80, warmup=20, num_chains=10 * BATCHES, seed=5)
    check_law(model, data, draws.assignments)


@short_and_long("chains", 300, 600)
@pytest.mark.parametrize(
    "component", [*FAMILIES.values(), MultinomialDirichlet(3, 0.8)], ids=lambda c: type(c).__name__
)
def test_slice_updates_have_the_exact_posterior_of_parameters(component, chains):
    """Many copies of three clusters, one of them a single point, against draws from the formula."""
    data = points(component, seed=12).double()
    clusters = ChainClusters.of(torch.tensor([0, 0, 0, 0, 1, 1, 2]).expand(chains, -1))
    families = ChainFamilies(Mixture(PRIORS["restaurant"], component))
    settings = {"dtype": torch.float64, "generator": np.random.default_rng(6)}
    updates = SliceParameters(rounds=20).bind(component, data, **settings)
    found = updates.draw(updates.start(clusters), families).parameters
    exact = AuxiliaryGibbs(families.model).parameter_updates.bind(component, data, **settings)
    truth = exact.draw(clusters, families).parameters
    for name, value in found.items():
        columns = zip(value.reshape(chains, -1).T, truth[name].reshape(chains, -1).T, strict=True)
        pvalues = [
            stats.ks_2samp(one.numpy(), other.numpy()).pvalue for one, other in columns if one.std() > 0
        ]
        assert min(pvalues) > 1e-4, name


@short_and_long("num_samples", 1000, 2000)
def test_pyro_mcmc_has_the_exact_law(num_samples):
    torch.manual_seed(7)
    model = Mixture(PRIORS["finite"], FAMILIES["known"])
    data = points(model.component)
    mcmc = MCMC(AuxiliaryGibbs(model, thin=2), num_samples=num_samples, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    check_law(model, data, assignments(mcmc))


def test_concentration_beside_the_collapsed_sampler():
    """The Gamma concentration is a number while both kernels move points, each by its own rules."""
    model = Mixture(PRIORS["gamma"], FAMILIES["nig"])
    data = points(model.component)
    kernel = Compose([AuxiliaryGibbs(model), CollapsedGibbs(model)])
    draws = kernel.run(data, num_draws=100, warmup=20, num_chains=BATCHES, seed=8)
    assert draws.parameters["concentration"].shape == (BATCHES, 100)
    check_law(model, data, draws.assignments)


RANDOM = Mixture(
    PitmanYorPrior(0.2, concentration=Gamma(2.0, 2.0)),
    NormalInverseGamma(1, Gamma(4.0, 10.0), shape=3.0, rate=Gamma(3.0, 3.0)),
)


@pytest.mark.prove
def test_random_hyperparameters_keep_the_joint_law():
    torch.manual_seed(9)
    kernel = Compose([AuxiliaryGibbs(RANDOM), SliceHyperparameters(RANDOM)])
    scores, deviation = invariance_scores(RANDOM, kernel, num_datasets=500, num_points=6, num_steps=2)
    assert scores.abs().max() < 4.5
    assert (deviation > 0).all()


def test_random_hyperparameters_of_chains_stay_apart():
    """Chains of one run share calls, not hyperparameters: each has the law it would have alone."""
    torch.manual_seed(10)
    data = points(RANDOM.component.given({"kappa": 0.4, "rate": 1.0}))
    kernel = AuxiliaryGibbs(RANDOM, init=Singletons())
    hyper = {
        "concentration": torch.tensor([0.3, 3.0]).double().repeat(BATCHES),
        "kappa": torch.tensor([0.05, 2.0]).double().repeat(BATCHES),
        "rate": torch.tensor([0.1, 2.0]).double().repeat(BATCHES),
    }
    states = states_at(hyper, torch.arange(7).repeat(2 * BATCHES, 1), 0)
    states = type(states)(torch.arange(7).repeat(2 * BATCHES, 1), hyper, torch.zeros(2 * BATCHES).double())
    trace = kernel.bind(data, states, np.random.default_rng(11)).advance(states, 400)
    for first in (0, 1):
        own = {name: value[first] for name, value in hyper.items()}
        check_law(RANDOM.given(own), data, trace.assignments[first::2, 20:])


@short_and_long("num_rounds", 500, 2000)
def test_geweke_joint_test_of_kept_parameters(num_rounds, monkeypatch):
    """Data redrawn from the kept parameters, state redrawn by the kernels: the model's joint law stays.

    The transitions go on reading the data that they were bound to, which change in place; log-likelihoods of
    auxiliary parameters are not kept ahead of them.
    """
    monkeypatch.setattr(auxiliary_gibbs, "_DRAWS", 1)
    torch.manual_seed(12)
    model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 2.0)), student_t(prior_scale=2.0))
    gibbs = AuxiliaryGibbs(model)
    direct = functionals(*simulate(model, num_datasets=20_000, num_points=5))
    _, labels, data = simulate(model, num_datasets=1, num_points=5)
    states, visited = states_at({"concentration": torch.tensor([0.02]).double()}, labels, 0), []
    kernel = Compose([gibbs, SliceHyperparameters(model)])
    transition = kernel.bind(data[0], states, np.random.default_rng(13))
    for _ in range(50 + num_rounds):
        states = transition.step(states)
        data.copy_(model.component.likelihood(gibbs.parameters).sample())
        visited.append(functionals(states.hyperparameters, states.assignments, data)[0])
    chain = torch.stack(visited[50:]).reshape(BATCHES // 2, -1, direct.shape[-1]).mean(1)
    error = (chain.var(0) / len(chain) + direct.var(0) / len(direct)).sqrt()
    assert ((chain.mean(0) - direct.mean(0)) / error).abs().max() < 5.0


def test_target_is_the_density_of_parameters_times_the_volume():
    """The change of variables, by numerical differentiation of the map."""
    torch.manual_seed(14)
    target = ParameterTarget(FAMILIES["niw"], points(FAMILIES["niw"]).double(), dtype=torch.float64)
    vector = torch.randn(target.space.num_coordinates, dtype=torch.float64)
    rows, columns = torch.tril_indices(2, 2)

    def flat(vector):
        value = target.space.constrain(vector)[0]
        return torch.cat([value["loc"], value["scale_tril"][rows, columns]])

    jacobian = torch.autograd.functional.jacobian(flat, vector)
    assert torch.allclose(target.space.constrain(vector)[1], jacobian.det().abs().log())
    back = target.space.unconstrain(target.space.constrain(vector)[0])
    assert torch.allclose(back, vector)
