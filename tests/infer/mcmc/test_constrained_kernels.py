"""Kernels under constraints: the enumerated posterior of seven points, groups that move as one."""

import numpy as np
import pytest
import torch
from cases import POSTERIOR_FAMILIES, POSTERIOR_PRIORS
from partition_laws import check_law, check_log_joint
from pyro.distributions import Gamma
from pyro.infer import MCMC

from pyroclust.constraints import Constraints
from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma, student_t
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    GuideProposal,
    MergeSplit,
    OneCluster,
    ParallelTempering,
    SliceHyperparameters,
    SplitMerge,
    assignments,
)
from pyroclust.models import Mixture, overlap2d

KNOWN = Constraints.of(7, must_link=[(0, 1), (1, 5)], cannot_link=[(0, 2), (2, 3)])
KERNELS = {
    "gibbs": (CollapsedGibbs, 4, 10_000),
    "merge_split": (lambda model: MergeSplit(model, proposals=3), 4, 20_000),
    "split_merge": (lambda model: SplitMerge(model, scans=1, proposals=3), 4, 20_000),
    "composition": (lambda model: Compose([SplitMerge(model, scans=0), CollapsedGibbs(model)]), 4, 10_000),
    "tempered": (
        lambda model: ParallelTempering(
            Compose([MergeSplit(model), CollapsedGibbs(model)]), powers=(1.0, 0.6)
        ),
        4,
        4000,
    ),
    "guide": (lambda model: GuideProposal(model, PredictiveFilter(model), num_proposals=10), 40, 60),
}
CASES = [(kernel, "crp", "known_variance") for kernel in KERNELS]
# The moves call the same functions of every family as splits and merges do, which meet all of them.
CASES += [("gibbs", "crp", family) for family in ("inverse_wishart", "poisson")]
CASES += [("composition", prior, "known_variance") for prior in POSTERIOR_PRIORS if prior != "crp"]


def points(component, *, num_points=7):
    torch.manual_seed(8)
    return component.sample(torch.tensor([0, 0, 1, 1, 1, 2, 0])[:num_points]).double()


@pytest.mark.parametrize(("kernel", "prior", "family"), CASES)
def test_draws_obey_the_enumerated_posterior(kernel, prior, family) -> None:
    prior = POSTERIOR_PRIORS.get(prior, ChineseRestaurantPrior(1.0))
    model = Mixture(prior, POSTERIOR_FAMILIES[family]).under(KNOWN)
    build, chains, number = KERNELS[kernel]
    data = points(model.component)
    draws = build(model).run(data, num_draws=number, warmup=20, num_chains=chains, seed=1)
    assert KNOWN.allows(torch.from_numpy(draws.assignments)).all()
    check_law(model, data, draws.assignments)
    check_log_joint(model, data, draws, last=1, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("build", [CollapsedGibbs, MergeSplit, SplitMerge])
def test_without_any_constraint_the_law_is_that_of_the_free_model(build) -> None:
    model, data = overlap2d(), points(overlap2d().component, num_points=6)
    kernel = Compose([build(model.under(Constraints.of(6)))], thin=5)
    draws = kernel.run(data, num_draws=5000, warmup=20, num_chains=4, seed=2)
    check_law(model, data, draws.assignments)


def test_random_hyperparameters_are_drawn_given_the_partition() -> None:
    component = NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 10.0))
    model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), component).constrained(
        must_link=[(0, 1)], cannot_link=[(0, 2)]
    )
    kernel = Compose([SliceHyperparameters(model), CollapsedGibbs(model)])
    draws = kernel.run(torch.randn(8, 1), num_draws=50, num_chains=2, seed=0)
    assert model.constraints.allows(torch.from_numpy(draws.assignments)).all()
    assert np.isfinite(draws.parameters["rate"]).all()


def test_chains_start_at_allowed_partitions_also_under_pyro() -> None:
    model, data = overlap2d().under(KNOWN), points(overlap2d().component)
    kernel = CollapsedGibbs(model, init=OneCluster())
    mcmc = MCMC(kernel, num_samples=20, warmup_steps=0, disable_progbar=True)
    mcmc.run(data)
    assert KNOWN.allows(assignments(mcmc)).all()
    kernel.initial_params = {"assignments": torch.zeros(7)}
    with pytest.raises(ValueError, match="assignments break the constraints of the model"):
        kernel.setup(0, data)
    with pytest.raises(ValueError, match="data has 6 points, and the constraints"):
        kernel.run(data[:6], num_draws=2)


def test_kernels_that_would_leave_the_allowed_partitions_are_refused() -> None:
    model = Mixture(ChineseRestaurantPrior(1.0), student_t()).under(KNOWN)
    with pytest.raises(ValueError, match="model has constraints, and AuxiliaryGibbs cannot keep to them"):
        AuxiliaryGibbs(model)
