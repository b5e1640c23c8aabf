"""NUTS on companion programs against exact posteriors over partitions."""

import signal

import numpy as np
import pyro.distributions as dist
import pytest
import torch
from cases import some_of
from partition_laws import check_log_joint, log_subsets, posterior_of_subsets
from pyro.infer import MCMC, NUTS

from pyroclust.diagnostics import ess
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalKnownVariance,
    student_t,
)
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import CompanionNUTS, assignments
from pyroclust.infer.mcmc.companion_nuts import partitions_given
from pyroclust.infer.mcmc.states import log_joint
from pyroclust.models import Mixture, companion
from pyroclust.partitions import is_canonical

DATA = torch.tensor([[-2.1], [0.9], [2.6], [-1.9], [0.2], [2.0], [-0.4]], dtype=torch.float64)


def exact_student_t_posterior(model, data):
    loc = torch.linspace(-9, 9, 500, dtype=torch.float64)
    level = torch.linspace(-6, 7, 300, dtype=torch.float64)
    return posterior_of_subsets(model.prior, log_subsets(model.component, data, loc, level))


def functionals(partitions):
    """Return co-assignments of all pairs, and indicators of the number of clusters."""
    first, second = torch.triu_indices(7, 7, 1)
    together = partitions[..., first] == partitions[..., second]
    clusters = partitions.amax(-1, keepdim=True) == torch.arange(4)
    return torch.cat([together, clusters], -1).double()


def check_against(draws, partitions, log_probs, *, least_ess):
    truth = log_probs.exp() @ functionals(partitions)
    found = functionals(draws)
    assert (found.mean((0, 1))[truth < 1e-12] == 0).all()
    free = (truth > 0.01) & (truth < 0.99)
    assert free.sum() > 20
    truth, found = truth[free], found[..., free]
    size = torch.tensor([float(ess(one)) for one in found.movedim(-1, 0).numpy()])
    assert size.min() > least_ess
    assert ((found.mean((0, 1)) - truth).abs() < 3.5 * (truth * (1 - truth) / size).sqrt()).all()


CASES = {
    "finite": (DirichletMultinomialPrior(3, 1.0), NormalKnownVariance(1, 2.0), None, 900, 60),
    "truncated": (ChineseRestaurantPrior(0.6), NormalKnownVariance(1, 2.0), 7, 600, 60),
    "student_t": (DirichletMultinomialPrior(2, 1.5), student_t(), None, 800, 60),
    "student_t, short": (DirichletMultinomialPrior(2, 1.5), student_t(), None, 250, 30),
}


# The truncated restaurant differs from a finite mixture in the program alone, whose law has its own tests;
# normal clusters differ from Student-t ones in the component alone.
@pytest.mark.parametrize("case", some_of([(case,) for case in CASES], [("student_t, short",)]))
def test_partitions_have_the_exact_posterior(case):
    prior, component, num_components, num_draws, least_ess = CASES[case]
    model = Mixture(prior, component)
    kernel = CompanionNUTS(companion(model, num_components), max_tree_depth=4)
    draws = kernel.run(DATA, num_draws=num_draws, warmup=100, num_chains=1, seed=1)
    conjugate = isinstance(component, NormalKnownVariance)
    oracle = exact_posterior if conjugate else exact_student_t_posterior
    check_against(torch.from_numpy(draws.assignments), *oracle(model, DATA), least_ess=least_ess)
    assert kernel.diagnostics()["divergences"] == []


PRIOR = FiniteMixturesPrior(dist.Gamma(2.0, 2.0), dist.Poisson(1.0))
MODEL = Mixture(PRIOR, NormalInverseGamma(1, 0.1, shape=2.0, rate=dist.Gamma(2.0, 2.0)))


def run_under_pyro(kernel):
    mcmc = MCMC(kernel, num_samples=12, warmup_steps=8, disable_progbar=True)
    torch.manual_seed(3)
    mcmc.run(DATA)
    return mcmc


def test_sites_under_pyro():
    kernel = CompanionNUTS(companion(MODEL, 4), max_tree_depth=3)
    assert kernel.diagnostics() == {"divergences": []}
    mcmc = run_under_pyro(kernel)
    samples = mcmc.get_samples(group_by_chain=True)
    continuous = {"gammas": (4,), "loc": (4, 1), "variance": (4, 1), "rate": (), "weight_concentration": ()}
    shapes = {**continuous, "assignments": (7,), "log_joint": (), "num_clusters": ()}
    assert {name: tuple(one.shape[2:]) for name, one in samples.items()} == shapes
    assert (samples["variance"] > 0).all()
    labels = assignments(mcmc)
    assert torch.equal(samples["num_clusters"], labels.amax(-1).double() + 1)
    hyper = {name: samples[name] for name in MODEL.hyperpriors}
    assert torch.allclose(samples["log_joint"], log_joint(MODEL, DATA, labels, hyper))
    assert isinstance(mcmc.diagnostics()["divergences"]["chain 0"], list)
    again = run_under_pyro(kernel).get_samples(group_by_chain=True)
    assert all(torch.equal(again[name], one) for name, one in samples.items())


