"""Normal clusters for standardised data: the default for columns of numbers, and two with fixed scales."""

import math

from pyro.distributions import Geometric, LogNormal

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import (
    ConjugateComponent,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
)
from pyroclust.models.mixture import Mixture

_KAPPA = 0.05
WEIGHT = 0.5
"""Concentration of the weights of components."""


@register(Mixture)
def normal_mixture(dim: int = 2) -> Mixture:
    r"""Return the mixture of normal clusters for columns of mean 0 and variance 1.

    .. math::
        M - 1 \sim \mathrm{Geometric}(0.4), \; w \sim \mathrm{Dirichlet}(\tfrac12, \ldots, \tfrac12), \;
        \log s \sim N(\log 0.2, 1), \;
        \Sigma_k \sim IW(D + 2, s I), \; \mu_k \sim N(0, \Sigma_k / 0.05), \; x_i \sim N(\mu_k, \Sigma_k)

    Of one column the clusters are those of :func:`~pyroclust.distributions.NormalInverseGamma` with
    :math:`\sigma^2_k \sim IG(2, s)`. Why these numbers: they answered "how many clusters" best on simulated
    data sets, as docs/priors.md shows.

    * The scale of clusters is one random number for all of them, so that few wide clusters and many tight
      ones are judged alike. It integrates out of the likelihood of a partition.
    * One component has the prior probability 0.4, and two or three as much together. A Dirichlet process
      would have the number grow with the rows.
    * Means lie as far apart as the data, whatever the scale: 4.5 standard deviations of a cluster.

    Args:
        dim: dimension of the points.

    Example:
        >>> import torch
        >>> from pyroclust.infer import exact_posterior
        >>> points = torch.tensor([[-1.2], [-1.1], [-1.0], [-0.9], [0.9], [1.0], [1.1], [1.2]])
        >>> partitions, log_probs = exact_posterior(normal_mixture(1), points)
        >>> partitions[log_probs.argmax()].tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
        Richardson & Green (1997), On Bayesian analysis of mixtures with an unknown number of components.
        https://doi.org/10.1111/1467-9868.00095
    """
    dim = check_count("dim", dim)
    return Mixture(FiniteMixturesPrior(WEIGHT, law_of_number()), normals(dim), name="normal_mixture")


def law_of_number() -> Geometric:
    """Return the law of the number of components less one."""
    return Geometric(0.4)


def normals(dim: int) -> ConjugateComponent:
    """Return normal clusters of a common random scale, with full covariances."""
    if dim == 1:
        return diagonal_normals(dim)
    return NormalInverseWishart(dim, _KAPPA, dof=dim + 2.0, scale=_law_of_scale())


def diagonal_normals(dim: int) -> ConjugateComponent:
    """Return the same with independent columns."""
    return NormalInverseGamma(dim, _KAPPA, shape=2.0, rate=_law_of_scale())


def _law_of_scale() -> LogNormal:
    return LogNormal(math.log(0.2), 1.0)


@register(Mixture)
def niw_mixture(dim: int = 2) -> Mixture:
    r"""Return the normal-inverse-Wishart mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 4), \; c \sim CRP(\alpha), \;
        \Sigma_k \sim IW(D + 2, 0.2 I), \; \mu_k \sim N(0, \Sigma_k / 0.08), \; x_i \sim N(\mu_k, \Sigma_k)

    Why these numbers, on standardised data: nu = D + 2 is the least informative choice with a finite mean,
    :math:`E[\Sigma_k] = 0.2 I`, and leaves correlations spread over (-1, 1). Concentration and spread of
    the means are those of :func:`~pyroclust.models.nig_mixture`, for the same reason: the expected sample
    variance of a column is 0.96. ``examples/prior_predictive.py`` draws the picture.

    Args:
        dim: dimension of the points.
    """
    dim = check_count("dim", dim)
    return Mixture(
        GammaConcentration(2.0, 4.0),
        NormalInverseWishart(dim, 0.08, dof=dim + 2.0, scale=0.2),
        name="niw_mixture",
    )


@register(Mixture)
def nig_mixture(dim: int = 1) -> Mixture:
    r"""Return the normal-inverse-gamma mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 4), \; c \sim CRP(\alpha), \;
        \sigma^2_{kd} \sim IG(2, 0.2), \; \mu_{kd} \sim N(0, \sigma^2_{kd} / 0.08), \; x_{id} \sim
        N(\mu_{kd}, \sigma^2_{kd})

    Why these numbers, on standardised data:

    * A cluster's variance has mean 0.2 and median 0.12: its standard deviation is between 0.23 and 0.61 of
      the data's in four cases of five. Shape 2 is the heaviest tail with a finite mean, so wide or tight
      clusters are not forbidden.
    * Gamma(2, 4) is the prior of Escobar and West (1995): concentrations around 1/2, about 3 clusters in
      100 points, 1 to 7 in nine cases of ten.
    * The variance between means is 0.2 / 0.08 = 2.5. Two points lie in different clusters with probability
      0.30, so the expected sample variance is 0.2 + 2.5 * 0.30 = 0.96: the prior's data look standardised.

    ``examples/prior_predictive.py`` draws the picture.

    Args:
        dim: dimension of the points.

    References:
        Escobar & West (1995), Bayesian density estimation and inference using mixtures.
        https://doi.org/10.1080/01621459.1995.10476550
    """
    return Mixture(
        GammaConcentration(2.0, 4.0), NormalInverseGamma(dim, 0.08, shape=2.0, rate=0.2), name="nig_mixture"
    )
