"""The partition of a finite mixture with a known number of components: process and prior."""

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.hyperparameters import Hyperparameter, as_number, shown
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.priors.two_parameter import (
    TwoParameterPartition,
    TwoParameterPrior,
    as_parameter,
)
from pyroclust.distributions.rising_factorial import log_rising

# Larger whole numbers are not all floats.
_MOST_COMPONENTS = 2**53


class DirichletMultinomialPartition(TwoParameterPartition):
    r"""Partition of points over M components, their Dirichlet weights integrated out: at most M clusters.

    .. math::
        p(c) = \frac{M!}{(M-K)!} \frac{\Gamma(M\gamma)}{\Gamma(M\gamma + N)}
        \prod_k \frac{\Gamma(n_k + \gamma)}{\Gamma(\gamma)}

    Cost O(N) a draw and a log-probability.

    Args:
        num_components: M, a positive whole number; shape broadcast with the weights' to ``batch_shape``.
        weight_concentration: :math:`\gamma`, positive, the parameter of the symmetric Dirichlet distribution
            of each weight (not their sum).
        num_points: number of points N.

    Example:
        >>> law = DirichletMultinomialPartition(2, 1.0, 3)
        >>> law.log_prob(torch.tensor([[0, 0, 0], [0, 1, 2]])).exp().tolist()  # never three of two components
        [0.5..., 0.0]
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
            as_parameter("num_components", num_components),
            as_parameter("weight_concentration", weight_concentration),
        )
        super().__init__(num_points, batch_shape=self.num_components.shape, validate_args=validate_args)

    @staticmethod
    def two_parameters(num_components: Tensor, weight_concentration: Tensor) -> tuple[Tensor, Tensor]:
        """Return a negative discount, and the concentration of all components."""
        return -weight_concentration, num_components * weight_concentration


@register(PartitionPrior)
class DirichletMultinomialPrior(TwoParameterPrior):
    r"""The prior of a mixture of M components: the law is :class:`DirichletMultinomialPartition`.

    Args:
        num_components: M, a positive whole number or a batch of them; where it is random, use
            :class:`FiniteMixturesPrior`.
        weight_concentration: :math:`\gamma`, positive: a number, a batch, or the prior of a random number.

    Example:
        >>> round(DirichletMultinomialPrior(3, 1.0).log_prob(torch.tensor([0, 0])).exp().item(), 12)  # 2 / 4
        0.5

    References:
        Green & Richardson (2001), Modelling heterogeneity with and without the Dirichlet process.
        https://doi.org/10.1111/1467-9469.00242
    """

    process = DirichletMultinomialPartition
    hyper_names = ("num_components", "weight_concentration")

    def __init__(self, num_components: int | Tensor, weight_concentration: Hyperparameter) -> None:
        self.num_components, self.weight_concentration = num_components, weight_concentration
        self._check_hyperparameters()

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(1).

        .. math:: E[K] = M \left( 1 - \frac{(M\gamma - \gamma)_N}{(M\gamma)_N} \right), \qquad
            (x)_N = \frac{\Gamma(x + N)}{\Gamma(x)}
        """
        num_points = check_count("num_points", num_points)
        return expected_occupied(self.value("num_components"), self.value("weight_concentration"), num_points)

    def _check_hyperparameters(self) -> None:
        self._check_positive("weight_concentration")
        if isinstance(self.num_components, Distribution):
            raise ValueError(
                "num_components is random, expected whole numbers: use FiniteMixturesPrior, which integrates "
                "the number of components out"
            )
        components = as_number("num_components", self.num_components)
        whole = (components >= 1) & (components == components.round()) & (components <= _MOST_COMPONENTS)
        if not bool(whole.all()) or not components.numel():
            raise ValueError(
                f"num_components is {shown(self.num_components)}, expected a positive whole number "
                "of at most 2**53"
            )


def expected_occupied(components: Tensor, weight_concentration: Tensor, num_points: int) -> Tensor:
    """Return how many of M components N points occupy on average, float64 of the broadcast shape."""
    total = components * weight_concentration
    others = (components - 1) * weight_concentration
    by_points = log_rising(others, num_points) - log_rising(total, num_points)
    by_weight = log_rising(others, weight_concentration) - log_rising(
        others + num_points, weight_concentration
    )
    empty = torch.where(weight_concentration < num_points, by_weight, by_points)
    return -components * empty.expm1()
