"""Losses and gradients a few data sets at a time against those of the whole batch."""

from typing import Any

import pytest
import torch
from pyro import poutine
from torch import Tensor

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer.chunked_loss import VisitingOrders, backward_in_chunks
from pyroclust.models import gaussian2d, sensitivity2d
from pyroclust.nn import DensestFirst, RandomOrder, SummedScorer


def published(order: Any) -> NeuralClusteringProcess:
    scorer = SummedScorer(2, width=8, sizes=(6, 10))
    return NeuralClusteringProcess(gaussian2d(), scorer=scorer, order=order).train()


def light(order: Any) -> NeuralClusteringProcess:
    guide = NeuralClusteringProcess(gaussian2d(), order=order).train()
    for parameter in guide.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return guide


def simulated(model: Any, datasets: int, points: int) -> dict[str, Tensor]:
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(datasets, points, 2))
    return {name: trace.nodes[name]["value"] for name in trace.stochastic_nodes if name != "datasets"}


def gradients(guide: Any) -> list[Tensor]:
    return [torch.zeros_like(one) if one.grad is None else one.grad.clone() for one in guide.parameters()]


def check_whole(guide: Any, losses: Tensor, expected: Tensor, *, scale: float) -> None:
    """Compare the gradients that were left with those of the mean of the expected losses."""
    torch.testing.assert_close(losses, expected.detach(), rtol=1e-4, atol=1e-4)
    assert not losses.requires_grad
    left = gradients(guide)
    guide.zero_grad()
    (scale * expected.mean()).backward()
    whole = gradients(guide)
    norm = torch.stack([one.norm() for one in whole]).norm().item()
    assert norm > 1e-3
    torch.testing.assert_close(left, whole, rtol=1e-3, atol=1e-4 * norm)


@pytest.mark.parametrize("make", [published, light])
@pytest.mark.parametrize("candidates", [1, 150, 1 << 20])
def test_chunks_add_up_to_the_whole(make, candidates):
    guide = make(DensestFirst(1.4))
    drawn = simulated(guide.model, 7, 12)
    losses = backward_in_chunks(
        guide, drawn["data"], assignments=drawn["assignments"], scale=0.3, candidates_at_once=candidates
    )
    expected = -guide.posterior(drawn["data"]).log_prob(drawn["assignments"])
    check_whole(guide, losses, expected, scale=0.3)


@pytest.mark.parametrize("make", [published, light])
def test_orders_are_averaged(make):
    guide, state = make(RandomOrder()), torch.get_rng_state()
    drawn = simulated(guide.model, 4, 9)
    state = torch.get_rng_state()
    losses = backward_in_chunks(
        guide, drawn["data"], assignments=drawn["assignments"], orders=VisitingOrders(3)
    )
    torch.set_rng_state(state)
    orders = torch.rand(12, 9).argsort(-1).view(3, 4, 9)
    each = [guide.posterior(drawn["data"], order=one).log_prob(drawn["assignments"]) for one in orders]
    check_whole(guide, losses, -torch.stack(each).mean(0), scale=1.0)


@pytest.mark.parametrize("make", [published, light])
def test_gradients_are_added_to_those_there_are(make):
    guide = make(DensestFirst(1.4))
    drawn = simulated(guide.model, 3, 6)
    backward_in_chunks(guide, drawn["data"], assignments=drawn["assignments"])
    once = gradients(guide)
    backward_in_chunks(guide, drawn["data"], assignments=drawn["assignments"])
    torch.testing.assert_close(gradients(guide), [2 * one for one in once])


@pytest.mark.parametrize("num_orders", [1, 2])
def test_every_data_set_has_its_own_conditions(num_orders):
    names = ["concentration", "prior_scale"]
    guide = NeuralClusteringProcess(sensitivity2d(), conditions=names, order=RandomOrder()).train()
    drawn = simulated(guide.model, 5, 8)
    state = torch.get_rng_state()
    values = {name: drawn[name] for name in names}
    losses = backward_in_chunks(
        guide,
        drawn["data"],
        assignments=drawn["assignments"],
        conditions=values,
        orders=VisitingOrders(num_orders),
    )
    torch.set_rng_state(state)
    orders = torch.rand(5 * num_orders, 8).argsort(-1).view(num_orders, 5, 8)
    known = guide.condition(**values)
    each = [known.posterior(drawn["data"], order=one).log_prob(drawn["assignments"]) for one in orders]
    torch.testing.assert_close(losses, -torch.stack(each).mean(0).detach())


@pytest.mark.parametrize("make", [published, light])
@pytest.mark.parametrize("candidates", [150, 1 << 20])
def test_disagreement_of_antithetic_orders_is_penalised(make, candidates):
    guide = make(RandomOrder())
    drawn = simulated(guide.model, 5, 9)
    state = torch.get_rng_state()
    orders = VisitingOrders(4, antithetic=True, consistency=0.7)
    losses = backward_in_chunks(
        guide,
        drawn["data"],
        assignments=drawn["assignments"],
        orders=orders,
        scale=0.3,
        candidates_at_once=candidates,
    )
    left = gradients(guide)
    assert not losses.requires_grad
    torch.set_rng_state(state)
    candidates_there = int((drawn["assignments"].cummax(-1).values + 2).sum()) * 4
    rows = torch.arange(5).split(max(1, 5 * candidates // candidates_there))
    visits = [torch.rand(2 * len(some), 9).argsort(-1).view(2, len(some), 9) for some in rows]
    half = torch.cat(visits, 1)
    paired = torch.stack([half[0], half[0].flip(-1), half[1], half[1].flip(-1)])
    log_prob = torch.stack(
        [guide.posterior(drawn["data"], order=one).log_prob(drawn["assignments"]) for one in paired]
    )
    torch.testing.assert_close(losses, -log_prob.mean(0).detach(), rtol=1e-4, atol=1e-4)
    guide.zero_grad()
    variance = (log_prob - log_prob.mean(0)).square().sum(0) / 3
    (0.3 * (0.7 * variance - log_prob.mean(0)).mean()).backward()
    whole = gradients(guide)
    norm = torch.stack([one.norm() for one in whole]).norm().item()
    torch.testing.assert_close(left, whole, rtol=1e-3, atol=1e-4 * norm)


@pytest.mark.parametrize("num_orders", [1, 2])
def test_a_guide_that_mixes_orders_is_trained_order_by_order(num_orders):
    guide = light(RandomOrder())
    drawn = simulated(guide.model, 5, 9)
    state = torch.get_rng_state()
    found = []
    for one in (guide, guide.mixed(4)):
        torch.set_rng_state(state)
        orders = VisitingOrders(num_orders)
        loss = backward_in_chunks(one, drawn["data"], assignments=drawn["assignments"], orders=orders)
        found.append(loss)
    assert torch.equal(*found)


def test_a_rule_gives_one_order():
    drawn = simulated(gaussian2d(), 2, 4)
    with pytest.raises(ValueError, match=r"num_orders is 2 with order DensestFirst, expected RandomOrder"):
        backward_in_chunks(
            published(DensestFirst(1.0)),
            drawn["data"],
            assignments=drawn["assignments"],
            orders=VisitingOrders(2),
        )


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"shapes \(2, 4, 2\) and \(2, 3\), expected"):
        backward_in_chunks(
            published(RandomOrder()),
            torch.zeros(2, 4, 2),
            assignments=torch.zeros(2, 3, dtype=torch.int64),
        )
