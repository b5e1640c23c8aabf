"""The Pitman-Yor process as a prior."""

import torch
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.pitman_yor import PitmanYorProcess
from pyroclust.distributions.rising_factorial import log_rising, sum_of_inverses
from pyroclust.distributions.two_parameter_prior import TwoParameterPrior

__all__ = ["PitmanYorPrior"]


class PitmanYorPrior(TwoParameterPrior):
    r"""The Pitman-Yor prior: cluster sizes with a power law, about :math:`N^d` clusters.

    .. math::
        V_N(K) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}, \qquad
        w(n) = \frac{\Gamma(n - d)}{\Gamma(1 - d)}

    Args:
        discount: d, at least 0 and below 1: a number, a batch, or the prior of a random number.
        concentration: a, above -d: likewise; a random one is sampled first and its prior must be positive.

    Example:
        >>> PitmanYorPrior(0.5, 0.5).log_prob(torch.tensor([0, 0])).exp().item()  # (1 - d) / (1 + a)
        0.333...

    References:
        Pitman & Yor (1997), The two-parameter Poisson-Dirichlet distribution.
        https://doi.org/10.1214/aop/1024404422
    """

    hyper_names = ("discount", "concentration")

    def __init__(self, discount: Hyperparameter, concentration: Hyperparameter) -> None:
        self.discount, self.concentration = discount, concentration
        self._check_hyperparameters()

    def partition(self, num_points: int) -> PitmanYorProcess:
        """Return the process over N points."""
        return PitmanYorProcess(self.value("discount"), self.value("concentration"), num_points)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(1).

        .. math::
            E[K] = \frac{a}{d} \left( \frac{(a + d)_N}{(a)_N} - 1 \right), \qquad
            (x)_N = \frac{\Gamma(x + N)}{\Gamma(x)}

        Example:
            >>> round(PitmanYorPrior(0.5, 0.0).expected_num_clusters(3).item(), 6)  # 1 + 1/2 + 3/8
            1.875
        """
        discount, concentration = self._two_parameters()
        step = torch.where(discount > 0, discount, 1.0)
        positive = torch.where(concentration > 0, concentration, 1.0)
        more = log_rising(positive + num_points, step) - log_rising(positive, step)
        usual = positive / step * more.expm1()
        growth = log_rising(concentration + num_points, step) + log_rising(concentration + step, 1 - step)
        unusual = (growth.exp() - concentration) / step
        return torch.where(
            discount > 0,
            torch.where(concentration > 0, usual, unusual),
            positive * sum_of_inverses(positive, num_points),
        )

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        discount, concentration = torch.broadcast_tensors(self.value("discount"), self.value("concentration"))
        return discount, concentration

    def _check_hyperparameters(self) -> None:
        lowest: Tensor | float = -1.0
        if isinstance(self.discount, Distribution):
            self._check_above("discount", 0.0)
        else:
            discount = self.value("discount")
            if not bool(((discount >= 0) & (discount < 1)).all()):
                raise ValueError(f"discount is {self.discount}, expected at least 0 and below 1")
            lowest = -discount
        if isinstance(self.concentration, Distribution):
            self._check_above("concentration", 0.0)
        elif not bool((self.value("concentration") > lowest).all()):
            raise ValueError(
                f"concentration is {self.concentration}, expected above -discount, the discount being "
                f"{self.discount}"
            )
