"""The Chinese restaurant process and its prior."""

import torch
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.priors.two_parameter import (
    TwoParameterPartition,
    TwoParameterPrior,
    as_parameter,
)
from pyroclust.distributions.rising_factorial import sum_of_inverses


class ChineseRestaurantProcess(TwoParameterPartition):
    r"""Partition of ``num_points`` customers over tables.

    .. math:: \log p(c) = K \log\alpha + \sum_k \log\Gamma(n_k) + \log\Gamma(\alpha) - \log\Gamma(\alpha + N)

    Every point draws the earlier point it sits with, if any; pointer doubling follows these to the roots, in
    O(N log N) a draw.

    Args:
        concentration: positive, shape ``batch_shape``.
        num_points: number of points N.

    Example:
        >>> crp = ChineseRestaurantProcess(torch.tensor(0.7), 3)
        >>> round(crp.log_prob(crp.enumerate_support()).exp().sum().item(), 6)
        1.0

    References:
        Aldous (1985), Exchangeability and related topics. https://doi.org/10.1007/BFb0099421
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012

    def __init__(
        self, concentration: Tensor | float, num_points: int, *, validate_args: bool | None = None
    ) -> None:
        self.concentration = as_parameter("concentration", concentration)
        super().__init__(num_points, batch_shape=self.concentration.shape, validate_args=validate_args)

    @staticmethod
    def two_parameters(concentration: Tensor) -> tuple[Tensor, Tensor]:
        """Return discount zero, and the concentration."""
        return torch.zeros_like(concentration), concentration

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        concentration = self.concentration.unsqueeze(-1).double()
        index = torch.arange(self.num_points, device=concentration.device)
        uniform = torch.rand(shape, dtype=torch.float64, device=concentration.device)
        target = uniform * (index + concentration)
        seat = target.floor().long().minimum(index - 1)
        pointer = torch.where(target < index, seat, index)
        for _ in range(max(self.num_points - 1, 1).bit_length()):
            pointer = pointer.gather(-1, pointer)
        rank = (pointer == index).long().cumsum(-1) - 1
        return rank.gather(-1, pointer)


@register(PartitionPrior)
class ChineseRestaurantPrior(TwoParameterPrior):
    r"""The partition prior of a Dirichlet process; see :class:`ChineseRestaurantProcess`.

    Args:
        concentration: :math:`\alpha`, positive: a number, a batch, or the prior of a random number.

    Example:
        >>> ChineseRestaurantPrior(0.7).log_prob(torch.tensor([0, 0])).exp().item()  # 1 / 1.7
        0.588...

    References:
        Antoniak (1974), Mixtures of Dirichlet processes. https://doi.org/10.1214/aos/1176342871
    """

    process = ChineseRestaurantProcess
    is_pitman_yor = True
    hyper_names = ("concentration",)

    def __init__(self, concentration: Hyperparameter) -> None:
        self.concentration = concentration
        self._check_hyperparameters()

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(1).

        .. math:: E[K] = \sum_{i=0}^{N-1} \frac{\alpha}{\alpha + i} = \alpha (\psi(\alpha + N) - \psi(\alpha))
        """
        num_points = check_count("num_points", num_points)
        concentration = self.value("concentration")
        return concentration * sum_of_inverses(concentration, num_points)

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")
