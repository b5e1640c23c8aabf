"""A Gaussian mixture with unknown means and full covariances for standardised data."""

from pyroclust.distributions import GammaConcentration, NormalInverseWishart
from pyroclust.models.mixture import Mixture

__all__ = ["niw_mixture"]


def niw_mixture(dim: int = 2) -> Mixture:
    r"""Return the normal-inverse-Wishart mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 2), \; c \sim CRP(\alpha), \;
        \Sigma_k \sim IW(D + 2, 0.1 I), \; \mu_k \sim N(0, \Sigma_k / 0.05), \; x_i \sim N(\mu_k, \Sigma_k)

    Why these numbers, on standardised data: nu = D + 2 is the least informative choice with a finite mean,
    :math:`E[\Sigma_k] = 0.1 I`; between means the variance is 0.1 / 0.05 = 2, so that with concentration 1 the
    expected sample variance is 0.1 + 2 / 2 = 1.1 in each column; correlations are spread over (-1, 1). Gamma(2, 2)
    on the concentration expects about 5 clusters in 100 points. ``examples/prior_predictive.py`` draws the picture.

    Args:
        dim: dimension of the points.
    """
    return Mixture(GammaConcentration(2.0, 2.0), NormalInverseWishart(dim, 0.05, dof=dim + 2.0, scale=0.1), name="niw_mixture")
