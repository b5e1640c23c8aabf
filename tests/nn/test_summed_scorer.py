"""The published scorer: every way of evaluating it gives one law."""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.sequential.sampling import teacher_forced_log_prob
from pyroclust.nn import FutureAttention, InducedFuture, SummedScorer
from pyroclust.partitions import canonical

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "sequential_ncp_training.py"


@pytest.fixture(scope="module")
def sequential():
    """Load the plain formulation that the benchmark measures."""
    spec = importlib.util.spec_from_file_location("sequential_ncp_training", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def scorer() -> SummedScorer:
    """A small scorer none of whose parameters is zero or a default."""
    scorer = SummedScorer(2, width=8, sizes=(6, 10))
    for parameter in scorer.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return scorer


def partitions(rows: int, points: int) -> Tensor:
    return ChineseRestaurantProcess(torch.tensor(1.0), points).sample((rows,))


def gradients(scorer: SummedScorer, loss: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*scorer.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))


def test_training_mode_is_evaluation_mode_in_float32(scorer):
    labels, data, rows = partitions(4, 30), torch.randn(4, 30, 2), torch.arange(4)
    trained = teacher_forced_log_prob(scorer.train(), scorer.encode(data), rows, labels)
    evaluated = teacher_forced_log_prob(scorer.eval(), scorer.encode(data), rows, labels)
    assert not trained.equal(evaluated)
    torch.testing.assert_close(trained, evaluated, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_attention_takes_the_place_of_the_sum():
    """Recompute every candidate's G and U from scratch, U by attention to what is left of the points."""
    encoder, future = nn.Linear(5, 3), FutureAttention(4, num_heads=2)
    scorer = SummedScorer(3, width=8, sizes=(6, 10), future=future, encoder=encoder).eval()
    data, labels = torch.randn(6, 5), torch.tensor([0, 1, 0, 2, 1, 0])
    points = encoder(data)
    h, u = scorer.h(points), scorer.u(points).float()
    expected = torch.tensor(0.0).double()
    for n in range(1, 6):
        context = future(u[n:].unsqueeze(0))[0, 0]
        logits = []
        for candidate in range(int(labels[:n].max()) + 2):
            joined = torch.cat([labels[:n], torch.tensor([candidate])])
            sums = [h[: n + 1][joined == k].sum(0) for k in range(int(joined.max()) + 1)]
            logits.append(scorer.f(torch.cat([sum(scorer.g(total) for total in sums), context])))
        expected += torch.cat(logits).log_softmax(0)[labels[n]]
    rows = torch.tensor([0])
    actual = teacher_forced_log_prob(scorer, scorer.encode(data.unsqueeze(0)), rows, labels.unsqueeze(0))
    torch.testing.assert_close(actual[0], expected, rtol=0, atol=1e-5)


@torch.no_grad()
def test_several_orders_share_their_points_but_not_their_contexts():
    scorer = SummedScorer(2, width=8, sizes=(6, 10), future=InducedFuture(4, num_heads=2)).eval()
    data, dataset = torch.randn(2, 6, 2), torch.tensor([1, 0, 1])
    order = torch.rand(3, 6).argsort(-1)
    shared = scorer.arrange(scorer.encode_points(data), dataset, order)
    alone = scorer.encode(data[dataset].gather(1, order.unsqueeze(-1).expand(-1, -1, 2)))
    torch.testing.assert_close(shared.unassigned, alone.unassigned, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_points", [2, 3, 12])
def test_loss_and_gradients_are_those_of_the_published_formulation(sequential, scorer, num_points):
    scorer.train()
    network = sequential.SequentialNeuralClusteringProcess(scorer)
    data, order = torch.randn(5, num_points, 2), torch.randperm(num_points)
    labels = canonical(partitions(1, num_points)[:, order])
    published = network(data[:, order], labels[0])
    encoding = scorer.encode(data[:, order])
    ours = -teacher_forced_log_prob(scorer, encoding, torch.arange(5), labels.expand(5, -1))
    torch.testing.assert_close(ours.float(), published, rtol=1e-5, atol=1e-5)
    names = dict(network.named_parameters())
    theirs = torch.autograd.grad(published.mean(), list(names.values()), allow_unused=True)
    for name, gradient in gradients(scorer, ours.mean()).items():
        expected = dict(zip(names, theirs, strict=True))[name]
        expected = torch.zeros_like(gradient) if expected is None else expected
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5)
