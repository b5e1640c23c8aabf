"""Parallel tempering: the law of every copy, exchanges, random hyperparameters, and what it is for."""

import numpy as np
import pytest
import torch
from cases import four_heaps, short_and_long
from joint_laws import invariance_scores
from partition_laws import check_law, check_log_joint
from pyro.distributions import Beta, Gamma
from pyro.infer import MCMC

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseGamma,
    PitmanYorPrior,
    student_t,
)
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    MergeSplit,
    OneCluster,
    ParallelTempering,
    SliceHyperparameters,
    assignments,
)
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import Mixture, gaussian2d, overlap2d
from pyroclust.partitions import enumerate_partitions

POWERS = (1.0, 0.5, 0.2)


def both_moves(model, **options):
    return ParallelTempering(Compose([MergeSplit(model), CollapsedGibbs(model)]), powers=POWERS, **options)


def seven_points():
    torch.manual_seed(2)
    return 3 * torch.randn(7, 2, dtype=torch.float64)


@pytest.mark.prove
def test_mcmc_path_has_the_exact_law():
    torch.manual_seed(4)
    model, data = overlap2d(), seven_points()
    mcmc = MCMC(both_moves(model, thin=2), num_samples=2000, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    check_law(model, data, assignments(mcmc))


@short_and_long("num_steps", 1200, 4000)
def test_every_copy_has_the_law_of_its_power(num_steps):
    model, data = overlap2d(), seven_points()
    kernel = both_moves(model)
    generator = np.random.default_rng(0)
    states = kernel.start(data, 1, generator)
    transition = kernel.bind(data, states, generator)
    partitions = enumerate_partitions(7)
    prior = model.prior.log_prob(partitions)
    fit = model.log_joint(data, partitions) - prior
    seen = [[], [], []]
    for _ in range(num_steps):
        states = transition.step(states)
        for place, chain in enumerate(transition._copies[0]):
            seen[place].append(transition._program.log_likelihood(chain))
            assert chain.family.power[0] == pytest.approx(POWERS[place])
    for power, found in zip(POWERS, seen, strict=True):
        expected = ((prior + power * fit).softmax(0) * fit).sum().item()
        batches = np.reshape(found, (40, -1)).mean(1)
        assert abs(batches.mean() - expected) < 5 * batches.std() / 40**0.5


def test_random_hyperparameters_go_with_the_partitions():
    torch.manual_seed(1)
    model = Mixture(
        PitmanYorPrior(discount=Beta(2.0, 3.0), concentration=Gamma(2.0, 2.0)),
        NormalInverseGamma(1, 0.2, shape=3.0, rate=Gamma(3.0, 3.0)),
    )
    kernel = ParallelTempering(Compose([CollapsedGibbs(model), SliceHyperparameters(model)]), powers=(1, 0.4))
    scores, deviation = invariance_scores(model, kernel, num_datasets=400, num_points=6, num_steps=2)
    assert scores.abs().max() < 4.5
    assert (deviation > 0).all()


def test_log_joint_and_states_are_those_of_the_first_copy():
    model, data = overlap2d(), seven_points()
    draws = both_moves(model).run(data, num_draws=300, num_chains=2, seed=0)
    check_log_joint(model, data, draws, atol=1e-9)


def test_chains_go_on_from_a_state_that_something_else_has_changed():
    model, data = overlap2d(), seven_points()
    kernel = both_moves(model)
    kernel.setup(0, data)
    torch.manual_seed(0)
    partitions, log_probs = exact_posterior(model, data)
    labels = partitions[torch.multinomial(log_probs.exp(), 500, replacement=True)]
    after = torch.stack(
        [kernel.sample({"assignments": one, "log_joint": torch.tensor(0.0)})["assignments"] for one in labels]
    )
    # The other copies do not follow: the first step's exchange is with where they were.
    assert after.shape == labels.shape
    assert (after != labels).any()


@short_and_long("num_draws", 800, 2000)
def test_two_modes_get_their_shares(num_draws):
    (model, heaps), unequal = four_heaps(), {}
    for name, kernel in {
        "plain": named_kernel("merge-split+gibbs", model),
        "tempered": ParallelTempering(
            named_kernel("merge-split+gibbs", model), powers=tuple(np.geomspace(1.0, 0.1, 10))
        ),
    }.items():
        labels = kernel.run(heaps, num_draws=num_draws, warmup=200, num_chains=4, seed=0).assignments
        shares = [(labels[..., 0] == labels[..., other]).mean(1) for other in (15, 45)]
        unequal[name] = np.abs(shares[0] - shares[1])
    assert unequal["tempered"].max() < 0.4
    assert unequal["plain"].min() > 0.5


def test_shares_of_exchanges():
    model, data = overlap2d(), seven_points()
    kernel = both_moves(model)
    kernel.run(data, num_draws=200, num_chains=2, seed=0)
    shares = kernel.diagnostics()
    assert 0 < shares["fewest exchanges accepted"] <= shares["exchanges accepted"] <= 1
    alone = ParallelTempering(CollapsedGibbs(model), powers=(1.0,))
    alone.run(data, num_draws=20, num_chains=2, seed=0)
    assert np.isnan(alone.diagnostics()["exchanges accepted"])


def test_short_chains_keep_their_copies_apart():
    model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]], dtype=torch.float64)
    chains = Chains(named_kernel("tempered", model), data, torch.zeros(40, 3, dtype=torch.int64), seed=0)
    chains.advance(10)
    assert (chains.states.assignments == torch.tensor([0, 0, 1])).all(-1).double().mean() > 0.9


def test_init_is_the_kernels_where_nobody_says_otherwise():
    start = OneCluster()
    assert ParallelTempering(CollapsedGibbs(gaussian2d(), init=start)).init is start
    assert repr(ParallelTempering(CollapsedGibbs(gaussian2d()))) == (
        "ParallelTempering(CollapsedGibbs(gaussian2d), 8 powers down to 0.8)"
    )


@pytest.mark.parametrize(
    "powers", [(), (0.9, 0.5), (1.0, 1.0), (1.0, 0.5, 0.7), (1.0, 0.0), (1.0, float("nan"))]
)
def test_powers_fall_from_one(powers):
    with pytest.raises(ValueError, match="powers"):
        ParallelTempering(CollapsedGibbs(gaussian2d()), powers=powers)


def test_kernels_that_are_not_made_of_compiled_moves_are_refused():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    with pytest.raises(ValueError, match="compiled moves"):
        ParallelTempering(AuxiliaryGibbs(model))
    random = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), NormalInverseGamma(1, 0.1, shape=2.0, rate=0.5))
    with pytest.raises(ValueError, match="moves points"):
        ParallelTempering(SliceHyperparameters(random))
