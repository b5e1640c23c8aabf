"""Normal clusters, an unknown number of an unknown scale: the default for columns of numbers."""

import math

from pyro.distributions import Geometric, LogNormal

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import (
    ConjugateComponent,
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalInverseWishart,
)
from pyroclust.models.mixture import Mixture

__all__ = ["WEIGHT", "diagonal_normals", "law_of_number", "normal_mixture", "normals"]

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
