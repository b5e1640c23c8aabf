"""Random hyperparameters: the joint law of Geweke, invariance, calibration, and a quadrature."""

import math

import pytest
import torch
from cases import short_and_long, some_of
from joint_laws import geweke_scores, invariance_scores, sbc_ranks
from partition_laws import check_law
from pyro.distributions import (
    Beta,
    Exponential,
    FisherSnedecor,
    Gamma,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    LogNormal,
    Normal,
    Poisson,
    Uniform,
    Weibull,
)
from scipy import stats

from pyroclust.distributions import (
    Categories,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    DynamicMixturesPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
)
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, SliceHyperparameters, assignments
from pyroclust.infer.mcmc.compiled.hyperparameters import (
    density_code,
    from_real,
    log_density,
    log_jacobian,
    to_real,
)
from pyroclust.models import Mixture, gaussian2d
from pyroclust.partitions import enumerate_partitions

MODELS = {
    "pitman_yor_nig": Mixture(
        PitmanYorPrior(discount=Beta(2.0, 3.0), concentration=Gamma(2.0, 2.0)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    ),
    "restaurant_known": Mixture(
        ChineseRestaurantPrior(LogNormal(0.0, 0.7)),
        NormalKnownVariance(2, Gamma(4.0, 1.0), scale=InverseGamma(4.0, 3.0), mean=Normal(0.0, 1.0)),
    ),
    "gamma_niw": Mixture(
        GammaConcentration(2.0, 2.0),
        NormalInverseWishart(2, Uniform(0.1, 0.9), dof=5.0, scale=Gamma(3.0, 3.0)),
    ),
    "finite_nig": Mixture(
        DirichletMultinomialPrior(3, 1.0),
        NormalInverseGamma(1, 0.2, shape=HalfNormal(4.0), rate=HalfCauchy(1.0)),
    ),
    "dynamic_nig": Mixture(
        DynamicMixturesPrior(FisherSnedecor(6.0, 3.0), Poisson(1.5)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    ),
    "random_weight_nig": Mixture(
        FiniteMixturesPrior(Gamma(1.0, 1.0), Poisson(1.5)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    ),
}


def kernel_for(model):
    return Compose([CollapsedGibbs(model), SliceHyperparameters(model)])


# Invariance finds errors of a step; what adds up over steps is found by calibration, and by Geweke's test of
# kept parameters in test_auxiliary_gibbs_exactness.py. Geweke's test of these models is left to make prove.
@short_and_long("num_datasets", 250, 1500)
@pytest.mark.parametrize("name", MODELS)
def test_steps_leave_the_joint_law_unchanged(name, num_datasets):
    torch.manual_seed(1)
    model = MODELS[name]
    scores, deviation = invariance_scores(model, kernel_for(model), num_datasets=num_datasets, num_points=6)
    assert scores.abs().max() < 4.5
    assert (deviation > 0).all()


@pytest.mark.prove
@pytest.mark.parametrize("name", MODELS)
def test_geweke_joint_test(name):
    torch.manual_seed(2)
    model = MODELS[name]
    scores = geweke_scores(model, kernel_for(model), num_rounds=4000, num_points=5)
    assert scores.abs().max() < 4.5


@short_and_long("num_datasets", 100, 400)
@pytest.mark.parametrize("name", some_of([("pitman_yor_nig",), ("gamma_niw",)], [("pitman_yor_nig",)]))
def test_simulation_based_calibration(name, num_datasets):
    torch.manual_seed(3)
    model = MODELS[name]
    ranks = sbc_ranks(
        model, kernel_for(model), num_datasets=num_datasets, num_points=8, num_draws=19, thin=10
    )
    for column in ranks.T:
        counts = torch.bincount(column, minlength=20)
        assert stats.chisquare(counts.numpy()).pvalue > 1e-4


def with_rate(rate):
    return Mixture(ChineseRestaurantPrior(Gamma(2.0, rate)), NormalInverseGamma(1, 0.2, shape=3.0, rate=2.0))


def test_invariance_finds_out_a_kernel_of_another_hyperprior():
    torch.manual_seed(4)
    scores, _ = invariance_scores(with_rate(2.0), kernel_for(with_rate(1.6)), num_datasets=1500, num_points=6)
    assert scores.abs().max() > 4.5


@pytest.mark.prove
def test_geweke_finds_out_a_kernel_of_another_hyperprior():
    torch.manual_seed(4)
    scores = geweke_scores(with_rate(2.0), kernel_for(with_rate(1.6)), num_rounds=4000, num_points=5)
    assert scores.abs().max() > 4.5


@pytest.mark.prove
def test_calibration_finds_out_a_kernel_of_another_hyperprior():
    torch.manual_seed(4)
    ranks = sbc_ranks(
        with_rate(2.0), kernel_for(with_rate(1.0)), num_datasets=400, num_points=8, num_draws=19, thin=10
    )
    counts = [torch.bincount(column, minlength=20).numpy() for column in ranks.T]
    assert min(stats.chisquare(one).pvalue for one in counts) < 1e-4


def test_posterior_of_two_hyperparameters_by_quadrature():
    """p(h | x) on a grid, the partition summed out by enumeration."""
    torch.manual_seed(5)
    model = Mixture(
        ChineseRestaurantPrior(Gamma(2.0, 2.0)), NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0))
    )
    data = 2 * torch.randn(6, 1, dtype=torch.float64)
    alpha, rate = torch.meshgrid(torch.linspace(-5, 3, 60), torch.linspace(-4, 3, 60), indexing="ij")
    # The one is in the prior of the partition alone, the other in the likelihood alone.
    partitions = enumerate_partitions(6)
    one = model.given({"concentration": 1.0, "rate": 1.0}).prior
    log_partition = torch.stack([
        ChineseRestaurantPrior(a.exp().item()).log_prob(partitions) for a in alpha[:, 0].double()
    ])  # fmt: skip
    log_likelihood = torch.stack([
        model.given({"concentration": 1.0, "rate": r.exp().item()}).log_joint(data, partitions)
        for r in rate[0].double()
    ]) - one.log_prob(partitions)  # fmt: skip
    log_joint = (log_partition.unsqueeze(1) + log_likelihood).logsumexp(-1).flatten()
    log_prior = sum(
        model.hyperpriors[name].log_prob(values.exp().flatten()) + values.flatten()
        for name, values in (("concentration", alpha), ("rate", rate))
    )
    weights = (log_joint + log_prior).softmax(0)
    draws = kernel_for(model).run(data, num_draws=40_000, warmup=100, num_chains=2, seed=6)
    for name, values in (("concentration", alpha), ("rate", rate)):
        sampled, grid = torch.from_numpy(draws.parameters[name]).log(), values.flatten().double()
        centre = (weights * grid).sum()
        for power in (1, 2, 3):
            truth = (weights * (grid - centre) ** power).sum()
            batches = ((sampled - centre) ** power).reshape(40, -1).mean(-1)
            assert (batches.mean() - truth).abs() < 4.5 * batches.std() / 40**0.5


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Categories([3, 2], LogNormal(0.0, 1.0)), "concentration"),
        (PoissonGamma(2, LogNormal(0.0, 1.0), rate=0.2), "shape"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_partitions_of_counts_and_categories_have_the_integrated_posterior(family, name):
    torch.manual_seed(8)
    model = Mixture(ChineseRestaurantPrior(1.0), family)
    data = family.given({name: 0.5}).sample(torch.tensor([0, 0, 1, 1, 2, 0])).double()
    draws = kernel_for(model).run(data, num_draws=10_000, warmup=100, num_chains=4, seed=9)
    check_law(model, data, draws.assignments)


PRIORS = [
    Gamma(2.0, 4.0), Exponential(3.0), InverseGamma(3.0, 2.0), LogNormal(0.3, 0.6), HalfNormal(2.0),
    HalfCauchy(0.7), FisherSnedecor(6.0, 3.0), Beta(2.0, 5.0), Uniform(1.0, 4.0), Normal(-1.0, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: type(one).__name__)
def test_compiled_densities_are_pyros(prior):
    code = density_code(prior)
    value = float(prior.sample())
    assert log_density(*code, value) == pytest.approx(prior.log_prob(torch.tensor(value)).item(), abs=1e-5)
    real = to_real(*code, value)
    assert from_real(*code, real) == pytest.approx(value)
    slope = (from_real(*code, real + 1e-5) - from_real(*code, real - 1e-5)) / 2e-5
    assert log_jacobian(*code, real) == pytest.approx(math.log(slope), abs=1e-5)


def test_log_joint_is_the_models():
    model = MODELS["pitman_yor_nig"]
    data = torch.randn(12, 1, dtype=torch.float64)
    draws = kernel_for(model).run(data, num_draws=30, num_chains=2, seed=7)
    hyper = {name: torch.from_numpy(values) for name, values in draws.parameters.items()}
    expected = model.given(hyper).log_joint(data, torch.from_numpy(draws.assignments))
    expected += sum(p.log_prob(hyper[n].float()) for n, p in model.hyperpriors.items())
    assert draws.log_joint == pytest.approx(expected.numpy(), abs=1e-5)


def test_inside_pyros_mcmc():
    from pyro.infer import MCMC

    model = MODELS["gamma_niw"]
    mcmc = MCMC(kernel_for(model), num_samples=20, warmup_steps=5, disable_progbar=True)
    mcmc.run(torch.randn(10, 2))
    assert sorted(mcmc.get_samples()) == [
        "assignments",
        "concentration",
        "kappa",
        "log_joint",
        "num_clusters",
        "scale",
    ]
    assert assignments(mcmc).shape == (1, 20, 10)


def test_errors():
    with pytest.raises(ValueError, match="no random hyperparameter"):
        SliceHyperparameters(gaussian2d())
    with pytest.raises(ValueError, match=r"prior Weibull, expected one of Beta, Exponential"):
        SliceHyperparameters(Mixture(ChineseRestaurantPrior(Weibull(1.0, 1.0)), NormalKnownVariance(1)))
    with pytest.raises(ValueError, match="width is 0"):
        SliceHyperparameters(MODELS["pitman_yor_nig"], width=0)
    with pytest.raises(
        ValueError, match=r"\['concentration', 'discount', 'rate'\] that CollapsedGibbs does not"
    ):
        CollapsedGibbs(MODELS["pitman_yor_nig"]).run(torch.randn(5, 1), num_draws=1)
    with pytest.raises(ValueError, match="different models"):
        Compose([CollapsedGibbs(gaussian2d()), CollapsedGibbs(gaussian2d())])
    with pytest.raises(ValueError, match="kernels is empty"):
        Compose([])
