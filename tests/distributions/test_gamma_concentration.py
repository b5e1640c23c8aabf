"""The integral over the concentration, and the site that it is in a Pyro program."""

import numpy as np
import pyro.poutine as poutine
import pytest
import torch
from pyro.distributions import Gamma
from scipy.integrate import quad
from scipy.special import gammaln, psi

from pyroclust.distributions import ChineseRestaurantPrior, GammaConcentration


@pytest.mark.parametrize(("shape", "rate"), [(2.0, 2.0), (1.0, 0.5), (5.0, 0.1), (0.3, 3.0)])
@pytest.mark.parametrize(("num_points", "clusters"), [(6, 1), (6, 6), (100, 5), (300, 30)])
def test_log_v_agrees_with_adaptive_quadrature(
    shape: float, rate: float, num_points: int, clusters: int
) -> None:
    def log_integrand(t: float | np.ndarray) -> float | np.ndarray:
        alpha = np.exp(t)
        prior = shape * np.log(rate) - gammaln(shape) + shape * t - rate * alpha
        return prior + clusters * t + gammaln(alpha) - gammaln(alpha + num_points)

    grid = np.linspace(-30, 8, 4001)
    values = log_integrand(grid)
    mode, top = grid[values.argmax()], values.max()
    pieces = [
        quad(lambda t: np.exp(log_integrand(t) - top), *ends, epsabs=0, epsrel=1e-10, limit=200)[0]
        for ends in ((mode - 100, mode - 20), (mode - 20, mode), (mode, mode + 8))
    ]
    found = GammaConcentration(shape, rate).log_v(num_points, torch.tensor(clusters)).item()
    assert found == pytest.approx(top + np.log(sum(pieces)), abs=1e-8)


@pytest.mark.parametrize(("shape", "rate"), [(2.0, 4.0), (0.2, 0.01), (30.0, 3.0)])
def test_mean_number_of_clusters_agrees_with_a_fine_grid(shape: float, rate: float) -> None:
    t = np.linspace(-150, 9, 400_001)
    alpha = np.exp(t)
    density = np.exp(shape * np.log(rate) - gammaln(shape) + shape * t - rate * alpha)
    mean = alpha * (psi(alpha + 10**6) - psi(alpha))
    found = GammaConcentration(shape, rate).expected_num_clusters(10**6).item()
    assert found == pytest.approx((density * mean).sum() * (t[1] - t[0]), rel=1e-9)


def test_a_program_samples_the_concentration_as_a_site() -> None:
    trace = poutine.trace(GammaConcentration(2.0, 4.0).partition).get_trace(10)
    assert trace.nodes["concentration"]["fn"].mean.item() == 0.5
    assert poutine.trace(ChineseRestaurantPrior(0.7).partition).get_trace(10).stochastic_nodes == []


def test_parameters_are_known() -> None:
    with pytest.raises(ValueError, match="rate is random, expected a positive number"):
        GammaConcentration(1.0, Gamma(1.0, 1.0))
