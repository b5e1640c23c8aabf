"""The partition of a finite mixture whose weights get smaller with the number of its components."""

import math
from collections.abc import Iterator
from typing import ClassVar, NoReturn

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Categorical, Distribution, constraints

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.component_numbers import check_extra_components, log_component_numbers
from pyroclust.distributions.priors.dirichlet_multinomial import (
    DirichletMultinomialPrior,
    expected_occupied,
)
from pyroclust.distributions.priors.prior import PartitionPrior, block_sizes
from pyroclust.distributions.priors.two_parameter import as_parameter, draw_from_urn
from pyroclust.partitions import as_partitions, most_clusters

# What the components that are left out may have of a sum over all.
_LOG_NEGLIGIBLE = math.log(1e-13)
# Of the terms that are kept at once, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


@register(PartitionPrior)
class DynamicMixturesPrior(PartitionPrior):
    r"""The prior of a mixture of M components, M random, with weights from Dirichlet(a / M, ..., a / M).

    .. math::
        p(c) = \sum_{M \ge K} p(M) \, \frac{M!}{(M - K)!} \frac{\Gamma(a)}{\Gamma(a + N)}
        \prod_{k=1}^K \frac{\Gamma(n_k + a / M)}{\Gamma(a / M)}

    As M grows it becomes the Chinese restaurant's with concentration a. It is not of Gibbs type: it has no
    V_N(K), opening odds and block weights, and what wants these says so. Chains draw M beside the partition,
    and :meth:`log_prob` sums over M: the terms left out are below 1e-13 of the sum.

    Args:
        concentration: a, positive: a number, a batch, or the prior of a random number.
        extra_components: any Pyro distribution over 0, 1, 2, ... of M - 1, as for
            :class:`FiniteMixturesPrior`.

    Example:
        >>> from pyro.distributions import Geometric
        >>> prior = DynamicMixturesPrior(1.0, Geometric(0.4))
        >>> round(prior.log_prob(torch.tensor([[0, 0], [0, 1]])).exp().sum().item(), 9)
        1.0

    References:
        Fruehwirth-Schnatter, Malsiner-Walli & Gruen (2021), Generalized mixtures of finite mixtures and
        telescoping sampling. https://doi.org/10.1214/21-BA1294
    """

    hyper_names = ("concentration",)

    def __init__(self, concentration: Hyperparameter, extra_components: Distribution) -> None:
        self.concentration, self.extra_components = concentration, extra_components
        self._check_hyperparameters()

    @property
    def drawn_components(self) -> Distribution:
        return self.extra_components

    @property
    def block_discount(self) -> Tensor:
        """There is none: it depends on M."""
        self._refuse()

    def with_components(self, num_components: Tensor) -> DirichletMultinomialPrior:
        return DirichletMultinomialPrior(num_components, self.value("concentration") / num_components)

    def partition(self, num_points: int) -> "_DynamicMixture":
        return _DynamicMixture(self.value("concentration"), self.extra_components, num_points)

    def log_prob(self, assignments: Tensor, *, weights: Tensor | None = None) -> Tensor:
        """Return what :meth:`PartitionPrior.log_prob` does, in O(K) a term of the sum; no gradients."""
        shape = broadcast_shapes(assignments.shape[:-1], self.batch_shape)
        found = [some.logsumexp(-1) for some in self._log_terms(assignments, weights)]
        return torch.cat([torch.empty(0, dtype=torch.float64), *found]).view(shape)

    def log_components(self, assignments: Tensor) -> Tensor:
        r"""Return the posterior of the number of components given the partition, in nats.

        .. math:: p(M \mid c) \propto p(M) \frac{M!}{(M - K)!} \prod_k \frac{\Gamma(n_k + a/M)}{\Gamma(a/M)}

        Averaged over draws of the partition, and of a where that is random, it is the posterior given the
        data.

        Shape:
            assignments: ``(..., N)`` canonical; output: the broadcast of ``(...)`` and ``batch_shape``, then
            ``(T,)`` float64 for M = 1, ..., T.

        Raises:
            ValueError: if a vector is not canonical or has more clusters than there can be components, or the
                concentration is random.

        Example:
            >>> prior = DynamicMixturesPrior(1.0, torch.distributions.Categorical(torch.ones(3)))
            >>> prior.log_components(torch.tensor([0, 0, 0])).exp().numpy().round(3)
            array([0.467, 0.292, 0.242])
        """
        shape = broadcast_shapes(assignments.shape[:-1], self.batch_shape)
        found = [some.log_softmax(-1) for some in self._log_terms(assignments, None)]
        width = max(some.shape[-1] for some in found)
        pad = torch.nn.functional.pad
        padded = [pad(some, (0, width - some.shape[-1]), value=-torch.inf) for some in found]
        log_p = torch.cat(padded).view(*shape, width)
        if bool(log_p.isnan().any()):
            raise ValueError(
                f"assignments have {most_clusters(assignments)} clusters, expected at most as many as the "
                "prior has components"
            )
        return log_p

    def sample_components(self, assignments: Tensor) -> Tensor:
        """Draw the number of components given each partition, any where there are too many clusters."""
        drawn = []
        for logits in self._log_terms(assignments, None):
            logits[logits.amax(-1) == -torch.inf] = 0.0
            drawn.append(Categorical(logits=logits).sample() + 1)
        return torch.cat(drawn).view(broadcast_shapes(assignments.shape[:-1], self.batch_shape))

    def log_prob_num_clusters(self, num_points: int, *, most: int | None = None) -> Tensor:
        log_p = log_component_numbers(self.extra_components)
        each_concentration = self.given({"concentration": self.value("concentration").unsqueeze(-1)})
        given = each_concentration.with_components(torch.arange(1, len(log_p) + 1))
        each = given.log_prob_num_clusters(num_points, most=most)
        return (each + log_p.unsqueeze(-1)).logsumexp(-2)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        log_p = log_component_numbers(self.extra_components)
        components = torch.arange(1, len(log_p) + 1, dtype=torch.float64)
        weight = self.value("concentration").unsqueeze(-1) / components
        occupied = expected_occupied(components, weight, check_count("num_points", num_points))
        return (log_p.exp() * occupied).sum(-1)

    def _log_terms(self, assignments: Tensor, weights: Tensor | None) -> Iterator[Tensor]:
        """Yield log p(M) p(c | M) of some partitions after others, ``(rows, T)``."""
        labels = as_partitions("assignments", assignments)
        shape = broadcast_shapes(labels.shape[:-1], self.batch_shape)
        sizes = block_sizes(labels, weights)
        sizes = sizes.expand(*shape, -1).reshape(shape.numel(), sizes.shape[-1])
        concentration = self.value("concentration").detach().expand(shape).reshape(-1)
        log_p = log_component_numbers(self.extra_components, at_least=labels.shape[-1]).numpy()
        log_beyond = np.append(np.logaddexp.accumulate(log_p[::-1])[::-1], -np.inf)
        some = max(1, _MAX_ENTRIES // len(log_p))
        for part, own in zip(sizes.split(some), concentration.split(some), strict=True):
            found = np.full((len(part), len(log_p)), -np.inf)
            last = _fill_terms(part.numpy(), own.numpy(), log_p, log_beyond, found)
            yield torch.from_numpy(found[:, :last])

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "prior is a DynamicMixturesPrior, whose weights depend on the number of components, expected one "
            "of Gibbs type: CollapsedGibbs, SplitMerge, MergeSplit and AuxiliaryGibbs take it, "
            "prior.with_components(M) is of Gibbs type"
        )

    def _check_hyperparameters(self) -> None:
        self._check_positive("concentration")
        check_extra_components(self.extra_components)
        if self.extra_components.batch_shape:
            raise ValueError(
                f"extra_components has shape {tuple(self.extra_components.batch_shape)}, expected the "
                "distribution of a number"
            )


