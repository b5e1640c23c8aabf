import pytest
import torch
from scipy.stats import chisquare

from pyroclust.distributions import ChineseRestaurantPrior, student_t
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import AuxiliaryGibbs, CollapsedGibbs
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import Mixture, overlap2d

DATA = torch.tensor([[0.0, 0.0], [1.5, 0.5], [3.0, 0.0], [4.0, 1.0], [0.5, -2.0]], dtype=torch.float64)


@pytest.mark.parametrize("num_chains", [1, 31, 32, 33, 100])
def test_every_number_of_chains_is_advanced(num_chains):
    model = overlap2d()
    chains = Chains(CollapsedGibbs(model), DATA, torch.zeros(num_chains, 5, dtype=torch.int64), seed=0)
    seen = []
    chains.advance(20, tell=seen.append)
    assert chains.states.assignments.shape == (num_chains, 5)
    assert seen[-1] == num_chains
    assert chains.sweeps == 20
    assert chains.states.log_joint == pytest.approx(model.log_joint(DATA, chains.states.assignments))


def test_last_states_have_the_law_of_the_posterior():
    model = overlap2d()
    chains = Chains(default_kernel(model), DATA, torch.zeros(4000, 5, dtype=torch.int64), seed=0)
    chains.advance(10)
    partitions, log_probs = exact_posterior(model, DATA)
    found = (chains.states.assignments.unsqueeze(1) == partitions).all(-1).double().sum(0)
    assert chisquare(found, 4000 * log_probs.exp()).pvalue > 0.001


def test_going_on_is_not_the_same_as_staying():
    chains = Chains(CollapsedGibbs(overlap2d()), DATA, torch.zeros(200, 5, dtype=torch.int64), seed=0)
    chains.advance(5)
    first = chains.states.assignments
    chains.advance(5)
    assert not torch.equal(first, chains.states.assignments)


def test_kept_parameters_stay_with_their_chain():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    data = torch.tensor([[0.0], [0.1], [30.0]], dtype=torch.float64)
    chains = Chains(AuxiliaryGibbs(model), data, torch.zeros(70, 3, dtype=torch.int64), seed=0)
    chains.advance(20)
    chains.advance(20)
    kept = (chains.states.assignments == torch.tensor([0, 0, 1])).all(-1).double().mean()
    long = AuxiliaryGibbs(model).run(data, num_draws=250, warmup=50, num_chains=4, seed=0)
    usual = (long.assignments == [0, 0, 1]).all(-1).mean()
    assert abs(kept - usual) < 0.2
