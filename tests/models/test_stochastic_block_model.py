"""The stochastic block model: its likelihood against integration over rates, and what it refuses."""

import itertools
import math

import numpy as np
import pytest
import torch
from pyro import poutine
from scipy import integrate, stats
from torch import Tensor

from pyroclust.distributions import BlockRates, PitmanYorPrior
from pyroclust.distributions.block_rates import GraphOfBlocks
from pyroclust.infer import exact_posterior, simulate
from pyroclust.models import StochasticBlockModel
from pyroclust.partitions import enumerate_partitions, is_canonical


def every_graph(num_nodes: int) -> Tensor:
    """List all undirected graphs."""
    upper = torch.triu_indices(num_nodes, num_nodes, 1)
    edges = torch.tensor(list(itertools.product([0.0, 1.0], repeat=upper.shape[1])), dtype=torch.float64)
    graphs = torch.zeros(len(edges), num_nodes, num_nodes, dtype=torch.float64)
    graphs[:, upper[0], upper[1]] = edges
    return graphs + graphs.mT


def random_graph(num_nodes: int, *, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    upper = (torch.rand(num_nodes, num_nodes) < 0.5).triu(1).double()
    return upper + upper.T


@pytest.mark.parametrize("shared", [False, True])
def test_the_likelihood_is_that_of_integrated_rates(shared) -> None:
    graph, labels = random_graph(6).numpy(), np.array([0, 0, 1, 1, 1, 2])
    groups: dict[tuple[int, int], list[float]] = {}
    for i, j in itertools.combinations(range(6), 2):
        pair = tuple(sorted((int(labels[i]), int(labels[j]))))
        pair = (0, int(pair[0] != pair[1])) if shared else pair
        groups.setdefault(pair, []).append(graph[i, j])
    expected = 0.0
    for (one, two), edges in groups.items():
        law = stats.beta(6, 3) if one == two else stats.beta(1, 5)
        count, ones = len(edges), sum(edges)
        found = integrate.quad(lambda p, n=count, k=ones, b=law: b.pdf(p) * p**k * (1 - p) ** (n - k), 0, 1)
        expected += math.log(found[0])
    law = GraphOfBlocks(BlockRates((6.0, 3.0), (1.0, 5.0), shared=shared), torch.from_numpy(labels))
    assert law.log_prob(torch.from_numpy(graph)).item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("shared", [False, True])
def test_probabilities_of_all_graphs_and_partitions_sum_to_one(shared) -> None:
    model = StochasticBlockModel(PitmanYorPrior(0.2, 1.0), shared=shared)
    log_joint = model.log_joint(every_graph(4).unsqueeze(1), enumerate_partitions(4))
    assert log_joint.shape == (64, 15)
    assert log_joint.exp().sum().item() == pytest.approx(1.0)
    torch.testing.assert_close(log_joint.exp().sum(0), model.prior.log_prob(enumerate_partitions(4)).exp())


@pytest.mark.parametrize("shared", [False, True])
def test_simulated_graphs_have_the_probabilities_of_the_likelihood(shared) -> None:
    torch.manual_seed(0)
    labels, draws = torch.tensor([0, 0, 1]), 40_000
    law = GraphOfBlocks(BlockRates((3.0, 1.0), (1.0, 2.0), shared=shared), labels)
    codes = law.sample((draws,))[:, [0, 0, 1], [1, 2, 2]] @ torch.tensor([4.0, 2.0, 1.0])
    found = torch.bincount(codes.long(), minlength=8) / draws
    expected = law.log_prob(every_graph(3)).exp()
    assert ((found - expected).abs() < 4.5 * (expected * (1 - expected) / draws).sqrt()).all()


def test_the_program_simulates_graphs_in_batches() -> None:
    torch.manual_seed(0)
    graphs, labels = simulate(StochasticBlockModel(), torch.empty(2, 3, 30, 30))
    assert graphs.shape == (2, 3, 30, 30)
    assert labels.shape == (2, 3, 30)
    assert is_canonical(labels).all()
    assert torch.equal(graphs, graphs.mT)
    assert not graphs.diagonal(dim1=-2, dim2=-1).any()
    same = labels.unsqueeze(-1) == labels.unsqueeze(-2)
    assert graphs[same].mean() > graphs[~same].mean()


def test_the_log_joint_is_that_of_the_traced_program() -> None:
    model, graph = StochasticBlockModel(), random_graph(8)
    labels = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    known = poutine.condition(model, data={"assignments": labels, "data": graph})
    traced = poutine.trace(known).get_trace(graph).log_prob_sum()
    assert model.log_joint(graph, labels).item() == pytest.approx(traced.item())


def test_renamed_nodes_have_the_same_posterior() -> None:
    model, graph = StochasticBlockModel(), random_graph(6)
    _, first = exact_posterior(model, graph)
    turned = graph.flip(-1).flip(-2)
    _, second = exact_posterior(model, turned)
    torch.testing.assert_close(first.sort().values, second.sort().values)
    assert first.exp().sum().item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (torch.zeros(3, 4), r"data has shape \(3, 4\), expected \(..., N, N\)"),
        (torch.eye(3), "data has loops"),
        (torch.full((3, 3), 0.5), "data holds other numbers than 0 and 1"),
        (torch.full((3, 3), torch.nan), "data holds other numbers than 0 and 1"),
        (torch.ones(3, 3).triu(1), "data is not symmetric"),
        ("graph", "data is of type str"),
    ],
)
def test_what_is_no_graph_is_refused(graph: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        exact_posterior(StochasticBlockModel(), graph)
    assert "\n" not in str(caught.value)
