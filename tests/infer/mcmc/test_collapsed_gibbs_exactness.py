"""The law of CollapsedGibbs against enumeration, for every model and both ways of running it."""

import pytest
import torch
from partition_laws import check_law, check_log_joint
from pyro.infer import MCMC
from scipy import stats

from pyroclust.distributions import GammaConcentration, NormalKnownVariance, PartitionPrior
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.mcmc import CollapsedGibbs, OneCluster, Singletons, assignments
from pyroclust.models import Mixture, gaussian2d, nig_mixture, niw_mixture


class IntegratedConcentration(PartitionPrior):
    """A Gamma concentration through V_N(K) alone, like any Gibbs-type prior: nothing is sampled for it."""

    block_discount = torch.zeros((), dtype=torch.float64)

    def partition(self, num_points):
        raise NotImplementedError

    def _log_v(self, num_points, clusters):
        return GammaConcentration(1.0, 0.2).log_v(num_points, clusters)


INTEGRATED = Mixture(IntegratedConcentration(), NormalKnownVariance(1, 2.0), name="integrated")


def points(model, spread):
    """Seven points, the first two close: the posterior is spread over many partitions."""
    torch.manual_seed(11)
    data = spread * torch.randn(7, model.component.dim)
    data[1] = data[0] + 0.1 * torch.randn(model.component.dim)
    return data


# Other priors and families are in test_every_exact_posterior.py.
@pytest.mark.parametrize("init", [OneCluster(), Singletons()])
def test_compiled_path_has_the_exact_law(init):
    data = points(INTEGRATED, 2.0)
    kernel = CollapsedGibbs(INTEGRATED, init=init, thin=2)
    draws = kernel.run(data, num_draws=40_000, warmup=50, num_chains=2, seed=3)
    check_law(INTEGRATED, data, draws.assignments)
    check_log_joint(INTEGRATED, data, draws, last=200, atol=1e-9)


# Under Pyro the same compiled step is called draw by draw.
def test_mcmc_path_has_the_exact_law():
    torch.manual_seed(4)
    data = points(INTEGRATED, 2.0)
    kernel = CollapsedGibbs(INTEGRATED, thin=2)
    mcmc = MCMC(kernel, num_samples=4000, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    labels = assignments(mcmc)
    check_law(INTEGRATED, data, labels)
    log_joint = mcmc.get_samples(group_by_chain=True)["log_joint"]
    assert torch.allclose(log_joint, INTEGRATED.log_joint(data, labels), atol=1e-9)


def test_concentration_has_the_exact_posterior():
    """p(alpha | x) = sum_K p(K | x) p(alpha | K), and p(alpha | K) is known up to a constant."""
    model = nig_mixture(2)
    data = points(model, 1.0)
    partitions, log_probs = exact_posterior(model, data)
    by_clusters = torch.zeros(7, dtype=torch.float64).index_add_(0, partitions.amax(-1), log_probs.exp())
    alpha = torch.linspace(1e-4, 20, 200_001, dtype=torch.float64)
    density = torch.zeros_like(alpha)
    for clusters in range(1, 8):
        log_term = (
            (clusters + 1) * alpha.log() - model.prior.rate * alpha + alpha.lgamma() - (alpha + 7).lgamma()
        )
        term = log_term.exp()
        density += by_clusters[clusters - 1] * term / term.sum()
    distribution = density.cumsum(0)
    draws = (
        CollapsedGibbs(model, thin=20)
        .run(data, num_draws=4000, warmup=20, num_chains=2, seed=5)
        .parameters["concentration"]
    )
    uniform = distribution[torch.searchsorted(alpha, torch.from_numpy(draws.ravel())).clamp(max=200_000)]
    assert stats.kstest(uniform.numpy(), "uniform").pvalue > 1e-3
    assert stats.kstest(0.9 * draws.ravel(), draws.ravel()).pvalue < 1e-3


@pytest.mark.parametrize("model", [gaussian2d(), nig_mixture(2), niw_mixture(3)], ids=lambda m: m.name)
def test_long_chains_do_not_drift(model):
    torch.manual_seed(6)
    data = torch.randn(60, model.component.dim) + 50
    draws = CollapsedGibbs(model, thin=50).run(data, num_draws=100, num_chains=1, seed=7)
    check_log_joint(model, data, draws, rtol=1e-10, atol=1e-7)


def test_many_dimensions():
    """Far points overflow a plain product over dimensions; the law is still the model's."""
    torch.manual_seed(8)
    model = nig_mixture(200)
    data = torch.cat([torch.zeros(6, 200), torch.full((6, 200), 1e4)]) + 0.1 * torch.randn(12, 200)
    draws = CollapsedGibbs(model, init=Singletons()).run(data, num_draws=20, warmup=50, num_chains=2, seed=9)
    assert (draws.assignments == [0] * 6 + [1] * 6).all()
    check_log_joint(model, data, draws, rtol=1e-9)
