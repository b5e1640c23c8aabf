"""The scorer of graphs: a distribution, the exact filter before training, and blind to the nodes' numbers."""

import pytest
import torch
from torch import Tensor

from pyroclust.distributions import BlockRates, ChineseRestaurantPrior, DirichletMultinomialPrior
from pyroclust.guides import BlockFilter, NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import graph_scorer_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import StochasticBlockModel, gaussian2d
from pyroclust.nn import GatedGraphEncoder, GraphScorer, RandomOrder
from pyroclust.partitions import canonical, enumerate_partitions
from pyroclust.partitions.adjacency import in_order, profile_correlations
from pyroclust.saving.guides import load_guide, save_guide

MODELS = [
    StochasticBlockModel(within=(2.0, 1.0), between=(1.0, 2.0)),
    StochasticBlockModel(within=(2.0, 1.0), between=(1.0, 2.0), shared=True),
    StochasticBlockModel(DirichletMultinomialPrior(3, 1.0)),
]


@pytest.fixture(params=MODELS, ids=["own rates", "shared rates", "three blocks"])
def model(request: pytest.FixtureRequest) -> StochasticBlockModel:
    torch.manual_seed(0)
    return request.param


def shaken(model: StochasticBlockModel) -> NeuralClusteringProcess:
    """Return a guide whose weights are as far from the filter's zeros as those of a trained one."""
    guide = NeuralClusteringProcess(model, scorer=graph_scorer_for(model, width=8), order=RandomOrder())
    with torch.no_grad():
        for one in guide.parameters():
            one.add_(0.2 * torch.randn_like(one))
    return guide.eval()


def graphs_of(model: StochasticBlockModel, *shape: int) -> Tensor:
    return simulate(model, torch.empty(*shape, shape[-1]))[0]


def test_probabilities_sum_to_one(model):
    posterior, every = shaken(model).posterior(graphs_of(model, 3, 6)), enumerate_partitions(6)
    total = posterior.log_prob(every.unsqueeze(1)).exp().sum(0)
    torch.testing.assert_close(total, torch.ones(3, dtype=torch.float64), atol=1e-5, rtol=0)


def test_before_training_it_is_the_exact_filter(model):
    guide = NeuralClusteringProcess(model, scorer=graph_scorer_for(model, width=8))
    graphs, every, order = graphs_of(model, 2, 6), enumerate_partitions(6), torch.tensor([3, 1, 0, 5, 4, 2])
    exact = BlockFilter(model).posterior(graphs, order=order).log_prob(every.unsqueeze(1))
    torch.testing.assert_close(guide.posterior(graphs, order=order).log_prob(every.unsqueeze(1)), exact)
    far = shaken(model).posterior(graphs, order=order).log_prob(every.unsqueeze(1))
    assert not torch.allclose(far, exact, atol=0.1)


def test_draws_come_with_what_teacher_forcing_gives(model):
    guide = shaken(model)
    for posterior in (
        guide.posterior(graphs_of(model, 3, 15)),
        guide.mixed(4).posterior(graphs_of(model, 15)),
    ):
        draws, log_prob = posterior.sample_and_log_prob((40,))
        torch.testing.assert_close(posterior.log_prob(draws), log_prob, atol=1e-4, rtol=0)
        torch.testing.assert_close(posterior.merged_log_prob(draws), log_prob, atol=1e-4, rtol=0)


def test_numbers_of_the_nodes_do_not_matter(model):
    guide, graphs = shaken(model), graphs_of(model, 1, 20)
    labels, moved = canonical(torch.randint(3, (1, 20))), torch.randperm(20).unsqueeze(0)
    order = torch.randperm(20)
    place = torch.empty_like(order).scatter(0, moved[0], torch.arange(20))
    before = guide.posterior(graphs, order=order).log_prob(labels)
    after = guide.posterior(in_order(graphs, moved), order=place[order])
    torch.testing.assert_close(after.log_prob(canonical(labels[:, moved[0]])), before, atol=1e-4, rtol=0)


def test_a_short_training_beats_the_filter(tmp_path):
    torch.manual_seed(1)
    model = StochasticBlockModel()
    guide = NeuralClusteringProcess(model, scorer=graph_scorer_for(model, width=16), order=RandomOrder())
    graphs, blocks = simulate(model, torch.empty(30, 20, 20))
    order = torch.arange(20)
    before = guide.posterior(graphs, order=order).log_prob(blocks).mean()
    fit(model, guide, settings=FitSettings(steps=60, min_points=20, max_points=20), progress=False)
    after = guide.posterior(graphs, order=order).log_prob(blocks)
    assert after.mean() > before + 0.3
    save_guide(guide, tmp_path / "guide")
    again = load_guide(tmp_path / "guide").posterior(graphs, order=order).log_prob(blocks)
    torch.testing.assert_close(again, after)


@pytest.mark.parametrize("shared", [False, True])
def test_predictive_weights_are_ratios_of_marginal_likelihoods(shared):
    torch.manual_seed(2)
    rates = BlockRates((2.0, 1.5), (1.0, 3.0), shared=shared)
    graph = graphs_of(StochasticBlockModel(), 9)
    labels = torch.tensor([0, 1, 0, 2, 1, 1, 0, 2])
    member = torch.nn.functional.one_hot(labels).double()
    linked = member.T @ graph[:8, :8].double() @ member
    edges = linked - torch.diag(linked.diagonal() / 2)
    join, opened = rates.log_predictive(member.T @ graph[8, :8].double(), member.sum(0), edges)
    before = rates.log_marginal(graph[:8, :8], labels)
    for label, found in enumerate([*join, opened]):
        after = rates.log_marginal(graph, torch.cat([labels, torch.tensor([label])]))
        torch.testing.assert_close(found, after - before)


def test_correlations_of_edges_tell_blocks_apart():
    blocks = torch.tensor([0] * 10 + [1] * 10)
    graph = (blocks.unsqueeze(0) == blocks.unsqueeze(1)).float() - torch.eye(20)
    first, second = profile_correlations(graph.unsqueeze(0))[0]
    for found in (first, second):
        assert found[:10, :10].min() > 0.5
        assert found[:10, 10:].max() < -0.5
    assert profile_correlations(torch.zeros(1, 4, 4)).abs().max() == 0


def test_models_of_points_are_refused():
    with pytest.raises(ValueError, match="model 'gaussian2d' is no stochastic block model, expected one"):
        graph_scorer_for(gaussian2d())
    scorer = GraphScorer(
        ChineseRestaurantPrior(0.7), BlockRates((2, 1), (1, 2)), encoder=GatedGraphEncoder(4)
    )
    assert scorer.encode(torch.zeros(1, 3, 3)).vectors.shape == (1, 3, 4)
