import math

import numpy as np
import pytest
import torch
from cases import CONJUGATE
from pyro.distributions import Gamma
from scipy import stats

from pyroclust.distributions import (
    BernoulliBeta,
    ClusteredData,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PoissonGamma,
    Product,
    student_t,
)

NORMALS = ("known_1", "known_3", "gamma_1", "gamma_3", "wishart_1", "wishart_2", "wishart_3")
FAMILIES = {name: CONJUGATE[name].given({"mean": 0.0}) for name in NORMALS}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def block(family, points):
    moments = family.moments(points).sum(-2)
    return torch.tensor(float(points.shape[-2]), dtype=torch.float64), moments


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


@every_family
def test_the_prior_mean_moves_everything(family):
    """A family about m is the one about 0 of the data less m."""
    torch.manual_seed(5)
    points, moved = torch.randn(6, family.dim).double(), family.given({"mean": 7.25})
    shifted = points + 7.25
    found = moved.log_marginal(*block(moved, shifted))
    assert found.item() == pytest.approx(family.log_marginal(*block(family, points)).item(), abs=1e-9)
    predictive = moved.log_predictive(shifted[0], moved.predictive_parameters(*block(moved, shifted[1:])))
    expected = family.log_predictive(points[0], family.predictive_parameters(*block(family, points[1:])))
    assert predictive.item() == pytest.approx(expected.item(), abs=1e-9)
    labels = torch.tensor([0, 1, 0, 2])
    torch.manual_seed(6)
    drawn = moved.sample(labels)
    torch.manual_seed(6)
    assert torch.allclose(drawn, family.sample(labels) + 7.25, atol=1e-4)


def test_draws_of_the_plain_families_do_not_change():
    """Seeds of trained guides and their certificates rest on these numbers."""
    labels = torch.tensor([0, 0, 1])
    for family, numbers in (
        (NormalKnownVariance(1, 3.0, scale=0.7), [3.097836, 5.02089, -1.639452]),
        (NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1), [-0.659045, -0.594623, -1.922563]),
        (
            NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3),
            [0.084056, 0.820323, 0.131692, 0.538504, -1.224735, -0.728335],
        ),
    ):
        torch.manual_seed(0)
        assert family.sample(labels).flatten().tolist() == pytest.approx(numbers, abs=2e-6)


def test_wishart_columns_are_correlated_as_the_prior_says():
    torch.manual_seed(4)
    family = NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3)
    draws = ClusteredData(family, torch.zeros(4000, 40, dtype=torch.int64)).sample()
    correlation = torch.stack([torch.corrcoef(one.T)[0, 1] for one in draws]).double()
    # Inverse Wishart with nu = D + 2: the correlation has density (1 - r^2)^(1/2) and variance 1/4.
    assert abs(correlation.mean()) < 0.03
    assert correlation.square().mean().item() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NormalKnownVariance(0), "dim is 0"),
        (lambda: NormalKnownVariance(2, -1.0), "prior_scale is -1.0, expected a positive number"),
        (lambda: NormalKnownVariance(2, mean=math.nan), "mean is nan"),
        (lambda: NormalInverseGamma(1, 0.0, shape=1.0, rate=1.0), "kappa is 0.0, expected a positive number"),
        (lambda: NormalInverseWishart(3, 1.0, dof=2.0, scale=1.0), "dof is 2.0, expected a number above 2"),
        (
            lambda: NormalIndependent(0.0, 1.0, shape=0.0, rate=1.0),
            "shape is 0.0, expected a positive number",
        ),
        (lambda: BernoulliBeta(2, 0.0), "alpha is 0.0, expected a positive number"),
        (lambda: PoissonGamma(2, 1.0, rate=-1.0), "rate is -1.0, expected a positive number"),
        (lambda: MultinomialDirichlet(2, -1.0), "concentration is -1.0, expected a positive number"),
        (lambda: MultinomialDirichlet(1), "dim is 1, expected at least 2 categories"),
        (lambda: MultinomialDirichlet(2, total=0), "total is 0, expected at least 1"),
        (lambda: NormalKnownVariance(1, Gamma(torch.ones(2), torch.ones(2))), r"prior of shape \(2,\)"),
        (lambda: Product([]), "parts is empty"),
        (lambda: Product([student_t()]), "parts has a PyroComponent at 0, expected conjugate families only"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("family", [PoissonGamma(2, 1.0, rate=1.0), MultinomialDirichlet(2)])
def test_counts_beyond_double_precision_are_refused(family):
    law = ClusteredData(family, torch.tensor([0]))
    assert law.log_prob(torch.tensor([[0.0, 2.0**53]], dtype=torch.float64)).isfinite()
    with pytest.raises(ValueError, match=r"expected counts 0, 1, 2, \.\.\. of at most 2\*\*53 in every"):
        law.log_prob(torch.tensor([[0.0, 1e308]], dtype=torch.float64))
