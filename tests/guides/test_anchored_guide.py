"""A guide on a few points that the exact filter continues: exact, compiled, saved, and what is refused."""

import pytest
import torch

from pyroclust import load_guide, save_guide
from pyroclust.guides import AnchoredGuide, NeuralClusteringProcess, PredictiveFilter
from pyroclust.models import gaussian2d, overlap2d, sensitivity2d, warped_clusters
from pyroclust.nn import RandomAnchors, RandomOrder, StratifiedAnchors
from pyroclust.nn.compiled.filter import CompiledFilterScorer
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical


def small(guide=None, **told: object) -> AnchoredGuide:
    return AnchoredGuide(load_guide("ncp-overlap2d") if guide is None else guide, **told)


@pytest.mark.parametrize("anchors", [RandomAnchors(), StratifiedAnchors()], ids=["random", "stratified"])
@pytest.mark.parametrize("orders", [1, 4])
def test_probabilities_sum_to_one_and_are_those_of_draws(anchors, orders: int) -> None:
    torch.manual_seed(0)
    own = NeuralClusteringProcess(gaussian2d(), order=RandomOrder(), num_orders=orders)
    guide = small(own, num_anchors=4, anchors=anchors)
    assert guide.mixes_orders == (orders > 1)
    law = guide.posterior(3.0 * torch.randn(2, 6, 2))
    every = enumerate_partitions(6).unsqueeze(1)
    with torch.no_grad():
        probabilities = law.log_prob(every).exp()
    torch.testing.assert_close(probabilities.sum(0), torch.ones(2).double(), atol=1e-4, rtol=0)
    torch.testing.assert_close(law.merged_log_prob(every).exp(), probabilities, atol=1e-4, rtol=0)
    draws, log_prob = law.sample_and_log_prob((4000,))
    assert is_canonical(draws).all()
    torch.testing.assert_close(log_prob, law.merged_log_prob(draws), atol=1e-4, rtol=0)
    shares = (draws.unsqueeze(0) == every.unsqueeze(1)).all(-1).double().mean(1)
    assert (0.5 * (shares - probabilities).abs().sum(0) < 0.06).all()
    assert law.expand((3, 2)).sample().shape == (3, 2, 6)
    assert law.map_partition().shape == (2, 6)


def test_the_filter_on_anchors_is_the_filter() -> None:
    torch.manual_seed(0)
    data = torch.randn(30, 2)
    law = AnchoredGuide(PredictiveFilter(overlap2d()), num_anchors=10).posterior(data)
    draws, log_prob = law.sample_and_log_prob((20,))
    # Of the anchors the guide has an order of its own: given theirs, all is one filter.
    rest = law.log_prob(draws) - law.first.log_prob(law.anchors_of(draws))
    whole = PredictiveFilter(overlap2d()).posterior(data, order=law.order[0])
    torch.testing.assert_close(whole.log_prob(draws) - law.of_anchors.log_prob(law.anchors_of(draws)), rest)
    torch.testing.assert_close(log_prob, law.log_prob(draws), atol=1e-6, rtol=0)


def test_few_points_are_left_to_the_guide_and_saved_guides_come_back(tmp_path) -> None:
    guide = small(num_anchors=8, anchors=StratifiedAnchors())
    data = torch.randn(8, 2)
    every = canonical(torch.randint(3, (5, 8)))
    torch.manual_seed(1)
    own = guide.posterior(data).log_prob(every)
    torch.manual_seed(1)
    torch.testing.assert_close(own, guide.guide.posterior(data).log_prob(every))
    save_guide(guide, tmp_path / "one")
    again = load_guide(tmp_path / "one")
    assert isinstance(again, AnchoredGuide)
    assert (again.num_anchors, type(again.anchors)) == (8, StratifiedAnchors)
    many = torch.randn(20, 2)
    torch.manual_seed(2)
    law = guide.posterior(many)
    torch.manual_seed(2)
    draws = law.sample((3,))
    torch.manual_seed(2)
    other = again.posterior(many)
    torch.testing.assert_close(law.log_prob(draws), other.log_prob(draws))


def test_compiled_draws_are_those_of_torch(monkeypatch) -> None:
    torch.manual_seed(0)
    guide, data = small(num_anchors=10), torch.randn(2, 40, 2)
    law = guide.posterior(data)
    torch.manual_seed(1)
    draws, log_prob = law.sample_and_log_prob((300,))
    assert is_canonical(draws).all()
    torch.testing.assert_close(log_prob, law.merged_log_prob(draws), atol=1e-4, rtol=0)
    labels = torch.zeros(1, 10, dtype=torch.int64)
    assert law.rest.scorer.label_points(law.rest.encoding, torch.tensor([0]), labels) is not None
    monkeypatch.setattr(CompiledFilterScorer, "label_points", lambda *_: None)
    torch.manual_seed(1)
    expected, log_q = law.sample_and_log_prob((300,))
    assert torch.equal(draws, expected)
    torch.testing.assert_close(log_prob, log_q, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: small(num_anchors=0), "num_anchors is 0"),
        (lambda: AnchoredGuide(NeuralClusteringProcess(warped_clusters())), "no conjugate component family"),
        (
            lambda: AnchoredGuide(
                PredictiveFilter(sensitivity2d(), conditions=["concentration", "prior_scale"])
            ),
            "guide has the conditions",
        ),
        (lambda: small().constrained(must_link=[(0, 1)]), "anchors would be labelled"),
        (lambda: small().posterior(torch.zeros(200, 3)), "data has shape"),
    ],
)
def test_errors_say_what_to_do(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
