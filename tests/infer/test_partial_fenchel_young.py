"""The loss of forests: under stock SVI, as a module, two guides at once, and against its definition."""

import pyro
import pytest
import torch
from pyro.infer import SVI
from torch import Tensor, nn

from pyroclust.distributions import PerturbedSpanningForest
from pyroclust.guides import PredictiveFilter, SpanningForestGuide
from pyroclust.infer import FitSettings, PartialFenchelYoungLoss, fit
from pyroclust.models import PartiallyLabelled, gaussian2d, overlap2d
from pyroclust.nn import VectorEncoder
from pyroclust.partitions import canonical
from pyroclust.partitions.constraints import Constraints


@pytest.fixture(autouse=True)
def _clean() -> None:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)


def stripes(num_points: int) -> tuple[Tensor, Tensor]:
    """Four classes that lie in the first column, beside a second of noise that is ten times as wide."""
    classes = torch.arange(num_points) % 4
    columns = torch.stack([classes + 0.1 * torch.randn(num_points), 10 * torch.randn(num_points)], -1)
    return columns, classes


def small_model() -> PartiallyLabelled:
    points, classes = stripes(200)
    # Nothing is known of the last class, and of a third of the others.
    known = (classes < 3) & (torch.rand(200) < 0.33)
    return PartiallyLabelled(points, torch.where(known, classes, -1))


def small_guide(model) -> SpanningForestGuide:
    embedding = VectorEncoder(2, dim=2, width=8, num_blocks=1, scale=5.0)
    return SpanningForestGuide(model, embedding=embedding, num_clusters=4, noise_scale=0.5)


def linear_guide(model) -> SpanningForestGuide:
    """Any module of torch will do: this one has to find out which column counts."""
    return SpanningForestGuide(model, embedding=nn.Linear(2, 2, bias=False), num_clusters=4, noise_scale=0.5)


def test_the_loss_is_that_of_the_labels_in_each_batch() -> None:
    model = small_model()
    guide, loss, template = small_guide(model), PartialFenchelYoungLoss(50), torch.empty(3, 40, 2)
    torch.manual_seed(1)
    found = loss.per_dataset(model, guide, template)
    assert found.shape == (3,)
    torch.manual_seed(1)
    simulated = loss.simulate(model, template).nodes
    similarity = guide.similarity(simulated["data"]["value"])
    free = PerturbedSpanningForest(similarity, 4, noise_scale=0.5)
    known = [Constraints.of(40, labels=one) for one in simulated["known"]["value"]]
    kept = [
        PerturbedSpanningForest(similarity[one], 4, noise_scale=0.5, constraints=known[one])
        for one in range(3)
    ]
    # By other noise: each mean of 50 draws differs from that of many by a little.
    told = {"num_draws": 4000, "seed": 0}
    direct = free.perturbed_maximum(**told) - torch.stack([one.perturbed_maximum(**told) for one in kept])
    torch.testing.assert_close(found, direct, rtol=0.15, atol=0.0)
    assert (direct > 1).all()


def test_two_guides_learn_under_stock_svi() -> None:
    model, loss = small_model(), PartialFenchelYoungLoss(20)
    points, classes = stripes(200)
    for _ in range(2):
        guide = linear_guide(model)
        before = guide.embedding.weight.detach().clone()
        svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.03}), loss)
        losses = [svi.step(torch.empty(1, 64, 2)) for _ in range(80)]
        assert sum(losses[-10:]) < 0.5 * sum(losses[:10])
        assert not torch.equal(guide.embedding.weight, before)
        assert svi.evaluate_loss(torch.empty(1, 64, 2)) >= 0
        # It has found the column, and with it the class that it never saw a label of.
        guide.noise_scale = 0.0
        assert torch.equal(guide.posterior(points).sample(), canonical(classes))


def test_module_form_has_gradients_that_torch_optimisers_take() -> None:
    model = small_model()
    guide = small_guide(model)
    module = PartialFenchelYoungLoss(20)(model, guide)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = module(torch.empty(2, 64, 2))
        loss.backward()
        losses.append(loss.item())
        assert all(one.grad is not None and one.grad.isfinite().all() for one in guide.parameters())
        optimizer.step()
    assert sum(losses[-10:]) < 0.6 * sum(losses[:10])


def test_nothing_is_learned_where_labels_change_nothing() -> None:
    """Classes far apart, whose labels a forest keeps by itself: loss and gradients are zero."""
    classes = torch.arange(60) % 3
    points = 100.0 * torch.eye(3)[classes] + 0.1 * torch.randn(60, 3)
    model = PartiallyLabelled(points, torch.where(torch.rand(60) < 0.5, classes, -1))
    guide = SpanningForestGuide(model, embedding=nn.Linear(3, 3), num_clusters=3, noise_scale=0.1)
    nn.init.eye_(guide.embedding.weight)
    loss = PartialFenchelYoungLoss(20)
    assert loss.loss_and_grads(model, guide, torch.empty(2, 50, 3)) == 0
    assert not guide.embedding.weight.grad.any()
    nn.init.constant_(guide.embedding.weight, 1.0)
    assert loss.loss_and_grads(model, guide, torch.empty(2, 50, 3)) > 0
    assert guide.embedding.weight.grad.any()


def test_generative_models_train_it_with_all_labels_known() -> None:
    model = gaussian2d()
    guide = SpanningForestGuide(model)
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 1e-3}), PartialFenchelYoungLoss(10))
    assert svi.step(torch.empty(3, 20, 2)) > 0
    before = guide.embedding.last.weight.detach().clone()
    settings = FitSettings(steps=2, min_points=5, max_points=9, points_per_step=20)
    fit(model, guide, settings=settings)
    assert not torch.equal(guide.embedding.last.weight, before)


def test_unusable_models_and_guides_are_named() -> None:
    model, template = small_model(), torch.empty(1, 20, 2)
    loss = PartialFenchelYoungLoss(4)
    with pytest.raises(ValueError, match=r"guide draws assignments from a .*expected a PerturbedSpanningFor"):
        loss.per_dataset(gaussian2d(), PredictiveFilter(gaussian2d()), template)
    with pytest.raises(ValueError, match="guide draws assignments from a NoneType"):
        loss.per_dataset(gaussian2d(), lambda data: None, template)

    def no_labels(data: Tensor) -> None:
        pyro.sample("data", pyro.distributions.Normal(0.0, 1.0).expand(data.shape).to_event(3), obs=data)

    with pytest.raises(ValueError, match="expected labels at 'known' or 'assignments'"):
        loss.per_dataset(no_labels, small_guide(model), template)
    with pytest.raises(ValueError, match="expected 'data' among them"):
        loss.per_dataset(lambda data: None, small_guide(model), template)
    with pytest.raises(ValueError, match="model is 'overlap2d', expected the guide's own"):
        loss.loss_and_grads(overlap2d(), SpanningForestGuide(gaussian2d()), template)
    with pytest.raises(ValueError, match="num_draws is 0"):
        PartialFenchelYoungLoss(0)
