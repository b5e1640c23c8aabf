"""The law of SplitMerge and MergeSplit against enumeration, alone and beside Gibbs sweeps."""

import math
from itertools import cycle, product

import pytest
import torch
from cases import short_and_long, some_of
from partition_laws import check_invariance, check_law, check_log_joint, effective_partitions
from pyro.distributions import Categorical, Gamma, Poisson
from pyro.infer import MCMC

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.mcmc import (
    CollapsedGibbs,
    Compose,
    MergeSplit,
    OneCluster,
    Singletons,
    SplitMerge,
    assignments,
)
from pyroclust.infer.mcmc.parallel_tempering import PoweredChains
from pyroclust.models import Mixture, nig_mixture, niw_mixture, overlap2d

UP_TO_THREE = FiniteMixturesPrior(0.7, Categorical(torch.tensor([0.2, 0.3, 0.5])))

# Each with the spread of seven points over which the posterior is spread, too.
CASES = {
    "crp-normal_2": (overlap2d(), 2.0),
    "pitman_yor-nig_1": (
        Mixture(PitmanYorPrior(0.4, 0.3), NormalInverseGamma(1, 0.1, shape=2.0, rate=0.5)),
        2.0,
    ),
    "pitman_yor-normal_1": (Mixture(PitmanYorPrior(0.6, -0.2), NormalKnownVariance(1, 3.0)), 2.5),
    "up_to_three-normal_1": (Mixture(UP_TO_THREE, NormalKnownVariance(1, 3.0)), 2.5),
    "mfm-niw_2": (
        Mixture(FiniteMixturesPrior(1.0, Poisson(2.0)), NormalInverseWishart(2, 0.1, dof=4.0, scale=0.5)),
        2.0,
    ),
    "three-nig_2": (
        Mixture(DirichletMultinomialPrior(3, 0.8), NormalInverseGamma(2, 0.1, shape=2.0, rate=0.5)),
        2.0,
    ),
    "gamma-nig_2": (nig_mixture(2), 1.0),
    "gamma-niw_2": (niw_mixture(2), 1.0),
}
KERNELS = {
    "split_merge": lambda model, **options: SplitMerge(model, scans=2, **options),
    "no_scans": lambda model, **options: SplitMerge(model, scans=0, proposals=2, **options),
    "merge_split": MergeSplit,
    "compose": lambda model, **options: Compose(
        [CollapsedGibbs(model), SplitMerge(model, scans=1), MergeSplit(model)], **options
    ),
}
# Every model once, every kernel twice.
CHOSEN = set(zip(CASES, cycle(KERNELS), strict=False))
both = pytest.mark.parametrize("kernel", [SplitMerge, MergeSplit])


def points(model, spread, num_points=7):
    """Return a few points, the first two close."""
    torch.manual_seed(12)
    data = spread * torch.randn(num_points, model.component.dim)
    data[1] = data[0] + 0.1 * torch.randn(model.component.dim)
    return data


@pytest.fixture(scope="module")
def posteriors():
    """Enumerate once a model."""
    found = {}
    for name, (model, spread) in CASES.items():
        data = points(model, spread)
        found[name] = (data, exact_posterior(model, data))
    return found


@pytest.mark.parametrize(("case", "kernel"), some_of(product(CASES, KERNELS), CHOSEN))
def test_compiled_path_has_the_exact_law(case, kernel, posteriors):
    (model, _), (data, exact) = CASES[case], posteriors[case]
    assert effective_partitions(exact[1]) > 10
    draws = KERNELS[kernel](model, thin=4, init=OneCluster()).run(
        data, num_draws=40_000, warmup=100, num_chains=2, seed=3
    )
    check_law(model, data, draws.assignments, exact)
    check_log_joint(model, data, draws, last=200, atol=1e-9)


