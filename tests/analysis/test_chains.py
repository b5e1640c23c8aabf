"""Chains of ``compare``: they go on until they have converged, and say where they have not."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from cases import four_heaps
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from pyroclust.analysis import chains as module
from pyroclust.analysis.chains import draw_mcmc, draw_populations, overdispersed_starts
from pyroclust.analysis.steps import Settings
from pyroclust.distributions import ChineseRestaurantPrior, OrderedLevels, student_t
from pyroclust.infer.mcmc import chains as runner
from pyroclust.infer.mcmc.named_kernels import kernel_names
from pyroclust.models import Mixture, gaussian2d, niw_mixture
from pyroclust.partitions import is_canonical, num_clusters

LONG = Settings(mcmc_draws=400, thorough=True)
APART = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [30.0, 0.0], [30.0, 0.3]], dtype=torch.float64)


@pytest.fixture(scope="module")
def wine():
    points = load_wine().data
    return torch.tensor((points - points.mean(0)) / points.std(0))


def draws_of(data, tell=lambda stage: None, **settings):
    return draw_mcmc(gaussian2d(), data, Settings(**{"mcmc_draws": 200} | settings), seed=0, tell=tell)


def test_easy_points_need_one_round():
    found = draws_of(APART)
    assert found.more_seconds == 0
    assert found.draws.name == "merge-split+gibbs"
    assert found.draws.assignments.shape == (4, 200, 5)
    assert "450 sweeps each" in found.notes[0]
    assert 0 < found.draws.seconds_warmup < found.draws.seconds
    assert len(found.notes) == 1


def test_rounds_double_until_the_limit_of_sweeps(monkeypatch):
    stages = []
    monkeypatch.setattr(module, "have_converged_well", lambda rows: False)
    monkeypatch.setattr(runner, "MOST_SWEEPS", 3000)
    found = draws_of(APART, tell=stages.append)
    # A warm-up of 50, then 400, 800 and 1,600 sweeps.
    assert "2,850 sweeps each" in found.notes[0]
    assert [text.split(" sweeps")[0] for text in stages] == [
        "no convergence after 450",
        "no convergence after 1,250",
    ]
    assert found.more_seconds > 0
    assert "--warmup" in found.notes[1]
    assert "--chains" in found.notes[1]
    assert "split-merge+gibbs" in found.notes[1]


@pytest.mark.parametrize(
    ("is_thorough", "rhat", "sweeps"), [(False, 1.03, "2,850"), (True, 1.03, "12,450"), (True, 1.2, "2,850")]
)
def test_thorough_chains_go_further_where_they_have_roughly_converged(monkeypatch, is_thorough, rhat, sweeps):
    monkeypatch.setattr(module, "have_converged_well", lambda rows: False)
    monkeypatch.setattr(module, "max_rhat", lambda rows: rhat)
    monkeypatch.setattr(module, "populations_may_take", lambda seconds: False)
    monkeypatch.setattr(runner, "MOST_SWEEPS", 3000)
    assert f"{sweeps} sweeps each" in draws_of(APART, thorough=is_thorough).notes[0]


@pytest.mark.parametrize(
    ("settings", "seconds", "sweeps"),
    [
        ({}, 0.0, "450"),
        ({"warmup": 30}, 60.0, "2,030"),
        # So few draws are not judged.
        ({"mcmc_draws": 20, "num_chains": 2}, 60.0, "205"),
    ],
)
def test_rounds_stop_at_the_limit_of_seconds_and_fixed_lengths_are_kept_to(
    settings, seconds, sweeps, monkeypatch
):
    monkeypatch.setattr(module, "have_converged_well", lambda rows: False)
    monkeypatch.setattr(module, "chain_seconds", lambda rows, columns: seconds)
    assert f"{sweeps} sweeps each" in draws_of(APART, **settings).notes[0]


@pytest.mark.parametrize(("budget", "sweeps"), [(0.0, 450), (1249.0, 450), (1250.0, 1250), (np.inf, 2850)])
def test_seconds_of_all_rounds_are_told_from_those_of_a_sweep(budget, sweeps, monkeypatch):
    monkeypatch.setattr(module, "MOST_SWEEPS", 3000)
    found = module._most_seconds(5, 1.0, budget, first=450, num_draws=200, num_chains=4)
    assert found == sweeps


def test_what_chains_take_is_said_by_their_first_sweeps_within_a_factor_of_two(monkeypatch):
    stages = []
    monkeypatch.setattr("pyroclust.infer.mcmc.kernel._SECONDS_TO_TELL", 0.1)
    monkeypatch.setattr("pyroclust.core.large_tables._LONG_SECONDS", 0.0)
    monkeypatch.setattr(module, "duration", str)
    levels = torch.tensor(np.random.default_rng(0).integers(5, size=(80, 4)), dtype=torch.float64)
    model = Mixture(ChineseRestaurantPrior(0.5), OrderedLevels([5] * 4))
    began = time.process_time()
    draw_mcmc(model, levels, Settings(mcmc_draws=100, warmup=25), seed=0, tell=stages.append)
    spent = time.process_time() - began
    (said,) = [one for one in stages if one.startswith("chains take")]
    assert said.endswith(" of processor time; quicker: take --mcmc-draws 25")
    assert 0.5 < float(said.split("about ")[1].split()[0]) / spent < 2


def test_starts_that_take_long_are_said_before_chains(monkeypatch, wine):
    stages = []
    monkeypatch.setattr("pyroclust.infer.mcmc.kernel._SECONDS_TO_TELL", 0.0)
    monkeypatch.setattr("pyroclust.core.large_tables._LONG_SECONDS", 0.0)
    monkeypatch.setattr(module, "duration", str)
    draw_mcmc(niw_mixture(13), wine, Settings(mcmc_draws=10, warmup=1), seed=0, tell=stages.append)
    first, second, *_ = stages
    assert first.startswith("starts of chains take about ")
    assert first.endswith("ten times as much; quicker: take fewer columns or rows, or --family diagonal")
    assert second.startswith("chains take")


def test_stuck_chains_are_named(wine):
    # In 13 dimensions Gibbs sweeps leave chains that began with many clusters where they are.
    found = draw_mcmc(niw_mixture(13), wine, Settings(mcmc_draws=20, kernel="gibbs", warmup=100), seed=0)
    assert found.draws.name == "gibbs"
    assert "MCMC has not converged well after 300 sweeps a chain" in found.notes[1]
    assert "Take --thorough, --warmup 1200 (about " in found.notes[1]


@pytest.mark.parametrize("kernel", [name for name in kernel_names() if name != "auxiliary"])
def test_every_kernel_finds_both_groups(kernel):
    found = draws_of(APART, kernel=kernel, warmup=100)
    together = (found.draws.assignments == found.draws.assignments[..., :1]).mean((0, 1))
    np.testing.assert_allclose(together, [1, 1, 1, 0, 0], atol=0.2)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel: unknown kernel 'gibs', did you mean 'gibbs'\?"):
        draws_of(APART, kernel="gibs")


def test_ctrl_c_keeps_the_last_whole_round(monkeypatch):
    draw, rounds = module.Chains.draw, []

    def stop_later(*args, **kwargs):
        if len(rounds) == 2:
            raise KeyboardInterrupt
        rounds.append(draw(*args, **kwargs))
        return rounds[-1]

    monkeypatch.setattr(module, "have_converged_well", lambda rows: False)
    monkeypatch.setattr(module.Chains, "draw", stop_later)
    found = draws_of(APART).draws
    assert found.interrupted
    np.testing.assert_array_equal(found.assignments, rounds[1].assignments)


@pytest.fixture(scope="module")
def populations():
    """Populations of the four heaps, which are drawn once."""
    return {}


@pytest.fixture
def two_halvings(monkeypatch, populations):
    """Four heaps at the corners of a square, in two clusters: a chain keeps one halving of them."""
    monkeypatch.setattr(runner, "MOST_SWEEPS", 2000)
    monkeypatch.setattr("pyroclust.analysis.chains._PARTICLES", 100)

    def drawn_once(*args, **settings):
        if not populations:
            populations["drawn"] = draw_populations(*args, **settings)
        return populations["drawn"]

    monkeypatch.setattr(module, "draw_populations", drawn_once)
    return four_heaps()


def test_populations_are_drawn_where_chains_do_not_meet(two_halvings):
    found = draw_mcmc(*two_halvings, LONG, seed=1)
    draws = found.draws.assignments
    assert found.draws.name == "tempered populations"
    assert draws.shape == (4, 400, 60)
    shares = [(draws[..., 0] == draws[..., other]).mean(1) for other in (15, 45)]
    assert np.abs(shares[0] - shares[1]).max() < 0.5
    assert "MCMC has not converged" in found.notes[1]
    assert "4 independent populations of 100 partitions" in found.notes[2]
    assert "are nearer to one another" in found.notes[2]
    assert found.evidences[0].is_reliable


def test_populations_that_would_take_long_are_offered(two_halvings, monkeypatch):
    monkeypatch.setattr(module, "populations_may_take", lambda seconds: False)
    found = draw_mcmc(*two_halvings, LONG, seed=1)
    assert found.draws.name == "merge-split+gibbs"
    assert "they would take about" in found.notes[2]


def test_populations_that_are_no_nearer_are_left_out(two_halvings, monkeypatch):
    monkeypatch.setattr(module, "max_rhat", lambda rows: 2.0)
    found = draw_mcmc(*two_halvings, LONG, seed=1)
    assert found.draws.name == "merge-split+gibbs"
    assert "were left out" in found.notes[2]
    assert len(found.evidences) == 1


def test_populations_that_have_missed_a_chain_are_left_out(two_halvings, monkeypatch):
    once = module.draw_populations

    def worse(*args, **settings):
        draws, *others = once(*args, **settings)
        return replace(draws, log_joint=draws.log_joint - 20), *others

    monkeypatch.setattr(module, "draw_populations", worse)
    found = draw_mcmc(*two_halvings, LONG, seed=1)
    assert found.draws.name == "merge-split+gibbs"
    assert "have missed" in found.notes[2]
    assert found.evidences == ()


def test_a_kernel_that_is_named_is_kept_to(two_halvings):
    found = draw_mcmc(*two_halvings, replace(LONG, kernel="gibbs"), seed=1)
    assert found.draws.name == "gibbs"
    assert len(found.notes) == 2


def test_one_half_has_few_clusters_and_the_other_many(wine):
    starts, seconds = overdispersed_starts(niw_mixture(13), wine, num_chains=5, seed=0)
    assert starts.draws.shape == (5, len(wine))
    assert is_canonical(starts.draws).all()
    counts = num_clusters(starts.draws)
    assert counts[:3].max() * 2 < counts[3:].min()
    assert seconds > 0
    alone, _ = overdispersed_starts(niw_mixture(13), wine, num_chains=1, seed=0)
    assert int(num_clusters(alone.draws)[0]) < 20


def test_starts_are_those_of_their_seed_and_leave_the_state_alone(wine):
    model, data = niw_mixture(2), wine[:, :2]
    before = torch.get_rng_state()
    one, again, other = (
        overdispersed_starts(model, data, num_chains=4, seed=seed)[0].draws for seed in (3, 3, 4)
    )
    assert one.equal(again)
    assert not one.equal(other)
    assert torch.get_rng_state().equal(before)
    # Draws of the filter are independent of one another.
    assert not one[2].equal(one[3])


def test_without_a_filter_the_other_half_is_overdispersed():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t(2))
    data = torch.from_numpy(np.random.default_rng(0).standard_normal((12, 2)))
    starts, _ = overdispersed_starts(model, data, num_chains=4, seed=0)
    assert starts.draws.shape == (4, 12)
    assert is_canonical(starts.draws).all()


def test_large_tables_start_where_chains_on_subsamples_that_grow_have_come(monkeypatch):
    for name, value in (("ALL_AT_ONCE", 1000), ("SUBSAMPLE", 50), ("GROWTH", 4)):
        monkeypatch.setattr(module, name, value)
    model, truth = niw_mixture(2), np.arange(3000) % 9
    torch.manual_seed(0)
    data = (3 * torch.randn(9, 2))[truth].double() + 0.3 * torch.randn(3000, 2).double()
    starts, seconds = overdispersed_starts(model, data, num_chains=4, seed=1)
    assert starts.draws.shape == (4, 3000)
    assert is_canonical(starts.draws).all()
    assert min(adjusted_rand_score(truth, one) for one in starts.draws) > 0.9
    assert seconds > 0
