"""The neighbour scorer, its features of pairs and its visiting order."""

import math

import pytest
import torch
from pyro import poutine

from pyroclust.distributions.sequential.scorer import ForcedSteps, Scorer
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import FitSettings, InclusiveKL, fit
from pyroclust.models import sensitivity2d, warped_clusters
from pyroclust.nn import DensestFirst, NearestNext, NeighbourScorer
from pyroclust.nn.scorers.neighbour_scorer import PairFeatures, pair_features
from pyroclust.partitions import canonical


@pytest.fixture
def scorer() -> NeighbourScorer:
    """A small scorer none of whose parameters is zero."""
    scorer = NeighbourScorer(width=8).eval()
    for parameter in scorer.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return scorer


def guide_with(scorer: NeighbourScorer) -> NeuralClusteringProcess:
    return NeuralClusteringProcess(warped_clusters(), scorer=scorer, order=NearestNext(0.3))


def labels(rows: int, points: int) -> torch.Tensor:
    return canonical(torch.randint(4, (rows, points)))


def test_forced_logits_of_one_data_set_are_those_of_the_five_methods(scorer):
    dataset = torch.zeros(7, dtype=torch.int64)
    steps, encoding = ForcedSteps.of(labels(7, 12)), scorer.encode(3 * torch.randn(1, 12, 2))
    own, generic = (
        way(encoding, dataset, steps)
        for way in (scorer.forced_logits, lambda *given: Scorer.forced_logits(scorer, *given))
    )
    torch.testing.assert_close(own, generic, rtol=1e-4, atol=1e-5)


def test_many_rows_are_summed_in_blocks(scorer, monkeypatch):
    steps, encoding = ForcedSteps.of(labels(9, 10)), scorer.encode(torch.randn(2, 10, 2))
    dataset = torch.arange(9) % 2
    whole = scorer.forced_logits(encoding, dataset, steps)
    monkeypatch.setattr("pyroclust.nn.scorers.neighbour_scorer._NUMBERS_AT_ONCE", 1)
    torch.testing.assert_close(scorer.forced_logits(encoding, dataset, steps), whole)


@torch.no_grad()
def test_the_order_of_the_points_does_not_matter(scorer):
    """The visiting order is a function of the data, so log q of a partition is too."""
    data, partition, moved = 3 * torch.randn(20, 2), labels(1, 20)[0], torch.randperm(20)
    guide = guide_with(scorer)
    here = guide.posterior(data).log_prob(partition)
    there = guide.posterior(data[moved]).log_prob(canonical(partition[moved]))
    torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-4)


def test_channels_by_hand():
    """Kernels and moments of one pair of points."""
    data = torch.tensor([[[0.0, 0.0], [0.3, 0.4]]])
    channels = pair_features(data).channels[0, :, 0, 1]
    expected = [(1 + 0.25 / h**2) ** -2 for h in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)]
    torch.testing.assert_close(channels[:6], torch.tensor(expected))
    weight = expected[2]
    moments = weight * torch.tensor([0.3, 0.4, 0.09, 0.12, 0.16])
    torch.testing.assert_close(channels[14:19], moments)


@pytest.fixture
def two_lines() -> torch.Tensor:
    """Parallel lines, their gap seven times the distance of neighbours."""
    line = torch.linspace(0, 4, 30)
    return torch.stack([torch.cat([line, line]), torch.tensor([0.0] * 30 + [1.0] * 30)], -1)


def test_walks_are_probabilities_and_reach_along_chains(two_lines):
    """64 steps lead along the own line, and seldom to the other, which is nearer than the own one's end."""
    walks = pair_features(two_lines.unsqueeze(0)).channels[0, 6:14]
    torch.testing.assert_close(walks.sum(-1), torch.ones(8, 60), rtol=1e-4, atol=1e-4)
    assert (walks >= 0).all()
    assert walks[3, 0, :30].sum() > 0.85
    assert walks[3, 0, 20] > walks[3, 0, 30:].max()
    one, four = walks[0].double(), walks[1].double()
    torch.testing.assert_close(four, one.matrix_power(4), rtol=1e-3, atol=1e-6)


