"""The reference mixtures of published experiments: Gaussians in the plane."""

import math

import torch
from pyro.distributions import LogNormal
from torch.distributions import Categorical

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    FiniteMixturesPrior,
    NormalInverseWishart,
    NormalKnownVariance,
)
from pyroclust.models.mixture import Mixture


@register(Mixture)
def gaussian2d(dim: int = 2) -> Mixture:
    r"""Return CRP(0.7), :math:`\mu_k \sim N(0, 10^2 I)`, :math:`x_i \sim N(\mu_k, I)`.

    Args:
        dim: dimension of the points, 2 in the papers.

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """
    return Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(dim, 10.0), name="gaussian2d")


@register(Mixture)
def overlap2d(dim: int = 2) -> Mixture:
    r"""Return CRP(0.7), :math:`\mu_k \sim N(0, 3^2 I)`, :math:`x_i \sim N(\mu_k, I)`.

    About 0.2 of the points could belong to more than one cluster, and a filter that ignores the points to
    come is far from the posterior.

    Args:
        dim: dimension of the points.
    """
    return Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(dim, 3.0), name="overlap2d")


@register(Mixture)
def sensitivity2d(dim: int = 2) -> Mixture:
    r"""Return unit-variance Gaussians under a random concentration and a random spread of the means.

    .. math::
        \log\alpha \sim N(\log 0.7, 1), \; \log\lambda \sim N(\log 5, 0.6^2), \; c \sim CRP(\alpha), \;
        \mu_k \sim N(0, \lambda^2 I), \; x_i \sim N(\mu_k, I)

    Meant for guides with ``conditions=["concentration", "prior_scale"]``: the hyperpriors say where such a
    guide has learned. In nineteen cases of twenty the concentration lies between 0.1 and 5, which is 1.5 to
    18 clusters expected in 100 points, and the spread of the means between 1.5 and 16, from clusters that can
    hardly be told apart to those that hardly ever overlap.

    Args:
        dim: dimension of the points.
    """
    return Mixture(
        ChineseRestaurantPrior(LogNormal(math.log(0.7), 1.0)),
        NormalKnownVariance(dim, LogNormal(math.log(5.0), 0.6)),
        name="sensitivity2d",
    )


@register(Mixture)
def few_components(dim: int = 2, *, mean_precision: float = 0.1, most: int = 10) -> Mixture:
    r"""Return a finite mixture of Gaussians with a uniform number of components.

    .. math::
        M \sim U\{1, \ldots, 10\}, \; w \sim \mathrm{Dirichlet}(1, \ldots, 1), \;
        \Sigma_k \sim IW(D, I), \; \mu_k \sim N(0, \Sigma_k / \lambda), \; x_i \sim N(\mu_{c_i}, \Sigma_{c_i})

    The prior that Cluster-PFN was trained on, with 100 to 500 points. Covariances have no mean: some are so
    wide that others vanish inside.

    Args:
        dim: D.
        mean_precision: :math:`\lambda`.
        most: the largest number of components.

    Example:
        >>> few_components().prior.log_components(torch.tensor(2), 5).exp().argmax() + 1
        tensor(2)

    References:
        Cluster-PFN (2025). https://arxiv.org/abs/2510.24318
    """
    dim, most = check_count("dim", dim), check_count("most", most)
    precision = check_number("mean_precision", mean_precision, above=0)
    return Mixture(
        FiniteMixturesPrior(1.0, Categorical(torch.ones(most, dtype=torch.float64))),
        NormalInverseWishart(dim, precision, dof=float(dim), scale=1.0),
        name="few_components",
    )
