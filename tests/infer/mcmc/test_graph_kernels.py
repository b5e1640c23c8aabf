"""Kernels over the blocks of a graph against the enumerated posterior, and their sums on larger graphs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from partition_laws import check_law, check_log_joint
from pyro.infer import MCMC
from torch import Tensor

from pyroclust.diagnostics import co_assignment
from pyroclust.distributions import ChineseRestaurantPrior, DirichletMultinomialPrior, PitmanYorPrior
from pyroclust.infer import simulate
from pyroclust.infer.mcmc import (
    CollapsedGibbs,
    Compose,
    MergeSplit,
    OneCluster,
    ParallelTempering,
    Singletons,
    SplitMerge,
    assignments,
)
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.models import StochasticBlockModel
from pyroclust.partitions import canonical

PRIORS = {
    "crp": ChineseRestaurantPrior(0.7),
    "py": PitmanYorPrior(0.3, 0.5),
    "three": DirichletMultinomialPrior(3, 1.0),
}


def graph_of(num_nodes: int, *, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    upper = (torch.rand(num_nodes, num_nodes) < 0.5).triu(1).double()
    return upper + upper.T


def gibbs(model: Any) -> CollapsedGibbs:
    return CollapsedGibbs(model)


def split_merge(model: Any) -> SplitMerge:
    return SplitMerge(model, proposals=4)


def merge_split(model: Any) -> MergeSplit:
    return MergeSplit(model, proposals=4)


def all_three(model: Any) -> Compose:
    return Compose([SplitMerge(model), MergeSplit(model), CollapsedGibbs(model)])


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("make", [gibbs, split_merge, merge_split, all_three])
def test_draws_have_the_enumerated_posterior(make, shared, prior):
    model = StochasticBlockModel(PRIORS[prior], within=(2.0, 1.0), between=(1.0, 2.0), shared=shared)
    graph = graph_of(7)
    found = make(model).run(graph, num_draws=10_000, warmup=200, num_chains=4, seed=1)
    check_law(model, graph, found.assignments)
    check_log_joint(model, graph, found, last=50)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("make", [gibbs, all_three])
def test_log_joint_stays_right_over_many_moves_of_a_large_graph(make, shared):
    torch.manual_seed(3)
    model = StochasticBlockModel(within=(3.0, 3.0), between=(2.0, 4.0), shared=shared)
    graph = simulate(model, torch.empty(1, 60, 60))[0][0]
    found = make(model).run(graph, num_draws=250, num_chains=2, seed=0)
    check_log_joint(model, graph, found, last=20, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("start", [OneCluster(), Singletons()])
def test_chains_find_planted_blocks_from_both_sides(start):
    labels = torch.arange(60) // 20
    torch.manual_seed(0)
    same = labels.unsqueeze(-1) == labels
    upper = (torch.rand(60, 60) < torch.where(same, 0.7, 0.1)).triu(1).double()
    model = StochasticBlockModel()
    kernel = Compose([MergeSplit(model), CollapsedGibbs(model)], init=start)
    found = kernel.run(upper + upper.T, num_draws=500, warmup=500, num_chains=4, seed=0)
    for chain in found.assignments:
        assert np.array_equal(co_assignment(chain) > 0.5, same.numpy())


@pytest.mark.parametrize("shared", [False, True])
def test_one_chain_after_another_forgets_the_blocks_of_the_last(shared):
    torch.manual_seed(4)
    model = StochasticBlockModel(within=(3.0, 3.0), between=(2.0, 4.0), shared=shared)
    graph = simulate(model, torch.empty(25, 25))[0].double()
    # Blocks of 32 chains share their arrays: each of the first 38 is followed by another partition.
    starts = canonical(torch.randint(25, (70, 25)) % torch.randint(1, 26, (70, 1)))
    chains = Chains(all_three(model), graph, starts, seed=0)
    for _ in range(2):
        chains.advance(5)
        states = chains.states
        torch.testing.assert_close(states.log_joint, model.log_joint(graph, states.assignments))
        chains.states = replace(states, assignments=starts, log_joint=model.log_joint(graph, starts))


def test_the_interface_of_pyro_obeys_the_same_law():
    model, graph = StochasticBlockModel(within=(2.0, 1.0), between=(1.0, 2.0)), graph_of(5)
    torch.manual_seed(0)
    mcmc = MCMC(CollapsedGibbs(model), num_samples=3000, warmup_steps=50, disable_progbar=True)
    mcmc.run(graph)
    check_law(model, graph, assignments(mcmc))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (torch.zeros(3, 4), "data has shape"),
        (torch.zeros(2, 4, 4), "expected one graph"),
        (torch.ones(4, 4), "data has loops"),
        (torch.zeros(1, 1), "two nodes or more"),
    ],
)
def test_what_is_no_graph_is_refused(data, expected):
    with pytest.raises(ValueError, match=expected):
        CollapsedGibbs(StochasticBlockModel()).run(data, num_draws=5)


def test_tempering_says_that_it_has_no_graphs():
    with pytest.raises(ValueError, match="BlockRates"):
        ParallelTempering(CollapsedGibbs(StochasticBlockModel()))
