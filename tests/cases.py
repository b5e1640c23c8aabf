"""The families, priors and kernels that the contract tests run on, and which cases stand for a whole grid.

A new family, prior or kernel gets a line here and is then tested wherever all of its kind are;
``test_suite.py`` fails while one is missing.
"""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
import torch
from pyro.distributions import Beta, Categorical, Gamma, Geometric, NegativeBinomial, Poisson

from pyroclust.distributions import (
    BernoulliBeta,
    BinomialBeta,
    Categories,
    CensoredNormal,
    ChineseRestaurantPrior,
    Circular,
    DirichletMultinomialPrior,
    DynamicMixturesPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    MultinomialDirichlet,
    NegativeBinomialBeta,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OrderedLevels,
    PartitionPrior,
    PartlyObserved,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    student_t,
    von_mises,
)
from pyroclust.distributions.protocols import is_of_graphs, points_shape
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    BlockedGibbs,
    CollapsedGibbs,
    Compose,
    GuideProposal,
    MergeSplit,
    ParallelTempering,
    SplitMerge,
    UniformBlocks,
)
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture


def some_of(grid: Iterable[tuple[Any, ...]], chosen: Collection[tuple[Any, ...]]) -> list[Any]:
    """Return the cases of a grid as parameters: all but the chosen ones are left to ``make prove``."""
    every = list(grid)
    assert set(chosen) <= set(every)
    return [
        pytest.param(*case, id="-".join(map(str, case)), marks=() if case in chosen else pytest.mark.prove)
        for case in every
    ]


def short_and_long(name: str, short: int, long: int) -> pytest.MarkDecorator:
    """Give a test a size: the short one, and the long one, which is left to ``make prove``."""
    return pytest.mark.parametrize(name, [short, pytest.param(long, marks=pytest.mark.prove)])


CONJUGATE = {
    "known_1": NormalKnownVariance(1, 3.0, scale=0.7),
    "known_3": NormalKnownVariance(3, 10.0, mean=4.0),
    "gamma_1": NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1),
    "gamma_3": NormalInverseGamma(3, 0.5, shape=3.0, rate=2.0, mean=-2.0),
    "wishart_1": NormalInverseWishart(1, 0.05, dof=3.0, scale=0.1),
    "wishart_2": NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3, mean=3.0),
    "wishart_3": NormalInverseWishart(3, 0.05, dof=5.0, scale=0.1),
    "independent_1": NormalIndependent(1.0, 4.0, shape=2.0, rate=1.0),
    "independent_2": NormalIndependent(-3.0, 0.5, shape=4.0, rate=2.0, dim=2),
    "bernoulli_1": BernoulliBeta(1, 0.6, beta=1.3),
    "bernoulli_4": BernoulliBeta(4),
    "poisson_1": PoissonGamma(1, 1.5, rate=0.8),
    "poisson_2": PoissonGamma(2, 3.0, rate=0.5),
    "multinomial_2": MultinomialDirichlet(2, 0.8),
    "multinomial_3": MultinomialDirichlet(3, 0.7, total=4),
    "categories_1": Categories([3], 0.7),
    "categories_3": Categories([2, 4, 3], 1.3),
    "ordered_1": OrderedLevels([4]),
    "ordered_2": OrderedLevels([3, 5]),
    "binomial": BinomialBeta(0.7, beta=1.4, trials=(0, 3, 8)),
    "ceiling": CensoredNormal(high=0.4, kappa=0.5, shape=2.0, rate=0.7),
    "censored": CensoredNormal(-0.7, 0.9, kappa=0.8, shape=3.0, rate=2.0, mean=0.3),
    "circular_1": Circular(period=24.0),
    "circular_2": Circular(2, period=360.0),
    "negative_1": NegativeBinomialBeta(mean=2.0),
    "negative_2": NegativeBinomialBeta(2, mean=0.7),
    "partly_1": PartlyObserved(NormalInverseGamma(1, 0.5, shape=3.0, rate=2.0), 1),
    "partly_3": PartlyObserved(PoissonGamma(1, 1.5, rate=0.8), 3),
    "product": Product(
        [NormalInverseGamma(2, 0.5, shape=3.0, rate=2.0), BernoulliBeta(1), PoissonGamma(1, 2.0, rate=1.0)]
    ),
}
NOT_CONJUGATE = {
    "student_t_1": student_t(),
    "student_t_2": student_t(2, dof=3.0),
    "von_mises_1": von_mises(),
    "von_mises_2": von_mises(2, shape=3.0, rate=1.0),
}
FAMILIES = CONJUGATE | NOT_CONJUGATE

# The families whose points are one of finitely many, with all of them.
FINITE = {
    "bernoulli_1": CONJUGATE["bernoulli_1"],
    "bernoulli_4": CONJUGATE["bernoulli_4"],
    "multinomial_2": CONJUGATE["multinomial_2"],
    "multinomial_3": CONJUGATE["multinomial_3"],
    "categories": Categories([2, 3], 0.6),
    "ordered": OrderedLevels([3, 2]),
    "partly": PartlyObserved(BernoulliBeta(1, 0.6, beta=1.3), 3),
    "pair": Product([BernoulliBeta(1, 0.6, beta=1.3), MultinomialDirichlet(2, 0.8)]),
}

