"""Chains that go on: from a kernel's starts, from many partitions, and from starts with few clusters."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from sklearn.datasets import load_wine

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalKnownVariance,
    student_t,
)
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import AuxiliaryGibbs, CollapsedGibbs, Compose, PartitionKernel, Transition
from pyroclust.infer.mcmc.chains import Chains, coarse_starts
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import Mixture, niw_mixture, overlap2d

DATA = torch.tensor([[0.0, 0.0], [1.5, 0.5], [3.0, 0.0], [4.0, 1.0], [0.5, -2.0]], dtype=torch.float64)


def chains(starts=4):
    return Chains(CollapsedGibbs(overlap2d()), DATA, starts, seed=0)


def one_cluster(number):
    return torch.zeros(number, len(DATA), dtype=torch.int64)


def check_posterior(assignments, model):
    """Hold independent draws against the exact posterior."""
    partitions, log_probs = exact_posterior(model, DATA)
    draws = np.asarray(assignments).reshape(-1, 1, len(DATA))
    found = (draws == partitions.numpy()).all(-1).sum(0)
    assert chisquare(found, len(draws) * log_probs.exp()).pvalue > 0.001


@pytest.mark.parametrize(("every", "warmup"), [(1, 0), (3, 7), (1000, 1)])
def test_every_so_many_th_sweep_is_kept(every, warmup):
    whole = chains().draw(20 * every, warmup=warmup).assignments
    some = chains().draw(20, warmup=warmup, every=every).assignments
    assert np.array_equal(whole[:, every - 1 :: every], some)


def test_the_law_is_that_of_the_posterior_after_going_on():
    run = chains(40)
    run.draw(10)
    check_posterior(run.draw(100, every=10).assignments, overlap2d())
    assert run.sweeps == 1010


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


class Counting(PartitionKernel):
    """A kernel that leaves partitions where they are, and counts its steps."""

    steps = 0

    def bind(self, data, states, generator):
        kernel = self

        class Still(Transition):
            def step(self, states):
                kernel.steps += 1
                return states

        return Still()


def test_thin_is_steps_a_draw_of_any_kernel():
    kernel = Counting(overlap2d(), thin=3)
    kernel.run(DATA, num_draws=5, warmup=2, num_chains=2, seed=0)
    assert kernel.steps == 21
    Chains(kernel, DATA, one_cluster(40), seed=0).advance(4)
    assert kernel.steps == 21 + 2 * 12
    kernel.setup(0, DATA)
    kernel.sample(kernel.initial_params)
    assert kernel.steps == 48
    Compose([kernel, CollapsedGibbs(kernel.model)], thin=2).run(DATA, num_draws=1, seed=0)
    assert kernel.steps == 54


@pytest.mark.parametrize("number", [1, 31, 32, 33, 100])
def test_every_number_of_partitions_is_advanced(number):
    run, seen = chains(one_cluster(number)), []
    run.advance(20, tell=seen.append)
    assert run.states.assignments.shape == (number, 5)
    assert seen[-1] == number
    assert run.sweeps == 20
    assert run.states.log_joint == pytest.approx(overlap2d().log_joint(DATA, run.states.assignments))
    before = run.states.assignments
    run.advance(5)
    assert number == 1 or not torch.equal(before, run.states.assignments)


def test_last_states_have_the_law_of_the_posterior():
    run = Chains(default_kernel(overlap2d()), DATA, one_cluster(4000), seed=0)
    run.advance(10)
    check_posterior(run.states.assignments, overlap2d())


def test_kept_parameters_stay_with_their_chain():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    data = torch.tensor([[0.0], [0.1], [30.0]], dtype=torch.float64)
    run = Chains(AuxiliaryGibbs(model), data, torch.zeros(70, 3, dtype=torch.int64), seed=0)
    run.advance(20)
    run.advance(20)
    kept = (run.states.assignments == torch.tensor([0, 0, 1])).all(-1).double().mean()
    long = AuxiliaryGibbs(model).run(data, num_draws=250, warmup=50, num_chains=4, seed=0)
    usual = (long.assignments == [0, 0, 1]).all(-1).mean()
    assert abs(kept - usual) < 0.2


def test_wine_has_no_small_clusters_left():
    points = load_wine().data
    model, data = niw_mixture(13), torch.tensor((points - points.mean(0)) / points.std(0))
    starts, seconds = coarse_starts(model, data, num_chains=4, seed=0)
    assert seconds > 0
    assert starts.draws.shape == (4, 178)
    assert int(starts.draws.max()) < 5
    # Draws of the exact filter stay below -2,960 for thousands of sweeps; the posterior is at -2,941.
    kernel = default_kernel(model)
    kernel.init = starts
    log_joint = Chains(kernel, data, 4, seed=0).draw(100, warmup=200).log_joint
    assert log_joint.mean(1) == pytest.approx([-2941.0] * 4, abs=6.0)


def test_the_model_and_the_law_of_chains_from_coarse_starts_stay():
    model = overlap2d()
    prior = model.prior
    kernel = default_kernel(model)
    kernel.init, _ = coarse_starts(model, DATA, num_chains=40, seed=0)
    assert model.prior is prior
    check_posterior(Chains(kernel, DATA, 40, seed=0).draw(100, warmup=20, every=10).assignments, model)


@pytest.mark.parametrize("component", [NormalKnownVariance(2, 2.0), student_t()])
def test_coarse_starts_of_any_prior_and_family(component):
    model = Mixture(DirichletMultinomialPrior(2, 0.5), component)
    starts, _ = coarse_starts(model, DATA[:, : component.dim], num_chains=3, seed=0)
    assert starts.draws.shape == (3, 5)
    assert int(starts.draws.max()) < 2
