"""Variational references: bounds of the exact evidence, and the clusters that anyone would find."""

import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro.infer.autoguide import AutoMultivariateNormal

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.infer import log_evidence, truncated_gaussian_mixture, variational_posterior
from pyroclust.models import Mixture, companion
from pyroclust.partitions import co_assignment_matrix, is_canonical

DATA = torch.tensor([[-0.6], [-0.5], [-0.1], [0.1], [0.2], [0.5], [0.6]], dtype=torch.float64)
APART = torch.cat([DATA[:4], DATA[4:] + 8])
TRUTH = torch.tensor([0, 0, 0, 0, 1, 1, 1])
WISHART = NormalInverseWishart(1, 0.02, dof=4.0, scale=0.4, mean=0.5)

COMPANIONS = {
    "truncated": (Mixture(ChineseRestaurantPrior(0.6), NormalKnownVariance(1, 4.0, scale=0.4)), 5),
    "integrated": (
        Mixture(GammaConcentration(2.0, 4.0), NormalInverseGamma(1, 0.02, shape=2.0, rate=0.2)),
        4,
    ),
    "random_number": (
        Mixture(FiniteMixturesPrior(1.0, dist.Poisson(1.0)), NormalKnownVariance(1, 4.0, scale=0.4)),
        4,
    ),
    "wishart": (Mixture(DirichletMultinomialPrior(3, 1.0), WISHART), 3),
}


@pytest.mark.parametrize(("model", "num_components"), COMPANIONS.values(), ids=COMPANIONS)
def test_pyro_bounds_the_evidence(model, num_components):
    found = variational_posterior(
        companion(model, num_components), APART, num_steps=200, num_draws=10, seed=1
    )
    assert found.assignments.shape == (10, 7)
    assert is_canonical(found.assignments).all()
    late = found.elbo[-60:]
    evidence = log_evidence(model, APART)
    assert late.mean() < evidence + 4 * late.std() / 60**0.5
    assert late.mean() > evidence - 9
    assert late.mean() > found.elbo[:5].mean() + 5


@pytest.mark.parametrize("name", ["truncated", "wishart"])
def test_pyro_finds_clusters(name):
    torch.manual_seed(2)
    model, num_components = COMPANIONS[name]
    data = 0.4 * torch.cat([torch.randn(15, 1), torch.randn(25, 1) + 20])
    found = variational_posterior(
        companion(model, num_components), data, num_steps=200, num_draws=300, seed=1
    )
    truth = (torch.arange(40) >= 15).long()
    together = co_assignment_matrix(found.assignments)
    same = truth.unsqueeze(0) == truth.unsqueeze(1)
    assert together[~same].mean() < 0.02
    assert together[same].mean() > 0.8
    assert len(found.assignments.unique(dim=0)) > 3


def test_a_full_covariance_bounds_better_and_seeds_repeat():
    stored = set(pyro.get_param_store().keys())
    program = companion(Mixture(DirichletMultinomialPrior(2, 1.0), NormalKnownVariance(1, 4.0, scale=0.4)))
    settings = {"num_steps": 150, "num_draws": 20, "seed": 3}
    plain, again = (variational_posterior(program, DATA, **settings) for _ in range(2))
    assert torch.equal(plain.elbo, again.elbo)
    assert torch.equal(plain.assignments, again.assignments)
    full = variational_posterior(program, DATA, guide=AutoMultivariateNormal, **settings)
    assert full.elbo[-50:].mean() > plain.elbo[-50:].mean() - 0.2
    assert set(pyro.get_param_store().keys()) == stored


def test_the_bound_of_one_component_is_the_evidence():
    """With one component nothing is approximated: all constants that scikit-learn leaves out are back."""
    torch.manual_seed(4)
    data = torch.randn(7, 2)
    model = Mixture(
        DirichletMultinomialPrior(1, 0.6), NormalInverseWishart(2, 0.3, dof=4.5, scale=0.7, mean=0.2)
    )
    found = truncated_gaussian_mixture(model, data, num_components=1, num_draws=3)
    assert found.elbo[-1].item() == pytest.approx(log_evidence(model, data).item(), abs=1e-9)
    assert found.assignments.tolist() == [[0] * 7] * 3


SKLEARN = {
    "restaurant": (Mixture(ChineseRestaurantPrior(0.6), WISHART), 4),
    "dirichlet": (Mixture(DirichletMultinomialPrior(3, 1.0), WISHART), 3),
    "gamma": (
        Mixture(ChineseRestaurantPrior(0.6), NormalInverseGamma(1, 0.02, shape=2.0, rate=0.2, mean=0.5)),
        4,
    ),
}


@pytest.mark.parametrize(("model", "num_components"), SKLEARN.values(), ids=SKLEARN)
def test_scikit_learn_finds_clusters_and_bounds_the_evidence(model, num_components):
    found = truncated_gaussian_mixture(model, APART, num_components=num_components, num_draws=500)
    assert (found.assignments == TRUTH).all(-1).double().mean() > 0.9
    assert (found.elbo.diff() > -1e-6).all()
    evidence = log_evidence(model, APART)
    assert evidence - 6 < found.elbo[-1] < evidence
    close = truncated_gaussian_mixture(model, DATA, num_components=num_components).elbo[-1]
    assert close < log_evidence(model, DATA)


def test_the_inverse_gamma_is_a_wishart():
    gamma, wishart = SKLEARN["gamma"][0], SKLEARN["restaurant"][0]
    one, other = (
        truncated_gaussian_mixture(model, DATA, num_components=4).elbo for model in (gamma, wishart)
    )
    assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("model", "num_components", "message"),
    [
        (Mixture(PitmanYorPrior(0.1, 1.0), WISHART), 3, "model.prior is a PitmanYorPrior"),
        (
            Mixture(ChineseRestaurantPrior(1.0), NormalKnownVariance(1)),
            3,
            "model.component is a NormalKnownVariance",
        ),
        (Mixture(DirichletMultinomialPrior(3, 1.0), WISHART), 2, "num_components is 2, expected 3"),
        (Mixture(ChineseRestaurantPrior(1.0), WISHART), 8, "expected 1 to 7"),
        (Mixture(ChineseRestaurantPrior(dist.Gamma(1.0, 1.0)), WISHART), 3, "concentration is random"),
    ],
)
def test_scikit_learn_refuses(model, num_components, message):
    with pytest.raises(ValueError, match=message):
        truncated_gaussian_mixture(model, DATA, num_components=num_components)


@pytest.mark.parametrize(
    ("data", "counts", "message"),
    [
        (DATA, {"num_steps": 0}, "num_steps is 0"),
        (DATA[:, [0, 0]], {}, r"data has shape \(7, 2\)"),
        (DATA * torch.inf, {}, "data holds 7 nan or infinite"),
    ],
)
def test_pyro_refuses(data, counts, message):
    with pytest.raises(ValueError, match=message):
        variational_posterior(companion(COMPANIONS["truncated"][0], 4), data, **counts)
