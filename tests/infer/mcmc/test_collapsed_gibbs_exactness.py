"""The law of CollapsedGibbs against enumeration, for every model and both ways of running it."""

from itertools import cycle

import pytest
import torch
from cases import some_of
from partition_laws import check_law, check_log_joint
from pyro.infer import MCMC
from scipy import stats

from pyroclust.distributions import GammaConcentration, NormalKnownVariance, PartitionPrior
from pyroclust.infer.exact import exact_posterior
from pyroclust.infer.mcmc import CollapsedGibbs, OneCluster, Singletons, assignments
from pyroclust.models import Mixture, gaussian2d, nig_mixture, niw_mixture, overlap2d


class IntegratedConcentration(PartitionPrior):
    """A Gamma concentration through V_N(K) alone, like any Gibbs-type prior: nothing is sampled for it."""

    block_discount = torch.zeros((), dtype=torch.float64)

    def partition(self, num_points):
        raise NotImplementedError

    def _log_v(self, num_points, clusters):
        return GammaConcentration(1.0, 0.2).log_v(num_points, clusters)


CASES = {
    "integrated": (Mixture(IntegratedConcentration(), NormalKnownVariance(1, 2.0), name="integrated"), 2.0),
    "gaussian2d": (gaussian2d(), 4.0),
    "gaussian1d": (gaussian2d(1), 4.0),
    "overlap2d": (overlap2d(), 2.5),
    "nig_1": (nig_mixture(1), 1.0),
    "nig_2": (nig_mixture(2), 1.0),
    "niw_2": (niw_mixture(2), 1.0),
    "niw_3": (niw_mixture(3), 1.0),
}


def points(model, spread):
    """Seven points, the first two close: the posterior is spread over many partitions."""
    torch.manual_seed(11)
    data = spread * torch.randn(7, model.component.dim)
    data[1] = data[0] + 0.1 * torch.randn(model.component.dim)
    return data


@pytest.mark.parametrize(
    ("case", "init"), list(zip(CASES, cycle([OneCluster(), Singletons()]), strict=False))
)
def test_compiled_path_has_the_exact_law(case, init):
    model, spread = CASES[case]
    data = points(model, spread)
    draws = CollapsedGibbs(model, init=init, thin=2).run(
        data, num_draws=40_000, warmup=50, num_chains=2, seed=3
    )
    check_law(model, data, draws.assignments)
    check_log_joint(model, data, draws, last=200, atol=1e-9)


# Under Pyro the same compiled step is called draw by draw.
@pytest.mark.parametrize("case", some_of([(case,) for case in CASES], [("integrated",)]))
def test_mcmc_path_has_the_exact_law(case):
    torch.manual_seed(4)
    model, spread = CASES[case]
    data = points(model, spread)
    mcmc = MCMC(CollapsedGibbs(model, thin=2), num_samples=4000, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    labels = assignments(mcmc)
    check_law(model, data, labels)
    assert torch.allclose(
        mcmc.get_samples(group_by_chain=True)["log_joint"], model.log_joint(data, labels), atol=1e-9
    )


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