@compiled(fastmath=False)
def _fill_terms(
    sizes: np.ndarray, concentration: np.ndarray, log_p: np.ndarray, log_beyond: np.ndarray, found: np.ndarray
) -> int:
    """Fill in the terms of each partition until the rest is negligible; return how many columns have some."""
    last = 1
    for row in range(len(sizes)):
        a, clusters, total = concentration[row], np.count_nonzero(sizes[row]), -np.inf
        scale = clusters * math.log(a) + math.lgamma(a) - math.lgamma(a + sizes[row].sum())
        for m in range(clusters, len(log_p) + 1):
            # M! / (M - K)! / M^K, which rises with M to one; all that follows falls with M.
            apart, log_prob = 0.0, scale - clusters * math.lgamma(1 + a / m)
            for j in range(clusters):
                apart += math.log1p(-j / m)
                log_prob += math.lgamma(sizes[row, j] + a / m)
            term = log_p[m - 1] + apart + log_prob
            found[row, m - 1] = term
            last = max(last, m)
            if term > -np.inf:
                high, low = max(total, term), min(total, term)
                total = high + math.log1p(math.exp(low - high))
            if log_beyond[m] + log_prob <= total + _LOG_NEGLIGIBLE:
                break
    return last


class _DynamicMixture(PartitionDistribution):
    """The partition of N points under a :class:`DynamicMixturesPrior` with a known concentration."""

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    has_enumerate_support = True
    batched: ClassVar[dict[str, int]] = {"concentration": 0}

    def __init__(
        self,
        concentration: Tensor,
        extra_components: Distribution,
        num_points: int,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration = as_parameter("concentration", concentration)
        self.extra_components = extra_components
        super().__init__(num_points, batch_shape=self.concentration.shape, validate_args=validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        concentration = self.concentration.double().expand(*sample_shape, *self.batch_shape)
        components = self.extra_components.sample(concentration.shape).to(concentration) + 1
        return draw_from_urn(-concentration / components, concentration, num_points=self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        return DynamicMixturesPrior(self.concentration, self.extra_components).log_prob(value)
