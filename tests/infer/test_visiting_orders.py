"""Several visiting orders a data set: a few data sets at a time, in pairs, and what disagreement costs."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from pyro import poutine
from torch import Tensor

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, InclusiveKL, VisitingOrders, fit, simulate
from pyroclust.infer import losses as losses_module
from pyroclust.infer.losses import backward_in_chunks
from pyroclust.infer.simulation import HardSimulations
from pyroclust.models import gaussian2d, overlap2d, sensitivity2d
from pyroclust.nn import DensestFirst, RandomOrder, SummedScorer

TINY = FitSettings(steps=6, max_points=12, points_per_step=40, warmup_steps=2, seed=4)
PENALISED = VisitingOrders(4, antithetic=True, consistency=0.5)


def published(order: Any) -> NeuralClusteringProcess:
    scorer = SummedScorer(2, width=8, sizes=(6, 10))
    return NeuralClusteringProcess(gaussian2d(), scorer=scorer, order=order).train()


def light(order: Any, *, num_orders: int = 1) -> NeuralClusteringProcess:
    torch.manual_seed(0)
    model = overlap2d()
    scorer = light_scorer_for(model, width=12, num_bandwidths=2)
    guide = NeuralClusteringProcess(model, scorer=scorer, order=order, num_orders=num_orders)
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return guide.train()


def simulated(model: Any, datasets: int, points: int) -> dict[str, Tensor]:
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(datasets, points, 2))
    return {name: trace.nodes[name]["value"] for name in trace.stochastic_nodes if name != "datasets"}


def gradients(guide: Any) -> Tensor:
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in guide.parameters()]
    guide.zero_grad()
    return torch.cat([part.reshape(-1) for part in parts])


def drawn(orders: VisitingOrders, datasets: int, points: int) -> Tensor:
    """Draw orders as the library does, ``(M, B, N)``."""
    number = orders.number // 2 if orders.antithetic else orders.number
    found = torch.rand(number * datasets, points).argsort(-1).view(number, datasets, points)
    return torch.stack([found, found.flip(-1)], 1).flatten(0, 1) if orders.antithetic else found


@pytest.mark.parametrize("candidates", [1, 150, 1 << 20])
@pytest.mark.parametrize("make", [published, light])
@pytest.mark.parametrize("orders", [VisitingOrders(), VisitingOrders(3), PENALISED])
def test_chunks_add_up_to_the_whole(
    make: Any, orders: VisitingOrders, candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses_module, "_CANDIDATES_AT_ONCE", candidates)
    guide = make(RandomOrder())
    sites = simulated(guide.model, 5, 9)
    data, assignments = sites["data"], sites["assignments"]
    state = torch.get_rng_state()
    losses = backward_in_chunks(guide, data, assignments=assignments, orders=orders, scale=0.3)
    assert not losses.requires_grad
    left = gradients(guide)
    torch.set_rng_state(state)
    every = int((assignments.cummax(-1).values + 2).sum()) * orders.number
    rows = torch.arange(5).split(max(1, 5 * candidates // every))
    visits = torch.cat([drawn(orders, len(some), 9) for some in rows], 1)
    log_prob = torch.stack([guide.posterior(data, order=one).log_prob(assignments) for one in visits])
    torch.testing.assert_close(losses, -log_prob.mean(0).detach(), rtol=1e-4, atol=1e-4)
    (0.3 * (orders.penalty(log_prob) - log_prob.mean(0)).mean()).backward()
    whole = gradients(guide)
    norm = whole.norm().item()
    assert norm > 1e-3
    torch.testing.assert_close(left, whole, rtol=1e-3, atol=1e-4 * norm)


def test_gradients_are_added_to_those_there_are() -> None:
    guide = light(DensestFirst(1.4))
    sites = simulated(guide.model, 3, 6)
    backward_in_chunks(guide, sites["data"], assignments=sites["assignments"])
    once = [one.grad.clone() for one in guide.parameters()]
    backward_in_chunks(guide, sites["data"], assignments=sites["assignments"])
    torch.testing.assert_close([one.grad for one in guide.parameters()], [2 * one for one in once])


@pytest.mark.parametrize("num_orders", [1, 2])
def test_every_data_set_has_its_own_conditions(num_orders: int) -> None:
    names = ["concentration", "prior_scale"]
    guide = NeuralClusteringProcess(sensitivity2d(), conditions=names, order=RandomOrder()).train()
    sites, orders = simulated(guide.model, 5, 8), VisitingOrders(num_orders)
    state, values = torch.get_rng_state(), {name: sites[name] for name in names}
    losses = backward_in_chunks(
        guide, sites["data"], assignments=sites["assignments"], conditions=values, orders=orders
    )
    torch.set_rng_state(state)
    conditioned = guide.condition(**values)
    each = [
        conditioned.posterior(sites["data"], order=one).log_prob(sites["assignments"])
        for one in drawn(orders, 5, 8)
    ]
    torch.testing.assert_close(losses, -torch.stack(each).mean(0).detach())
    loss = InclusiveKL(orders=orders).per_dataset(guide.model, guide, torch.empty(3, 6, 2))
    assert loss.shape == (3,)
    guide.conditions = ("flavour",)
    with pytest.raises(ValueError, match="guide has the condition flavour, expected names of latent sites"):
        InclusiveKL(orders=orders).per_dataset(guide.model, guide, torch.empty(3, 6, 2))


def test_the_penalty_is_a_variance_over_orders() -> None:
    log_prob = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    orders = VisitingOrders(5, consistency=0.4)
    expected = 0.4 * (log_prob - log_prob.mean(0)).square().sum(0) / 4
    torch.testing.assert_close(orders.penalty(log_prob), expected)
    deviation = (log_prob - log_prob.mean(0)).detach()
    (orders.penalty(log_prob) - log_prob.mean(0)).sum().backward()
    torch.testing.assert_close(-log_prob.grad, 1 / 5 - 2 * 0.4 * deviation / 4)
    assert VisitingOrders(5).penalty(log_prob).tolist() == [0, 0, 0]


@pytest.mark.parametrize("orders", [VisitingOrders(1), PENALISED])
def test_svi_and_the_differentiable_loss_have_one_gradient(orders: VisitingOrders) -> None:
    guide, loss, template = light(RandomOrder()), InclusiveKL(orders=orders), torch.empty(3, 9, 2)
    torch.manual_seed(5)
    by_svi, of_svi = loss.loss_and_grads(guide.model, guide, template), gradients(guide)
    torch.manual_seed(5)
    value = loss.differentiable_loss(guide.model, guide, template)
    value.backward()
    torch.testing.assert_close(gradients(guide), of_svi, rtol=1e-4, atol=1e-5)
    if orders.consistency:
        assert value.item() > by_svi + 1e-3, "only the differentiable loss contains the penalty"
    else:
        assert value.item() == pytest.approx(by_svi)


def test_losses_teach_the_choice_without_the_penalty() -> None:
    guide, seen = light(RandomOrder()), []
    choice = HardSimulations(1.0, 2)
    choice.learn = lambda loss: seen.append(loss)  # type: ignore[method-assign]
    loss = InclusiveKL(choice, orders=VisitingOrders(3, consistency=2.0))
    torch.manual_seed(1)
    whole = loss.per_dataset(guide.model, guide, torch.empty(4, 8, 2))
    torch.manual_seed(1)
    loss.backward(guide.model, guide, torch.empty(4, 8, 2))
    assert (whole > seen[0]).all()
    torch.testing.assert_close(seen[0].detach(), seen[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("orders", [1, 2])
def test_a_guide_that_mixes_is_trained_as_one_that_does_not(orders: int) -> None:
    weights = []
    for number in (1, 4):
        guide = light(RandomOrder(), num_orders=number)
        fit(guide.model, guide, settings=replace(TINY, orders=orders), progress=False)
        assert guide.num_orders == number
        weights.append(guide.state_dict())
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=1e-3, atol=1e-5)


def test_consistency_brings_orders_together() -> None:
    data, truth = simulate(overlap2d(), torch.empty(30, 8, 2))
    order = torch.rand(6, 30, 8).argsort(-1)
    spreads = []
    for weight in (0.0, 10.0):
        guide = light(RandomOrder())
        optimizer = torch.optim.Adam(guide.parameters(), 3e-3)
        orders = VisitingOrders(6, consistency=weight)
        for _ in range(40):
            log_prob = guide.over_orders(data, order).log_prob(truth)
            optimizer.zero_grad()
            (orders.penalty(log_prob) - log_prob.mean(0)).mean().backward()
            optimizer.step()
        spreads.append(guide.over_orders(data, order).log_prob(truth).var(0).mean().item())
    assert spreads[1] < 0.5 * spreads[0]


def test_a_rule_gives_one_order() -> None:
    guide = published(DensestFirst(1.0))
    sites = simulated(guide.model, 2, 4)
    with pytest.raises(ValueError, match=r"num_orders is 2 with order DensestFirst, expected RandomOrder"):
        backward_in_chunks(guide, sites["data"], assignments=sites["assignments"], orders=VisitingOrders(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"number": 0}, "number is 0, expected at least 1"),
        ({"number": 2, "consistency": -0.1}, r"consistency is -0.1, expected a number of at least 0"),
        ({"number": 2, "consistency": 1e308}, r"consistency is 1e\+308, .* at most 1e\+06"),
        ({"consistency": 0.1}, "consistency is 0.1 with one visiting order"),
        ({"antithetic": True}, "antithetic is True with one visiting order"),
    ],
)
def test_numbers_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VisitingOrders(**arguments)
