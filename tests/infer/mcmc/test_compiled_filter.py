"""The exact filter in compiled code has the law of the filter in torch."""

import pytest
import torch
from torch.distributions import Poisson

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer.mcmc import compiled_filter
from pyroclust.infer.mcmc.compiled_filter import CompiledFilter, can_compile
from pyroclust.models import Mixture, gaussian2d, niw_mixture

MODELS = {
    "gamma-crp": niw_mixture(2),
    "crp": Mixture(ChineseRestaurantPrior(1.3), NormalInverseGamma(2, 0.1, shape=2.0, rate=1.0)),
    "pitman-yor": Mixture(PitmanYorPrior(0.4, 1.0), NormalKnownVariance(2)),
    "mfm": Mixture(FiniteMixturesPrior(1.0, Poisson(3.0)), NormalKnownVariance(2)),
}


@pytest.fixture(params=MODELS)
def posterior(request):
    torch.manual_seed(3)
    data = torch.randn(40, 2, dtype=torch.float64) + 3 * torch.randint(3, (40, 1))
    return PredictiveFilter(MODELS[request.param]).posterior(data)


def test_log_probabilities_are_those_of_torch(posterior):
    compiled = CompiledFilter(posterior)
    draws, log_prob = compiled.sample_and_log_prob((30,))
    torch.testing.assert_close(log_prob, posterior.log_prob(draws).double(), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(compiled.merged_log_prob(draws), log_prob, rtol=1e-12, atol=1e-12)
    others = posterior.sample((20,))
    torch.testing.assert_close(
        compiled.merged_log_prob(others), posterior.log_prob(others).double(), rtol=1e-9, atol=1e-9
    )


def test_frequencies_are_the_probabilities():
    torch.manual_seed(0)
    posterior = PredictiveFilter(gaussian2d()).posterior(torch.tensor([[0.0, 0.0], [1.0, 0.5], [2.0, 2.0]]))
    draws, log_prob = CompiledFilter(posterior).sample_and_log_prob((4000,))
    distinct, place, counts = draws.unique(dim=0, return_inverse=True, return_counts=True)
    expected = torch.zeros(len(distinct), dtype=torch.float64).scatter_(0, place, log_prob.exp())
    error = (expected * (1 - expected) / 4000).sqrt()
    assert bool(((counts / 4000 - expected).abs() < 4.5 * error + 1e-9).all())


def test_more_clusters_than_there_is_room_for_at_first(monkeypatch):
    torch.manual_seed(1)
    monkeypatch.setattr(compiled_filter, "_CLUSTERS", 2)
    data = 50.0 * torch.arange(12.0, dtype=torch.float64).unsqueeze(-1).expand(12, 2)
    posterior = PredictiveFilter(gaussian2d()).posterior(data)
    draws, log_prob = CompiledFilter(posterior).sample_and_log_prob((5,))
    assert draws.max() > 4
    torch.testing.assert_close(log_prob, posterior.log_prob(draws).double(), rtol=1e-9, atol=1e-9)


def test_equal_seeds_give_equal_draws_whatever_the_threads(monkeypatch):
    posterior = PredictiveFilter(niw_mixture(2)).posterior(torch.randn(50, 2, dtype=torch.float64))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(compiled_filter, "num_threads", lambda threads=threads: threads)
        torch.manual_seed(0)
        found.append(CompiledFilter(posterior).sample_and_log_prob((20,))[0])
    assert torch.equal(*found)


def test_networks_and_batches_are_left_to_torch():
    data = torch.zeros(4, 2)
    assert not can_compile(NeuralClusteringProcess(gaussian2d()).posterior(data))
    assert not can_compile(PredictiveFilter(gaussian2d()).posterior(data.expand(3, 4, 2)))
    assert not can_compile(PredictiveFilter(gaussian2d()).mixed(2).posterior(data))
