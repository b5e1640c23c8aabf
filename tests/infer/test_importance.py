import math

import pytest
import torch

from pyroclust.diagnostics import importance_weights, pareto_k
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


def heavy_weights(*, num_draws=500, shape=0.6, columns=3):
    tail = torch.distributions.Exponential(1.0).sample((num_draws, columns)).double()
    return shape * tail


@pytest.mark.parametrize("num_draws", [26, 100, 225, 226, 1000])
def test_smoothing_agrees_with_the_diagnostics(num_draws):
    torch.manual_seed(3)
    sample = with_weights(heavy_weights(num_draws=num_draws))
    weights = sample.smoothed_log_weights.exp()
    assert torch.allclose(weights.sum(0), torch.ones(3, dtype=torch.float64))
    for column in range(3):
        raw = sample.log_weights[:, column].numpy()
        assert torch.allclose(weights[:, column], torch.from_numpy(importance_weights(raw)))
        assert sample.pareto_k[column].item() == pytest.approx(pareto_k(raw), nan_ok=True)


def test_smoothing_of_tied_weights_agrees_with_the_diagnostics():
    """Draws of a discrete law tie, also at the cutoff of the tail."""
    torch.manual_seed(4)
    for size in (30, 8, 3):
        values = 3 * torch.randn(size).double()
        sample = with_weights(values[torch.randint(size, (400,))])
        raw = sample.log_weights.numpy()
        assert torch.allclose(sample.smoothed_log_weights.exp(), torch.from_numpy(importance_weights(raw)))
        assert sample.pareto_k.item() == pytest.approx(pareto_k(raw), nan_ok=True)


def test_smoothing_keeps_the_order_and_all_but_the_tail():
    torch.manual_seed(5)
    sample = with_weights(heavy_weights(shape=1.2, columns=1).squeeze(-1))
    plain, smooth = sample.log_weights.log_softmax(0), sample.smoothed_log_weights
    order = plain.argsort()
    assert (smooth[order].diff() >= -1e-12).all()
    body = order[: 500 - int(3 * 500**0.5)]
    shift = (smooth - plain)[body]
    assert torch.allclose(shift, shift[:1].expand_as(shift))
    assert smooth.max() < plain.max()


def test_smoothing_leaves_what_has_no_tail():
    few = with_weights(torch.randn(24).double())
    assert torch.equal(few.smoothed_log_weights, few.log_weights.log_softmax(0))
    equal = with_weights(torch.full((100, 2), -3.0).double())
    assert torch.allclose(equal.smoothed_log_weights.exp(), torch.full((100, 2), 0.01).double())
    impossible = heavy_weights(columns=1).squeeze(-1)
    impossible[:100] = -math.inf
    smoothed = with_weights(impossible).smoothed_log_weights
    assert (smoothed[:100] == -math.inf).all()
    assert smoothed.exp().sum().item() == pytest.approx(1.0)


def test_standard_error_of_the_evidence_is_calibrated():
    torch.manual_seed(6)
    model, data = overlap2d(), 2 * torch.randn(6, 2)
    guide = TabledGuide(model, temperature=1.5)
    posterior = guide.posterior(data)
    exact = log_evidence(model, data)
    draws, log_prob = posterior.sample_and_log_prob((500, 400))
    sample = ImportanceSample(draws, log_prob, model.log_joint(data, draws))
    z = (sample.log_evidence - exact) / sample.log_evidence_error
    assert sample.log_evidence_error.shape == (400,)
    assert 0.88 < z.std() < 1.12
    assert z.mean().abs() < 0.2
    assert with_weights(torch.zeros(1, 3)).log_evidence_error.isnan().all()


def test_expectations_and_resampled_draws_follow_the_posterior():
    torch.manual_seed(7)
    model, data = overlap2d(), 2 * torch.randn(2, 5, 2)
    guides = [TabledGuide(model, temperature=1.7).posterior(one) for one in data]
    draws, log_prob = zip(*(one.sample_and_log_prob((20_000,)) for one in guides), strict=True)
    draws, log_prob = torch.stack(draws, 1), torch.stack(log_prob, 1)
    sample = ImportanceSample(draws, log_prob, model.log_joint(data, draws))
    partitions, log_probs = exact_posterior(model, data)
    exact = log_probs.exp()
    hit = (draws.unsqueeze(2) == partitions).all(-1)
    found = sample.expectation(hit)
    assert found.shape == exact.shape
    noise = (exact / (20_000 * sample.efficiency.unsqueeze(-1))).sqrt()
    assert ((found - exact).abs() < 4.5 * noise + 1e-9).all()
    resampled = sample.resample(20_000)
    assert resampled.shape == (20_000, 2, 5)
    frequency = (resampled.unsqueeze(2) == partitions).all(-1).double().mean(0)
    assert ((frequency - found).abs() < 4.5 * (found / 20_000).sqrt() + 1e-9).all()


def test_errors():
    model = gaussian2d()
    with pytest.raises(ValueError, match="num_draws is 0"):
        importance_sample(model, TabledGuide(model), torch.zeros(4, 2), num_draws=0)
    with pytest.raises(ValueError, match="data holds 8 nan"):
        importance_sample(model, TabledGuide(model), torch.full((4, 2), torch.inf), num_draws=3)
    sample = with_weights(torch.zeros(5, 2))
    with pytest.raises(ValueError, match=r"values has shape \(5,\), expected it to begin with \(5, 2\)"):
        sample.expectation(torch.zeros(5))
    with pytest.raises(ValueError, match="num_draws is 0"):
        sample.resample(0)


def test_samples_print_themselves():
    sample = with_weights(torch.zeros(50, 3).double())
    assert repr(sample) == "ImportanceSample(50 draws for (3,) data sets, median efficiency 1.00)"
