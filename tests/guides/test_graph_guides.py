"""Graph encoders in every guide: distributions over partitions of nodes that learn."""

from itertools import product

import pytest
import torch
from cases import some_of
from torch import nn

from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess, NeuralClusteringProcess
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.neural_clustering_process import light_scorer_for, summed_scorer_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import StochasticBlockModel
from pyroclust.nn import GatedGraphEncoder, GraphEncoder, RandomOrder
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.adjacency import in_order
from pyroclust.saving.guides import load_guide, save_guide

MODEL = StochasticBlockModel()
ENCODERS = [GraphEncoder, GatedGraphEncoder]


def encoder_of(kind: type) -> nn.Module:
    return kind(6, width=12, num_layers=2, num_eigenvectors=6)


def light(encoder):
    return NeuralClusteringProcess(
        MODEL, scorer=light_scorer_for(MODEL, width=12, encoder=encoder), order=RandomOrder()
    )


def published(encoder):
    scorer = summed_scorer_for(MODEL, width=16, sizes=(16, 16), encoder=encoder)
    return NeuralClusteringProcess(MODEL, scorer=scorer, order=RandomOrder())


def clusterwise(encoder):
    network = clusterwise_network_for(MODEL, width=12, num_values=4, encoder=encoder)
    return ClusterwiseClusteringProcess(MODEL, network=network)


def attentive(encoder):
    network = attentive_network_for(MODEL, width=12, num_values=4, num_blocks=1, encoder=encoder)
    return AttentiveClusteringProcess(MODEL, network=network)


GUIDES = {one.__name__: one for one in (light, published, clusterwise, attentive)}
LEARNING = list(product(GUIDES, (kind.__name__ for kind in ENCODERS)))


@pytest.mark.parametrize("kind", ENCODERS)
def test_vectors_follow_the_nodes(kind):
    torch.manual_seed(0)
    graphs = simulate(MODEL, torch.empty(2, 30, 30))[0]
    encoder, order = encoder_of(kind), torch.rand(2, 30).argsort(-1)
    there = encoder(in_order(graphs, order))
    here = encoder(graphs).gather(1, order.unsqueeze(-1).expand(there.shape))
    torch.testing.assert_close(there, here, atol=1e-3, rtol=1e-3)
    there.square().sum().backward()
    assert all(bool(one.grad.abs().sum() > 0) for one in encoder.parameters())


@pytest.mark.parametrize("kind", ENCODERS)
def test_graphs_without_edges_or_with_all_are_encoded(kind):
    full = torch.ones(1, 9, 9) - torch.eye(9)
    for graphs in (torch.zeros(1, 9, 9), full, torch.zeros(1, 1, 1)):
        assert encoder_of(kind)(graphs).isfinite().all()


@pytest.mark.parametrize("make", GUIDES.values(), ids=GUIDES)
def test_guides_of_nodes_are_distributions(make):
    torch.manual_seed(1)
    guide = make(encoder_of(GraphEncoder)).eval()
    graphs, every = simulate(MODEL, torch.empty(5, 5))[0], enumerate_partitions(5)
    posterior = guide.posterior(graphs, order=torch.tensor([2, 0, 1, 4, 3]))
    torch.testing.assert_close(posterior.log_prob(every).exp().sum().item(), 1.0, atol=1e-4, rtol=0)
    draws, log_prob = posterior.sample_and_log_prob((20,))
    torch.testing.assert_close(posterior.log_prob(draws), log_prob, atol=1e-4, rtol=0)


# Guides take any encoder: every guide learns with one of them, every encoder in two guides.
@pytest.mark.parametrize(
    ("make", "kind"),
    some_of(LEARNING, [LEARNING[place] for place in (1, 2, 4, 7)]),
)
def test_guides_of_nodes_learn(make, kind, tmp_path):
    torch.manual_seed(2)
    guide = GUIDES[make](encoder_of({one.__name__: one for one in ENCODERS}[kind]))
    graphs, blocks = simulate(MODEL, torch.empty(40, 20, 20))
    order = torch.arange(20)
    before = guide.eval().posterior(graphs, order=order).log_prob(blocks).mean()
    settings = FitSettings(steps=90, min_points=20, max_points=20, points_per_step=200)
    fit(MODEL, guide.train(), settings=settings, progress=False)
    after = guide.eval().posterior(graphs, order=order).log_prob(blocks)
    assert after.mean() > before + 1
    save_guide(guide, tmp_path / "guide")
    again = load_guide(tmp_path / "guide").posterior(graphs, order=order).log_prob(blocks)
    torch.testing.assert_close(again, after)


def test_several_orders_share_what_the_encoder_found():
    torch.manual_seed(3)
    guide = light(encoder_of(GatedGraphEncoder)).eval()
    graphs = simulate(MODEL, torch.empty(12, 12))[0]
    orders = torch.rand(3, 12).argsort(-1)
    labels = torch.zeros(12, dtype=torch.int64)
    together = guide.over_orders(graphs, orders).log_prob(labels)
    alone = torch.stack([guide.posterior(graphs, order=one).log_prob(labels) for one in orders])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=0)
