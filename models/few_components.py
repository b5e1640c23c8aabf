"""Gaussian clusters of one to ten components, all numbers of them alike."""

import torch
from torch.distributions import Categorical

from pyroclust.core.counts import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import FiniteMixturesPrior, NormalInverseWishart
from pyroclust.models.mixture import Mixture

__all__ = ["few_components"]


@register(Mixture)
def few_components(dim: int = 2, *, mean_precision: float = 0.1, most: int = 10) -> Mixture:
    r"""Return a finite mixture of Gaussians with a uniform number of components.

    .. math::
        M \sim U\{1, \ldots, 10\}, \; w \sim \mathrm{Dirichlet}(1, \ldots, 1), \;
        \Sigma_k \sim IW(D, I), \; \mu_k \sim N(0, \Sigma_k / \lambda), \; x_i \sim N(\mu_{c_i}, \Sigma_{c_i})

    The prior that Cluster-PFN was trained on, where numbers of points are from 100 to 500. Covariances have
    no mean: some are so wide that others vanish inside. The posterior of M given a partition is
    ``model.prior.log_components(clusters, num_points)``.

    Args:
        dim: D.
        mean_precision: :math:`\lambda`.
        most: the largest number of components.

    Raises:
        ValueError: if a number is out of range.

    Example:
        >>> model = few_components()
        >>> model.prior.log_components(torch.tensor(2), 5).exp().argmax() + 1
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
