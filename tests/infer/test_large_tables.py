"""Rules for tables of many rows leave others as they are."""

import itertools

import numpy as np
import pytest
import torch

from pyroclust.core.large_tables import (
    LARGE_TABLE,
    default_num_draws,
    large_table_notes,
    most_sweeps,
    sweep_cost,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import refine
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.infer.mcmc.refine import _looks
from pyroclust.infer.mcmc.subsamples import PartOfRows, extended, log_joint_of_draws
from pyroclust.models import nig_mixture, niw_mixture, normal_mixture
from pyroclust.partitions import canonical


@pytest.mark.parametrize("num_points", [1, 300, LARGE_TABLE])
def test_small_tables_know_nothing_of_them(num_points: int):
    assert most_sweeps(num_points, num_chains=1000, most=640) == 640
    assert most_sweeps(num_points, num_chains=8000, most=640) == 640
    assert most_sweeps(num_points, num_chains=40, most=128_000) == 128_000
    assert default_num_draws(num_points) == 1000
    assert large_table_notes(num_points) == ()


def test_large_tables_have_fewer_sweeps_and_draws_and_say_so():
    assert most_sweeps(5000, num_chains=1000, most=640) == 78
    assert most_sweeps(20_000, num_chains=250, most=640) == 52
    assert most_sweeps(20_000, num_chains=4, most=128_000) == 3256
    assert default_num_draws(20_000) == 250
    assert "250 draws" in large_table_notes(20_000)[0]


@pytest.mark.parametrize(("num_chains", "most"), [(1000, 640), (8000, 640), (4, 128_000), (40, 128_000)])
def test_sweeps_have_no_cliff(num_chains: int, most: int):
    found = [most_sweeps(points, num_chains=num_chains, most=most) for points in range(900, 3000)]
    assert found[0] == most > found[-1]
    # A row more is 1.3 thousandths of the sweeps less, and one for the rounding.
    assert all(0 <= before - after <= before / 700 + 1 for before, after in itertools.pairwise(found))


def test_the_largest_tables_keep_fewer_draws():
    assert [default_num_draws(one) for one in (100_000, 500_000, 1_000_000, 10_000_000)] == [
        250,
        250,
        125,
        100,
    ]


@pytest.mark.parametrize("model", [niw_mixture(2), normal_mixture(2)], ids=["niw", "random_scale"])
def test_log_joint_from_sums_of_clusters_is_that_of_the_model(model):
    torch.manual_seed(0)
    data = torch.randn(1200, 2, dtype=torch.float64)
    draws = named_kernel("blocked", model).run(data, num_draws=6, num_chains=2, seed=0).assignments
    assert draws.dtype == np.int32
    expected = log_joint_of(model, data, torch.from_numpy(draws))
    found = log_joint_of_draws(model, data, draws)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9)


def test_a_partition_of_some_rows_is_extended_to_all():
    torch.manual_seed(1)
    truth = torch.arange(3000) % 5
    data = (6 * torch.randn(5, 2))[truth] + 0.1 * torch.randn(3000, 2)
    rows = np.sort(np.random.default_rng(2).choice(3000, 100, replace=False))
    part = PartOfRows(rows, canonical(truth[rows]).numpy(), {"scale": 0.02})
    found = extended(normal_mixture(2), data.double(), [part, part], seed=3)
    assert found.shape == (2, 3000)
    assert (found == canonical(truth)).double().mean() > 0.995


def looks_of(model, *, num_points: int, num_chains: int, num_clusters: float = 5.0) -> list[int]:
    cost = sweep_cost(model.component.num_moments, num_clusters=num_clusters)
    return _looks(None, num_points=num_points, num_chains=num_chains, cost=cost)


def test_refining_looks_while_visits_are_within_the_limit():
    assert looks_of(niw_mixture(2), num_points=20_000, num_chains=250) == [6, 12, 24, 48]
    assert looks_of(niw_mixture(4), num_points=LARGE_TABLE, num_chains=1000)[-1] == 640
    # 13 columns with a full covariance have 182 moments, 30 have 930, and 30 with a variance each have 60.
    assert looks_of(niw_mixture(13), num_points=178, num_chains=1000)[-1] == 160
    assert looks_of(niw_mixture(30), num_points=569, num_chains=1000) == [10, 20, 40, 80]
    assert looks_of(nig_mixture(30), num_points=569, num_chains=1000)[-1] == 320
    assert looks_of(niw_mixture(30), num_points=569, num_chains=1000, num_clusters=80) == [2, 4, 8, 16]


def test_refining_draws_from_the_compiled_filter():
    model = niw_mixture(2)
    data = torch.randn(LARGE_TABLE + 1, 2, dtype=torch.float64)
    (draws, refinement), (again, _) = (
        refine(model, PredictiveFilter(model), data, num_draws=4, num_orders=2, sweeps=20, seed=0)
        for _ in range(2)
    )
    assert np.array_equal(draws.assignments, again.assignments)
    assert np.isfinite(refinement.proposals.log_prob).all()


def test_long_chains_know_the_limit():
    chains = Chains(CollapsedGibbs(niw_mixture(2)), torch.randn(2000, 2), 4, seed=0)
    assert chains.may_take(64_980)
    assert not chains.may_take(64_981)
