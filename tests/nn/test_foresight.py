"""What candidates do to the points to come: against the joint density, and exact for one point."""

from typing import Any

import pytest
import torch
from compiled_models import MODELS, points_of
from torch import Tensor

from pyroclust.distributions import (
    BernoulliBeta,
    Categories,
    ChineseRestaurantPrior,
    NormalInverseGamma,
    PartlyObserved,
    PoissonGamma,
    Product,
    student_t,
)
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, gaussian2d, sensitivity2d
from pyroclust.nn import RandomOrder
from pyroclust.nn.compiled.foresight import Foresight

TABLE = Mixture(
    ChineseRestaurantPrior(0.7),
    Product(
        [
            PartlyObserved(NormalInverseGamma(1, 0.3, shape=2.0, rate=1.0), 2),
            PartlyObserved(PoissonGamma(1, 1.0, rate=0.3), 1),
            # Of sums that no table holds.
            PartlyObserved(PoissonGamma(1, 5.0, rate=0.002), 1),
            PartlyObserved(BernoulliBeta(1, 0.5), 2),
            Categories([3, 2], 0.7),
        ]
    ),
    name="table",
)


def points_with_gaps(number: int) -> Tensor:
    data = TABLE.component.sample(torch.arange(number) % 2).double()
    return torch.where(torch.rand(number, TABLE.component.dim) < 0.2, torch.nan, data)


def log_next(model: Mixture, data: Tensor, labels: Tensor, point: Tensor) -> Tensor:
    """Return the log predictive density of a further point, given labelled ones."""
    more = torch.cat([data, point.unsqueeze(0)])
    every = [torch.cat([labels, torch.tensor([k])]) for k in range(int(labels.max()) + 2)]
    joint = torch.stack([model.log_joint(more, one) for one in every])
    return joint.logsumexp(0) - model.log_joint(data, labels)


def encoded(model: Mixture, data: Tensor, labels: Tensor) -> tuple[Any, Candidates]:
    """Return the filter's encoding, and the decision of the first point without a label."""
    scorer: Any = light_scorer_for(model)
    encoding = scorer.filter.encode(data.unsqueeze(0))
    zero, member = torch.zeros(1, dtype=torch.int64), torch.nn.functional.one_hot(labels).double()
    seen, clusters = member.shape
    every = torch.arange(clusters)
    sums = (member.T @ encoding.moments[0, :seen]).unsqueeze(0)
    return encoding, Candidates(
        zero, zero + seen, zero + clusters, torch.zeros_like(every), every, member.sum(0), sums
    )


def completion(model: Mixture, data: Tensor, labels: Tensor) -> Tensor:
    """Label the points to come where the joint density is largest, and return their log evidence."""
    total = torch.zeros((), dtype=torch.float64)
    for n in range(len(labels), len(data)):
        total = total + log_next(model, data[:n], labels, data[n])
        every = [torch.cat([labels, torch.tensor([k])]) for k in range(int(labels.max()) + 2)]
        best = torch.stack([model.log_joint(data[: n + 1], one) for one in every]).argmax()
        labels = every[int(best)]
    return total


@pytest.mark.parametrize("model", [*MODELS, TABLE], ids=lambda model: model.name)
def test_features_are_their_formulas(model: Mixture) -> None:
    data = points_with_gaps(9) if model is TABLE else points_of(model, 9)
    labels = torch.tensor([0, 1, 0, 1])
    encoding, candidates = encoded(model, data, labels)
    joining, opening = Foresight(encoding, 100, within=1e9)(candidates)
    every = [torch.cat([labels, torch.tensor([k])]) for k in range(3)]
    weights = torch.stack([model.log_joint(data[:5], one) for one in every]).log_softmax(0)
    evidence = torch.stack([completion(model, data, one) for one in every])
    evidence = evidence - (weights + evidence).logsumexp(0)
    for now, found, after in zip(every, [*joining, *opening], evidence, strict=True):
        gains = torch.stack(
            [log_next(model, data[:5], now, one) - log_next(model, data[:4], labels, one) for one in data[5:]]
        )
        net, gained, lost = gains.sum(), gains.clamp(min=0).sum(), (-gains).clamp(min=0).sum()
        wanted = [net / 5**0.5, after / 5**0.5, net.asinh(), after.asinh(), gained.log1p(), lost.log1p()]
        wanted += [after.clamp(-10, 10) / 4, torch.ones(())]
        torch.testing.assert_close(found, torch.stack(wanted), rtol=2e-5, atol=5e-6)


