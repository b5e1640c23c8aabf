"""One of each partition prior and more, with what the tests of all of them share."""

import pyro
import torch
from pyro.distributions import Beta, Categorical, Gamma, Geometric, NegativeBinomial, Poisson
from scipy.stats import chi2
from torch import Tensor

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    PartitionPrior,
    PitmanYorPrior,
)
from pyroclust.partitions import enumerate_partitions

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

RANDOM: dict[str, PartitionPrior] = {
    "crp": ChineseRestaurantPrior(Gamma(2.0, 4.0)),
    "pitman_yor": PitmanYorPrior(Beta(1.0, 9.0), Gamma(2.0, 4.0)),
    "pitman_yor_half": PitmanYorPrior(0.5, Gamma(2.0, 4.0)),
    "dirichlet_multinomial": DirichletMultinomialPrior(4, Gamma(2.0, 4.0)),
    "poisson": FiniteMixturesPrior(Gamma(2.0, 4.0), Poisson(torch.tensor(3.0))),
}


def simulate(prior: PartitionPrior, num_points: int, draws: int) -> tuple[Tensor, PartitionPrior]:
    """Draw partitions as a Pyro program would, each with its own random hyperparameters."""
    with pyro.plate("draws", draws):
        known = prior.sampled()
        return pyro.sample("assignments", known.partition(num_points)), known


def assert_counts_fit(seen: Tensor, probabilities: Tensor) -> None:
    """Compare counts with exact probabilities by a chi-square test, rare cells put together."""
    assert seen[probabilities == 0].sum() == 0
    expected = seen.sum() * probabilities
    rare = expected < 5
    cells = torch.stack([seen.double(), expected])
    cells = torch.cat([cells[:, ~rare], cells[:, rare].sum(-1, keepdim=True)], -1)
    cells = cells[:, cells[1] > 0]
    statistic = ((cells[0] - cells[1]).square() / cells[1]).sum().item()
    assert cells.shape[1] == 1 or chi2.sf(statistic, cells.shape[1] - 1) > 1e-3


def partition_counts(draws: Tensor) -> Tensor:
    """Count how often each enumerated partition was drawn."""
    every = enumerate_partitions(draws.shape[-1])
    base = draws.shape[-1] ** torch.arange(draws.shape[-1])
    codes, order = (every @ base).sort()
    return torch.bincount(order[torch.searchsorted(codes, draws @ base)], minlength=len(every))
