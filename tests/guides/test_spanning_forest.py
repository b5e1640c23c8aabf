"""The guide of forests: single linkage without noise, views under constraints, files, and its model."""

import pytest
import torch
from pyro import poutine
from pyro.infer import Predictive
from sklearn.cluster import AgglomerativeClustering
from torch import nn

from pyroclust import load_guide, save_guide
from pyroclust.distributions import ChineseRestaurantPrior, PerturbedSpanningForest
from pyroclust.guides import SpanningForestGuide
from pyroclust.infer import PartialFenchelYoungLoss
from pyroclust.models import PartiallyLabelled, StochasticBlockModel, gaussian2d
from pyroclust.nn import ImageEncoder, VectorEncoder
from pyroclust.partitions import canonical
from pyroclust.partitions.constraints import Constraints


@pytest.fixture
def model() -> PartiallyLabelled:
    torch.manual_seed(0)
    return PartiallyLabelled(torch.randn(90, 3), torch.arange(90) % 4 - 1)


def test_without_noise_it_is_single_linkage_of_the_embedding(model) -> None:
    guide = SpanningForestGuide(model, num_clusters=5, noise_scale=0.0)
    data = torch.randn(2, 40, 3)
    draws = guide.posterior(data).sample((2,))
    assert torch.equal(draws[0], draws[1])
    for points, similarity, draw in zip(data, guide.similarity(data), draws[0], strict=True):
        far = (similarity.max() - similarity).detach().fill_diagonal_(0).numpy()
        method = AgglomerativeClustering(5, metric="precomputed", linkage="single").fit_predict(far)
        assert torch.equal(draw, canonical(torch.from_numpy(method)))
        vectors = guide.embed(points).detach().numpy()
        method = AgglomerativeClustering(5, linkage="single").fit_predict(vectors)
        assert torch.equal(draw, canonical(torch.from_numpy(method)))


def test_similarities_are_standardised_squared_distances(model) -> None:
    guide = SpanningForestGuide(model, num_clusters=2).double()
    data = 1e3 + torch.randn(3, 4, 12, 3, dtype=torch.float64)
    found, vectors = guide.similarity(data), guide.embed(data)
    assert found.shape == (3, 4, 12, 12)
    assert vectors.shape == (3, 4, 12, 8)
    assert torch.equal(found, found.mT)
    u, v = torch.tril_indices(12, 12, -1)
    pairs = found[..., u, v]
    torch.testing.assert_close(pairs.mean(-1), torch.zeros(3, 4).double(), atol=1e-9, rtol=0)
    told = {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(pairs.std(-1, correction=0), torch.ones(3, 4).double(), **told)
    far = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist").square()[..., u, v]
    expected = (far.mean(-1, keepdim=True) - far) / far.std(-1, correction=0, keepdim=True)
    torch.testing.assert_close(pairs, expected, **told)
    # Nothing but distances counts.
    with torch.no_grad():
        guide.embedding.last.bias += 5.0
        for layer in (guide.embedding.last, guide.embedding.straight):
            layer.weight *= 3.0
    torch.testing.assert_close(guide.similarity(data), found, **told)


def test_points_that_are_all_the_same_have_similarities_and_gradients(model) -> None:
    guide = SpanningForestGuide(model, num_clusters=2)
    for data in (torch.ones(6, 3), torch.ones(2, 3), torch.randn(2, 3), torch.ones(1, 3)):
        found = guide.similarity(data)
        assert not found.any() or len(data) == 2
        found.sum().backward()
        assert all(one.grad.isfinite().all() for one in guide.parameters())
        assert guide.posterior(data).sample().shape == (len(data),)


def test_a_view_under_constraints_keeps_them_in_every_data_set(model) -> None:
    guide = SpanningForestGuide(model, num_clusters=3)
    view = guide.constrained(must_link=[(0, 4), (4, 9)], cannot_link=[(0, 1), (1, 2), (0, 2)])
    data = torch.randn(4, 12, 3)
    law = view.posterior(data)
    known = Constraints.of(12, must_link=[(0, 4), (4, 9)], cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert isinstance(law, PerturbedSpanningForest)
    assert law.constraints == known
    assert known.allows(law.sample((50,))).all()
    assert not known.allows(guide.posterior(data).sample((50,))).all()
    assert torch.equal(law.similarity, guide.similarity(data))
    assert not law.excess_rate(num_draws=20).any()
    assert known.allows(Predictive(view, num_samples=5, parallel=True)(data)["assignments"]).all()
    # As many clusters as groups, where there are fewer of these; as points, where there are fewer of those.
    whole = guide.constrained(labels=[0] * 5 + [1])
    assert whole.posterior(torch.randn(6, 3)).sample().tolist() == [0] * 5 + [1]
    assert guide.posterior(torch.randn(2, 3)).sample().tolist() == [0, 1]
    with pytest.raises(ValueError, match="the constraints name points of a data set of 12"):
        guide.under(known).posterior(torch.randn(11, 3))


@pytest.mark.parametrize("number", [3, ChineseRestaurantPrior(1.5)], ids=["3", "prior"])
def test_it_comes_back_from_its_folder(model, tmp_path, number) -> None:
    images = PartiallyLabelled(torch.rand(30, 8, 8), torch.arange(30) % 3 - 1)
    for one, embedding in (
        (model, VectorEncoder(3, dim=4, width=8, num_blocks=1)),
        (model, None),
        (images, ImageEncoder(8, 8, dim=5, channels=2)),
    ):
        guide = SpanningForestGuide(one, embedding=embedding, num_clusters=number, noise_scale=0.3)
        save_guide(guide, tmp_path / "forest")
        again = load_guide(tmp_path / "forest")
        assert isinstance(again, SpanningForestGuide)
        data = torch.rand(2, 10, *one.event_shape)
        assert torch.equal(again.similarity(data), guide.similarity(data))
        assert (again.num_clusters, again.noise_scale) == (guide.num_clusters, 0.3)
        assert again.model.typical_scale == one.typical_scale
    with pytest.raises(ValueError, match="guide is under constraints, which belong to one data set"):
        save_guide(guide.constrained(must_link=[(0, 1)]), tmp_path / "forest")
    save_guide(SpanningForestGuide(gaussian2d()), tmp_path / "gaussian")
    assert load_guide(tmp_path / "gaussian").num_clusters == gaussian2d().prior


def test_batches_have_the_labels_of_their_rows_and_the_share_that_was_asked_for() -> None:
    points, classes = torch.arange(200.0).view(100, 2), torch.arange(100) % 5
    labels = torch.where(torch.arange(100) < 40, classes, -1)
    for size, share, wanted in ((64, 0.5, 32), (64, 0.0, 4), (20, 0.25, 5), (90, 0.5, 40), (100, 0.1, 40)):
        model = PartiallyLabelled(points, labels, share=share)
        trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 2, size, 2))
        data, known, rows = (trace.nodes[name]["value"] for name in ("data", "known", "members"))
        assert torch.equal(data, points[rows])
        assert torch.equal(known, labels[rows])
        assert ((known >= 0).sum(-1) == max(wanted, size - 60)).all()
        assert all(len(one.unique()) == size for one in rows.view(6, size))
        assert len(rows.view(6, size).unique(dim=0)) == 6
        # Rows with a label are not always the first.
        assert len((known >= 0).view(6, size).unique(dim=0)) > 1
    with pytest.raises(ValueError, match="batches of 101 points, expected at most 100"):
        model(torch.empty(1, 101, 2))


