"""The law of the last points given the others, by enumeration; decisions of a partition, by a loop."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.sequential.sampling import Prefixes, extend_labels
from pyroclust.distributions.sequential.scorer import ForcedSteps
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, SequentialGuide
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import gaussian2d, niw_mixture, overlap2d
from pyroclust.nn import RandomOrder, SummedScorer
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical

NUM_POINTS = 6
EVERY = enumerate_partitions(NUM_POINTS)


def light() -> SequentialGuide:
    return NeuralClusteringProcess(
        overlap2d(), scorer=light_scorer_for(overlap2d(), width=16, num_bandwidths=2)
    )


def published() -> SequentialGuide:
    return NeuralClusteringProcess(
        gaussian2d(), scorer=SummedScorer(2, width=16, sizes=(24, 32)), order=RandomOrder()
    )


GUIDES: dict[str, Callable[[], SequentialGuide]] = {
    "light": light,
    "published": published,
    "filter": lambda: PredictiveFilter(niw_mixture(2)),
}


@pytest.fixture(params=GUIDES)
def guide(request: pytest.FixtureRequest) -> SequentialGuide:
    built = GUIDES[request.param]().eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return built


def agreeing(assignments: Tensor, order: Tensor, num_free: int) -> Tensor:
    """Say which of all partitions agree with one on the first points in visiting order."""
    fixed = order[: NUM_POINTS - num_free]
    if len(fixed) == 0:
        return torch.ones(len(EVERY), dtype=torch.bool)
    return (canonical(EVERY[:, fixed]) == canonical(assignments[fixed])).all(-1)


@torch.no_grad()
@pytest.mark.parametrize("num_free", [1, 3, NUM_POINTS])
def test_it_is_the_guide_conditioned_on_the_others(guide: SequentialGuide, num_free: int) -> None:
    data, order = 2 * torch.randn(3, NUM_POINTS, 2), torch.rand(3, NUM_POINTS).argsort(-1)
    assignments = EVERY[torch.randint(len(EVERY), (3,))]
    posterior = guide.posterior(data, order=order)
    law = posterior.given(assignments, num_free=num_free)
    found = law.log_prob(EVERY.unsqueeze(1))
    torch.testing.assert_close(found.logsumexp(0), torch.zeros(3).double(), rtol=0, atol=1e-5)
    log_q = posterior.log_prob(EVERY.unsqueeze(1).expand(-1, 3, -1))
    for row in range(3):
        agree = agreeing(assignments[row], order[row], num_free)
        expected = log_q[:, row].masked_fill(~agree, -torch.inf)
        torch.testing.assert_close(found[:, row], expected - expected.logsumexp(0), rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("num_free", [1, 3, NUM_POINTS])
def test_draws_follow_the_law(guide: SequentialGuide, num_free: int) -> None:
    num_draws = 8000
    data, order = 2 * torch.randn(2, NUM_POINTS, 2), torch.rand(2, NUM_POINTS).argsort(-1)
    assignments = EVERY[torch.randint(len(EVERY), (2,))]
    law = guide.posterior(data, order=order).given(assignments, num_free=num_free)
    draws, log_prob = law.sample_and_log_prob((num_draws,))
    assert draws.shape == (num_draws, 2, NUM_POINTS)
    assert draws.dtype == torch.int64
    assert is_canonical(draws).all()
    torch.testing.assert_close(law.log_prob(draws), log_prob, rtol=0, atol=1e-5)
    base = NUM_POINTS ** torch.arange(NUM_POINTS)
    for row in range(2):
        fixed = order[row, : NUM_POINTS - num_free]
        if len(fixed):
            assert (canonical(draws[:, row, fixed]) == canonical(assignments[row, fixed])).all()
        probability = law.log_prob(EVERY.unsqueeze(1))[:, row].exp()
        code = (draws[:, row] * base).sum(-1)
        frequency = (code == (EVERY * base).sum(-1, keepdim=True)).double().mean(-1)
        noise = (probability * (1 - probability) / num_draws).sqrt()
        rare = probability < 20 / num_draws
        assert ((frequency - probability).abs() <= 4.5 * noise)[~rare].all()
        pooled = probability[rare].sum()
        spread = (pooled * (1 - pooled) / num_draws).sqrt()
        assert (frequency[rare].sum() - pooled).abs() <= 4.5 * spread + 1e-9


@torch.no_grad()
def test_proposing_scores_the_given_partition_beside_the_draws(guide: SequentialGuide) -> None:
    order = torch.rand(2, 30).argsort(-1)
    posterior = guide.posterior(3 * torch.randn(2, 30, 2), order=order)
    assignments = posterior.sample()
    law = posterior.given(assignments, num_free=7)
    torch.manual_seed(4)
    draws, log_prob, own = law.propose(12)
    torch.manual_seed(4)
    alone, alone_log_prob = law.sample_and_log_prob((12,))
    assert draws.shape == (12, 2, 30)
    assert log_prob.shape == (12, 2)
    assert (draws == alone).all()
    torch.testing.assert_close(log_prob, alone_log_prob, rtol=0, atol=1e-6)
    torch.testing.assert_close(own, law.log_prob(assignments), rtol=0, atol=1e-5)


@torch.no_grad()
def test_nothing_left_to_label() -> None:
    posterior = PredictiveFilter(gaussian2d()).posterior(torch.zeros(1, 2))
    law = posterior.given(torch.tensor([0]), num_free=1)
    draws, log_prob, own = law.propose(3)
    assert draws.tolist() == [[0], [0], [0]]
    assert log_prob.tolist() == [0, 0, 0]
    assert own == 0
    prefixes = Prefixes.of_labels(posterior.scorer, posterior.encoding, torch.zeros(1).long(), draws[:1])
    labels, _ = extend_labels(
        posterior.scorer, posterior.encoding, prefixes, torch.zeros(2).long(), first_step=1
    )
    assert labels.shape == (2, 0)


@torch.no_grad()
def test_batches_broadcast() -> None:
    guide = PredictiveFilter(overlap2d())
    data, order = torch.randn(2, 1, 5, 2), torch.randperm(5)
    posterior = guide.posterior(data, order=order)
    assignments = posterior.sample()
    law = posterior.given(assignments, num_free=2)
    assert law.batch_shape == (2, 1)
    wide = law.expand((4, 2, 3))
    assert wide.sample((5,)).shape == (5, 4, 2, 3, 5)
    values = wide.sample()
    torch.testing.assert_close(wide.log_prob(values), law.log_prob(values))
    assert law.sample().shape == (2, 1, 5)
    assert law.sample_and_log_prob((3, 2))[1].shape == (3, 2, 2, 1)


def test_errors() -> None:
    posterior = PredictiveFilter(gaussian2d()).posterior(torch.zeros(2, 4, 2))
    with pytest.raises(ValueError, match=r"assignments has shape \(4,\), expected \(2, 4\)"):
        posterior.given(torch.zeros(4).long(), num_free=1)
    with pytest.raises(ValueError, match="num_free is 5, expected 1 to 4"):
        posterior.given(torch.zeros(2, 4).long(), num_free=5)
    with pytest.raises(ValueError, match="not canonical"):
        posterior.given(torch.zeros(2, 4).long(), num_free=1).log_prob(torch.tensor([1, 0, 0, 0]))


def listed(labels: Tensor) -> list[tuple[int, int, int, int, bool]]:
    """List (decision, cluster, member, point, taken) of every candidate to join."""
    rows, points = labels.shape
    found = []
    for row in range(rows):
        last: dict[int, int] = {}
        for step, label in enumerate(labels[row].tolist()):
            if step:
                decision = row * (points - 1) + step - 1
                here = row * points
                found += [(decision, k, here + last[k], here + step, k == label) for k in sorted(last)]
            last[label] = step
    return found


def test_candidates_are_those_of_a_loop():
    labels = ChineseRestaurantProcess(torch.tensor(2.0), 9).sample((6,))
    steps = ForcedSteps.of(labels)
    taken = torch.zeros(len(steps.decision), dtype=torch.bool)
    taken[steps.taken] = True
    columns = [steps.decision, steps.cluster, steps.member, steps.point, taken]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == listed(labels)
    assert steps.width == int(labels[:, :-1].max()) + 2


def test_marks_are_those_of_a_loop():
    labels = ChineseRestaurantProcess(torch.tensor(2.0), 7).sample((3,))
    steps = ForcedSteps.of(labels)
    together, present = steps.together(torch.float32), steps.present(torch.float64)
    assert (together.dtype, present.dtype) == (torch.float32, torch.float64)
    for row in range(3):
        for n in range(7):
            held = [float(m <= n and labels[row, m] == labels[row, n]) for m in range(7)]
            assert together[row, n].tolist() == held
            if n:
                lasts = {int(label): m for m, label in enumerate(labels[row, :n].tolist())}
                assert present[row, n - 1].nonzero().squeeze(-1).tolist() == sorted(lasts.values())


def test_table_leaves_no_room_for_clusters_that_are_not_there():
    steps = ForcedSteps.of(torch.tensor([[0, 1, 0], [0, 0, 0]]))
    table = steps.table(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), -torch.arange(1.0, 5.0))
    none = -torch.inf
    assert table.tolist() == [[1.0, -1.0, none], [2.0, 3.0, -2.0], [4.0, -3.0, none], [5.0, -4.0, none]]
