"""Joint proposals of a hyperparameter and a partition: their law, and the chains that they bring down."""

import math

import numpy as np
import pytest
import torch
from cases import short_and_long, some_of
from joint_laws import invariance_scores, sbc_ranks
from partition_laws import check_law, effective_partitions
from pyro.distributions import Beta, Categorical, Gamma, LogNormal, Poisson
from scipy import stats

from pyroclust.distributions import (
    Categories,
    ChineseRestaurantPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    PartlyObserved,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.mcmc import Compose, OneCluster, Singletons, SliceHyperparameters
from pyroclust.infer.mcmc.hyperparameters import Reallocate
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import Mixture, normal_mixture

SCALE = LogNormal(-1.0, 1.0)
UP_TO_THREE = FiniteMixturesPrior(0.7, Categorical(torch.tensor([0.2, 0.3, 0.5])))

# With one random hyperparameter, which enumeration integrates out.
ONE = {
    "finite-normal_1": normal_mixture(1),
    "finite-normal_2": normal_mixture(2),
    "gamma-nig": Mixture(GammaConcentration(2.0, 2.0), NormalInverseGamma(2, 0.1, shape=2.0, rate=SCALE)),
    "up_to_three-niw": Mixture(UP_TO_THREE, NormalInverseWishart(2, 0.1, dof=4.0, scale=SCALE)),
    "pitman_yor-counts": Mixture(PitmanYorPrior(0.4, 0.5), PoissonGamma(2, SCALE, rate=0.2)),
    "crp-product": Mixture(
        ChineseRestaurantPrior(1.0),
        Product([PartlyObserved(NormalInverseGamma(1, 0.2, shape=2.0, rate=SCALE), 1), Categories([3], 0.5)]),
    ),
}
# With several, of the prior too.
SEVERAL = {
    "pitman_yor": Mixture(
        PitmanYorPrior(discount=Beta(2.0, 3.0), concentration=Gamma(2.0, 2.0)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    ),
    "drawn_components": Mixture(
        FiniteMixturesPrior(Gamma(1.0, 1.0), Poisson(1.5)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    ),
    "two": Mixture(
        GammaConcentration(2.0, 2.0), NormalInverseWishart(2, Beta(2.0, 2.0), dof=5.0, scale=Gamma(3.0, 3.0))
    ),
}


def points(model, num_points=7):
    """Return a few points, which come in pairs near one another."""
    torch.manual_seed(3)
    data = model.component.given(dict.fromkeys(model.component.hyperpriors, 0.4)).sample(
        torch.tensor([0, 0, 1, 1, 2, 3, 2][:num_points])
    )
    return data.double()


def with_slices(model):
    return Compose([Reallocate(model), SliceHyperparameters(model)])


@short_and_long("num_draws", 10_000, 20_000)
@pytest.mark.parametrize("name", ONE)
def test_alone_it_has_the_exact_law(name, num_draws):
    model = ONE[name]
    data = points(model)
    exact = exact_posterior(model, data)
    assert effective_partitions(exact[1]) > 3
    kernel = Reallocate(model, thin=4, init=OneCluster())
    draws = kernel.run(data, num_draws=num_draws, warmup=100, num_chains=2, seed=3)
    assert kernel.diagnostics()["reallocations accepted"] > 0.02
    check_law(model, data, draws.assignments, exact)


@short_and_long("num_datasets", 250, 1500)
@pytest.mark.parametrize("name", ONE | SEVERAL)
def test_a_step_leaves_the_joint_law_unchanged(name, num_datasets):
    torch.manual_seed(1)
    model = (ONE | SEVERAL)[name]
    kernel = with_slices(model) if name in SEVERAL else Reallocate(model)
    scores, deviation = invariance_scores(model, kernel, num_datasets=num_datasets, num_points=6)
    assert scores.abs().max() < 4.5
    assert (deviation > 0).all()


@short_and_long("num_datasets", 100, 400)
@pytest.mark.parametrize("name", some_of([("two",), ("drawn_components",)], [("two",)]))
def test_simulation_based_calibration(name, num_datasets):
    torch.manual_seed(2)
    model = SEVERAL[name]
    ranks = sbc_ranks(
        model, with_slices(model), num_datasets=num_datasets, num_points=8, num_draws=19, thin=10
    )
    for column in ranks.T:
        counts = torch.bincount(column, minlength=20)
        assert stats.chisquare(counts.numpy()).pvalue > 1e-4


def test_log_joint_is_the_models():
    model = normal_mixture(2)
    data = torch.randn(30, 2, dtype=torch.float64)
    draws = Reallocate(model, init=Singletons()).run(data, num_draws=300, num_chains=2, seed=4)
    scale = torch.from_numpy(draws.parameters["scale"])
    expected = model.given({"scale": scale}).log_joint(data, torch.from_numpy(draws.assignments))
    expected += model.hyperpriors["scale"].log_prob(scale.float())
    assert draws.log_joint == pytest.approx(expected.numpy(), abs=1e-4)


def test_chains_from_many_clusters_come_down():
    """Of one cluster in many columns, a hundred tiny clusters of a small scale are a mode, too."""
    data = torch.from_numpy(np.random.default_rng(5).standard_normal((100, 8)))
    kernel = named_kernel("merge-split+gibbs", normal_mixture(8))
    draws = kernel.run(data, num_draws=50, warmup=200, num_chains=8, seed=6)
    assert (draws.num_clusters.max(1) < 5).all()
    # Without the move the chain with most clusters stays at 75 of them, 170 nats below.
    assert np.ptp(draws.log_joint.mean(1)) < 5.0


def test_errors_and_counts():
    model = normal_mixture(1)
    assert math.isnan(Reallocate(model).diagnostics()["reallocations accepted"])
    with pytest.raises(ValueError, match="has constraints, and Reallocate cannot keep to them"):
        Reallocate(model.constrained(must_link=[(0, 1)]))