def test_steps_along_tangents_by_hand():
    points = torch.randn(9, 2, dtype=torch.float64)
    away = torch.cdist(points, points)
    reach = (away.square().sort(-1).values[:, 7] + 1e-3).sqrt()
    wide = (-away.square() / reach.outer(reach)).exp()
    unit = [[(points[j] - points[i]) / (away[i, j] + 1e-30) for j in range(9)] for i in range(9)]
    tangent = [sum(wide[i, j] * unit[i][j].outer(unit[i][j]) for j in range(9)) for i in range(9)]
    tangent = [one / one.trace() for one in tangent]
    seen = torch.tensor([[unit[i][j] @ tangent[i] @ unit[i][j] for j in range(9)] for i in range(9)])
    steps = wide * (seen * seen.T) ** 2 + torch.eye(9)
    expected = steps / steps.sum(-1, keepdim=True)
    found = pair_features(points.float().unsqueeze(0)).channels[0, 10].double()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_features_are_unmoved_by_rotations_and_see_a_line():
    data, angle = torch.randn(1, 30, 2), torch.tensor(0.7)
    turn = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])
    both = [PairFeatures.features(pair_features(one).channels.sum(-1).mT) for one in (data, data @ turn)]
    torch.testing.assert_close(*both, rtol=1e-3, atol=1e-3)
    assert both[0].shape[-1] == PairFeatures.num_features
    on_line = torch.tensor([[[0.7, 0.5], *([x, 0.0] for x in torch.linspace(-1, 0.2, 21).tolist())]])
    sums = pair_features(on_line).channels[0, :, 0, 1:].sum(-1)
    squared, _, minor, across = PairFeatures.features(sums)[-4:]
    assert across.mul(3).exp().item() == pytest.approx(0.251, abs=1e-3)
    assert squared.mul(3).exp() > 0.5
    assert minor.item() == pytest.approx(math.log(1e-3) / 3, abs=1e-2)


def test_nearest_next_by_brute_force():
    data = torch.randn(4, 15, 2)
    for points, order in zip(data, NearestNext(0.5)(data), strict=True):
        away = torch.cdist(points, points)
        first = (-2 * away.square()).exp().sum(-1).argmax().item()
        seen = [first]
        while len(seen) < 15:
            left = [i for i in range(15) if i not in seen]
            seen.append(min(left, key=lambda i: away[i, seen].min().item()))
        assert order.tolist() == seen
    with pytest.raises(ValueError, match="bandwidth is 0"):
        NearestNext(0)


def test_points_whose_distances_overflow_are_visited_once_each():
    far = torch.tensor([[[0.0], [1e30], [-1e30], [3e38]]])
    assert NearestNext(0.5)(far).sort(-1).values.tolist() == [list(range(4))]


@pytest.mark.parametrize("lost", [math.nan, math.inf])
@pytest.mark.parametrize("order", [DensestFirst(0.5), NearestNext(0.5)])
def test_positions_that_are_not_finite_have_no_order(order, lost):
    with pytest.raises(ValueError, match="positions holds 1 nan or infinite values"):
        order(torch.tensor([[[0.0], [lost], [1.0]]]))


@pytest.mark.parametrize("points", [1, 2, 3])
def test_few_and_equal_points(scorer, points):
    draws, log_prob = guide_with(scorer).posterior(torch.zeros(points, 2)).sample_and_log_prob((4,))
    assert draws.shape == (4, points)
    assert log_prob.isfinite().all()


def test_every_parameter_learns():
    guide = guide_with(NeighbourScorer(width=8))
    InclusiveKL()(warped_clusters(), guide)(torch.empty(4, 15, 2)).backward()
    for name, parameter in guide.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_short_training_beats_the_prior():
    guide, model = guide_with(NeighbourScorer(width=16)), warped_clusters()
    settings = FitSettings(steps=40, max_points=20, warmup_steps=5, points_per_step=300)
    fit(model, guide, settings=settings, progress=False)
    torch.manual_seed(7)
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(64, 20, 2))
    data, truth = (trace.nodes[name]["value"] for name in ("data", "assignments"))
    with torch.no_grad():
        ours = guide.posterior(data).log_prob(truth).mean()
    assert ours > model.prior.log_prob(truth).mean() + 6


def test_hyperparameters_cannot_be_told(scorer):
    with pytest.raises(ValueError, match="NeighbourScorer"):
        NeuralClusteringProcess(sensitivity2d(), scorer=scorer, conditions=["concentration"])
    with pytest.raises(ValueError, match="scale is 0"):
        NeighbourScorer(0)
    with pytest.raises(ValueError, match="expected two columns"):
        scorer.encode(torch.zeros(1, 4, 3))
