"""The contract of partition priors, as models, guides and kernels see them."""

from abc import ABC, abstractmethod

import torch
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import check_count
from pyroclust.distributions.hyperparameters import Hyperparameterised
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.component_numbers import log_component_numbers
from pyroclust.distributions.priors.gibbs_type import (
    block_sizes,
    log_block_weights,
    log_stirling_numbers,
    log_v_of_fewer,
    log_v_of_fewer_batched,
)
from pyroclust.partitions import as_partitions, label_range

_STRIDE = 64
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class PartitionPrior(Hyperparameterised, ABC):
    r"""A Gibbs-type prior of partitions: a weight for every block and one for their number.

    .. math::
        p(c) = V_N(K) \prod_{k=1}^K w(n_k), \qquad w(n) = \frac{\Gamma(n - d)}{\Gamma(1 - d)}

    The weights of N and N + 1 points agree: :math:`V_N(K) = (N - d K) V_{N+1}(K) + V_{N+1}(K+1)`. Given n
    points in K clusters, the next one joins cluster k with weight :math:`n_k - d` and opens a new one with
    weight :math:`V_{n+1}(K+1) / V_{n+1}(K)`.

    Subclasses write :meth:`partition`, ``block_discount`` and ``_log_v``, and list their hyperparameters in
    ``hyper_names``. Wherever a hyperparameter is random, the methods below raise and ask for a number.

    References:
        Gnedin & Pitman (2006), Exchangeable Gibbs partitions. https://doi.org/10.1007/s10958-006-0335-z
        De Blasi et al. (2015), Are Gibbs-type priors the most natural generalization of the Dirichlet
        process? https://doi.org/10.1109/TPAMI.2013.217

    Attributes:
        is_pitman_yor: whether this is a Pitman-Yor process, in which a new cluster beside K others opens with
            weight ``concentration + K * block_discount``, whatever the number of points.
    """

    is_pitman_yor: bool = False

    @property
    def integrated_names(self) -> frozenset[str]:
        """Random hyperparameters that :meth:`log_prob` integrates over; others must be given first."""
        return frozenset()

    @property
    def drawn_components(self) -> Distribution | None:
        """The law of a number of components less one that chains draw beside the partition, if they do."""
        return None

    def log_drawn_components(self, at_least: int) -> Tensor | None:
        """Return the log-probabilities of M = 1, ..., T for :attr:`drawn_components`, T at least so."""
        law = self.drawn_components
        return None if law is None else log_component_numbers(law, at_least=at_least)

    def with_components(self, num_components: Tensor) -> "PartitionPrior":
        """Return the prior given the number of components, where :attr:`drawn_components` has one."""
        raise NotImplementedError

    @property
    @abstractmethod
    def block_discount(self) -> Tensor:
        """The discount d of the block weights, ``()`` or ``(*batch)`` float64."""

    @abstractmethod
    def partition(self, num_points: int) -> PartitionDistribution:
        """Return the prior of the partition of N points as a Pyro distribution."""

    @abstractmethod
    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log V_N(K) where 1 <= K <= N."""

    @property
    def batch_shape(self) -> Size:
        """The broadcast shape of the hyperparameters."""
        return broadcast_shapes(*(self.value(name).shape for name in self.hyper_names))

    def log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log V_N(K), the weight of K clusters, in nats.

        Shape:
            clusters: ``(...)``, broadcast with ``batch_shape``; output: their broadcast, float64, minus
            infinity where no partition of N points has K clusters.

        Raises:
            ValueError: if ``num_points`` is no count, or ``clusters`` are no whole numbers in a tensor.
        """
        num_points = check_count("num_points", num_points, at_least=0)
        kind = getattr(clusters, "dtype", type(clusters).__name__)
        if kind not in _WHOLE or clusters.layout != torch.strided:
            raise ValueError(
                f"clusters is of type {kind}, expected a dense tensor of whole numbers, as int64"
            )
        possible = (clusters >= 1) & (clusters <= num_points)
        found = self._log_v(num_points, clusters.clamp(1, num_points))
        return torch.where(possible, found, -torch.inf)

    def log_block_weight(self, sizes: Tensor) -> Tensor:
        """Return log w(n) of blocks ``(..., K)`` in nats, 0 for an empty one."""
        return log_block_weights(sizes, self.block_discount)

    def log_opening_odds(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log V_{n+1}(K+1) - log V_{n+1}(K), the log-weight of a new cluster after n points in K.

        Shape:
            clusters: ``(...)``, broadcast with ``batch_shape``; output: their broadcast, float64; minus
            infinity where there can be no further cluster, and where K clusters are impossible.
        """
        more, same = (self.log_v(num_points + 1, clusters + extra) for extra in (1, 0))
        possible = more.isfinite() & same.isfinite() & (clusters <= num_points)
        return torch.where(possible, more - same, -torch.inf)

    def log_opening_table(self, num_points: int, width: int) -> Tensor:
        """Tabulate :meth:`log_opening_odds` for every number of points and clusters.

        Weights are computed for every 64th number of points, and those between by the addition rule.

        Shape:
            output: ``(*batch_shape, num_points, width)`` float64 for n = 0, ..., num_points - 1 and
            K = 0, ..., width - 1, with a batch of at most one dimension.
        """
        stride = min(_STRIDE, num_points)
        ends = range(stride, num_points + stride, stride)
        discount = self.block_discount
        clusters = torch.arange(width + stride, device=discount.device)
        if self.batch_shape:
            rows = [self.log_v(n, clusters.unsqueeze(-1)).T for n in ends]
            points = torch.tensor(ends, device=discount.device)
            log_v = log_v_of_fewer_batched(torch.stack(rows, 1), discount, points, width + 1)
        else:
            rows = [
                log_v_of_fewer(self.log_v(n, clusters), discount.item(), num_points=n, steps=stride - 1)
                for n in reversed(ends)
            ]
            log_v = torch.cat(rows).flip(0)
        more, same = log_v[..., :num_points, 1:], log_v[..., :num_points, :-1]
        possible = more.isfinite() & same.isfinite()
        return torch.where(possible, more - same, -torch.inf)

    def log_prob(self, assignments: Tensor, *, weights: Tensor | None = None) -> Tensor:
        """Return the log-probability of each partition in nats, O(N) each.

        Shape:
            assignments: ``(..., N)`` canonical; weights: how many points each stands for, which are together,
            ``(N,)`` int64; output: the broadcast of ``(...)`` and ``batch_shape``, float64.

        Raises:
            ValueError: if a vector is not canonical, or a hyperparameter is random.
        """
        labels = as_partitions("assignments", assignments)
        num_points = labels.shape[-1] if weights is None else int(weights.sum())
        of_blocks = self.log_block_weight(block_sizes(labels, weights)).sum(-1)
        return self.log_v(num_points, label_range(labels)) + of_blocks

    def log_prob_num_clusters(self, num_points: int, *, most: int | None = None) -> Tensor:
        r"""Return the exact prior of the number of clusters in nats.

        .. math:: p(K) = V_N(K) \, S_d(N, K)

        with generalised Stirling numbers S. Cost O(N K) once per discount and N, K the largest number of
        clusters (about a second at N = 10,000), then O(K).

        Shape:
            output: ``(*batch_shape, K)`` float64 for 1, ..., K, K the smaller of N and ``most``.

        Raises:
            ValueError: if a hyperparameter is random.

        Example:
            >>> from pyroclust.distributions import PitmanYorPrior
            >>> PitmanYorPrior(0.5, 0.5).log_prob_num_clusters(3).exp().numpy().round(6)  # 1/5, 2/5, 2/5
            array([0.2, 0.4, 0.4])
        """
        num_points = check_count("num_points", num_points)
        most = num_points if most is None else min(num_points, check_count("most", most))
        batch = self.batch_shape
        clusters = torch.arange(1, most + 1).view(-1, *(1,) * len(batch))
        log_v = self.log_v(num_points, clusters).movedim(0, -1)
        width = int(log_v.isfinite().reshape(-1, most).any(0).nonzero().max()) + 1
        discounts = self.block_discount.expand(batch).reshape(-1).tolist()
        stirling = torch.stack([log_stirling_numbers(d, num_points, width) for d in discounts])
        found = log_v[..., :width] + stirling.view(*batch, width).to(log_v.device)
        return torch.nn.functional.pad(found, (0, most - width), value=-torch.inf)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        """Return the prior mean of the number of clusters, ``batch_shape`` float64.

        Raises:
            ValueError: if a hyperparameter is random.
        """
        num_points = check_count("num_points", num_points)
        clusters = torch.arange(1, num_points + 1, dtype=torch.float64)
        return (self.log_prob_num_clusters(num_points).exp() * clusters).sum(-1)
