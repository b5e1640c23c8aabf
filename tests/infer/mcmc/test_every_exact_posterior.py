"""Every prior, family and kernel: total variation to the exact posterior of seven points."""

import pytest
import torch
from partition_laws import check_law, effective_partitions
from pyro.distributions import Poisson

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    GuideProposal,
    MergeSplit,
    SplitMerge,
    UniformBlocks,
)
from pyroclust.models import Mixture

PRIORS = {
    "restaurant": ChineseRestaurantPrior(1.0),
    "gamma_concentration": GammaConcentration(2.0, 2.0),
    "pitman_yor": PitmanYorPrior(0.4, 0.5),
    "finite_mixtures": FiniteMixturesPrior(1.0, Poisson(1.5)),
    "dirichlet_multinomial": DirichletMultinomialPrior(3, 0.8),
}
FAMILIES = {
    "known_variance": NormalKnownVariance(2, 2.0, mean=0.5),
    "inverse_gamma": NormalInverseGamma(2, 0.2, shape=2.0, rate=1.0, mean=-0.5),
    "inverse_wishart": NormalInverseWishart(2, 0.2, dof=4.0, scale=1.0),
    "bernoulli": BernoulliBeta(4, 0.4, beta=0.6),
    "poisson": PoissonGamma(2, 1.0, rate=0.2),
    "multinomial": MultinomialDirichlet(3, 0.5, total=4),
    "product": Product(
        [NormalInverseGamma(1, 0.3, shape=2.0, rate=1.0), BernoulliBeta(2, 0.5), PoissonGamma(1, 1.0,
        rate=0.3)]
    ),
    "independent": NormalIndependent(1.0, 4.0, shape=2.0, rate=1.0),
}  # fmt: skip


def guide_proposal(model):
    """Proposals of a guide that knows nothing of this model's prior: exactness must not depend on it."""
    other = Mixture(ChineseRestaurantPrior(3.0), model.component)
    return GuideProposal(model, PredictiveFilter(other), num_proposals=5, blocks=[UniformBlocks(3)])


def compiled_composition(model):
    return Compose([CollapsedGibbs(model), SplitMerge(model), MergeSplit(model)])


def mixed_composition(model):
    return Compose([guide_proposal(model), CollapsedGibbs(model)])


# How to build a kernel, chains and draws a chain: kernels that work in batches get many chains.
KERNELS = {
    "gibbs": (CollapsedGibbs, 4, 10_000),
    "auxiliary": (AuxiliaryGibbs, 40, 250),
    "split_merge": (SplitMerge, 4, 20_000),
    "merge_split": (MergeSplit, 4, 20_000),
    "guide": (guide_proposal, 40, 60),
    "compiled_composition": (compiled_composition, 4, 10_000),
    "mixed_composition": (mixed_composition, 40, 60),
}


def seven_points(component):
    """Seven points from three clusters of the family."""
    torch.manual_seed(8)
    return component.sample(torch.tensor([0, 0, 1, 1, 1, 2, 0])).double()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prior", PRIORS)
def test_exact_law(prior, family, kernel):
    component = FAMILIES[family]
    model, data = Mixture(PRIORS[prior], component), seven_points(component)
    exact = exact_posterior(model, data)
    assert effective_partitions(exact[1]) > 3
    build, num_chains, num_draws = KERNELS[kernel]
    draws = build(model).run(data, num_draws=num_draws, warmup=20, num_chains=num_chains, seed=1)
    check_law(model, data, draws.assignments, exact)
