"""Several orders a data set, in pairs, and what their disagreement costs."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, InclusiveKL, fit, simulate
from pyroclust.infer.choices import HardSimulations
from pyroclust.infer.chunked_loss import VisitingOrders
from pyroclust.models import overlap2d, sensitivity2d
from pyroclust.nn import RandomOrder

TINY = FitSettings(steps=6, max_points=12, points_per_step=40, warmup_steps=2, seed=4)


def built(num_orders: int = 1) -> NeuralClusteringProcess:
    torch.manual_seed(0)
    model = overlap2d()
    scorer = light_scorer_for(model, width=12, num_bandwidths=2)
    guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder(), num_orders=num_orders)
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return guide


def gradients(guide: NeuralClusteringProcess) -> Tensor:
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in guide.parameters()]
    guide.zero_grad()
    return torch.cat([part.reshape(-1) for part in parts])


def test_the_penalty_is_a_variance_over_orders() -> None:
    log_prob = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    orders = VisitingOrders(5, consistency=0.4)
    expected = 0.4 * (log_prob - log_prob.mean(0)).square().sum(0) / 4
    torch.testing.assert_close(orders.penalty(log_prob), expected)
    deviation = (log_prob - log_prob.mean(0)).detach()
    (orders.penalty(log_prob) - log_prob.mean(0)).sum().backward()
    assert log_prob.grad is not None
    torch.testing.assert_close(-log_prob.grad, 1 / 5 - 2 * 0.4 * deviation / 4)
    assert VisitingOrders(5).penalty(log_prob).tolist() == [0, 0, 0]


def test_orders_are_drawn_in_pairs_where_wanted() -> None:
    data = torch.empty(3, 7, 2)
    first, second = VisitingOrders(2, antithetic=True).draw(data)
    assert torch.equal(first.flip(-1), second)
    first, second = VisitingOrders(2).draw(data)
    assert not torch.equal(first.flip(-1), second)


@pytest.mark.parametrize("orders", [VisitingOrders(1), VisitingOrders(4, antithetic=True, consistency=0.5)])
def test_svi_and_the_differentiable_loss_have_one_gradient(orders: VisitingOrders) -> None:
    guide, loss = built(), InclusiveKL(orders=orders)
    template, found, values = torch.empty(3, 9, 2), [], []
    for step in range(2):
        torch.manual_seed(5)
        if step:
            value = loss.differentiable_loss(guide.model, guide, template)
            value.backward()
            values.append(value.item())
        else:
            values.append(loss.loss_and_grads(guide.model, guide, template))
        found.append(gradients(guide))
    assert found[0].norm() > 1e-3
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)
    if orders.consistency:
        assert values[1] > values[0] + 1e-3, "only the differentiable loss contains the penalty"
    else:
        assert values[0] == pytest.approx(values[1])


def test_losses_teach_the_choice_without_the_penalty() -> None:
    guide, seen = built(), []
    choice = HardSimulations(1.0, 2)
    choice.learn = lambda loss: seen.append(loss)  # type: ignore[method-assign]
    loss = InclusiveKL(choice, orders=VisitingOrders(3, consistency=2.0))
    torch.manual_seed(1)
    whole = loss.per_dataset(guide.model, guide, torch.empty(4, 8, 2))
    torch.manual_seed(1)
    loss.backward(guide.model, guide, torch.empty(4, 8, 2))
    assert (whole > seen[0]).all()
    torch.testing.assert_close(seen[0].detach(), seen[1], rtol=1e-4, atol=1e-4)


def test_every_data_set_is_told_its_conditions() -> None:
    names = ["concentration", "prior_scale"]
    guide = NeuralClusteringProcess(sensitivity2d(), conditions=names, order=RandomOrder())
    loss = InclusiveKL(orders=VisitingOrders(2)).per_dataset(guide.model, guide, torch.empty(3, 6, 2))
    assert loss.shape == (3,)
    guide.conditions = ("flavour",)
    with pytest.raises(ValueError, match="guide has the condition flavour, expected names of latent sites"):
        InclusiveKL(orders=VisitingOrders(2)).per_dataset(guide.model, guide, torch.empty(3, 6, 2))


@pytest.mark.parametrize("orders", [1, 2])
def test_a_guide_that_mixes_is_trained_as_one_that_does_not(orders: int) -> None:
    settings = replace(TINY, orders=orders)
    weights = []
    for number in (1, 4):
        guide = built(number)
        fit(guide.model, guide, settings=settings, progress=False)
        assert guide.num_orders == number
        weights.append(guide.state_dict())
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=1e-3, atol=1e-5)


def test_consistency_brings_orders_together() -> None:
    data, truth = simulate(overlap2d(), torch.empty(30, 8, 2))
    order = torch.rand(6, 30, 8).argsort(-1)
    spreads = []
    for weight in (0.0, 10.0):
        guide = built()
        optimizer = torch.optim.Adam(guide.parameters(), 3e-3)
        orders = VisitingOrders(6, consistency=weight)
        for _ in range(40):
            log_prob = guide.over_orders(data, order).log_prob(truth)
            optimizer.zero_grad()
            (orders.penalty(log_prob) - log_prob.mean(0)).mean().backward()
            optimizer.step()
        spreads.append(guide.over_orders(data, order).log_prob(truth).var(0).mean().item())
    assert spreads[1] < 0.5 * spreads[0]


def test_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="number is 0, expected at least 1"):
        VisitingOrders(0)
    with pytest.raises(ValueError, match=r"consistency is -0.1, expected a number of at least 0"):
        VisitingOrders(2, consistency=-0.1)
    with pytest.raises(ValueError, match=r"consistency is 1e\+308, .* at most 1e\+06"):
        VisitingOrders(2, consistency=1e308)
    with pytest.raises(ValueError, match=r"consistency is 0.1 with one visiting order"):
        FitSettings(consistency=0.1)
    with pytest.raises(ValueError, match="antithetic is True with one visiting order"):
        FitSettings(antithetic=True)
    with pytest.raises(ValueError, match="antithetic is 1, expected true or false"):
        FitSettings(orders=2, antithetic=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="orders is 0, expected a positive number"):
        FitSettings(orders=0)
