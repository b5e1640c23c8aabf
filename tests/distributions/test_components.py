import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from pyroclust.distributions import (
    ClusteredData,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)

FAMILIES = {
    "known_1": NormalKnownVariance(1, 3.0, scale=0.7),
    "known_3": NormalKnownVariance(3, 10.0),
    "gamma_1": NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1),
    "gamma_3": NormalInverseGamma(3, 0.5, shape=3.0, rate=2.0),
    "wishart_1": NormalInverseWishart(1, 0.05, dof=3.0, scale=0.1),
    "wishart_2": NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3),
    "wishart_3": NormalInverseWishart(3, 0.05, dof=5.0, scale=0.1),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def block(family, points):
    moments = family.moments(points).sum(-2)
    return torch.tensor(float(points.shape[-2]), dtype=torch.float64), moments


@every_family
def test_predictives_multiply_to_the_marginal(family):
    torch.manual_seed(0)
    points = 2 * torch.randn(9, family.dim, dtype=torch.float64)
    chain = torch.zeros((), dtype=torch.float64)
    for i in range(len(points)):
        chain += family.log_predictive(points[i], family.predictive_parameters(*block(family, points[:i])))
    assert chain.item() == pytest.approx(family.log_marginal(*block(family, points)).item(), rel=1e-11)


@every_family
def test_an_empty_block_has_marginal_one(family):
    assert family.log_marginal(*block(family, torch.zeros(0, family.dim))).abs() < 1e-12


@every_family
def test_marginal_ignores_order_and_batches(family):
    points = torch.randn(4, 6, family.dim)
    counts, moments = torch.full((4,), 6.0, dtype=torch.float64), family.moments(points).sum(-2)
    expected = torch.stack([family.log_marginal(*block(family, one.flip(0))) for one in points])
    assert torch.allclose(family.log_marginal(counts, moments), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["known_1", "gamma_1", "wishart_1"])
def test_predictive_density_integrates_to_one(name):
    family = FAMILIES[name]
    parameters = family.predictive_parameters(*block(family, torch.tensor([[0.3], [1.1], [0.4]])))

    def density(x):
        return family.log_predictive(torch.tensor([x], dtype=torch.float64), parameters).exp().item()

    assert quad(density, -np.inf, np.inf, points=None, limit=200)[0] == pytest.approx(1.0, abs=1e-6)


def test_known_variance_marginal_is_a_correlated_normal():
    family = FAMILIES["known_3"]
    points = torch.randn(4, 3, dtype=torch.float64)
    covariance = np.eye(4) + 100.0
    expected = sum(
        stats.multivariate_normal(np.zeros(4), covariance).logpdf(column) for column in points.T.numpy()
    )
    assert family.log_marginal(*block(family, points)).item() == pytest.approx(expected, rel=1e-10)


def test_inverse_gamma_predictive_is_a_product_of_student_t():
    family = FAMILIES["gamma_3"]
    points, new = torch.randn(5, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    kappa, shape = 5.5, 5.5
    mean = points.sum(0) / kappa
    rate = 2.0 + 0.5 * (points.square().sum(0) - kappa * mean.square())
    scale = (rate * (kappa + 1) / (shape * kappa)).sqrt()
    expected = stats.t(2 * shape, loc=mean.numpy(), scale=scale.numpy()).logpdf(new.numpy()).sum()
    found = family.log_predictive(new, family.predictive_parameters(*block(family, points)))
    assert found.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ["wishart_1", "wishart_2", "wishart_3"])
