"""Starts of chains on both sides of the posterior."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from torch import Tensor

from pyroclust.analysis.chains import overdispersed_starts
from pyroclust.distributions import ChineseRestaurantPrior, student_t
from pyroclust.models import Mixture, niw_mixture
from pyroclust.partitions import is_canonical, num_clusters


@pytest.fixture(scope="module")
def wine() -> Tensor:
    points = load_wine().data
    return torch.tensor((points - points.mean(0)) / points.std(0))


def test_one_half_has_few_clusters_and_the_other_many(wine: Tensor) -> None:
    starts, seconds = overdispersed_starts(niw_mixture(13), wine, num_chains=5, seed=0)
    assert starts.draws.shape == (5, len(wine))
    assert is_canonical(starts.draws).all()
    counts = num_clusters(starts.draws)
    assert counts[:3].max() * 2 < counts[3:].min()
    assert seconds > 0


def test_starts_are_those_of_their_seed_and_leave_the_state_alone(wine: Tensor) -> None:
    model, data = niw_mixture(2), wine[:, :2]
    before = torch.get_rng_state()
    one, again, other = (
        overdispersed_starts(model, data, num_chains=4, seed=seed)[0].draws for seed in (3, 3, 4)
    )
    assert one.equal(again)
    assert not one.equal(other)
    assert torch.get_rng_state().equal(before)
    # Draws of the filter are independent of one another.
    assert not one[2].equal(one[3])


def test_one_chain_begins_with_few_clusters(wine: Tensor) -> None:
    starts, _ = overdispersed_starts(niw_mixture(13), wine, num_chains=1, seed=0)
    assert int(num_clusters(starts.draws)[0]) < 20


def test_without_a_filter_the_other_half_is_overdispersed() -> None:
    model = Mixture(ChineseRestaurantPrior(1.0), student_t(2))
    data = torch.from_numpy(np.random.default_rng(0).standard_normal((12, 2)))
    starts, _ = overdispersed_starts(model, data, num_chains=4, seed=0)
    assert starts.draws.shape == (4, 12)
    assert is_canonical(starts.draws).all()
