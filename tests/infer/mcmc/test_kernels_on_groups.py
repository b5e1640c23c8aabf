"""Kernels that move groups of rows: the enumerated posterior under constraints, and of rows with weights."""

import numpy as np
import pytest
import torch
from cases import POSTERIOR_FAMILIES, POSTERIOR_PRIORS, some_of
from partition_laws import check_law, check_log_joint
from pyro.distributions import Beta, Gamma
from pyro.infer import MCMC

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseGamma,
    PartlyObserved,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.mcmc import (
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
from pyroclust.partitions.constraints import Constraints

KNOWN = Constraints.of(7, must_link=[(0, 1), (1, 5)], cannot_link=[(0, 2), (2, 3)])
WEIGHTS = torch.tensor([2, 1, 3, 1, 1, 2])
COPIES = torch.arange(6).repeat_interleave(WEIGHTS)
TOGETHER = Constraints.of(10, must_link=[(0, 1), (3, 4), (4, 5), (8, 9)])
FAMILIES = POSTERIOR_FAMILIES | {
    "gaps": Product(
        [
            PartlyObserved(NormalInverseGamma(1, 0.3, shape=2.0, rate=1.0), 1),
            PartlyObserved(PoissonGamma(1, 1.0, rate=0.3), 2),
        ]
    )
}


def guide_of(model):
    """Return a filter of the model; under weights, of the one that knows of no groups."""
    return PredictiveFilter(model if model.row_weights is None else model.weighted(None).under(None))


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
    "guide": (lambda model: GuideProposal(model, guide_of(model), num_proposals=10), 120, 20),
}
OTHER_PRIORS = [prior for prior in POSTERIOR_PRIORS if prior != "restaurant"]
CONSTRAINED = [(kernel, "restaurant", "known_variance") for kernel in KERNELS]
# The moves call the same functions of every family as splits and merges do, which meet all of them.
CONSTRAINED += [("gibbs", "restaurant", family) for family in ("inverse_wishart", "poisson")]
CONSTRAINED += [("composition", prior, "known_variance") for prior in OTHER_PRIORS]
WEIGHTED = [(kernel, "restaurant", "known_variance") for kernel in KERNELS]
WEIGHTED += [("composition", "restaurant", family) for family in FAMILIES if family != "known_variance"]
WEIGHTED += [("composition", prior, "known_variance") for prior in OTHER_PRIORS]
# The censored family integrates each cluster by quadrature.
KERNELS["short composition"] = (*KERNELS["composition"][:2], 1000)
LONG = ("composition", "restaurant", "censored")
WEIGHTED.append(("short composition", "restaurant", "censored"))


def points(component, *labels):
    torch.manual_seed(8)
    data = component.sample(torch.tensor(labels)).double()
    if component.takes_missing:
        data[1, 0] = data[2, -1] = torch.nan
    return data


def seven_points(component):
    return points(component, 0, 0, 1, 1, 1, 2, 0)


def six_points(component):
    return points(component, 0, 0, 1, 1, 2, 0)


def check_kernel(kernel, model, data):
    """Run a kernel and compare it with enumeration; return its draws."""
    build, chains, number = KERNELS[kernel]
    draws = build(model).run(data, num_draws=number, warmup=20, num_chains=chains, seed=1)
    check_law(model, data, draws.assignments)
    check_log_joint(model, data, draws, last=1, rtol=1e-8, atol=1e-8)
    return torch.from_numpy(draws.assignments)


@pytest.mark.parametrize(("kernel", "prior", "family"), CONSTRAINED)
def test_draws_under_constraints_obey_the_enumerated_posterior(kernel, prior, family) -> None:
    model = Mixture(POSTERIOR_PRIORS[prior], FAMILIES[family]).under(KNOWN)
    assert KNOWN.allows(check_kernel(kernel, model, seven_points(model.component))).all()


@pytest.mark.parametrize(
    ("kernel", "prior", "family"), some_of(WEIGHTED, [case for case in WEIGHTED if case != LONG])
)
def test_draws_with_weights_obey_the_posterior_of_the_repeated_table(kernel, prior, family) -> None:
    model = Mixture(POSTERIOR_PRIORS[prior], FAMILIES[family]).weighted(WEIGHTS)
    check_kernel(kernel, model, six_points(model.component))


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
    model, data = overlap2d().under(KNOWN), seven_points(overlap2d().component)
    kernel = CollapsedGibbs(model, init=OneCluster())
    mcmc = MCMC(kernel, num_samples=20, warmup_steps=0, disable_progbar=True)
    mcmc.run(data)
    assert KNOWN.allows(assignments(mcmc)).all()
    kernel.initial_params = {"assignments": torch.zeros(7)}
    with pytest.raises(ValueError, match="assignments break the constraints of the model"):
        kernel.setup(0, data)
    with pytest.raises(ValueError, match="data has 6 points, and the constraints"):
        kernel.run(data[:6], num_draws=2)


def test_constraints_may_lie_on_the_distinct_rows_and_data_may_have_gaps() -> None:
    known = Constraints.of(6, must_link=[(0, 5)], cannot_link=[(0, 2)])
    free = Mixture(ChineseRestaurantPrior(1.0), FAMILIES["gaps"])
    model, data = free.weighted(WEIGHTS).under(known), six_points(free.component)
    kernel = Compose([MergeSplit(model), CollapsedGibbs(model)])
    draws = kernel.run(data, num_draws=10_000, warmup=20, num_chains=4, seed=1)
    assert known.allows(torch.from_numpy(draws.assignments)).all()
    check_law(model, data, draws.assignments)


def test_rows_with_weights_are_the_repeated_table_draw_by_draw() -> None:
    prior = PitmanYorPrior(Beta(1.0, 9.0), Gamma(2.0, 4.0))
    free = Mixture(prior, NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 10.0)))
    data, found = torch.randn(6, 1).double(), []
    for model, own, rows in (
        (free.weighted(WEIGHTS), data, torch.arange(6)),
        (free.under(TOGETHER), data[COPIES], torch.tensor([0, 2, 3, 6, 7, 8])),
    ):
        parts = [SliceHyperparameters(model), MergeSplit(model), CollapsedGibbs(model)]
        kernel = Compose(parts, init=OneCluster())
        draws = kernel.run(own, num_draws=200, num_chains=2, seed=3)
        found.append((draws.assignments[..., rows], draws.log_joint, draws.parameters["concentration"]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


def test_a_gamma_concentration_sees_all_copies() -> None:
    free = Mixture(POSTERIOR_PRIORS["gamma_concentration"], FAMILIES["known_variance"])
    data = six_points(free.component)
    means = [
        CollapsedGibbs(model)
        .run(own, num_draws=20_000, num_chains=4, seed=0)
        .parameters["concentration"]
        .mean()
        for model, own in ((free.weighted(WEIGHTS), data), (free.under(TOGETHER), data[COPIES]))
    ]
    assert means[0] == pytest.approx(means[1], rel=0.02)


def test_weights_under_pyro_and_of_another_table() -> None:
    model, data = overlap2d().weighted(WEIGHTS), six_points(overlap2d().component)
    mcmc = MCMC(CollapsedGibbs(model), num_samples=20, warmup_steps=0, disable_progbar=True)
    mcmc.run(data)
    assert assignments(mcmc).shape == (1, 20, 6)
    with pytest.raises(ValueError, match="data has 5 points, and the model 6 weights of rows"):
        CollapsedGibbs(model).run(data[:5], num_draws=2)
