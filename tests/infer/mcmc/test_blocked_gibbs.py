"""Blocked Gibbs sampling: its law where visits to single rows are few, and what it refuses."""

import pytest
import torch
from cases import POSTERIOR_FAMILIES, POSTERIOR_PRIORS, some_of
from partition_laws import check_law, check_log_joint
from pyro.distributions import Geometric, LogNormal

from pyroclust.distributions import FiniteMixturesPrior, NormalInverseGamma, NormalInverseWishart
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import (
    BlockedGibbs,
    CollapsedGibbs,
    Compose,
    OneCluster,
    ParallelTempering,
    Singletons,
    SliceHyperparameters,
)
from pyroclust.infer.mcmc.blocked_gibbs import can_draw_at_once
from pyroclust.infer.mcmc.compiled.births import BirthsAndDeaths
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.models import Mixture, nig_mixture, niw_mixture
from pyroclust.partitions import canonical

# Asking each would compile it here, for every worker.
NOT_DRAWN = ("binomial", "censored", "circular", "independent", "negative_binomial", "ordered")
DRAWN = [name for name in POSTERIOR_FAMILIES if name not in NOT_DRAWN]
CHOSEN = [(name, "pitman_yor") for name in DRAWN]


@pytest.fixture
def few_visits(monkeypatch):
    """One visit a step: what is wrong with the other moves is not healed by Gibbs visits to all rows."""
    monkeypatch.setattr("pyroclust.infer.mcmc.blocked_gibbs._FEWEST_VISITS", 1)


def seven_points(component, *, seed=8):
    torch.manual_seed(seed)
    return component.sample(torch.tensor([0, 0, 1, 1, 1, 2, 0])).double()


@pytest.mark.parametrize(
    ("family", "prior"), some_of([(one, prior) for one in DRAWN for prior in POSTERIOR_PRIORS], CHOSEN)
)
def test_moves_of_all_rows_have_the_exact_law(few_visits, family, prior):
    model = Mixture(POSTERIOR_PRIORS[prior], POSTERIOR_FAMILIES[family])
    data = seven_points(model.component)
    draws = BlockedGibbs(model).run(data, num_draws=20_000, warmup=20, num_chains=4, seed=1)
    check_law(model, data, draws.assignments)
    check_log_joint(model, data, draws, last=100)


@pytest.mark.parametrize("prior", some_of([(one,) for one in POSTERIOR_PRIORS], [("pitman_yor",)]))
def test_births_and_deaths_alone_have_the_exact_law(monkeypatch, prior):
    moves = (BirthsAndDeaths(8, 4), *END_OF_STEP)
    monkeypatch.setattr(BlockedGibbs, "moves", lambda kernel, num_points: moves)
    model = Mixture(POSTERIOR_PRIORS[prior], POSTERIOR_FAMILIES["inverse_gamma"])
    data = seven_points(model.component)
    draws = BlockedGibbs(model).run(data, num_draws=40_000, warmup=200, num_chains=4, seed=1)
    check_law(model, data, draws.assignments)


@pytest.mark.parametrize(
    "component",
    [
        NormalInverseWishart(2, 0.1, dof=4.0, scale=LogNormal(-1.0, 1.0)),
        NormalInverseGamma(2, 0.1, shape=2.0, rate=LogNormal(-1.0, 1.0)),
    ],
    ids=["wishart", "gamma"],
)
def test_random_scale_and_number_of_components(few_visits, component):
    model = Mixture(FiniteMixturesPrior(1.0, Geometric(0.4)), component)
    data = seven_points(model.given({component.hyper_names[-1]: torch.tensor(0.4)}).component)
    kernel = Compose([SliceHyperparameters(model), BlockedGibbs(model)])
    draws = kernel.run(data, num_draws=20_000, warmup=20, num_chains=4, seed=2)
    check_law(model, data, draws.assignments, exact_posterior(model, data))


def test_missing_cells(few_visits):
    model = Mixture(POSTERIOR_PRIORS["restaurant"], POSTERIOR_FAMILIES["partly"])
    data = seven_points(model.component)
    data[1, 0] = data[4, 1] = data[5, 0] = torch.nan
    draws = BlockedGibbs(model).run(data, num_draws=20_000, warmup=20, num_chains=4, seed=3)
    check_law(model, data, draws.assignments)


def test_gibbs_sweeps_beside_it_know_of_a_changed_scale():
    """The sweep needs what every row weighs alone under the new scale, which blocked moves do without."""
    model = Mixture(
        FiniteMixturesPrior(1.0, Geometric(0.4)),
        NormalInverseWishart(2, 0.1, dof=4.0, scale=LogNormal(-1.0, 1.0)),
    )
    data = seven_points(model.given({"scale": torch.tensor(0.4)}).component)
    kernel = Compose([SliceHyperparameters(model), CollapsedGibbs(model)])
    draws = kernel.run(data, num_draws=20_000, warmup=20, num_chains=4, seed=4)
    check_law(model, data, draws.assignments, exact_posterior(model, data))


@pytest.mark.parametrize("init", [OneCluster(), Singletons()])
def test_finds_the_clusters_of_many_rows(init):
    model = niw_mixture(3)
    torch.manual_seed(5)
    truth = torch.arange(3000) % 6
    data = (4 * torch.randn(6, 3))[truth] + 0.2 * torch.randn(3000, 3)
    draws = BlockedGibbs(model, init=init).run(data, num_draws=10, warmup=200, num_chains=2, seed=6)
    assert (draws.num_clusters == 6).mean() > 0.5
    assert (draws.flat[-1] == canonical(truth).numpy()).mean() > 0.98
    check_log_joint(model, data, draws, last=2)


def test_shares_of_accepted_proposals():
    kernel = BlockedGibbs(nig_mixture(2))
    kernel.run(torch.randn(50, 2), num_draws=50, num_chains=2, seed=7)
    assert {"splits accepted", "merges accepted"} <= kernel.diagnostics().keys()
    assert all(0 <= kernel.diagnostics()[name] <= 1 for name in ("splits accepted", "merges accepted"))


def test_refuses_families_without_compiled_draws_weights_and_constraints():
    for name in NOT_DRAWN:
        model = Mixture(POSTERIOR_PRIORS["restaurant"], POSTERIOR_FAMILIES[name])
        assert not can_draw_at_once(model)
        with pytest.raises(ValueError, match="expected a family whose parameters"):
            BlockedGibbs(model)
    with pytest.raises(ValueError, match="weights of rows"):
        BlockedGibbs(niw_mixture(2).weighted([1, 2]))
    with pytest.raises(ValueError, match="made of compiled moves"):
        ParallelTempering(BlockedGibbs(niw_mixture(2)))
