import math

import pytest
import torch

from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.importance import ImportanceSample, importance_sample
from pyroclust.models import gaussian2d, overlap2d


class TabledPosterior:
    """A tempered exact posterior; temperature 1 is the posterior itself."""

    def __init__(self, model, data, *, temperature):
        self.partitions, log_probs = exact_posterior(model, data)
        self.log_probs = (log_probs / temperature).log_softmax(-1)

    def sample_and_log_prob(self, sample_shape):
        law = torch.distributions.Categorical(logits=self.log_probs, validate_args=False)
        index = law.sample(sample_shape)
        return self.partitions[index], law.log_prob(index)


class TabledGuide:
    def __init__(self, model, *, temperature=1.0):
        self.model, self.temperature = model, temperature

    def posterior(self, data):
        return TabledPosterior(self.model, data, temperature=self.temperature)


def with_weights(log_weights):
    zeros = torch.zeros_like(log_weights)
    return ImportanceSample(torch.zeros(*log_weights.shape, 2, dtype=torch.int64), zeros, log_weights)


def test_the_exact_posterior_is_a_perfect_proposal():
    torch.manual_seed(0)
    model, data = gaussian2d(), torch.randn(3, 6, 2)
    sample = importance_sample(model, TabledGuide(model), data, num_draws=200)
    assert sample.assignments.shape == (200, 3, 6)
    assert torch.allclose(sample.efficiency, torch.ones(3, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(sample.log_evidence, log_evidence(model, data), atol=1e-9)
    assert (sample.pareto_k == -math.inf).all()
    assert sample.log_weights.dtype == torch.float64


def test_evidence_and_efficiency_of_a_wrong_proposal():
    torch.manual_seed(1)
    model, data = overlap2d(), 2 * torch.randn(6, 2)
    guide = TabledGuide(model, temperature=1.7)
    sample = importance_sample(model, guide, data, num_draws=20_000)
    log_p, log_q = exact_posterior(model, data)[1], guide.posterior(data).log_probs
    expected = (2 * log_p - log_q).logsumexp(-1).neg().exp()
    assert sample.efficiency.item() == pytest.approx(expected.item(), rel=0.05)
    assert sample.efficiency < 0.95
    deviation = ((1 / expected - 1) / 20_000).sqrt()
    assert (sample.log_evidence - log_evidence(model, data)).abs() < 4 * deviation


def test_efficiency_by_hand():
    assert with_weights(torch.tensor([1.0, 1.0, 2.0]).log()).efficiency.item() == pytest.approx(16 / 18)
    assert with_weights(torch.tensor([-800.0, -800.0, -5000.0]).double()).efficiency.item() == pytest.approx(
        2 / 3
    )


@pytest.mark.parametrize("shape", [0.2, 0.6, 1.0])
def test_pareto_k_of_pareto_weights(shape):
    torch.manual_seed(2)
    log_weights = shape * torch.distributions.Exponential(1.0).sample((200_000, 3)).double()
    assert torch.allclose(with_weights(log_weights).pareto_k, torch.full((3,), shape).double(), atol=0.25)


def test_pareto_k_of_few_or_equal_weights():
    assert with_weights(torch.randn(24).double()).pareto_k.isnan()
    assert with_weights(torch.full((100,), -3.0).double()).pareto_k == -math.inf
    ties = torch.cat([torch.zeros(500), -torch.rand(500)]).double()
    assert with_weights(ties).pareto_k == -math.inf


def test_errors():
    model = gaussian2d()
    with pytest.raises(ValueError, match="num_draws is 0"):
        importance_sample(model, TabledGuide(model), torch.zeros(4, 2), num_draws=0)
    with pytest.raises(ValueError, match="data holds 8 nan"):
        importance_sample(model, TabledGuide(model), torch.full((4, 2), torch.inf), num_draws=3)
