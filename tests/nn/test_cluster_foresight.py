"""Who belongs with an anchor: completions and odds against the joint density."""

from typing import Any

import pytest
import torch
from compiled_models import MODELS, points_of
from torch import Tensor

from pyroclust.distributions.clusterwise_steps import ClusterStep, FreeMembers
from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, gaussian2d
from pyroclust.nn import DensestFirst
from pyroclust.nn.compiled.cluster_foresight import ClusterForesight, Completions
from pyroclust.partitions import canonical, enumerate_partitions

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


def completed(model: Mixture, data: Tensor) -> Labelling:
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
        FreeMembers(mask),
        torch.empty(1, 0),
        torch.tensor([2]),
    )
    return foresight(step)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_odds_and_gains_are_those_of_the_joint_density(model: Mixture, seed: int) -> None:
    torch.manual_seed(seed)
    data = points_of(model, 12)
    found, completion = asked(model, data), completed(model, data)
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


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
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
