"""Partitions drawn from the exact filter in compiled code: those that torch draws."""

import pytest
import torch
from pyro.distributions import Gamma, Geometric

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    Product,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.models import Mixture, normal_mixture
from pyroclust.nn.compiled import filter as compiled_filter
from pyroclust.nn.compiled.filter import CompiledFilterScorer

FAMILIES = {
    "known": NormalKnownVariance(2, 3.0),
    "wishart": NormalInverseWishart(2, 0.1, dof=4.0, scale=0.3),
    "wishart of a condition": NormalInverseWishart(2, 0.1, dof=4.0, scale=Gamma(2.0, 5.0)),
    "product": Product([NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 5.0)), BernoulliBeta(1)]),
}
PRIORS = [ChineseRestaurantPrior(0.9), PitmanYorPrior(0.4, 1.0), FiniteMixturesPrior(0.5, Geometric(0.4))]


def drawn(law):
    torch.manual_seed(0)
    return law.sample_and_log_prob((30,))


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_and_log_q_are_those_of_torch(family, prior, monkeypatch):
    torch.manual_seed(1)
    data = torch.randn(3, 25, 2, dtype=torch.float64) + 2 * torch.randint(3, (3, 25, 1))
    if family == "product":
        data[..., 1] = (data[..., 1] > 1).double()
    model = Mixture(prior, FAMILIES[family])
    names = tuple(model.hyperpriors)
    guide = PredictiveFilter(model, conditions=names)
    if names:
        guide = guide.condition(**dict.fromkeys(names, torch.tensor([0.2, 0.5, 1.5])))
    law = guide.posterior(data)
    assert law.scorer.label_points(law.encoding, torch.tensor([0])) is not None
    draws, log_q = drawn(law)
    torch.testing.assert_close(law.merged_log_prob(draws), log_q, rtol=0, atol=1e-9)
    torch.testing.assert_close(law.log_prob(draws).double(), log_q, rtol=0, atol=1e-9)
    monkeypatch.setattr(CompiledFilterScorer, "label_points", lambda *_: None)
    expected, log_prob = drawn(law)
    assert torch.equal(draws, expected)
    torch.testing.assert_close(log_q, log_prob, rtol=0, atol=1e-9)


def test_a_random_scale_is_found_as_by_torch(monkeypatch):
    torch.manual_seed(2)
    guide, data = PredictiveFilter(normal_mixture(2)), torch.randn(2, 20, 2)
    found = guide.posterior(data).encoding.hyperparameters
    monkeypatch.setattr(CompiledFilterScorer, "label_points", lambda *_: None)
    torch.testing.assert_close(guide.posterior(data).encoding.hyperparameters, found)


def test_more_clusters_than_there_is_room_for_and_any_number_of_threads(monkeypatch):
    data = 50.0 * torch.arange(12.0, dtype=torch.float64).unsqueeze(-1).expand(2, 12, 2)
    law = PredictiveFilter(Mixture(ChineseRestaurantPrior(0.9), FAMILIES["known"])).posterior(data)
    draws, log_q = drawn(law)
    assert draws.max() > 4
    monkeypatch.setattr(compiled_filter, "_CLUSTERS", 2)
    monkeypatch.setattr(compiled_filter, "threads_for", lambda *_: 3)
    again, log_prob = drawn(law)
    assert torch.equal(again, draws)
    torch.testing.assert_close(log_prob, log_q, rtol=0, atol=0)


def test_conditions_of_the_prior_are_left_to_torch():
    model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 2.0)), FAMILIES["known"])
    guide = PredictiveFilter(model, conditions=["concentration"]).condition(concentration=1.0)
    law = guide.posterior(torch.randn(3, 2))
    assert law.scorer.label_points(law.encoding, torch.tensor([0])) is None
