"""Foresight, of decisions and around anchors: against the joint density, and exact for one point."""

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
from pyroclust.distributions.clusterwise_steps import ClusterStep, Members
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.guides import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
    light_scorer_for,
)
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, gaussian2d, sensitivity2d
from pyroclust.nn import DensestFirst, RandomOrder
from pyroclust.nn.compiled.cluster_foresight import ClusterForesight, Completions
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.partitions import canonical, enumerate_partitions

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


CLOSED = [0, 0, 1]


class Labelling:
    """Labels of closed clusters, which are 0 and 1, and of some of the points after them."""

    def __init__(self, model: Mixture, data: Tensor, labels: dict[int, int]) -> None:
        self.model, self.data, self.labels = model, data, dict(labels)

    def log_joint(self, changed: dict[int, int] | None = None) -> float:
        labels = self.labels | (changed or {})
        points = sorted(labels)
        every = canonical(torch.tensor([labels[i] for i in points]))
        return self.model.log_joint(self.data[points], every).item()

    def open_clusters(self, without: int) -> list[int]:
        return sorted({k for i, k in self.labels.items() if i != without and k > 1})

    def weights(self, point: int) -> dict[int, float]:
        """Return joint densities of a point in every cluster that is not closed, and in a new one."""
        candidates = self.open_clusters(point)
        fresh = next(k for k in range(2, 100) if k not in candidates)
        return {k: self.log_joint({point: k}) for k in [*candidates, fresh]}

    def put_best(self, point: int) -> None:
        weights = self.weights(point)
        best = max(weights.values())
        now = self.labels.get(point)
        if now is not None and weights.get(now, self.log_joint()) >= best - 1e-7:
            return
        self.labels[point] = next(k for k, one in weights.items() if one > best - 1e-7)

    def log_odds(self, point: int, cluster: int) -> float:
        weights = self.weights(point)
        joining = weights.pop(cluster)
        return joining - torch.tensor(list(weights.values()), dtype=torch.float64).logsumexp(0).item()

    def members(self, cluster: int) -> list[int]:
        return [i for i, k in self.labels.items() if k == cluster]


def completed_around_the_anchor(model: Mixture, data: Tensor) -> Labelling:
    """Label points 4, 5, ... around the anchor, point 3."""
    found = Labelling(model, data, dict(enumerate([*CLOSED, 2])))
    for point in range(4, len(data)):
        found.put_best(point)
    for _ in range(2):
        for point in range(4, len(data)):
            found.put_best(point)
    return found


def with_neighbour(found: Labelling) -> tuple[Labelling, float] | None:
    each = []
    for k in found.open_clusters(-1)[1:]:
        one = Labelling(found.model, found.data, found.labels | dict.fromkeys(found.members(k), 2))
        each.append((one.log_joint() - found.log_joint(), one))
    if not each:
        return None
    gain, best = max(each, key=lambda pair: pair[0])
    return best, gain


def in_two_parts(found: Labelling) -> tuple[Labelling, float] | None:
    own = [i for i in found.members(2) if i != 3]
    if not own:
        return None
    least = min(own, key=lambda i: found.log_joint() - found.log_joint({i: 99}) + alone(found, i))
    near, remote = 2, 98
    parts = Labelling(found.model, found.data, {i: k for i, k in found.labels.items() if i not in own})
    parts.labels[least] = remote
    for _ in range(2):
        for i in own:
            if parts.members(remote) == [i]:
                continue
            here, there = parts.log_joint({i: near}), parts.log_joint({i: remote})
            now = parts.labels.get(i, near)
            parts.labels[i] = now if abs(here - there) < 1e-7 else near if here > there else remote
    gain = parts.log_joint() - found.log_joint()
    return (parts, gain) if gain > -torch.inf else None


def alone(found: Labelling, point: int) -> float:
    """Return what a point in a cluster of its own has of prior and likelihood, but for a constant."""
    component: Any = found.model.component
    one = component.moments(found.data[point])
    return component.log_marginal(torch.ones((), dtype=torch.float64), one).item()


