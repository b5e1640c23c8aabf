"""The exact filter under every partition prior."""

import pytest
import torch
from cases import PRIORS, RANDOM

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalInverseGamma,
    PartitionPrior,
)
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.guides import PredictiveFilter
from pyroclust.models import Mixture
from pyroclust.partitions import enumerate_partitions, num_clusters

COMPONENT = NormalInverseGamma(1, 0.08, shape=2.0, rate=0.2)
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


@every_prior
@torch.no_grad()
def test_filter_is_a_law_and_its_last_decision_is_exact(prior: PartitionPrior) -> None:
    """Given all labels but the last, the filter has seen everything: the posterior's own conditional."""
    model, data = Mixture(prior, COMPONENT), torch.randn(6, 1)
    every = enumerate_partitions(6)
    log_prob = PredictiveFilter(model).posterior(data, order=torch.arange(6)).log_prob(every)
    assert not log_prob.isnan().any()
    assert log_prob.logsumexp(0).abs() < 1e-12
    log_joint = model.log_joint(data, every)
    assert torch.equal(log_prob.isneginf(), log_joint.isneginf())
    past = (every[:, None, :-1] == enumerate_partitions(5)).all(-1).double()
    for row in past.T > 0:
        if log_joint[row].isfinite().any():
            given_past = log_prob[row] - log_prob[row].logsumexp(0)
            torch.testing.assert_close(given_past, log_joint[row].log_softmax(0), rtol=0, atol=1e-10)


@every_prior
@torch.no_grad()
def test_draws_are_possible_and_have_their_log_prob(prior: PartitionPrior) -> None:
    data = 5 * torch.randn(40, 1)
    posterior = PredictiveFilter(Mixture(prior, COMPONENT)).posterior(data)
    draws, log_prob = posterior.sample_and_log_prob((30,))
    assert log_prob.isfinite().all()
    torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-9)
    most = prior.log_prob_num_clusters(40).isfinite().nonzero().max() + 1
    assert num_clusters(draws).max() <= most


@torch.no_grad()
def test_too_many_clusters_are_impossible_however_the_points_follow() -> None:
    """The filter leaves the possible long before the last point, and must not come back."""
    posterior = PredictiveFilter(Mixture(DirichletMultinomialPrior(2, 1.0), COMPONENT)).posterior(
        torch.randn(12, 1), order=torch.arange(12)
    )
    labels = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 3, 4, 0, 0, 0], [0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 2]])
    assert posterior.log_prob(labels).isneginf().all()


def test_hyperparameters_must_be_single_numbers() -> None:
    with pytest.raises(ValueError, match="concentration is random, expected a number"):
        FilterScorer(RANDOM["crp"], COMPONENT)
    with pytest.raises(ValueError, match=r"prior has hyperparameters of shape \(2,\), expected single"):
        FilterScorer(ChineseRestaurantPrior(torch.ones(2)), COMPONENT)
