"""Kernels where the number of clusters is known or bounded: the enumerated posterior, given that."""

import numpy as np
import pytest
import torch
from cases import short_and_long
from partition_laws import check_law, check_log_joint
from pyro.distributions import Beta, Gamma

from pyroclust.distributions import NormalKnownVariance, PitmanYorPrior
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    GuideProposal,
    MergeSplit,
    Overdispersed,
    SliceHyperparameters,
    SplitMerge,
)
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import Mixture, niw_mixture, normal_mixture, overlap2d, table_mixture
from pyroclust.partitions.constraints import Constraints

LINKS = {"must_link": [(3, 4)], "labels": [0, -1, 1, -1, -1, 0, -1]}
MODELS = {
    "niw": lambda: niw_mixture(2),
    "scale": lambda: normal_mixture(2),
    "gaps": lambda: table_mixture(numbers=2, missing=True, family="normal", prior="mfm"),
}
NAMES = ("gibbs", "merge-split", "split-merge", "merge-split+gibbs", "gibbs+merge-split", "tempered")
CASES = [(name, limits, "niw", True) for name in NAMES for limits in ((2, 2), (2, 4))]
CASES += [(name, (3, 3), "niw", False) for name in NAMES]
CASES += [
    (name, limits, model, linked)
    for name in ("merge-split+gibbs", "gibbs+merge-split")
    for model, linked in (("niw", False), ("scale", False), ("scale", True), ("gaps", True))
    for limits in ((2, 2), (2, 4))
]


def points(model):
    generator = torch.Generator().manual_seed(3)
    data = torch.randn(7, 2, generator=generator).double() * 0.7
    data[:3] += 1.0
    if model == "gaps":
        data[1, 0] = data[4, 1] = torch.nan
    return data


def run(kernel, data, *, number, chains=4):
    return kernel.run(data, num_draws=number, warmup=100, num_chains=chains, seed=1)


