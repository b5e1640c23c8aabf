"""The partition of a finite mixture with a random number of components: process and prior."""

from typing import ClassVar

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.component_numbers import (
    check_extra_components,
    log_component_numbers,
    log_component_terms,
    log_finite_mixtures_v,
)
from pyroclust.distributions.priors.dirichlet_multinomial import (
    DirichletMultinomialPrior,
    expected_occupied,
)
from pyroclust.distributions.priors.prior import PartitionPrior, block_sizes, log_block_weights
from pyroclust.distributions.priors.two_parameter import as_parameter, draw_from_urn
from pyroclust.partitions import label_range


class MixtureOfFiniteMixtures(PartitionDistribution):
    r"""Partition of points over a random number M of components with Dirichlet weights.

    .. math::
        p(c) = V_N(K) \prod_k \frac{\Gamma(n_k + \gamma)}{\Gamma(1 + \gamma)}

    with the V of :class:`FiniteMixturesPrior`, tabulated once per N and parameters. Cost O(N) a draw and a
    log-probability.

    Args:
        weight_concentration: :math:`\gamma`, positive, the parameter of the symmetric Dirichlet distribution.
        extra_components: any distribution over 0, 1, 2, ... of M - 1: Poisson, Geometric, Categorical ...;
            its batch shape is broadcast with ``weight_concentration`` to ``batch_shape``.
        num_points: number of points N.

    Example:
        >>> from pyro.distributions import Poisson
        >>> law = MixtureOfFiniteMixtures(1.0, Poisson(torch.tensor(2.0)), 4)
        >>> round(law.log_prob(law.enumerate_support()).exp().sum().item(), 6)
        1.0
    """

    arg_constraints = {"weight_concentration": constraints.positive}  # noqa: RUF012
    has_enumerate_support = True
    batched: ClassVar[dict[str, int]] = {"weight_concentration": 0}

    def __init__(
        self,
        weight_concentration: Tensor | float,
        extra_components: Distribution,
        num_points: int,
        *,
        validate_args: bool | None = None,
    ) -> None:
        check_extra_components(extra_components)
        weight = as_parameter("weight_concentration", weight_concentration)
        batch = broadcast_shapes(weight.shape, extra_components.batch_shape)
        self.weight_concentration, self.extra_components = weight.expand(batch), extra_components
        super().__init__(num_points, batch_shape=batch, validate_args=validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        extra = self.extra_components.expand(self.batch_shape).sample(sample_shape)
        weight = self.weight_concentration.double().expand(extra.shape)
        components = extra.to(weight) + 1
        return draw_from_urn(-weight, components * weight, num_points=self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        weight = self.weight_concentration
        log_v = log_finite_mixtures_v(
            weight, self.extra_components, num_points=self.num_points, clusters=label_range(value)
        )
        return log_v + log_block_weights(block_sizes(value), -weight).sum(-1)


@register(PartitionPrior)
class FiniteMixturesPrior(PartitionPrior):
    r"""The prior of a mixture of finite mixtures: M components, M random, with symmetric Dirichlet weights.

    .. math::
        V_N(K) = \gamma^K \sum_{M \ge K} p(M) \frac{M!}{(M-K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)},
        \qquad w(n) = \frac{\Gamma(n + \gamma)}{\Gamma(1 + \gamma)}

    Args:
        weight_concentration: :math:`\gamma`, positive: a number, a batch, or the prior of a random number.
        extra_components: any Pyro distribution over 0, 1, 2, ... of M - 1, as ``Poisson(3.0)``, or
            ``Categorical(torch.ones(30))`` for M uniform on 1, ..., 30; its tail must be light enough to be
            summed in 8,388,608 terms.

    Example:
        >>> from pyro.distributions import Categorical
        >>> FiniteMixturesPrior(1.0, Categorical(torch.ones(2))).log_prob(torch.tensor([0, 1])).exp().item()
        0.166...

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
    """

    hyper_names = ("weight_concentration",)

    def __init__(self, weight_concentration: Hyperparameter, extra_components: Distribution) -> None:
        self.weight_concentration, self.extra_components = weight_concentration, extra_components
        self._check_hyperparameters()

    @property
    def batch_shape(self) -> Size:
        return broadcast_shapes(super().batch_shape, self.extra_components.batch_shape)

    @property
    def drawn_components(self) -> Distribution | None:
        """The law of M - 1 where the weight is random: weights V_N(K) of every weight would cost too much."""
        return self.extra_components if self.hyperpriors else None

    def with_components(self, num_components: Tensor) -> DirichletMultinomialPrior:
        return DirichletMultinomialPrior(num_components, self.weight_concentration)

    @property
    def block_discount(self) -> Tensor:
        return -self.value("weight_concentration")

    def partition(self, num_points: int) -> MixtureOfFiniteMixtures:
        return MixtureOfFiniteMixtures(self.value("weight_concentration"), self.extra_components, num_points)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, in O(terms).

        .. math:: E[K] = \sum_M p(M) \, M \left( 1 - \frac{(M\gamma - \gamma)_N}{(M\gamma)_N} \right), \qquad
            (x)_N = \frac{\Gamma(x + N)}{\Gamma(x)}
        """
        num_points = check_count("num_points", num_points)
        log_p = log_component_numbers(self.extra_components)
        missing = len(self.batch_shape) - len(self.extra_components.batch_shape)
        probabilities = log_p.exp().view(len(log_p), *(1,) * missing, *log_p.shape[1:])
        components = torch.arange(1, len(log_p) + 1, dtype=torch.float64, device=log_p.device)
        components = components.view(-1, *(1,) * len(self.batch_shape))
        weight = self.value("weight_concentration").to(log_p.device)
        return (probabilities * expected_occupied(components, weight, num_points)).sum(0)

    def log_components(self, clusters: Tensor, num_points: int) -> Tensor:
        r"""Return the posterior of the number of components given that of the occupied ones, in nats.

        .. math:: p(M \mid c) \propto p(M) \frac{M!}{(M - K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)}

        Averaged over draws of the partition it is the posterior of M given the data.

        Shape:
            clusters: K, any; output: ``(*clusters, T)`` float64 for M = 1, ..., T.

        Raises:
            ValueError: if the prior has batches, or more clusters than components.

        Example:
            >>> prior = FiniteMixturesPrior(1.0, torch.distributions.Categorical(torch.ones(3)))
            >>> prior.log_components(torch.tensor(1), 10).exp()
            tensor([0.8148, 0.1481, 0.0370], dtype=torch.float64)
        """
        num_points = check_count("num_points", num_points)
        if self.batch_shape:
            raise ValueError(
                f"the prior has the batch shape {tuple(self.batch_shape)}, expected (): take one prior"
            )
        log_p = log_component_numbers(self.extra_components, at_least=int(clusters.max()))
        terms = log_component_terms(log_p, self.value("weight_concentration"), num_points)
        spare = torch.arange(1, len(log_p) + 1, device=log_p.device) - clusters.unsqueeze(-1)
        found = torch.where(spare < 0, -torch.inf, terms - (spare.clamp(min=0).double() + 1).lgamma())
        if bool((found.amax(-1) == -torch.inf).any()):
            raise ValueError(
                f"clusters is {int(clusters.max())}, expected at most as many as the prior has components"
            )
        return found.log_softmax(-1)

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        weight = self.value("weight_concentration")
        return log_finite_mixtures_v(weight, self.extra_components, num_points=num_points, clusters=clusters)

    def _check_hyperparameters(self) -> None:
        self._check_positive("weight_concentration")
        check_extra_components(self.extra_components)
