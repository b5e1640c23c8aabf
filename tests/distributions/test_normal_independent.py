"""The family with independent mean and variance, whose marginal is a numerical integral."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import gammaln

from pyroclust.distributions import NormalIndependent
from pyroclust.distributions.families.normal_independent import VarianceIntegral


def log_marginal_over_the_mean(points, mean, variance, shape, rate):
    """Integrate over the mean instead of the variance, piece by piece about the modes."""
    n, centre = len(points), points.mean()
    width = (2 * rate + ((points - centre) ** 2).sum()) / n

    def log_density(mu):
        power = shape + n / 2
        return stats.norm.logpdf(mu, mean, math.sqrt(variance)) - power * math.log(
            rate + 0.5 * ((points - mu) ** 2).sum()
        )

    slope = np.poly1d([1, -mean]) * np.poly1d([1, -2 * centre, width + centre**2])
    roots = np.roots(slope + (2 * shape / n + 1) * variance * np.poly1d([1, -centre]))
    modes = roots.real[abs(roots.imag) < 1e-6]
    top, spread = max(map(log_density, modes)), min(math.sqrt(variance), math.sqrt(width / (2 * shape + n)))
    steps = np.array([1, 3, 6, 12, 30, 80, 300])
    cuts = np.unique(modes[:, None] + spread * np.concatenate([-steps, [0], steps]))
    ends = [min(mean - 40 * math.sqrt(variance), cuts[0]), max(mean + 40 * math.sqrt(variance), cuts[-1])]
    cuts = np.unique([*ends, *cuts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        pieces = [
            integrate.quad(lambda mu: math.exp(log_density(mu) - top), low, high, epsabs=0, epsrel=1e-11)[0]
            for low, high in itertools.pairwise(cuts)
        ]
    constants = shape * math.log(rate) - gammaln(shape) + gammaln(shape + n / 2)
    return constants - n / 2 * math.log(2 * math.pi) + top + math.log(sum(pieces))


def test_marginal_agrees_with_quadrature_over_the_mean():
    """Blocks near the prior mean, far from it, and where both modes matter."""
    generator = np.random.default_rng(1)
    for _ in range(25):
        n, mean = int(generator.integers(1, 40)), generator.normal() * 5
        variance, shape, rate = np.exp(generator.uniform([-4, -1, -3], [6, 2.5, 4]))
        away = generator.normal() * math.sqrt(variance) * generator.choice([0.1, 1.0, 6.0])
        points = mean + away + generator.normal(size=n) * np.exp(generator.uniform(-3, 3))
        family = NormalIndependent(mean, variance, shape=shape, rate=rate)
        moments = family.moments(torch.from_numpy(points).unsqueeze(-1)).sum(0)
        found = family.log_marginal(torch.tensor(n), moments).item()
        assert found == pytest.approx(
            log_marginal_over_the_mean(points, mean, variance, shape, rate), abs=5e-9
        )


def extreme_integrals(num_blocks):
    """Blocks of 1 to 3000 points, with scales over ten orders of magnitude."""
    torch.manual_seed(2)

    def spread(low, high):
        return (low + (high - low) * torch.rand(num_blocks).double()).exp()

    counts = spread(0.0, 8.0).floor()
    scatter, prior_variance = spread(-8.0, 6.0) * (counts - 1), spread(-7.0, 9.0)
    distance = torch.where(torch.rand(num_blocks) < 0.3, 12 * torch.rand(num_blocks), 0).double()
    distance = torch.where(distance > 0, distance * prior_variance.sqrt(), spread(-5.0, 6.0))
    return VarianceIntegral(
        counts,
        spread(-1.2, 3.4),
        spread(-5.0, 5.0) + 0.5 * scatter,
        0.5 * counts * distance**2,
        counts * prior_variance,
    )


def test_integral_agrees_with_a_much_finer_and_wider_rule(monkeypatch):
    integrals = extreme_integrals(3000)
    found = integrals.log_integral()
    monkeypatch.setattr("pyroclust.distributions.families.normal_independent._DEPTH", 45.0)
    low, high, step = integrals._bracket()
    finest = int(((high - low) / step).max() * 6)
    index = torch.linspace(0, 1, finest, dtype=torch.float64)
    for i in range(0, 3000, 30):
        one = integrals._at(torch.tensor([i]))
        grid = low[i] + (high - low)[i] * index
        expected = one._columns().log_density(grid).logsumexp(-1) + ((high - low)[i] / (finest - 1)).log()
        assert found[i].item() == pytest.approx(expected.item(), abs=1e-9)


def test_proposal_is_close_enough_for_its_metropolis_steps():
    """The density is at most 1.09 times the proposal, as the docstring says."""
    integrals = extreme_integrals(3000)
    worst = 0.0
    for rows, nodes in integrals._batches():
        some = integrals._at(rows)
        grid, step = some._grid(nodes)
        log_heights = some._columns().log_density(grid)
        top = log_heights.amax(-1, keepdim=True)
        heights = (log_heights - top).exp()
        for share in (0.2, 0.4, 0.5, 0.6, 0.8):
            between = grid[:, :-1] + share * step.unsqueeze(-1)
            density = (some._columns().log_density(between) - top).exp()
            proposed = (1 - share) * heights[:, :-1] + share * heights[:, 1:]
            worst = max(worst, torch.where(proposed > 1e-30, density / proposed, 0.0).max().item())
    assert 1.0 < worst < 1.09


@pytest.mark.parametrize("nodes", [None, 18])
def test_draws_of_the_variance_follow_the_density(nodes):
    """Also with so few nodes that the Metropolis steps have much to do."""
    torch.manual_seed(3)
    hard = VarianceIntegral(*(torch.tensor(one).double() for one in (6.0, 1.5, 1.0, 60.0, 12.0)))
    many = hard._map(lambda one: one.expand(20_000))
    draws = many.sample() if nodes is None else many._sample(nodes)
    grid = torch.linspace(-6, 12, 20_001, dtype=torch.float64)
    density = hard._columns().log_density(grid).exp()
    mass = density.cumsum(0) / density.sum()
    levels = np.interp(draws.numpy(), grid.numpy(), mass.numpy())
    assert stats.kstest(levels, "uniform").pvalue > 1e-3


def test_gradients_pass_through_the_quadrature():
    family = NormalIndependent(0.5, 2.0, shape=2.0, rate=1.0, dim=2)
    points = torch.randn(5, 2).double().requires_grad_()
    family.log_marginal(torch.tensor(5), family.moments(points).sum(0)).backward()

    def at(shift):
        moved = points.detach().clone()
        moved[1, 0] += shift
        return family.log_marginal(torch.tensor(5), family.moments(moved).sum(0)).item()

    assert points.grad[1, 0].item() == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-6)


def test_blocks_do_not_depend_on_their_batch():
    integrals = extreme_integrals(50)
    together = integrals.log_integral()
    alone = torch.stack([integrals._at(torch.tensor([i])).log_integral().squeeze() for i in range(50)])
    assert torch.equal(together, alone)
