"""A guide that mixes visiting orders is a guide like any other, and hardly minds the order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyro
import pytest
import torch
from pyro import poutine
from torch import Tensor

from pyroclust import load_guide
from pyroclust.calibration.accuracy import order_row
from pyroclust.diagnostics import importance_evidence
from pyroclust.distributions.sequential.partition import OrderAveragedPartition
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, SequentialGuide, retarget
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import fine_tune, log_evidence, simulate
from pyroclust.infer.quality import log_importance_weights
from pyroclust.infer.simulation import SimulatedBatch
from pyroclust.infer.smc import sequential_monte_carlo
from pyroclust.models import gaussian2d, overlap2d
from pyroclust.nn import DensestFirst, RandomOrder, SummedScorer
from pyroclust.partitions import enumerate_partitions, is_canonical
from pyroclust.recipes import read_recipe
from pyroclust.saving.guides import save_guide


def light(num_orders: int) -> NeuralClusteringProcess:
    model = overlap2d()
    scorer = light_scorer_for(model, width=12, num_bandwidths=2)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder(), num_orders=num_orders)


def published(num_orders: int) -> NeuralClusteringProcess:
    scorer = SummedScorer(2, width=8, sizes=(6, 10))
    return NeuralClusteringProcess(gaussian2d(), scorer=scorer, order=RandomOrder(), num_orders=num_orders)


def filtering(num_orders: int) -> PredictiveFilter:
    return PredictiveFilter(overlap2d(), num_orders=num_orders)


def perturbed(guide: Any) -> Any:
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return guide.eval()


@pytest.fixture(params=[light, published, filtering])
def make(request: pytest.FixtureRequest) -> Callable[[int], SequentialGuide]:
    def made(num_orders: int) -> SequentialGuide:
        torch.manual_seed(1)
        return perturbed(request.param(num_orders))

    return made


def data_of(guide: Any, *shape: int) -> Tensor:
    return simulate(guide.model, torch.empty(*shape, 2))[0]


@torch.no_grad()
def test_a_mixture_sums_to_one_over_all_partitions(make) -> None:
    guide = make(4)
    posterior = guide.posterior(data_of(guide, 3, 6))
    every = enumerate_partitions(6).unsqueeze(1).expand(-1, 3, -1)
    for total in (posterior.log_prob(every), posterior.merged_log_prob(every)):
        torch.testing.assert_close(total.logsumexp(0), torch.zeros(3).double(), rtol=0, atol=1e-5)


@torch.no_grad()
def test_given_orders_are_mixed_with_equal_weights(make) -> None:
    guide = make(1)
    data = data_of(guide, 2, 3, 5)
    order = torch.rand(4, 2, 3, 5).argsort(-1)
    every = enumerate_partitions(5).view(-1, 1, 1, 5)
    single = torch.stack([guide.posterior(data, order=one).log_prob(every) for one in order])
    mixture = guide.posterior(data, order=order)
    assert isinstance(mixture, OrderAveragedPartition)
    assert mixture.batch_shape == (2, 3)
    assert torch.equal(mixture.order, order.view(24, 5))
    expected = single.exp().mean(0).log()
    torch.testing.assert_close(mixture.log_prob(every), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(mixture.merged_log_prob(every), expected, rtol=0, atol=1e-5)
    same = guide.posterior(data, order=order[:, :1, :1])
    first = torch.stack([guide.posterior(data, order=one[0, 0]).log_prob(every) for one in order])
    torch.testing.assert_close(same.log_prob(every), first.exp().mean(0).log(), rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("num_points", [1, 2, 30])
def test_draws_come_with_their_log_probabilities(make, num_points: int) -> None:
    guide = make(3)
    posterior = guide.posterior(data_of(guide, 2, num_points))
    for law, shape in ((posterior, (15, 2)), (posterior.expand((4, 2)), (15, 4, 2))):
        draws, log_prob = law.sample_and_log_prob((15,))
        assert draws.shape == (*shape, num_points)
        assert is_canonical(draws).all()
        torch.testing.assert_close(law.log_prob(draws), log_prob, rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("method", ["sample", "sample_and_log_prob"])
def test_draws_follow_the_mixture(method: str) -> None:
    guide = perturbed(light(3))
    posterior = guide.posterior(data_of(guide, 4))
    every, base = enumerate_partitions(4), 5 ** torch.arange(4)
    found = getattr(posterior, method)((20_000,))
    draws = found if method == "sample" else found[0]
    frequency = ((draws * base).sum(-1, keepdim=True) == (every * base).sum(-1)).double().mean(0)
    probability = posterior.log_prob(every).exp()
    noise = (probability * (1 - probability) / 20_000).sqrt()
    assert ((frequency - probability).abs() <= 4.5 * noise + 1e-9).all()


@torch.no_grad()
def test_chunks_do_not_change_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = perturbed(light(2))
    posterior = guide.posterior(data_of(guide, 2, 9))
    draws = posterior.sample((10,))
    whole = posterior.merged_log_prob(draws)
    monkeypatch.setattr("pyroclust.distributions.sequential.partition._CLUSTERS_AT_ONCE", 20)
    torch.testing.assert_close(posterior.merged_log_prob(draws), whole, rtol=0, atol=1e-5)


@torch.no_grad()
def test_posteriors_draw_antithetic_pairs_anew() -> None:
    guide = perturbed(light(4))
    data = data_of(guide, 2, 7)
    first, second = (guide.posterior(data).orders.order.view(4, 2, 7) for _ in range(2))
    assert torch.equal(first[0].flip(-1), first[1])
    assert torch.equal(first[2].flip(-1), first[3])
    assert not torch.equal(first, second)


@torch.no_grad()
def test_a_mixture_hardly_minds_the_order() -> None:
    guide = perturbed(light(1))
    data, truth = simulate(guide.model, torch.empty(20, 12, 2))
    rows = [
        order_row([SimulatedBatch(guide.model, one, None, data, truth)], num_orders=40)
        for one in (guide, guide.mixed(2), guide.mixed(8))
    ]
    spreads = [row.median for row in rows if row is not None]
    assert spreads[1] < 0.75 * spreads[0]
    assert spreads[2] < 0.45 * spreads[0]


def test_a_mixture_weights_its_draws_correctly() -> None:
    guide = perturbed(light(4))
    data = data_of(guide, 3, 6)
    log_weights = log_importance_weights(guide.model, guide, data, num_draws=4000)
    for column, exact in zip(log_weights.T.numpy(), log_evidence(guide.model, data).tolist(), strict=True):
        found = importance_evidence(column)
        assert abs(found.estimate - exact) < 4.5 * found.error


def test_a_mixture_is_a_pyro_program_that_can_be_fine_tuned() -> None:
    guide = light(2)
    data = data_of(guide, 5, 6)
    trace = poutine.trace(guide).get_trace(data)
    trace.compute_log_prob()
    assert trace.nodes["assignments"]["log_prob"].shape == (5,)
    before = guide.scorer.to_join.weight.clone()
    done = fine_tune(guide.model, guide, data, steps=3, num_draws=20, progress=False)
    assert done.losses.isfinite().all()
    assert not torch.equal(before, guide.scorer.to_join.weight)
    with pyro.get_param_store().scope():
        assert guide.num_orders == 2


def test_one_order_is_left_for_sequential_monte_carlo() -> None:
    guide = perturbed(light(4))
    data = data_of(guide, 5)
    with pytest.raises(ValueError, match="OrderAveragedPartition, expected a SequentialPartition"):
        sequential_monte_carlo(guide.model, guide, data, num_particles=10)
    one = guide.mixed(1)
    assert one.scorer is guide.scorer
    assert guide.num_orders == 4
    draws, _ = sequential_monte_carlo(guide.model, one, data, num_particles=10)
    assert draws.assignments.shape == (1, 10, 5)


def test_a_rule_gives_one_order() -> None:
    with pytest.raises(ValueError, match="num_orders is 2 with order DensestFirst, expected RandomOrder"):
        NeuralClusteringProcess(gaussian2d(), num_orders=2)
    with pytest.raises(ValueError, match="num_orders is 3 with order DensestFirst"):
        PredictiveFilter(gaussian2d(), order=DensestFirst(1.0)).mixed(3)
    with pytest.raises(ValueError, match="num_orders is 0, expected at least 1"):
        light(1).mixed(0)
    assert NeuralClusteringProcess(gaussian2d(), num_orders=1).mixed(1).num_orders == 1


@pytest.mark.parametrize("build", [light, filtering])
def test_cards_keep_the_number_of_orders(build, tmp_path: Path) -> None:
    guide = perturbed(build(3))
    assert guide.mixed(1).arguments["num_orders"] == 1
    save_guide(guide, tmp_path / "mixed")
    again = load_guide(tmp_path / "mixed")
    assert again.num_orders == 3
    data, order = data_of(guide, 6), torch.rand(3, 6).argsort(-1)
    labels = enumerate_partitions(6)[:50]
    found, expected = (one.posterior(data, order=order).log_prob(labels) for one in (again, guide))
    torch.testing.assert_close(found, expected)
    assert retarget(guide, overlap2d()).num_orders == 3


def test_recipes_say_how_many_orders_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(
        '[model]\nname = "overlap2d"\ndim = 2\n[guide]\nnum_orders = 4\n[order]\nclass = "RandomOrder"\n'
        "[training]\norders = 2\nantithetic = true\nconsistency = 0.1\n"
    )
    recipe = read_recipe(path)
    assert recipe.build().num_orders == 4
    assert recipe.training.visiting_orders().antithetic
    path.write_text(path.read_text().replace("antithetic = true", "antithetic = 1"))
    with pytest.raises(ValueError, match=r"training.antithetic is 1, expected true or false"):
        read_recipe(path)


def test_a_recipe_can_start_from_a_guide_with_a_rule(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = NeuralClusteringProcess(gaussian2d(), scorer=light_scorer_for(gaussian2d(), width=8))
    save_guide(guide, tmp_path / "densest")
    path = tmp_path / "mixed.toml"
    start = '[model]\nname = "gaussian2d"\ndim = 2\n[start]\nguide = "densest"\n'
    path.write_text(start)
    assert isinstance(read_recipe(path).build().order, DensestFirst)
    path.write_text(start + "num_orders = 4\n")
    built = read_recipe(path).build()
    assert (built.num_orders, type(built.order)) == (4, RandomOrder)
    assert all(torch.equal(value, built.state_dict()[name]) for name, value in guide.state_dict().items())
