"""A Gaussian mixture with unknown means and variances for standardised data, diagonal covariance."""

from pyroclust.distributions import GammaConcentration, NormalInverseGamma
from pyroclust.models.mixture import Mixture

__all__ = ["nig_mixture"]


def nig_mixture(dim: int = 1) -> Mixture:
    r"""Return the normal-inverse-gamma mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 2), \; c \sim CRP(\alpha), \;
        \sigma^2_{kd} \sim IG(2, 0.1), \; \mu_{kd} \sim N(0, \sigma^2_{kd} / 0.05), \; x_{id} \sim N(\mu_{kd}, \sigma^2_{kd})

    Why these numbers, on standardised data:

    * A cluster's variance has mean 0.1 and median 0.06: its standard deviation is 0.15 to 0.45 of the data's in four
      cases of five. Shape 2 is the heaviest tail with a finite mean, so wide or tight clusters are not forbidden.
    * The variance between means is 0.1 / 0.05 = 2. With concentration 1 two points share a cluster with
      probability 1/2, so the expected sample variance is 0.1 + 2 / 2 = 1.1: the prior's data look standardised.
    * Gamma(2, 2) has mean 1 and expects about 5 clusters in 100 points, 1 to 10 in nine cases of ten.

    ``examples/prior_predictive.py`` draws the picture.

    Args:
        dim: dimension of the points.
    """
    return Mixture(GammaConcentration(2.0, 2.0), NormalInverseGamma(dim, 0.05, shape=2.0, rate=0.1), name="nig_mixture")
