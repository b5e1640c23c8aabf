"""Variational references: bounds of the exact evidence, and the clusters that anyone would find."""

import itertools

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from cases import some_of
from pyro.infer.autoguide import AutoMultivariateNormal

from pyroclust.diagnostics import co_assignment
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from pyroclust.infer import log_evidence, variational, variational_posterior
from pyroclust.infer.variational import sample_companion_labels
from pyroclust.models import Mixture, companion
from pyroclust.partitions import is_canonical

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


# The other two are fitted where clusters are looked for.
@pytest.mark.parametrize(
    "name", some_of([(name,) for name in COMPANIONS], [("integrated",), ("random_number",)])
)
def test_pyro_bounds_the_evidence(name):
    model, num_components = COMPANIONS[name]
    found, elbo = variational_posterior(
        companion(model, num_components), APART, num_steps=200, num_draws=10, seed=1
    )
    assert found.assignments.shape == (1, 10, 7)
    assert is_canonical(torch.from_numpy(found.assignments)).all()
    late = elbo[-60:]
    evidence = log_evidence(model, APART).item()
    assert late.mean() < evidence + 4 * late.std() / 60**0.5
    assert late.mean() > evidence - 9
    assert late.mean() > elbo[:5].mean() + 5


@pytest.mark.parametrize("name", ["truncated", "wishart"])
def test_pyro_finds_clusters(name):
    torch.manual_seed(2)
    model, num_components = COMPANIONS[name]
    data = 0.4 * torch.cat([torch.randn(15, 1), torch.randn(25, 1) + 20])
    found, _ = variational_posterior(
        companion(model, num_components), data, num_steps=200, num_draws=300, seed=1
    )
    truth = (torch.arange(40) >= 15).long()
    together = torch.from_numpy(co_assignment(found))
    same = truth.unsqueeze(0) == truth.unsqueeze(1)
    assert together[~same].mean() < 0.02
    assert together[same].mean() > 0.8
    assert len(np.unique(found.flat, axis=0)) > 3


def test_a_full_covariance_bounds_better_and_seeds_repeat():
    stored = set(pyro.get_param_store().keys())
    program = companion(Mixture(DirichletMultinomialPrior(2, 1.0), NormalKnownVariance(1, 4.0, scale=0.4)))
    settings = {"num_steps": 150, "num_draws": 20, "seed": 3}
    plain, again = (variational_posterior(program, DATA, **settings) for _ in range(2))
    np.testing.assert_array_equal(plain[1], again[1])
    np.testing.assert_array_equal(plain[0].assignments, again[0].assignments)
    _, full = variational_posterior(program, DATA, guide=AutoMultivariateNormal, **settings)
    assert full[-50:].mean() > plain[1][-50:].mean() - 0.2
    assert set(pyro.get_param_store().keys()) == stored


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


DATA = torch.tensor([[0.3], [1.6]], dtype=torch.float64)
LOCS = torch.tensor([[-1.0, 1.0, 2.5], [0.0, 0.5, 1.0], [3.0, -3.0, 0.0]], dtype=torch.float64)
SHARES = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
VECTORS = torch.tensor(list(itertools.product(range(3), repeat=2)))


def conditional(shares, locs):
    """Return p(labels, data | parameters) of all nine label vectors."""
    likelihood = shares * dist.Normal(locs, 1.0).log_prob(DATA).exp()
    return likelihood.gather(1, VECTORS.T).prod(0)


def finite_mixtures():
    """Gamma variables stand for weights, three components at most, their number random."""
    model = Mixture(
        FiniteMixturesPrior(1.0, dist.Categorical(torch.tensor([0.2, 0.3, 0.5]))), NormalKnownVariance(1, 3.0)
    )
    expected = []
    for shares, locs in zip(SHARES, LOCS, strict=True):
        parts = []
        for number, probability in enumerate((0.2, 0.3, 0.5), start=1):
            kept = shares * (torch.arange(3) < number)
            parts.append(probability * conditional(kept / kept.sum(), locs))
        expected.append(sum(parts))
    return model, {"gammas": 2.5 * SHARES}, torch.stack(expected)


def sticks():
    model = Mixture(ChineseRestaurantPrior(dist.Gamma(2.0, 2.0)), NormalKnownVariance(1, 3.0))
    second = SHARES[:, 1] / (1 - SHARES[:, 0])
    values = {
        "sticks": torch.stack([SHARES[:, 0], second], -1),
        "concentration": torch.tensor([0.5, 1.0, 2.0]).double(),
    }
    return model, values, torch.stack([conditional(*pair) for pair in zip(SHARES, LOCS, strict=True)])


def weights():
    model = Mixture(DirichletMultinomialPrior(3, 2.0), NormalKnownVariance(1, 3.0))
    return (
        model,
        {"weights": SHARES},
        torch.stack([conditional(*pair) for pair in zip(SHARES, LOCS, strict=True)]),
    )


@pytest.mark.parametrize("entries", [1 << 22, 2 * 9 * 1000], ids=["one_block", "blocks"])
@pytest.mark.parametrize("case", [finite_mixtures, sticks, weights])
def test_every_draw_has_its_own_conditional(case, entries, monkeypatch):
    monkeypatch.setattr(variational, "_MAX_ENTRIES", entries)
    model, values, expected = case()
    probability = expected / expected.sum(-1, keepdim=True)
    values = {
        name: one.repeat_interleave(5000, 0) for name, one in {**values, "loc": LOCS.unsqueeze(-1)}.items()
    }
    labels = sample_companion_labels(companion(model, 3), DATA, values)
    assert labels.shape == (15_000, 2)
    match = (labels.unsqueeze(1) == VECTORS).all(-1).double().reshape(3, 5000, 9)
    error = (probability * (1 - probability) / 5000).sqrt()
    assert ((match.mean(1) - probability).abs() < 4.5 * error + 1e-12).all()