def asked(model: Mixture, data: Tensor) -> Completions:
    foresight = ClusterForesight(filter_scorer(model).encode(data.unsqueeze(0)))
    others = torch.arange(4, len(data)).unsqueeze(0)
    mask = torch.ones_like(others, dtype=torch.bool)
    step = ClusterStep(
        torch.tensor([0]),
        torch.tensor([3]),
        others,
        mask,
        Members(mask),
        torch.empty(1, 0),
        torch.tensor([2]),
    )
    return foresight(step)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_odds_and_gains_are_those_of_the_joint_density(model: Mixture, seed: int) -> None:
    torch.manual_seed(seed)
    data = points_of(model, 12)
    found, completion = asked(model, data), completed_around_the_anchor(model, data)
    merged, parts = with_neighbour(completion), in_two_parts(completion)
    others = range(4, len(data))

    def odds_in(one: Labelling) -> list[float]:
        return [one.log_odds(i, 2) for i in others]

    wanted = [odds_in(completion)]
    wanted.append(wanted[0] if merged is None else odds_in(merged[0]))
    wanted.append(wanted[0] if parts is None else odds_in(parts[0]))
    torch.testing.assert_close(found.log_odds[0], torch.tensor(wanted, dtype=torch.float64).mT.clamp(-15, 15))
    gains = [-15.0 if one is None else one[1] for one in (merged, parts)]
    torch.testing.assert_close(found.gains[0], torch.tensor(gains, dtype=torch.float64).clamp(-15, 15))
    inside = torch.tensor([completion.labels[i] == 2 for i in others])
    assert torch.equal(found.parts[0, :, 0], inside.double())
    assert found.sizes[0, 0].item() == 1 + inside.sum()
    assert found.sizes[0, 2].item() == len(completion.open_clusters(-1))


def test_two_points_are_exact_before_training() -> None:
    """The only point that is left joins with the odds of the model."""
    for model in MODELS:
        torch.manual_seed(0)
        data = points_of(model, 2)
        network = clusterwise_network_for(model, num_values=2, foresight=True)
        guide = ClusterwiseClusteringProcess(model, network=network, order=DensestFirst(1.0))
        partitions, log_probs = exact_posterior(model, data)
        with torch.no_grad():
            found = guide.posterior(data).log_prob(partitions)
        torch.testing.assert_close(found, log_probs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_probabilities_of_all_partitions_sum_to_one_and_are_those_of_the_draws(model: Mixture) -> None:
    torch.manual_seed(2)
    network = clusterwise_network_for(model, num_values=3, foresight=True)
    with torch.no_grad():
        for weight in (*network.trust.parameters(), *network.head.parameters()):
            weight.normal_()
        guide = ClusterwiseClusteringProcess(model, network=network.double(), order=DensestFirst(1.0))
        law = guide.posterior(points_of(model, 5))
        every = law.log_prob(enumerate_partitions(5))
        draws, log_q = law.sample_and_log_prob((200,))
    torch.testing.assert_close(every.logsumexp(0).exp(), torch.ones((), dtype=torch.float64))
    torch.testing.assert_close(log_q, law.log_prob(draws).detach())


def test_threads_change_nothing_around_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, data = MODELS[1], points_of(MODELS[1], 30)
    network = attentive_network_for(model, num_values=2, foresight=True)
    guide = AttentiveClusteringProcess(model, network=network, order=DensestFirst(1.0))
    partitions = canonical(torch.randint(4, (7, 30)))
    with torch.no_grad():
        one = guide.posterior(data).log_prob(partitions)
        monkeypatch.setattr("pyroclust.nn.compiled.cluster_foresight._PREDICTIVES_A_THREAD", 1)
        monkeypatch.setattr("pyroclust.nn.compiled.filter.num_threads", lambda: 3)
        torch.testing.assert_close(guide.posterior(data).log_prob(partitions), one, rtol=0, atol=0)


def test_more_clusters_than_a_completion_has_room_for() -> None:
    model = gaussian2d()
    data = torch.cartesian_prod(torch.arange(-20.0, 21, 8), torch.arange(-20.0, 21, 8)).unsqueeze(0)
    network = clusterwise_network_for(model, num_values=2, foresight=True)
    guide = ClusterwiseClusteringProcess(model, network=network, order=DensestFirst(1.0))
    with torch.no_grad():
        draws = guide.posterior(data).sample((5,))
    assert (draws.amax(-1) >= 33).all()
