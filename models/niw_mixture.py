"""A Gaussian mixture with unknown means and full covariances for standardised data."""

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import GammaConcentration, NormalInverseWishart
from pyroclust.models.mixture import Mixture

__all__ = ["niw_mixture"]


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
