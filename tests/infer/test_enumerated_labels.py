"""Labels drawn for many parameter draws at once, against the conditional written out."""

import itertools

import pyro.distributions as dist
import pytest
import torch

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    NormalKnownVariance,
)
from pyroclust.infer import variational
from pyroclust.infer.variational import sample_companion_labels
from pyroclust.models import Mixture, companion

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
