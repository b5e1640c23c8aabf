import numpy as np
import pyro.poutine as poutine
import pytest
import torch
from scipy.integrate import quad
from scipy.special import gammaln

from pyroclust.distributions import ChineseRestaurantProcess, ChineseRestaurantPrior, GammaConcentration
from pyroclust.partitions import enumerate_partitions

PRIORS = [
    ChineseRestaurantPrior(0.7),
    ChineseRestaurantPrior(12.0),
    GammaConcentration(2.0, 2.0),
    GammaConcentration(1.0, 0.5),
]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("num_points", [1, 6])
def test_probabilities_sum_to_one(prior, num_points):
    assert prior.log_prob(enumerate_partitions(num_points)).logsumexp(0).abs() < 1e-10


def test_fixed_concentration_is_the_restaurant_process():
    labels = enumerate_partitions(6)
    law = ChineseRestaurantProcess(torch.tensor(0.7, dtype=torch.float64), 6)
    assert torch.allclose(ChineseRestaurantPrior(0.7).log_prob(labels), law.log_prob(labels), atol=1e-12)


@pytest.mark.parametrize(("shape", "rate"), [(2.0, 2.0), (1.0, 0.5), (5.0, 0.1)])
@pytest.mark.parametrize(("num_points", "clusters"), [(6, 1), (6, 6), (100, 5), (300, 30)])
def test_log_v_agrees_with_adaptive_quadrature(shape, rate, num_points, clusters):
    def log_integrand(t):
        alpha = np.exp(t)
        prior = shape * np.log(rate) - gammaln(shape) + shape * t - rate * alpha
        return prior + clusters * t + gammaln(alpha) - gammaln(alpha + num_points)

    grid = np.linspace(-30, 8, 4001)
    values = log_integrand(grid)
    mode, top = grid[values.argmax()], values.max()
    pieces = [quad(lambda t: np.exp(log_integrand(t) - top), *ends, epsabs=0, epsrel=1e-10, limit=200)[0]
              for ends in ((mode - 20, mode), (mode, mode + 8))]  # fmt: skip
    found = GammaConcentration(shape, rate).log_v(num_points, torch.tensor(clusters)).item()
    assert found == pytest.approx(top + np.log(sum(pieces)), abs=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
def test_log_v_obeys_the_addition_rule(prior):
    # Consistency of Gibbs-type priors with block weights Gamma(n): V_N(K) = N V_{N+1}(K) + V_{N+1}(K+1).
    clusters = torch.arange(1, 9)
    left = prior.log_v(40, clusters)
    right = torch.logaddexp(np.log(40) + prior.log_v(41, clusters), prior.log_v(41, clusters + 1))
    assert torch.allclose(left, right, atol=1e-9)


def test_gamma_prior_samples_its_concentration_as_a_site():
    torch.manual_seed(0)
    trace = poutine.trace(GammaConcentration(2.0, 4.0).partition).get_trace(10)
    assert trace.nodes["concentration"]["fn"].mean.item() == 0.5
    assert poutine.trace(ChineseRestaurantPrior(0.7).partition).get_trace(10).stochastic_nodes == []


@pytest.mark.parametrize("bad", [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_errors(bad):
    with pytest.raises(ValueError, match="expected positive numbers"):
        GammaConcentration(*bad)
    with pytest.raises(ValueError, match="expected a positive number"):
        ChineseRestaurantPrior(bad[0] * 0)
