"""Long chains that go on: the draws of one run, and every so many-th of them."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import overlap2d

DATA = torch.tensor([[0.0, 0.0], [1.5, 0.5], [3.0, 0.0], [4.0, 1.0], [0.5, -2.0]], dtype=torch.float64)


def chains(num_chains=4):
    return Chains(CollapsedGibbs(overlap2d()), DATA, num_chains, seed=0)


@pytest.mark.parametrize(("every", "warmup"), [(1, 0), (3, 7), (1000, 1)])
def test_every_so_many_th_sweep_is_kept(every, warmup):
    whole = chains().draw(20 * every, warmup=warmup).assignments
    some = chains().draw(20, warmup=warmup, every=every).assignments
    assert np.array_equal(whole[:, every - 1 :: every], some)


def test_the_law_is_that_of_the_posterior_after_going_on():
    run = chains(40)
    run.draw(10)
    draws = run.draw(100, every=10).flat
    assert run.sweeps == 1010
    partitions, log_probs = exact_posterior(overlap2d(), DATA)
    found = (draws[:, None] == partitions.numpy()).all(-1).sum(0)
    assert chisquare(found, 4000 * log_probs.exp()).pvalue > 0.001


def test_chains_go_on_where_they_are():
    run = chains()
    last = run.draw(5).assignments[:, -1]
    seen = []

    class Spy:
        def advance(self, states, num_draws, *, every):
            seen.append(states)
            raise KeyboardInterrupt

    run._transitions = [Spy()]
    with pytest.raises(KeyboardInterrupt):
        run.draw(5)
    assert isinstance(seen[0], ChainStates)
    assert np.array_equal(seen[0].assignments, last)