PRIORS: dict[str, PartitionPrior] = {
    "crp": ChineseRestaurantPrior(0.7),
    "crp_large": ChineseRestaurantPrior(12.0),
    "gamma": GammaConcentration(2.0, 2.0),
    "gamma_wide": GammaConcentration(1.0, 0.5),
    "pitman_yor": PitmanYorPrior(0.4, 0.8),
    "pitman_yor_steep": PitmanYorPrior(0.95, 0.1),
    "pitman_yor_flat": PitmanYorPrior(0.0, 1.3),
    "pitman_yor_negative": PitmanYorPrior(0.6, -0.3),
    "dirichlet_multinomial": DirichletMultinomialPrior(3, 0.5),
    "dirichlet_multinomial_one": DirichletMultinomialPrior(1, 0.5),
    "dirichlet_multinomial_many": DirichletMultinomialPrior(1000, 0.01),
    "poisson": FiniteMixturesPrior(1.0, Poisson(torch.tensor(3.0))),
    "geometric": FiniteMixturesPrior(0.4, Geometric(torch.tensor(0.1))),
    "negative_binomial": FiniteMixturesPrior(3.0, NegativeBinomial(2.0, torch.tensor(0.5))),
    "uniform": FiniteMixturesPrior(2.0, Categorical(torch.ones(4))),
    "gaps": FiniteMixturesPrior(0.7, Categorical(torch.tensor([0.5, 0.0, 0.0, 0.3, 0.0, 0.2]))),
}

# Those that are not of Gibbs type: they have no weights of blocks and of the number of clusters.
OTHER_LAWS: dict[str, PartitionPrior] = {
    "dynamic": DynamicMixturesPrior(1.5, Geometric(torch.tensor(0.3))),
    "dynamic_small": DynamicMixturesPrior(0.2, Poisson(torch.tensor(3.0))),
    "dynamic_gaps": DynamicMixturesPrior(4.0, Categorical(torch.tensor([0.5, 0.0, 0.0, 0.3, 0.0, 0.2]))),
}

RANDOM: dict[str, PartitionPrior] = {
    "crp": ChineseRestaurantPrior(Gamma(2.0, 4.0)),
    "pitman_yor": PitmanYorPrior(Beta(1.0, 9.0), Gamma(2.0, 4.0)),
    "pitman_yor_half": PitmanYorPrior(0.5, Gamma(2.0, 4.0)),
    "dirichlet_multinomial": DirichletMultinomialPrior(4, Gamma(2.0, 4.0)),
    "poisson": FiniteMixturesPrior(Gamma(2.0, 4.0), Poisson(torch.tensor(3.0))),
    "dynamic": DynamicMixturesPrior(Gamma(2.0, 4.0), Poisson(torch.tensor(3.0))),
}

# Priors and families for posteriors of seven points that are spread over many partitions.
POSTERIOR_PRIORS = {
    "restaurant": ChineseRestaurantPrior(1.0),
    "gamma_concentration": GammaConcentration(2.0, 2.0),
    "pitman_yor": PitmanYorPrior(0.4, 0.5),
    "finite_mixtures": FiniteMixturesPrior(1.0, Poisson(1.5)),
    "dirichlet_multinomial": DirichletMultinomialPrior(3, 0.8),
    "dynamic_mixtures": DynamicMixturesPrior(3.0, Poisson(3.0)),
}
POSTERIOR_FAMILIES = {
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
    "categories": Categories([3, 2, 4], 0.5),
    "ordered": OrderedLevels([4, 3]),
    "binomial": BinomialBeta(0.5, beta=0.6, trials=(3, 9)),
    "censored": CensoredNormal(-0.5, 0.8, kappa=0.3, shape=2.0, rate=0.5),
    "circular": Circular(2, period=24.0),
    "negative_binomial": NegativeBinomialBeta(2, mean=3.0),
    "partly": PartlyObserved(NormalInverseGamma(1, 0.3, shape=2.0, rate=1.0), 2),
}  # fmt: skip


def guide_proposal(model):
    """Proposals of a guide that knows nothing of this model's prior: exactness must not depend on it."""
    other = Mixture(ChineseRestaurantPrior(3.0), model.component)
    return GuideProposal(model, PredictiveFilter(other), num_proposals=5, blocks=[UniformBlocks(3)])


def compiled_composition(model):
    return Compose([CollapsedGibbs(model), SplitMerge(model), MergeSplit(model)])


def mixed_composition(model):
    return Compose([guide_proposal(model), CollapsedGibbs(model)])


def tempered(model):
    return ParallelTempering(Compose([MergeSplit(model), CollapsedGibbs(model)]), powers=(1.0, 0.6, 0.3))


# How to build a kernel, chains and draws a chain: kernels that work in batches get many chains.
KERNELS = {
    "gibbs": (CollapsedGibbs, 4, 10_000),
    "auxiliary": (AuxiliaryGibbs, 40, 250),
    "blocked": (BlockedGibbs, 4, 10_000),
    "split_merge": (SplitMerge, 4, 20_000),
    "merge_split": (MergeSplit, 4, 20_000),
    "guide": (guide_proposal, 120, 20),
    "compiled_composition": (compiled_composition, 4, 10_000),
    "tempered": (tempered, 4, 4000),
    "mixed_composition": (mixed_composition, 120, 20),
}


def points_for(model: Any, num_points: int) -> torch.Tensor:
    """Return points of the shape that a model has: normal numbers, a graph, or rows of several kinds."""
    component = getattr(model, "component", None)
    if isinstance(component, Product):
        return simulate(model, torch.empty(1, num_points, component.dim))[0][0]
    points = torch.randn(points_shape(model.event_shape, num_points))
    if not is_of_graphs(model):
        return points
    upper = (points > 0).triu(1).double()
    return upper + upper.T


def four_heaps() -> tuple[Mixture, torch.Tensor]:
    """Return a model of two clusters, and heaps at the corners of a square: both halvings are as probable."""
    corner = 0.3 * torch.randn(15, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1.5
    heaps, turn = [corner], torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    for _ in range(3):
        heaps.append(heaps[-1] @ turn)
    return Mixture(DirichletMultinomialPrior(2, 1.0), NormalKnownVariance(2, 3.0)), torch.cat(heaps)
