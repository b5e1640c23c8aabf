"""The partition of a finite mixture with a known number of components."""

import torch
from torch import Tensor
from torch.distributions import constraints

from pyroclust.distributions.two_parameter import TwoParameterPartition, as_parameter

__all__ = ["DirichletMultinomialPartition"]


class DirichletMultinomialPartition(TwoParameterPartition):
    r"""Partition of points over M components with Dirichlet weights, which are integrated out.

    .. math::
        p(c) = \frac{M!}{(M-K)!} \frac{\Gamma(M\gamma)}{\Gamma(M\gamma + N)}
        \prod_k \frac{\Gamma(n_k + \gamma)}{\Gamma(\gamma)}

    At most M clusters; which of the M components a cluster is does not matter. Cost O(N) a draw and O(N) a
    log-probability.

    Args:
        num_components: M, a positive whole number; shape broadcast with the weights' to ``batch_shape``.
        weight_concentration: :math:`\gamma`, positive, the parameter of the symmetric Dirichlet distribution
            of each weight (not their sum).
        num_points: number of points N.
        validate_args: check arguments and values.

    Example:
        >>> law = DirichletMultinomialPartition(2, 1.0, 3)
        >>> law.log_prob(torch.tensor([[0, 0, 0], [0, 1, 2]])).exp().tolist()  # never three of two components
        [0.5..., 0.0]

    References:
        Green & Richardson (2001), Modelling heterogeneity with and without the Dirichlet process.
        https://doi.org/10.1111/1467-9469.00242
    """

    arg_constraints = {  # noqa: RUF012
        "num_components": constraints.positive_integer,
        "weight_concentration": constraints.positive,
    }

    def __init__(
        self,
        num_components: Tensor | int,
        weight_concentration: Tensor | float,
        num_points: int,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.num_components, self.weight_concentration = torch.broadcast_tensors(
            as_parameter(num_components), as_parameter(weight_concentration)
        )
        super().__init__(num_points, batch_shape=self.num_components.shape, validate_args=validate_args)

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        weight = self.weight_concentration.double()
        return -weight, self.num_components.double() * weight
