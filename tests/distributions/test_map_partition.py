"""Searches for the most probable partition: exact where the beam is wide, and never behind many draws."""

import pytest
import torch

from pyroclust import load_guide
from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.guides import BlockFilter, PredictiveFilter
from pyroclust.infer import simulate
from pyroclust.models import StochasticBlockModel, gaussian2d, overlap2d
from pyroclust.partitions import enumerate_partitions, is_canonical

WIDE = 203  # partitions of six points


@pytest.mark.parametrize("name", ["ncp-overlap2d", "ncp-published-gaussian2d", "filter-niw2d"])
def test_a_wide_beam_finds_the_mode_of_the_guide(name):
    torch.manual_seed(0)
    posterior = load_guide(name).posterior(2 * torch.randn(4, 6, 2))
    every = enumerate_partitions(6)
    best = posterior.log_prob(every.unsqueeze(1)).argmax(0)
    assert torch.equal(posterior.map_partition(width=WIDE), every[best])


def test_a_mixture_of_orders_is_searched_under_the_mixture():
    torch.manual_seed(0)
    posterior = PredictiveFilter(overlap2d()).mixed(4).posterior(2 * torch.randn(3, 6, 2))
    found = posterior.log_prob(posterior.map_partition(width=WIDE))
    each = posterior.orders.map_partition(width=WIDE)
    torch.testing.assert_close(found, posterior.log_prob(each).amax(0))


@pytest.mark.parametrize("name", ["ncp-gaussian2d", "ncp-overlap2d", "filter-niw2d"])
def test_no_draw_is_more_probable(name):
    guide = load_guide(name)
    torch.manual_seed(1)
    data, _ = simulate(guide.model, torch.empty(8, 30, 2))
    posterior = guide.posterior(data)
    found = posterior.map_partition()
    assert is_canonical(found).all()
    _, drawn = posterior.sample_and_log_prob((200,))
    assert (posterior.log_prob(found) >= drawn.amax(0) - 1e-3).all()


def test_a_wider_beam_is_no_worse_and_two_runs_are_equal():
    torch.manual_seed(0)
    posterior = load_guide("ncp-overlap2d").posterior(2 * torch.randn(5, 25, 2))
    narrow, wide = (posterior.log_prob(posterior.map_partition(width=width)) for width in (1, 32))
    assert (wide >= narrow - 1e-3).all()
    first, second = (posterior.map_partition() for _ in range(2))
    assert torch.equal(first, second)


def test_shapes():
    guide = PredictiveFilter(gaussian2d())
    for batch in ((), (3,), (2, 3)):
        assert guide.posterior(torch.randn(*batch, 7, 2)).map_partition(width=2).shape == (*batch, 7)
    found = guide.posterior(torch.randn(7, 2)).expand((4,)).map_partition()
    assert (found == found[0]).all()
    assert guide.posterior(torch.zeros(1, 2)).map_partition().tolist() == [0]


def test_other_distributions_take_the_best_of_their_draws():
    torch.manual_seed(0)
    assert ChineseRestaurantProcess(0.3, 6).map_partition().tolist() == [0] * 6
    graph = torch.block_diag(torch.ones(4, 4), torch.ones(4, 4)) - torch.eye(8)
    found = BlockFilter(StochasticBlockModel()).posterior(graph).map_partition()
    assert found.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_clusterwise_guides_take_the_best_of_several_anchors():
    torch.manual_seed(0)
    guide = load_guide("ccx-gaussian2d")
    data, _ = simulate(guide.model, torch.empty(6, 30, 2))
    posterior = guide.posterior(data)
    one, many = (posterior.log_prob(posterior.map_partition(width=width)) for width in (1, 8))
    assert many.mean() > one.mean() - 0.5
    assert many.mean() > posterior.sample_and_log_prob((20,))[1].mean()
