"""The Pitman-Yor process and its prior."""

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.hyperparameters import Hyperparameter, is_number, shown
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.priors.two_parameter import (
    TwoParameterPartition,
    TwoParameterPrior,
    as_parameter,
    has_no_discount,
)
from pyroclust.distributions.rising_factorial import log_rising, sum_of_inverses


class PitmanYorProcess(TwoParameterPartition):
    r"""Partition with a power-law number of clusters: the two-parameter Chinese restaurant process.

    .. math::
        p(c) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}
        \prod_k \frac{\Gamma(n_k - d)}{\Gamma(1 - d)}

    Cost O(N) a draw and a log-probability.

    Args:
        discount: d, at least 0 and below 1; shape broadcast with the concentration's to ``batch_shape``.
        concentration: a, above -d.
        num_points: number of points N.

    Raises:
        ValueError: if a concentration is not above -d.

    Example:
        >>> law = PitmanYorProcess(0.5, 0.7, 4)
        >>> round(law.log_prob(law.enumerate_support()).exp().sum().item(), 6)
        1.0
    """

    arg_constraints = {  # noqa: RUF012
        "discount": constraints.half_open_interval(0.0, 1.0),
        "concentration": constraints.real,
    }

    def __init__(
        self,
        discount: Tensor | float,
        concentration: Tensor | float,
        num_points: int,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.discount, self.concentration = torch.broadcast_tensors(
            as_parameter("discount", discount), as_parameter("concentration", concentration)
        )
        if not bool((self.concentration > -self.discount).all()):
            raise ValueError(
                f"concentration is {shown(concentration)}, expected above -discount, the discount being "
                f"{shown(discount)}"
            )
        super().__init__(num_points, batch_shape=self.discount.shape, validate_args=validate_args)

    @staticmethod
    def two_parameters(discount: Tensor, concentration: Tensor) -> tuple[Tensor, Tensor]:
        """Return both."""
        return discount, concentration


@register(PartitionPrior)
class PitmanYorPrior(TwoParameterPrior):
    """The Pitman-Yor prior, with about :math:`N^d` clusters: the law is :class:`PitmanYorProcess`.

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

    process = PitmanYorProcess
    is_pitman_yor = True
    hyper_names = ("discount", "concentration")

    def __init__(self, discount: Hyperparameter, concentration: Hyperparameter) -> None:
        self.discount, self.concentration = discount, concentration
        self._check_hyperparameters()

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(1).

        .. math::
            E[K] = \frac{a}{d} \left( \frac{(a + d)_N}{(a)_N} - 1 \right), \qquad
            (x)_N = \frac{\Gamma(x + N)}{\Gamma(x)}
        """
        num_points = check_count("num_points", num_points)
        discount, concentration = self._two_parameters()
        none = has_no_discount(discount, concentration)
        step = torch.where(none, 1.0, discount)
        positive = torch.where(concentration > 0, concentration, 1.0)
        more = log_rising(positive + num_points, step) - log_rising(positive, step)
        usual = positive / step * more.expm1()
        growth = log_rising(concentration + num_points, step) + log_rising(concentration + step, 1 - step)
        unusual = (growth.exp() - concentration) / step
        return torch.where(
            none,
            positive * sum_of_inverses(positive, num_points),
            torch.where(concentration > 0, usual, unusual),
        )

    def _check_hyperparameters(self) -> None:
        lowest: Tensor | float = -1.0
        if isinstance(self.discount, Distribution):
            self._check_above("discount", 0.0)
        else:
            if not is_number(self.discount):
                raise ValueError(f"discount is {shown(self.discount)}, expected a number")
            discount = self.value("discount")
            if not bool(((discount >= 0) & (discount < 1)).all()) or not discount.numel():
                raise ValueError(f"discount is {shown(self.discount)}, expected at least 0 and below 1")
            lowest = -discount
        if isinstance(self.concentration, Distribution):
            self._check_above("concentration", 0.0)
        elif not is_number(self.concentration):
            raise ValueError(f"concentration is {shown(self.concentration)}, expected a number")
        elif not bool(((value := self.value("concentration")) > lowest).all() & value.isfinite().all()):
            raise ValueError(
                f"concentration is {shown(self.concentration)}, expected above -discount, the discount being "
                f"{shown(self.discount)}"
            )
