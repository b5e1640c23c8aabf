"""Hyperparameters: what is the same by them, and random ones integrated out, against sums over a grid."""

import copy
import math
from itertools import combinations

import pytest
import torch
from cases import FAMILIES, PRIORS
from pyro.distributions import Gamma, InverseGamma, LogNormal
from torch import Size

from pyroclust.distributions import (
    BernoulliBeta,
    Categories,
    ChineseRestaurantPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    PoissonGamma,
    Product,
)
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.hyperparameters import Hyperparameterised, integral_over

EVERY = {**PRIORS, **FAMILIES}


class OwnPrior(ChineseRestaurantPrior):
    """A prior with the arguments of another: a prior nevertheless of its own."""


@pytest.mark.parametrize("one", EVERY.values(), ids=EVERY)
def test_an_object_is_the_same_as_its_copy_and_as_nothing_else(one: Hyperparameterised) -> None:
    same = copy.deepcopy(one)
    assert same == one
    assert hash(same) == hash(one)
    assert one != type(one).__name__
    assert one != None  # noqa: E711
    assert one != 1.0


def test_the_cases_differ() -> None:
    for one, other in combinations(EVERY.values(), 2):
        assert one != other, (one, other)


def test_the_class_counts_beside_the_arguments() -> None:
    own, other = OwnPrior(1.0), ChineseRestaurantPrior(1.0)
    assert own.arguments == other.arguments
    assert own != other
    assert other != own
    assert own == OwnPrior(1.0)


def test_arguments_are_compared_by_value() -> None:
    assert NormalKnownVariance(2, 3.0) == NormalKnownVariance(2, torch.tensor(3.0))
    assert NormalKnownVariance(2, 3.0) != NormalKnownVariance(2, torch.full((1,), 3.0))
    laws = (Gamma(2.0, 1.0), Gamma(2.0, 1.5), LogNormal(2.0, 1.0))
    families = [NormalInverseGamma(2, 0.1, shape=2.0, rate=law) for law in laws]
    assert families[0] == NormalInverseGamma(2, 0.1, shape=2.0, rate=Gamma(2.0, 1.0))
    assert all(one != other for one, other in combinations(families, 2))


SCALE_PRIORS = LogNormal(-1.6, 1.0), InverseGamma(3.0, 0.5), Gamma(1.0, 2.0)


def normals(dim, prior):
    if dim == 1:
        return NormalInverseGamma(1, 0.05, shape=2.0, rate=prior)
    return NormalInverseWishart(dim, 0.05, dof=dim + 2.0, scale=prior)


def partitions(num_points):
    one, many = torch.zeros(num_points, dtype=torch.int64), torch.arange(num_points)
    return torch.stack([one, many, many % 3 if num_points > 3 else one])


# Steps of 0.01, an eighth of the narrowest posterior's standard deviation: what is left is rounding.
PLACES = torch.linspace(-25.0, 18.0, 4001, dtype=torch.float64)


def log_marginals_on_a_grid(component, counts, moments):
    ((name, _),) = component.hyperpriors.items()
    number = len(PLACES)
    blocks = component.log_marginal_of(name, counts.expand(number, -1), moments.expand(number, -1, -1))
    return blocks(PLACES.exp()).sum(-1)


def sum_over_a_grid(prior, log_marginals):
    own = type(prior)(**{one: getattr(prior, one).double() for one in prior.arg_constraints})
    density = own.log_prob(PLACES.exp()) + PLACES + log_marginals
    return density.logsumexp(0) + (PLACES[1] - PLACES[0]).log()


@pytest.mark.parametrize(("dim", "num_points"), [(1, 5), (2, 40), (2, 300), (4, 100)])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 100.0])
def test_likelihood_is_the_sum_over_a_grid(dim, num_points, unit, seeded):
    data = unit * torch.randn(num_points, dim, dtype=torch.float64)
    components = [normals(dim, prior) for prior in SCALE_PRIORS]
    for labels in partitions(num_points):
        counts, moments = block_moments(components[0], data, labels)
        log_marginals = log_marginals_on_a_grid(components[0], counts, moments)
        for prior, component in zip(SCALE_PRIORS, components, strict=True):
            found = component.log_likelihood(counts, moments)
            assert abs(float(found - sum_over_a_grid(prior, log_marginals))) < 1e-6, prior


