"""The Pitman-Yor process."""

import torch
from torch import Tensor
from torch.distributions import constraints

from pyroclust.distributions.two_parameter import TwoParameterPartition, as_parameter

__all__ = ["PitmanYorProcess"]


class PitmanYorProcess(TwoParameterPartition):
    r"""Partition with a power-law number of clusters: the two-parameter Chinese restaurant process.

    .. math::
        p(c) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}
        \prod_k \frac{\Gamma(n_k - d)}{\Gamma(1 - d)}

    Cost O(N) a draw and O(N) a log-probability. Discount zero is the Chinese restaurant process.

    Args:
        discount: d, at least 0 and below 1; shape broadcast with the concentration's to ``batch_shape``.
        concentration: a, above -d.
        num_points: number of points N.
        validate_args: check arguments and values.

    Raises:
        ValueError: if a concentration is not above -d.

    Example:
        >>> law = PitmanYorProcess(0.5, 0.7, 4)
        >>> round(law.log_prob(law.enumerate_support()).exp().sum().item(), 6)
        1.0

    References:
        Pitman & Yor (1997), The two-parameter Poisson-Dirichlet distribution.
        https://doi.org/10.1214/aop/1024404422
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
            as_parameter(discount), as_parameter(concentration)
        )
        if not bool((self.concentration > -self.discount).all()):
            raise ValueError(f"concentration is {concentration}, expected above -discount = {-self.discount}")
        super().__init__(num_points, batch_shape=self.discount.shape, validate_args=validate_args)

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        return self.discount.double(), self.concentration.double()
