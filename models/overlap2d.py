"""The reference mixture with overlapping clusters, where looking ahead matters."""

from pyroclust.core.registry import register
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.models.mixture import Mixture

__all__ = ["overlap2d"]


@register(Mixture)
def overlap2d(dim: int = 2) -> Mixture:
    r"""Return CRP(0.7), :math:`\mu_k \sim N(0, 3^2 I)`, :math:`x_i \sim N(\mu_k, I)`.

    The same program as :func:`~pyroclust.models.gaussian2d` with means three times as close: about 0.2 of
    the points could belong to more than one cluster, and a filter that ignores the points to come is far
    from the posterior.

    Args:
        dim: dimension of the points.
    """
    return Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(dim, 3.0), name="overlap2d")