@pytest.mark.parametrize("prior", SCALE_PRIORS[:2], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "family", [lambda law: Categories([2, 3, 5], law), lambda law: PoissonGamma(3, law, rate=0.5)]
)
def test_twice_the_nodes_change_nothing_of_counts_and_categories(family, prior, seeded):
    component = family(prior)
    ((name, _),) = component.hyperpriors.items()
    for num_points in (1, 4, 120):
        data = torch.stack([torch.randint(levels, (num_points,)) for levels in (2, 3, 5)], -1).double()
        density = component.log_marginal_of(name, *block_moments(component, data, partitions(num_points)))

        def total(value, density=density):
            return density(value).sum(-1)

        once, twice = (
            integral_over(prior, total, Size((3,)), nodes=number).log_total for number in (64, 128)
        )
        torch.testing.assert_close(once, twice, atol=1e-7, rtol=0)


def test_eigenvalues_give_the_marginal_of_every_scale(seeded):
    component = normals(3, SCALE_PRIORS[0])
    data = torch.randn(2, 30, 3, dtype=torch.float64)
    blocks = block_moments(component, data, torch.arange(30) % 4)
    for scale in (1e-4, 0.2, 50.0):
        value = torch.full((2,), scale, dtype=torch.float64)
        expected = component.given({"scale": scale}).log_marginal(*blocks)
        torch.testing.assert_close(component.log_marginal_of("scale", *blocks)(value), expected)


def test_draws_and_moments_are_those_of_the_law(seeded):
    torch.manual_seed(0)
    component = normals(1, LogNormal(-1.6, 1.0))
    data = torch.tensor([[0.1], [0.3], [2.0], [2.2]], dtype=torch.float64)
    counts, moments = block_moments(component, data, torch.tensor([0, 0, 1, 1]).expand(20_000, -1))
    (found,) = component.over_hyperparameters(counts, moments).values()
    draws = found.sample().log()
    assert float(draws.mean()) == pytest.approx(float(found.mean[0]), abs=0.02)
    assert float(draws.var()) == pytest.approx(float(found.variance[0]), abs=0.02)
    # The law itself, on a grid.
    real = torch.linspace(-12.0, 8.0, 4001, dtype=torch.float64)
    value = real.exp()
    blocks = component.log_marginal_of("rate", counts[:1].expand(4001, -1), moments[:1].expand(4001, -1, -1))
    law = LogNormal(torch.tensor(-1.6, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64))
    weights = (law.log_prob(value) + real + blocks(value).sum(-1)).softmax(0)
    below = weights.cumsum(0)
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        place = real[int((below < level).sum())]
        assert float((draws < place).double().mean()) == pytest.approx(level, abs=0.012)


def test_parts_have_integrals_of_their_own(seeded):
    numbers = PartlyObserved(NormalInverseGamma(1, 0.05, shape=2.0, rate=LogNormal(-1.6, 1.0)), 2)
    counts_of = PoissonGamma(1, 1.0, rate=Gamma(2.0, 2.0))
    component = Product([numbers, counts_of, BernoulliBeta(1)])
    assert component.integrated_names == {"0.rate", "1.rate"}
    data = torch.tensor([[0.3, math.nan, 2.0, 1.0], [1.0, -1.0, 0.0, 0.0], [0.2, 0.1, 5.0, 1.0]]).double()
    labels = torch.tensor([0, 1, 0])
    counts, moments = block_moments(component, data, labels)
    total = component.log_likelihood(counts, moments)
    apart = 0.0
    for part, columns in ((numbers, data[:, :2]), (counts_of, data[:, 2:3])):
        ((_, prior),) = part.hyperpriors.items()
        apart += sum_over_a_grid(prior, log_marginals_on_a_grid(part, *block_moments(part, columns, labels)))
    last = component.parts[2]
    apart += last.log_marginal(*block_moments(last, data[:, 3:], labels)).sum()
    assert float(total) == pytest.approx(float(apart), abs=1e-6)
    assert set(component.over_hyperparameters(counts, moments)) == {"0.rate", "1.rate"}


def test_two_random_numbers_of_one_family_do_not_integrate_out():
    component = NormalInverseGamma(1, Gamma(2.0, 2.0), shape=2.0, rate=LogNormal(0.0, 1.0))
    assert not component.integrated_names