@short_and_long("num_samples", 2000, 4000)
@pytest.mark.parametrize("kernel", some_of([(SplitMerge,), (MergeSplit,)], [(MergeSplit,)]))
def test_mcmc_path_has_the_exact_law(kernel, num_samples, posteriors):
    model, (data, exact) = CASES["pitman_yor-nig_1"][0], posteriors["pitman_yor-nig_1"]
    torch.manual_seed(4)
    mcmc = MCMC(kernel(model, thin=4), num_samples=num_samples, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    check_law(model, data, assignments(mcmc), exact)


@pytest.mark.parametrize("case", ["crp-normal_2", "up_to_three-normal_1", "pitman_yor-nig_1"])
@both
def test_one_step_leaves_the_posterior_as_it_is(case, kernel, posteriors):
    (model, _), (data, exact) = CASES[case], posteriors[case]
    chains = PoweredChains(kernel(model), data.double(), seed=5)

    def step(labels):
        return chains.advance(kernel(model).states_at(data.double(), labels), 1.0, 1)[0].assignments

    check_invariance(step, exact, num_draws=4000, seed=5)


@both
def test_two_points(kernel):
    """The smallest data set: a split leaves nothing to allocate."""
    model = overlap2d()
    data = torch.tensor([[0.0, 0.0], [2.0, 0.5]])
    draws = kernel(model).run(data, num_draws=4000, num_chains=2, seed=6)
    check_law(model, data, draws.assignments)


@both
def test_impossible_numbers_of_clusters_are_left_and_never_entered(kernel):
    model = Mixture(UP_TO_THREE, NormalKnownVariance(1, 3.0))
    data = 10 * torch.randn(12, 1)
    draws = kernel(model, init=Singletons(), proposals=5).run(data, num_draws=400, num_chains=2, seed=7)
    assert (draws.num_clusters[:, 0] > 3).any()
    assert (draws.num_clusters[:, 100:] == 3).any()
    assert (draws.num_clusters[:, 100:] <= 3).all()


@both
@pytest.mark.parametrize("model", [overlap2d(), nig_mixture(2), niw_mixture(2)], ids=lambda m: m.name)
def test_long_chains_do_not_drift(kernel, model):
    torch.manual_seed(8)
    data = torch.cat([torch.randn(30, 2), torch.randn(30, 2) + 2.5])
    chain = kernel(model, thin=200)
    draws = chain.run(data, num_draws=50, num_chains=1, seed=9)
    assert chain.diagnostics()["splits accepted"] > 1e-3
    check_log_joint(model, data, draws, rtol=1e-12, atol=1e-9)


@both
def test_far_clusters_are_parted_at_once(kernel):
    """A split parts two clusters at a stroke wherever the anchors lie in both."""
    torch.manual_seed(10)
    data = torch.cat([torch.randn(200, 2), torch.randn(200, 2) + 8.0])
    draws = kernel(overlap2d(), init=OneCluster()).run(data, num_draws=30, num_chains=4, seed=11)
    left, right = draws.assignments[:, -1, :200, None], draws.assignments[:, -1, None, 200:]
    assert (left == right).mean() < 0.01


@both
def test_acceptance_is_counted(kernel):
    torch.manual_seed(13)
    data = 2 * torch.randn(20, 2)
    chain = kernel(overlap2d())
    assert all(math.isnan(chain.diagnostics()[name]) for name in ("splits accepted", "merges accepted"))
    mcmc = MCMC(chain, num_samples=200, warmup_steps=10, disable_progbar=True)
    mcmc.run(data)
    found = chain.diagnostics()
    assert found["divergences"] == []
    assert 0.0 < found["splits accepted"] < 1.0
    assert 0.0 < found["merges accepted"] < 1.0
    assert mcmc.diagnostics()["splits accepted"] == {"chain 0": found["splits accepted"]}


def test_wrong_settings():
    model = overlap2d()
    with pytest.raises(ValueError, match="scans is -1, expected at least 0"):
        SplitMerge(model, scans=-1)
    with pytest.raises(ValueError, match="proposals is 0, expected at least 1"):
        MergeSplit(model, proposals=0)
    with pytest.raises(ValueError, match="thin is 0"):
        SplitMerge(model, thin=0)
    with pytest.raises(ValueError, match="add SliceHyperparameters"):
        SplitMerge(Mixture(ChineseRestaurantPrior(Gamma(1.0, 1.0)), NormalKnownVariance(2, 1.0))).run(
            torch.zeros(3, 2), num_draws=1
        )