@short_and_long("num_draws", 2500, 10_000)
@pytest.mark.parametrize(("name", "limits", "family", "linked"), CASES)
def test_draws_obey_the_enumerated_posterior(name, limits, family, linked, num_draws) -> None:
    model, data = MODELS[family]().constrained(clusters=limits, **(LINKS if linked else {})), points(family)
    draws = run(named_kernel(name, model), data, number=num_draws // 5 if name == "tempered" else num_draws)
    check_law(model, data, draws.assignments)
    if model.has_likelihood and not draws.parameters.keys() - model.prior.integrated_names:
        check_log_joint(model, data, draws, last=1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_one_cluster_stays_one(name) -> None:
    draws = run(named_kernel(name, normal_mixture(2).constrained(clusters=1)), points("scale"), number=20)
    assert not draws.assignments.any()


@pytest.mark.parametrize("limits", [(2, 2), (2, 4)])
def test_proposals_of_a_guide_stay_inside(limits) -> None:
    model, data = overlap2d().constrained(clusters=limits), points("niw")
    guide = PredictiveFilter(overlap2d())
    draws = GuideProposal(model, guide, num_proposals=10).run(
        data, num_draws=20, warmup=20, num_chains=120, seed=1
    )
    check_law(model, data, draws.assignments)


@pytest.mark.parametrize("limits", [(2, 2), (3, 3), (2, 3), (1, 2)])
@pytest.mark.parametrize(
    "build",
    [CollapsedGibbs, lambda model: MergeSplit(model, proposals=3), lambda one: SplitMerge(one, scans=1)],
)
def test_rows_that_are_apart_are_not_caught(build, limits) -> None:
    # Of two clusters each of these pairs has a row in either: to change sides, both have to move at once.
    known = Constraints.of(6, cannot_link=[(0, 1), (2, 3), (4, 5)], clusters=limits)
    model, data = overlap2d().under(known), points("niw")[:6]
    draws = run(build(model), data, number=20_000)
    check_law(model, data, draws.assignments)


def test_a_row_that_cannot_move_alone_changes_with_a_merge() -> None:
    # Five of six rows are alone, and only one of three pairs may share a cluster.
    apart = [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (3, 4), (3, 5)]
    model = overlap2d().constrained(cannot_link=apart, clusters=5)
    draws = run(CollapsedGibbs(model), points("niw")[:6], number=10_000)
    assert len(np.unique(draws.flat, axis=0)) == 3
    check_law(model, points("niw")[:6], draws.assignments)


def test_random_hyperparameters_and_weights_of_rows() -> None:
    prior = PitmanYorPrior(Beta(1.0, 9.0), Gamma(2.0, 4.0))
    model = Mixture(prior, NormalKnownVariance(2)).constrained(clusters=(2, 3), **LINKS)
    kernel = Compose([SliceHyperparameters(model), MergeSplit(model), CollapsedGibbs(model)])
    draws = run(kernel, points("niw"), number=200)
    assert model.constraints.allows(torch.from_numpy(draws.assignments)).all()
    weighted = overlap2d().weighted([2, 1, 3, 1, 1, 2, 1]).constrained(clusters=(2, 3), cannot_link=[(0, 1)])
    draws = run(Compose([MergeSplit(weighted), CollapsedGibbs(weighted)]), points("niw"), number=10_000)
    check_law(weighted, points("niw"), draws.assignments)


@short_and_long("num_draws", 50, 100)
@pytest.mark.parametrize("limits", [(2, 2), (2, 4), (5, 7)])
def test_gibbs_sampling_with_auxiliary_parameters_stays_inside_where_points_are_free(
    limits, num_draws
) -> None:
    model, data = overlap2d().constrained(clusters=limits), points("niw")
    draws = run(AuxiliaryGibbs(model), data, number=num_draws, chains=400)
    check_law(model, data, draws.assignments)
    with pytest.raises(ValueError, match="model has constraints, and AuxiliaryGibbs cannot keep to them"):
        AuxiliaryGibbs(model.constrained(must_link=[(0, 1)]))


def test_chains_start_inside_from_few_and_from_many() -> None:
    model = overlap2d().constrained(clusters=(3, 5))
    kernel = CollapsedGibbs(model, init=Overdispersed())
    states = kernel.start(torch.randn(30, 2).double(), 20, np.random.default_rng(0))
    number = states.assignments.amax(-1) + 1
    assert number.min() == 3
    assert number.max() == 5


def test_well_separated_clusters_are_found_of_a_known_number() -> None:
    # Two of three groups in one cluster and the third in two: no single row leads out of it.
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[-1.2, 0.0], [1.2, 0.0], [0.0, 1.5]]).double()
    data = (centres[:, None] + 0.05 * torch.randn(3, 20, 2, generator=generator).double()).flatten(0, 1)
    model = normal_mixture(2).constrained(clusters=3)
    wrong = torch.tensor([0] * 40 + [1] * 10 + [2] * 10)
    kernel = named_kernel("merge-split+gibbs", model)
    kernel.init = wrong_start(wrong)
    draws = run(kernel, data, number=20)
    right = np.repeat([0, 1, 2], 20)
    assert (draws.assignments == right).all(-1).mean() > 0.9


def wrong_start(labels):
    return lambda num_points, num_chains, *, generator: labels.expand(num_chains, -1)


def test_enumeration_is_that_of_the_free_posterior_inside() -> None:
    model, data = normal_mixture(2), points("scale")
    partitions, log_probs = exact_posterior(model, data)
    inside = (partitions.amax(-1) >= 1) & (partitions.amax(-1) <= 3)
    found = exact_posterior(model.constrained(clusters=(2, 4)), data)[1]
    expected = torch.where(inside, log_probs - log_probs[inside].logsumexp(0), -torch.inf)
    torch.testing.assert_close(found, expected)