def test_bad_arguments_are_named(model) -> None:
    for told, message in (
        ({}, "num_clusters is None, expected a number or a prior: model 'partially_labelled' has no prior"),
        ({"num_clusters": 0}, "num_clusters is 0"),
        ({"num_clusters": 2, "noise_scale": -1.0}, "noise_scale is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            SpanningForestGuide(model, **told)
    with pytest.raises(ValueError, match="embedding is None, expected a module for points of shape"):
        SpanningForestGuide(StochasticBlockModel(), num_clusters=2)
    guide = SpanningForestGuide(model, embedding=nn.Flatten(), num_clusters=2)
    with pytest.raises(ValueError, match=r"embedding returned \(2, 15\), expected vectors \(B, N, E\)"):
        guide.posterior(torch.randn(2, 5, 3))
    with pytest.raises(NotImplementedError, match="has no log_prob"):
        SpanningForestGuide(model, num_clusters=2).posterior(torch.randn(5, 3)).log_prob(
            torch.zeros(5).long()
        )
    for points, labels, message in (
        (torch.randn(4), torch.zeros(4).long(), r"points has shape \(4,\)"),
        (torch.randn(4, 2), torch.zeros(3).long(), r"labels has shape \(3,\)"),
        (torch.randn(4, 2), torch.zeros(4), "labels has shape .* torch.float32"),
        (torch.full((4, 2), torch.nan), torch.zeros(4).long(), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            PartiallyLabelled(points, labels)
    nothing = PartiallyLabelled(torch.randn(4, 2))
    assert nothing.typical_scale > 0
    with pytest.raises(ValueError, match="labels are all negative"):
        PartialFenchelYoungLoss(2).loss(
            nothing, SpanningForestGuide(nothing, num_clusters=2), torch.empty(1, 3, 2)
        )
    with pytest.raises(ValueError, match="share is 2"):
        PartiallyLabelled(torch.randn(4, 2), torch.zeros(4).long(), share=2.0)
