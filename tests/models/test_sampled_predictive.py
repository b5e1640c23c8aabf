"""Predictions under families that are not conjugate, against closed forms of families that are."""

import re

import numpy as np
import pytest
import torch

from pyroclust import compare, predict
from pyroclust.distributions import NormalInverseGamma, PyroComponent
from pyroclust.infer import exact_posterior, log_evidence
from pyroclust.infer.mcmc.parameters import parameters_of_draws
from pyroclust.models import Mixture, PosteriorPredictive, SampledPredictive, nig_mixture


@pytest.fixture(scope="module")
def case():
    torch.manual_seed(0)
    exact = nig_mixture(2)
    family = exact.component
    assert isinstance(family, NormalInverseGamma)
    free = PyroComponent(family.parameters, family.likelihood, dim=2, typical_scale=family.typical_scale)
    sampled = Mixture(exact.prior, free)
    data = torch.cat([torch.randn(12, 2) * 0.3 - 1, torch.randn(9, 2) * 0.3 + 1]).double()
    draws = torch.tensor([[0] * 12 + [1] * 9, [0] * 12 + [1] * 8 + [2], [0] * 21]).repeat_interleave(75, 0)
    closed = PosteriorPredictive(exact, data, draws[::75])
    found = parameters_of_draws(sampled, data, draws, generator=np.random.default_rng(0))
    return closed, SampledPredictive(sampled, data, draws, parameters=found, num_prior=20_000), data


POINTS = torch.tensor([[-1.0, -1.0], [1.0, 1.2], [0.0, 0.0], [3.0, -3.0]], dtype=torch.float64)


def test_densities_and_clusters_are_those_of_the_closed_form(case):
    closed, sampled, _ = case
    torch.testing.assert_close(sampled.log_prob(POINTS), closed.log_prob(POINTS), atol=0.15, rtol=0)
    partition = torch.tensor([0] * 12 + [1] * 9)
    found = sampled.cluster_probs(POINTS, partition)
    torch.testing.assert_close(found, closed.cluster_probs(POINTS, partition), atol=0.06, rtol=0)
    torch.testing.assert_close(found.sum(-1), torch.ones(4, dtype=torch.float64))


def test_points_left_out_have_the_density_that_evidences_say(case):
    closed, sampled, _ = case
    data = torch.tensor([[0.0, 0.1], [0.2, 0.0], [-0.2, 0.2], [2.0, 2.0], [2.2, 1.9], [-1.0, 1.0]]).double()
    every, log_probs = exact_posterior(closed.model, data)
    torch.manual_seed(1)
    draws = every[torch.multinomial(log_probs.exp(), 800, replacement=True)]
    found = parameters_of_draws(sampled.model, data, draws, generator=np.random.default_rng(1))
    law = SampledPredictive(sampled.model, data, draws, parameters=found, num_prior=20_000)
    rows = torch.arange(len(data))
    others = torch.stack([data[rows != row] for row in rows])
    exact = log_evidence(closed.model, data) - log_evidence(closed.model, others)
    torch.testing.assert_close(law.log_prob_left_out(rows), exact, atol=0.2, rtol=0)


def test_a_comparison_with_heavy_tails_predicts_new_rows():
    rng = np.random.default_rng(0)
    old = np.concatenate([rng.normal(-3, 1, 20), rng.normal(3, 1, 20)])
    found = compare(old, family="student-t", guide="none", mcmc_draws=20, num_chains=2, warmup=40)
    prediction = predict(found, [-3.0, 3.0])
    assert prediction.clusters.tolist() == [0, 1]
    np.testing.assert_allclose(prediction.probabilities.sum(1), 1)
    same = predict(found, [-3.0, 3.0])
    np.testing.assert_array_equal(same.log_density, prediction.log_density)
    assert predict(found, old + 9).warning is not None


def test_parameters_of_other_draws_are_refused(case):
    _, sampled, data = case
    draws = torch.zeros(3, len(data), dtype=torch.int64)
    with pytest.raises(ValueError, match=re.escape("'loc' of shape (2, 1, 2), expected (3, 1, ...)")):
        SampledPredictive(sampled.model, data, draws, parameters={"loc": torch.zeros(2, 1, 2)})
