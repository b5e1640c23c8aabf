"""A Gaussian mixture with unknown means and variances for standardised data, diagonal covariance."""

from pyroclust.core.registry import register
from pyroclust.distributions import GammaConcentration, NormalInverseGamma
from pyroclust.models.mixture import Mixture

__all__ = ["nig_mixture"]


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
