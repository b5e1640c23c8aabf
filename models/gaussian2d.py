"""The reference mixture of the Neural Clustering Process papers: well separated unit-variance Gaussians."""

from pyroclust.core.registry import register
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.models.mixture import Mixture

__all__ = ["gaussian2d"]


@register(Mixture)
def gaussian2d(dim: int = 2) -> Mixture:
    r"""Return CRP(0.7), :math:`\mu_k \sim N(0, 10^2 I)`, :math:`x_i \sim N(\mu_k, I)`.

    Args:
        dim: dimension of the points, 2 in the papers.

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """
    return Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(dim, 10.0), name="gaussian2d")
