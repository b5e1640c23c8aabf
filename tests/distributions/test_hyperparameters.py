"""When two priors or two families are the same."""

import copy
from itertools import combinations

import pytest
import torch
from cases import FAMILIES, PRIORS
from torch.distributions import Gamma, LogNormal

from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma, NormalKnownVariance
from pyroclust.distributions.hyperparameters import Hyperparameterised

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
