"""The Chinese restaurant process as a prior."""

import torch
from torch import Tensor

from pyroclust.distributions.chinese_restaurant import ChineseRestaurantProcess
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.rising_factorial import sum_of_inverses
from pyroclust.distributions.two_parameter_prior import TwoParameterPrior

__all__ = ["ChineseRestaurantPrior"]


class ChineseRestaurantPrior(TwoParameterPrior):
    r"""The Chinese restaurant prior: the partition of a Dirichlet process.

    .. math:: V_N(K) = \alpha^K \frac{\Gamma(\alpha)}{\Gamma(\alpha + N)}, \qquad w(n) = \Gamma(n)

    Args:
        concentration: :math:`\alpha`, positive: a number, a batch, or the prior of a random number.

    Example:
        >>> ChineseRestaurantPrior(0.7).log_prob(torch.tensor([0, 0])).exp().item()  # 1 / 1.7
        0.588...

    References:
        Antoniak (1974), Mixtures of Dirichlet processes. https://doi.org/10.1214/aos/1176342871
    """

    hyper_names = ("concentration",)

    def __init__(self, concentration: Hyperparameter) -> None:
        self.concentration = concentration
        self._check_hyperparameters()

    def partition(self, num_points: int) -> ChineseRestaurantProcess:
        """Return the process over N points."""
        return ChineseRestaurantProcess(self.value("concentration"), num_points)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(1).

        .. math:: E[K] = \sum_{i=0}^{N-1} \frac{\alpha}{\alpha + i} = \alpha (\psi(\alpha + N) - \psi(\alpha))

        Example:
            >>> round(ChineseRestaurantPrior(1.0).expected_num_clusters(3).item(), 6)  # 1 + 1/2 + 1/3
            1.833333
        """
        concentration = self.value("concentration")
        return concentration * sum_of_inverses(concentration, num_points)

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        concentration = self.value("concentration")
        return torch.zeros_like(concentration), concentration

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")