def test_run_returns_hyperparameters():
    kernel = CompanionNUTS(companion(MODEL, 3), max_tree_depth=2)
    draws = kernel.run(DATA, num_draws=6, warmup=4, num_chains=2, seed=5)
    assert draws.assignments.shape == (2, 6, 7)
    labels = torch.from_numpy(draws.assignments)
    assert is_canonical(labels).all()
    assert set(draws.parameters) == {"rate", "weight_concentration"}
    hyper = {name: torch.from_numpy(values) for name, values in draws.parameters.items()}
    assert draws.log_joint == pytest.approx(log_joint(MODEL, DATA, labels, hyper).numpy())
    assert not np.array_equal(*draws.parameters["rate"])


def test_concentration_of_a_gamma_prior_is_reported():
    model = Mixture(GammaConcentration(2.0, 4.0), NormalKnownVariance(1, 2.0))
    kernel = CompanionNUTS(companion(model, 3), max_tree_depth=2)
    draws = kernel.run(DATA, num_draws=4, warmup=4, num_chains=1, seed=0)
    assert (draws.parameters["concentration"] > 0).all()
    check_log_joint(model, DATA, draws)


def test_log_joint_of_other_families_counts_occupied_parameters():
    model = Mixture(ChineseRestaurantPrior(0.6), student_t())
    values = {
        "sticks": torch.tensor([[0.5, 0.9]], dtype=torch.float64),
        "loc": torch.tensor([[[-2.0], [2.0], [500.0]]], dtype=torch.float64),
        "precision": torch.tensor([[[4.0], [4.0], [4.0]]], dtype=torch.float64),
    }
    states = partitions_given(companion(model, 3), DATA, values)
    labels = states.assignments[0]
    assert labels.max() == 1
    first = 0 if labels[0] == 0 else 1
    centre = torch.where(labels == 0, -2.0, 2.0).double()
    points = dist.StudentT(4.0, centre, 0.5).log_prob(DATA[:, 0]).sum()
    prior = dist.Normal(0.0, 1.6).log_prob(torch.tensor([-2.0, 2.0])) + dist.Gamma(2.0, 0.2).log_prob(
        torch.tensor(4.0)
    )
    assert first == 0
    expected = points + prior.sum() + model.prior.log_prob(labels)
    assert states.log_joint.item() == pytest.approx(expected.item(), rel=1e-6)


def test_chains_start_where_they_are_told():
    kernel = CompanionNUTS(companion(MODEL, 3), max_tree_depth=2)
    kernel.setup(5, DATA)
    start = {name: one + 0.1 for name, one in kernel.initial_params.items() if name in kernel.transforms}
    kernel.initial_params = {**start, "assignments": torch.zeros(7)}
    kernel.setup(5, DATA)
    assert all(torch.equal(kernel.initial_params[name], one) for name, one in start.items())
    kernel.setup(5, DATA)
    assert not any(torch.equal(kernel.initial_params[name], one) for name, one in start.items())


def test_interrupt_keeps_whole_chains(monkeypatch):
    kernel = CompanionNUTS(companion(MODEL, 3), max_tree_depth=2)
    plain, left = NUTS.sample, [0]

    def sample(self, params):
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        return plain(self, params)

    def run_until(step):
        left[0] = step
        return kernel.run(DATA, num_draws=6, warmup=4, num_chains=2, seed=5)

    monkeypatch.setattr(NUTS, "sample", sample)
    second, first = run_until(16), run_until(8)
    assert second.interrupted
    assert first.interrupted
    assert second.assignments.shape[:2] == (1, 6)
    assert first.assignments.shape[:2] == (1, 4)
    with pytest.raises(KeyboardInterrupt):
        run_until(3)


@pytest.mark.parametrize(
    ("data", "counts", "message"),
    [
        (DATA[:, [0, 0]], {}, r"data has shape \(7, 2\)"),
        (DATA * torch.nan, {}, "data holds 7 nan"),
        (DATA, {"warmup": 0}, "warmup is 0, expected at least 1"),
    ],
)
def test_errors(data, counts, message):
    kernel = CompanionNUTS(companion(MODEL, 3))
    with pytest.raises(ValueError, match=message):
        kernel.run(data, **{"num_draws": 5, "warmup": 5, **counts})
