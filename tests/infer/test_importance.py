import math

import numpy as np
import pytest
import torch
from partition_laws import check_log_joint

from pyroclust.diagnostics import importance_efficiency, importance_evidence, normalised_weights, resample
from pyroclust.diagnostics.importance import importance_log_evidence
from pyroclust.infer.exact import exact_posterior, log_evidence
from pyroclust.infer.importance import importance_sample
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


def test_the_exact_posterior_is_a_perfect_proposal():
    torch.manual_seed(0)
    model, data = gaussian2d(), torch.randn(6, 2)
    draws = importance_sample(model, TabledGuide(model), data, num_draws=200)
    assert draws.assignments.shape == (1, 200, 6)
    assert importance_efficiency(draws.log_weights) == pytest.approx(1.0)
    found = importance_evidence(draws.log_weights)
    assert found.estimate == pytest.approx(log_evidence(model, data).item())
    assert found.pareto_k == -math.inf
    assert draws.log_weights.dtype == np.float64
    np.testing.assert_array_equal(draws.log_weights, draws.log_joint - draws.log_prob)
    check_log_joint(model, data, draws)


def test_evidence_and_efficiency_of_a_wrong_proposal():
    torch.manual_seed(1)
    model, data = overlap2d(), 2 * torch.randn(6, 2)
    guide = TabledGuide(model, temperature=1.7)
    draws = importance_sample(model, guide, data, num_draws=20_000)
    log_p, log_q = exact_posterior(model, data)[1], guide.posterior(data).log_probs
    expected = (2 * log_p - log_q).logsumexp(-1).neg().exp().item()
    assert importance_efficiency(draws.log_weights) == pytest.approx(expected, rel=0.05)
    assert expected < 0.95
    deviation = ((1 / expected - 1) / 20_000) ** 0.5
    found = importance_evidence(draws.log_weights)
    assert abs(found.estimate - log_evidence(model, data).item()) < 4 * deviation
    assert found.error == pytest.approx(deviation, rel=0.2)


def test_standard_error_of_the_evidence_is_calibrated():
    torch.manual_seed(6)
    model, data = overlap2d(), 2 * torch.randn(6, 2)
    guide = TabledGuide(model, temperature=1.5)
    exact = log_evidence(model, data).item()
    draws, log_prob = guide.posterior(data).sample_and_log_prob((500, 400))
    log_weights = (model.log_joint(data, draws) - log_prob).numpy()
    estimates, errors = np.transpose([importance_log_evidence(column) for column in log_weights.T])
    z = (estimates - exact) / errors
    assert 0.88 < z.std(ddof=1) < 1.12
    assert abs(z.mean()) < 0.2


def test_weights_and_resampled_draws_follow_the_posterior():
    torch.manual_seed(7)
    model, data = overlap2d(), 2 * torch.randn(5, 2)
    draws = importance_sample(model, TabledGuide(model, temperature=1.7), data, num_draws=20_000)
    partitions, log_probs = exact_posterior(model, data)
    exact, every = log_probs.exp().numpy(), partitions.numpy()
    found = normalised_weights(draws) @ (draws.flat[:, None] == every).all(-1)
    noise = (exact / (20_000 * importance_efficiency(draws.log_weights))) ** 0.5
    assert (np.abs(found - exact) < 4.5 * noise + 1e-9).all()
    drawn = resample(draws, 20_000, seed=0)
    assert drawn.assignments.shape == (1, 20_000, 5)
    assert drawn.log_weights is None
    assert drawn.log_prob is None
    check_log_joint(model, data, drawn)
    frequency = (drawn.flat[:, None] == every).all(-1).mean(0)
    assert (np.abs(frequency - found) < 4.5 * (found / 20_000) ** 0.5 + 1e-9).all()


def test_several_data_sets_are_refused():
    model = gaussian2d()
    with pytest.raises(ValueError, match=r"data has shape \(3, 4, 2\), expected one data set"):
        importance_sample(model, TabledGuide(model), torch.zeros(3, 4, 2), num_draws=3)
