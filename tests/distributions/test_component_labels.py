"""Partitions of independent component labels against enumeration, and mixtures against Pyro's own."""

import math

import pyro.distributions as dist
import pytest
import torch

from pyroclust.distributions import DiagonalMixture
from pyroclust.distributions.component_labels import MOST_COMPONENTS, ComponentLabels
from pyroclust.partitions import canonical, enumerate_partitions


def shares(*shape: int) -> torch.Tensor:
    return (2 * torch.randn(*shape)).log_softmax(-1)


@pytest.mark.parametrize("components", [1, 2, 3, 7])
def test_probabilities_are_those_of_all_labels_summed_by_partition(components: int) -> None:
    torch.manual_seed(components)
    law = ComponentLabels(shares(2, 5, components))
    every = torch.cartesian_prod(*[torch.arange(components)] * 5)
    names = canonical(every)
    partitions = enumerate_partitions(5)
    # Each label vector has a probability of its own, and belongs to one partition.
    one = torch.stack([law.log_shares[:, point, every[:, point]] for point in range(5)]).sum(0).exp()
    same = (names == partitions.unsqueeze(1)).all(-1).double()
    expected = one @ same.T
    found = law.log_prob(partitions.unsqueeze(1)).exp().T
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, dtype=torch.float64))


def test_draws_obey_the_law() -> None:
    torch.manual_seed(0)
    law = ComponentLabels(shares(4, 3))
    partitions = enumerate_partitions(4)
    draws = law.sample((20_000,))
    same = (draws.unsqueeze(1) == partitions).all(-1).double().mean(0)
    exact = law.log_prob(partitions).exp()
    error = (exact * (1 - exact) / 20_000).sqrt()
    assert ((same - exact).abs() <= 5 * error + 1e-12).all()


def test_components_that_are_not_there_are_never_drawn() -> None:
    gone = torch.tensor([0.5, -torch.inf, 0.0]).log_softmax(-1).expand(6, 3)
    law = ComponentLabels(gone)
    assert int(law.sample((500,)).max()) == 1
    assert law.log_prob(torch.tensor([0, 1, 2, 0, 0, 0])) == -torch.inf


def test_the_search_gives_the_most_probable_labels() -> None:
    torch.manual_seed(1)
    law = ComponentLabels(shares(3, 6, 3))
    partitions = enumerate_partitions(6)
    best = law.log_prob(partitions.unsqueeze(1)).max(0).values
    torch.testing.assert_close(law.log_prob(law.map_partition()), best)
    assert law.expand((2, 3)).log_prob(partitions[0]).shape == (2, 3)


def test_more_components_than_can_be_summed_over_are_refused() -> None:
    with pytest.raises(ValueError, match="components, expected at most"):
        ComponentLabels(shares(3, MOST_COMPONENTS + 1))


def random_mixture(batch: int, *, points: int = 9, components: int = 3, dim: int = 2) -> DiagonalMixture:
    weights = torch.randn(batch, components, dtype=torch.float64).log_softmax(-1)
    means = 3 * torch.randn(batch, components, dim, dtype=torch.float64)
    scales = torch.rand(batch, components, dim, dtype=torch.float64) + 0.3
    return DiagonalMixture(weights, means, scales, num_points=points)


def test_densities_are_those_of_a_mixture_of_pyro() -> None:
    torch.manual_seed(0)
    law = random_mixture(4)
    data = law.sample()
    for place in range(4):
        labels = dist.Categorical(logits=law.log_weights[place])
        parts = dist.Normal(law.means[place], law.scales[place]).to_event(1)
        expected = dist.MixtureSameFamily(labels, parts).log_prob(data[place]).sum()
        torch.testing.assert_close(law.log_prob(data)[place], expected)


def test_draws_have_the_moments_of_the_mixture() -> None:
    torch.manual_seed(2)
    law = random_mixture(1, points=40_000)
    data = law.sample()[0]
    weights = law.log_weights[0].exp().unsqueeze(-1)
    mean = (weights * law.means[0]).sum(0)
    spread = ((weights * (law.means[0].square() + law.scales[0].square())).sum(0) - mean.square()).sqrt()
    assert ((data.mean(0) - mean).abs() < 5 * spread / math.sqrt(40_000)).all()
    torch.testing.assert_close(data.std(0), spread, rtol=0.03, atol=0.0)


def test_a_step_is_that_of_expectation_maximisation() -> None:
    torch.manual_seed(3)
    law = random_mixture(2, points=50)
    data = law.sample()
    after = law.after_one_step(data)
    assert (after.log_prob(data) >= law.log_prob(data)).all()
    share = law.log_joint(data).softmax(-1)
    for place in range(2):
        for k in range(3):
            r = share[place, :, k]
            mean = (r.unsqueeze(-1) * data[place]).sum(0) / r.sum()
            variance = (r.unsqueeze(-1) * (data[place] - mean) ** 2).sum(0) / r.sum()
            torch.testing.assert_close(after.means[place, k], mean)
            torch.testing.assert_close(after.scales[place, k], variance.sqrt())
            torch.testing.assert_close(after.log_weights[place, k].exp(), r.mean())


def test_a_component_without_points_stays_where_it_is() -> None:
    far = torch.tensor([[0.0, 0.0], [1e4, 1e4]])
    law = DiagonalMixture(torch.zeros(2), far, torch.ones(2, 2), num_points=5)
    after = law.after_one_step(torch.randn(5, 2))
    torch.testing.assert_close(after.means[1], far[1])
    assert after.log_weights[1] == -torch.inf
    assert after.log_prob(torch.randn(5, 2)).isfinite()
