"""Unit-variance Gaussians whose concentration and spread of means are random: one guide for many priors."""

import math

from pyro.distributions import LogNormal

from pyroclust.core.registry import register
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.models.mixture import Mixture

__all__ = ["sensitivity2d"]


@register(Mixture)
def sensitivity2d(dim: int = 2) -> Mixture:
    r"""Return unit-variance Gaussians under a random concentration and a random spread of the means.

    .. math::
        \log\alpha \sim N(\log 0.7, 1), \; \log\lambda \sim N(\log 5, 0.6^2), \; c \sim CRP(\alpha), \;
        \mu_k \sim N(0, \lambda^2 I), \; x_i \sim N(\mu_k, I)

    Meant for guides with ``conditions=["concentration", "prior_scale"]``: the hyperpriors say where such a
    guide has learned, not what anybody believes. Why these:

    * The concentration has median 0.7, that of :func:`~pyroclust.models.gaussian2d`, and lies between 0.1
      and 5 in nineteen cases of twenty: 1.5 to 18 clusters expected in 100 points.
    * The spread of the means lies between 1.5 and 16, likewise. It covers
      :func:`~pyroclust.models.overlap2d` (3) and :func:`~pyroclust.models.gaussian2d` (10), at -0.85 and
      +1.16 standard deviations. At 1.5 clusters can hardly be told apart and the data say little; beyond 16
      they hardly ever overlap, and the exact filter is all it takes.
    * Log-normal laws have no edges: just outside of these ranges a guide is worse, not wrong at once.

    Args:
        dim: dimension of the points.

    Example:
        >>> import torch
        >>> model = sensitivity2d().given({"concentration": 0.7, "prior_scale": 10.0})  # gaussian2d
        >>> model.log_joint(torch.zeros(2, 2), torch.tensor([0, 0])).shape
        torch.Size([])
    """
    return Mixture(
        ChineseRestaurantPrior(LogNormal(math.log(0.7), 1.0)),
        NormalKnownVariance(dim, LogNormal(math.log(5.0), 0.6)),
        name="sensitivity2d",
    )