def test_candidates_far_below_the_first_are_not_looked_at() -> None:
    model = gaussian2d()
    data = torch.tensor([[0.0, 0.0], [2.0, 0.0], [30.0, 0.0], [0.5, 0.1], [1.0, 0.0], [1.2, 0.2]])
    encoding, candidates = encoded(model, data.double(), torch.tensor([0, 1, 2]))
    every, some, none = (Foresight(encoding, 10, within=one)(candidates)[0] for one in (1e9, 20.0, 0.01))
    assert every.abs().sum(-1).gt(0).tolist() == [True, True, True]
    assert some.abs().sum(-1).gt(0).tolist() == [True, True, False]
    # What was left out had no weight in the evidence of all candidates either.
    torch.testing.assert_close(some[:2], every[:2], rtol=1e-5, atol=1e-6)
    assert not none.any()


@pytest.mark.parametrize("feature", [0, 1])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_with_either_the_filter_is_the_posterior_of_three_points(model: Mixture, feature: int) -> None:
    """The first decision has one point to come, the second none."""
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, foresight=8), order=RandomOrder())
    with torch.no_grad():
        guide.scorer.trust.bias[feature] = 2**0.5
        for _ in range(5):
            data = points_of(model, 3)
            partitions, log_probs = exact_posterior(model, data)
            found = guide.posterior(data).log_prob(partitions)
            torch.testing.assert_close(found, log_probs, rtol=1e-4, atol=1e-4)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS[1]
    encoding, candidates = encoded(model, points_of(model, 30), torch.tensor([0, 1, 2]))
    many = Candidates(
        candidates.dataset.repeat(5),
        candidates.step.repeat(5),
        candidates.clusters.repeat(5),
        torch.arange(5).repeat_interleave(3),
        candidates.place.repeat(5),
        candidates.counts,
        candidates.moments,
    )
    alone = Foresight(encoding, 20)(many)
    monkeypatch.setattr("pyroclust.nn.compiled.foresight._PREDICTIVES_A_THREAD", 1)
    monkeypatch.setattr("pyroclust.nn.compiled.filter.num_threads", lambda: 3)
    for one, other in zip(alone, Foresight(encoding, 20)(many), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_every_kth_point_stands_for_k() -> None:
    model = MODELS[0]
    data = torch.cat([points_of(model, 2), torch.ones(12, 2, dtype=torch.float64)])
    encoding, candidates = encoded(model, data, torch.tensor([0]))
    every, some = (Foresight(encoding, number)(candidates) for number in (100, 5))
    gains = [0, 2, 4, 5]
    for one, other in zip(every, some, strict=True):
        torch.testing.assert_close(one[:, gains], other[:, gains])


def test_foresight_needs_the_filter_of_a_compiled_family() -> None:
    student = Mixture(ChineseRestaurantPrior(0.7), student_t(2, dof=3.0), name="student")
    for make in (
        lambda: light_scorer_for(student, foresight=8),
        lambda: light_scorer_for(gaussian2d(), use_filter=False, foresight=8),
        lambda: light_scorer_for(sensitivity2d(), conditions=["concentration", "prior_scale"], foresight=8),
    ):
        with pytest.raises(ValueError, match="foresight is 8, expected 0"):
            make()
