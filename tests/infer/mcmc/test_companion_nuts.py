"""NUTS on companion programs against exact posteriors over partitions."""

from contextlib import nullcontext

import pyro.distributions as dist
import pytest
import torch
from pyro.infer import MCMC

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
from pyroclust.infer.mcmc.joint import log_joint
from pyroclust.models import Mixture, companion
from pyroclust.partitions import enumerate_partitions

DATA = torch.tensor([[-2.1], [-1.9], [-0.4], [0.2], [0.9], [2.0], [2.6]], dtype=torch.float64)


def exact_student_t_posterior(model, data):
    """Integrate the parameters of every possible block on a grid, and normalise over all partitions."""
    family = model.component
    loc = torch.linspace(-9, 9, 500, dtype=torch.float64)
    precision = torch.linspace(-6, 7, 300, dtype=torch.float64).exp()
    grid = torch.cartesian_prod(loc, precision)
    parameters = {"loc": grid[:, :1], "precision": grid[:, 1:]}
    log_prior = family.log_prior(parameters).double() + grid[:, 1].log()
    log_likelihood = family.likelihood(parameters).log_prob(data.unsqueeze(1))
    blocks = torch.tensor([[float(bool(code & 1 << i)) for i in range(len(data))] for code in range(1 << len(data))])
    log_block = (blocks.double() @ log_likelihood + log_prior).logsumexp(-1)
    log_block = log_block - log_block[0]
    partitions = enumerate_partitions(len(data))
    codes = torch.zeros(len(partitions), len(data), dtype=torch.int64)
    codes.scatter_add_(1, partitions, (1 << torch.arange(len(data))).expand_as(partitions))
    return partitions, (log_block[codes].sum(-1) + model.prior.log_prob(partitions)).log_softmax(0)


def functionals(partitions):
    """Return co-assignments of all pairs, and indicators of the number of clusters."""
    first, second = torch.triu_indices(7, 7, 1)
    together = partitions[..., first] == partitions[..., second]
    clusters = partitions.amax(-1, keepdim=True) == torch.arange(4)
    return torch.cat([together, clusters], -1).double()


def check_against(draws, partitions, log_probs):
    truth = log_probs.exp() @ functionals(partitions)
    found = functionals(draws)
    assert (found.mean((0, 1))[truth < 1e-12] == 0).all()
    free = (truth > 0.01) & (truth < 0.99)
    assert free.sum() > 20
    truth, found = truth[free], found[..., free]
    size = torch.tensor([float(ess(one)) for one in found.movedim(-1, 0).numpy()])
    assert size.min() > 40
    assert ((found.mean((0, 1)) - truth).abs() < 4.5 * (truth * (1 - truth) / size).sqrt()).all()


CASES = {
    "finite": (Mixture(DirichletMultinomialPrior(3, 1.0), NormalKnownVariance(1, 2.0)), None, exact_posterior),
    "truncated": (Mixture(ChineseRestaurantPrior(0.6), NormalKnownVariance(1, 2.0)), 7, exact_posterior),
    "student_t": (Mixture(DirichletMultinomialPrior(2, 1.5), student_t()), None, exact_student_t_posterior),
}


@pytest.mark.parametrize(("model", "num_components", "oracle"), CASES.values(), ids=CASES)
def test_partitions_have_the_exact_posterior(model, num_components, oracle):
    kernel = CompanionNUTS(companion(model, num_components), max_tree_depth=5)
    draws = kernel.run(DATA, num_draws=400, warmup=120, num_chains=1, seed=1)
    check_against(draws.assignments, *oracle(model, DATA))
    assert kernel.diagnostics()["divergences"] == []


@pytest.fixture(scope="module")
def short_run():
    prior = FiniteMixturesPrior(dist.Gamma(2.0, 2.0), dist.Poisson(1.0))
    model = Mixture(prior, NormalInverseGamma(1, 0.1, shape=2.0, rate=dist.Gamma(2.0, 2.0)))
    mcmc = MCMC(
        CompanionNUTS(companion(model, 4), max_tree_depth=3),
        num_samples=12,
        warmup_steps=8,
        num_chains=2,
        mp_context="fork",
        disable_progbar=True,
    )
    torch.manual_seed(3)
    with pytest.warns(UserWarning, match="num_chains") if torch.multiprocessing.cpu_count() < 3 else nullcontext():
        mcmc.run(DATA)
    return model, mcmc


def test_sites_under_pyro(short_run):
    model, mcmc = short_run
    samples = mcmc.get_samples(group_by_chain=True)
    continuous = {"gammas": (4,), "loc": (4, 1), "variance": (4, 1), "rate": (), "weight_concentration": ()}
    shapes = {**continuous, "assignments": (7,), "log_joint": (), "num_clusters": ()}
    assert {name: tuple(one.shape[2:]) for name, one in samples.items()} == shapes
    assert (samples["variance"] > 0).all()
    labels = assignments(mcmc)
    assert torch.equal(samples["num_clusters"], labels.amax(-1).double() + 1)
    hyper = {name: samples[name] for name in model.hyperpriors}
    assert torch.allclose(samples["log_joint"], log_joint(model, DATA, labels, hyper))
    assert not torch.equal(labels[0], labels[1])


def test_diagnostics_list_divergences(short_run):
    divergences = short_run[1].diagnostics()["divergences"]
    assert all(isinstance(one, list) for one in divergences.values())
