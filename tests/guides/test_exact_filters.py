"""The exact filters: of graphs by the chain rule and the exact posterior, of points under every prior."""

import numpy as np
import pytest
import torch
from cases import PRIORS, RANDOM
from torch import Tensor

from pyroclust.diagnostics import co_assignment
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalInverseGamma,
    PartitionPrior,
    PitmanYorPrior,
)
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.guides import BlockFilter, PredictiveFilter
from pyroclust.infer import exact_posterior, refine, simulate
from pyroclust.models import Mixture, StochasticBlockModel, gaussian2d
from pyroclust.nn import NearestNext
from pyroclust.partitions import canonical, enumerate_partitions, num_clusters
from pyroclust.saving.guides import load_guide, save_guide

OF_GRAPHS = [ChineseRestaurantPrior(0.7), PitmanYorPrior(0.3, 0.5), DirichletMultinomialPrior(3, 1.0)]


def graph_of(*shape: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    upper = (torch.rand(*shape, shape[-1]) < 0.5).triu(1).double()
    return upper + upper.mT


def model_of(shared, prior=None) -> StochasticBlockModel:
    return StochasticBlockModel(prior, within=(2.0, 1.0), between=(1.0, 2.0), shared=shared)


@pytest.mark.parametrize("prior", OF_GRAPHS)
@pytest.mark.parametrize("shared", [False, True])
def test_probabilities_sum_to_one(shared, prior):
    posterior = BlockFilter(model_of(shared, prior)).posterior(graph_of(2, 6))
    every = enumerate_partitions(6)
    assert posterior.log_prob(every.unsqueeze(1)).shape == (len(every), 2)
    torch.testing.assert_close(
        posterior.log_prob(every.unsqueeze(1)).exp().sum(0), torch.ones(2, dtype=torch.float64)
    )


@pytest.mark.parametrize("prior", OF_GRAPHS)
@pytest.mark.parametrize("shared", [False, True])
def test_log_prob_is_the_chain_rule_of_the_collapsed_model(shared, prior):
    model, graph, order = model_of(shared, prior), graph_of(5), torch.tensor([3, 0, 4, 1, 2])
    posterior = BlockFilter(model).posterior(graph, order=order)
    labels = torch.tensor([0, 1, 0, 1, 2])
    total = 0.0
    for number in range(2, 6):
        some = order[:number]
        part, own = graph[some][:, some], canonical(labels[some])
        earlier = own[:-1]
        every = [torch.cat([earlier, torch.tensor([k])]) for k in range(int(earlier.max()) + 2)]
        scores = torch.stack([model.log_joint(part, one) for one in every])
        total += float(scores.log_softmax(0)[own[-1]])
    assert posterior.log_prob(labels).item() == pytest.approx(total)


@pytest.mark.parametrize("shared", [False, True])
def test_draws_have_the_probabilities_that_they_are_given(shared):
    posterior = BlockFilter(model_of(shared)).posterior(graph_of(5))
    torch.manual_seed(0)
    draws, log_prob = posterior.sample_and_log_prob((20_000,))
    torch.testing.assert_close(posterior.log_prob(draws), log_prob)
    every = enumerate_partitions(5)
    found = (draws.unsqueeze(1) == every).all(-1).double().mean(0)
    expected = posterior.log_prob(every).exp()
    assert ((found - expected).abs() < 4.5 * (expected * (1 - expected) / 20_000).sqrt() + 1e-9).all()


def test_batches_are_their_data_sets_one_by_one():
    guide, graphs = BlockFilter(model_of(shared=False)), graph_of(3, 6)
    order = torch.stack([torch.randperm(6) for _ in range(3)])
    together = guide.posterior(graphs, order=order)
    torch.manual_seed(0)
    labels = together.sample((4,))
    alone = [guide.posterior(one, order=own) for one, own in zip(graphs, order, strict=True)]
    each = torch.stack([one.log_prob(labels[:, place]) for place, one in enumerate(alone)], 1)
    torch.testing.assert_close(together.log_prob(labels), each)
    assert guide.posterior(graphs[:1], order=order[:1]).expand((2, 1)).sample().shape == (2, 1, 6)


@pytest.mark.parametrize("shared", [False, True])
def test_refined_draws_are_those_of_the_posterior(shared):
    model, graph = model_of(shared), graph_of(8)
    draws, refinement = refine(model, BlockFilter(model), graph, num_draws=2000, seed=0)
    partitions, log_probs = exact_posterior(model, graph)
    exact = co_assignment(partitions.numpy(), weights=log_probs.exp().numpy())
    assert refinement.settled
    assert np.abs(co_assignment(draws) - exact).max() < 0.06


def test_orders_see_rows_and_guides_can_be_saved(tmp_path):
    model = StochasticBlockModel()
    torch.manual_seed(0)
    graph = simulate(model, torch.empty(30, 30))[0]
    guide = BlockFilter(model, order=NearestNext(3.0))
    first, second = guide.posterior(graph), guide.posterior(graph)
    assert torch.equal(first.order, second.order)
    save_guide(guide, tmp_path / "filter")
    again = load_guide(tmp_path / "filter")
    assert again.model == model
    labels = first.sample((3,))
    torch.testing.assert_close(again.posterior(graph).log_prob(labels), first.log_prob(labels))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (torch.zeros(3, 4), r"expected \(..., N, N\)"),
        (torch.ones(3, 3), "has loops"),
        ([[0.5]], "other numbers"),
    ],
)
def test_what_is_no_graph_is_refused(data, expected):
    with pytest.raises(ValueError, match=expected):
        BlockFilter(StochasticBlockModel()).posterior(data)


def test_other_models_are_refused():
    with pytest.raises(ValueError, match="not one of graphs"):
        BlockFilter(gaussian2d())


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