def test_inverse_wishart_predictive_is_a_multivariate_t(name):
    family = FAMILIES[name]
    points, new = (
        torch.randn(5, family.dim, dtype=torch.float64),
        torch.randn(family.dim, dtype=torch.float64),
    )
    kappa, dof = family.kappa + 5, family.dof + 5
    mean = (points.sum(0) / kappa).numpy()
    scatter = (
        family.scale * np.eye(family.dim) + points.T.numpy() @ points.numpy() - kappa * np.outer(mean, mean)
    )
    freedom = dof - family.dim + 1
    expected = stats.multivariate_t(mean, scatter * (kappa + 1) / (kappa * freedom), df=freedom).logpdf(
        new.numpy()
    )
    found = family.log_predictive(new, family.predictive_parameters(*block(family, points)))
    assert found.item() == pytest.approx(float(expected), rel=1e-9)


def test_wishart_in_one_dimension_is_inverse_gamma():
    wishart = NormalInverseWishart(1, 0.05, dof=4.0, scale=0.2)
    gamma = NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1)
    points = torch.randn(6, 1)
    assert torch.allclose(
        wishart.log_marginal(*block(wishart, points)), gamma.log_marginal(*block(gamma, points)), atol=1e-10
    )


@every_family
def test_sampler_agrees_with_the_predictive(family):
    """The probability integral transforms of x_1, and of x_2 given x_1 in its cluster, are uniform."""
    torch.manual_seed(3)
    draws = ClusteredData(family, torch.zeros(4000, 2, dtype=torch.int64)).sample().double()
    first, second = draws[:, 0, :1].numpy().ravel(), draws[:, 1, :1].numpy().ravel()
    if isinstance(family, NormalKnownVariance):
        noise, prior = family.scale**2, family.prior_scale**2
        shrink = prior / (prior + noise)
        uniforms = [
            stats.norm.cdf(first, scale=math.sqrt(prior + noise)),
            stats.norm.cdf(second, shrink * first, math.sqrt(noise + shrink * noise)),
        ]
    else:
        # The law of one column is normal-inverse-gamma with these parameters for both families.
        is_wishart = isinstance(family, NormalInverseWishart)
        shape = (family.dof - family.dim + 1) / 2 if is_wishart else family.shape
        rate, kappa = (family.scale / 2 if is_wishart else family.rate), family.kappa
        mean = first / (kappa + 1)
        rate_1 = rate + 0.5 * kappa / (kappa + 1) * first**2
        width = np.sqrt(rate * (kappa + 1) / (shape * kappa))
        width_1 = np.sqrt(rate_1 * (kappa + 2) / ((shape + 0.5) * (kappa + 1)))
        uniforms = [
            stats.t.cdf(first, 2 * shape, scale=width),
            stats.t.cdf(second, 2 * shape + 1, loc=mean, scale=width_1),
        ]
    for uniform in uniforms:
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_wishart_columns_are_correlated_as_the_prior_says():
    torch.manual_seed(4)
    family = NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3)
    draws = ClusteredData(family, torch.zeros(4000, 40, dtype=torch.int64)).sample()
    correlation = torch.stack([torch.corrcoef(one.T)[0, 1] for one in draws]).double()
    # Inverse Wishart with nu = D + 2: the correlation has density (1 - r^2)^(1/2) and variance 1/4.
    assert abs(correlation.mean()) < 0.03
    assert correlation.square().mean().item() == pytest.approx(0.25, abs=0.03)


@every_family
def test_sample_shapes(family):
    labels = torch.tensor([[0, 0, 1, 2], [0, 1, 1, 1]])
    law = ClusteredData(family, labels)
    assert (law.batch_shape, law.event_shape) == ((2,), (4, family.dim))
    assert law.sample((3,)).shape == (3, 2, 4, family.dim)
    assert law.expand((5, 2)).log_prob(torch.zeros(4, family.dim)).shape == (5, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NormalKnownVariance(0), "dim is 0"),
        (lambda: NormalKnownVariance(2, -1.0), "expected positive numbers"),
        (lambda: NormalInverseGamma(1, 0.0, shape=1.0, rate=1.0), "expected positive numbers"),
        (lambda: NormalInverseWishart(3, 1.0, dof=2.0, scale=1.0), "dof > 2"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()
