"""Partition priors: contract, addition rule, law of the number of clusters, and how to choose one."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
import scipy
import torch
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.core.compiling import compiled, inner
from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions.hyperparameters import Hyperparameterised, shown
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.component_numbers import log_component_numbers
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.partitions import as_partitions, label_range, most_clusters

# Up to here log-gamma functions may be subtracted: they lose fewer than three digits.
_MODERATE = -100.0


def block_sizes(assignments: Tensor, weights: Tensor | None = None) -> Tensor:
    """Count the points of every cluster, each as often as its weight says."""
    width = most_clusters(assignments)
    zeros = torch.zeros(*assignments.shape[:-1], width, dtype=torch.int64, device=assignments.device)
    labels = assignments.long()
    each = torch.ones_like(labels) if weights is None else weights.expand_as(labels)
    return zeros.scatter_add_(-1, labels, each)


def log_block_weights(sizes: Tensor, discount: Tensor) -> Tensor:
    """Return log w(n) = log Gamma(n - d) - log Gamma(1 - d) of blocks, ``(..., K)``, 0 for empty ones."""
    more = (sizes.double() - 1).clamp(min=0)
    start = 1 - discount.to(more)
    start = start.unsqueeze(-1) if discount.dim() else start
    if bool((discount > _MODERATE).all()):
        return (start + more).lgamma() - start.lgamma()
    return log_rising(start, more)


def log_v_of_fewer(log_v: Tensor, discount: float, *, num_points: int, steps: int) -> Tensor:
    """Continue a table of log V_N(K), K = 0, 1, ..., to fewer points, one row and one column less a step."""
    rows = np.full((steps + 1, len(log_v)), -np.inf)
    rows[0] = log_v.detach().double().cpu().numpy()
    _downwards(rows, discount, num_points)
    return torch.from_numpy(rows[:, : len(log_v) - steps])


@compiled(allocates=False, fastmath=False)
def _downwards(found: np.ndarray, discount: float, num_points: int) -> None:
    for j in range(1, len(found)):
        n = num_points - j
        for k in range(1, min(n + 1, found.shape[1] - j)):
            stay, opened = found[j - 1, k] + np.log(n - discount * k), found[j - 1, k + 1]
            high, low = max(stay, opened), min(stay, opened)
            found[j, k] = high + np.log1p(np.exp(low - high)) if high > -np.inf else high


# exp(-40) is below half a unit in the last place of one.
_NEGLIGIBLE = 40.0


@lru_cache(maxsize=256)
def log_stirling_numbers(discount: float, num_points: int, width: int) -> Tensor:
    r"""Sum the block weights of all partitions of N points into K = 1, ..., width clusters, cached.

    .. math:: S_d(n + 1, K) = (n - d K) \, S_d(n, K) + S_d(n, K - 1)
    """
    return torch.from_numpy(_recursion(discount, num_points, width))


@compiled(fastmath=False)
def _recursion(discount: float, num_points: int, width: int) -> np.ndarray:
    found = np.full(width, -np.inf)
    found[0] = 0.0
    for n in range(1, num_points):
        log_n = np.log(n)
        for k in range(min(n, width - 1), 0, -1):
            opened = found[k - 1] - log_n
            found[k] = _log_add(found[k] + _log_stay(n, discount, k + 1), opened) if k < n else opened
        found[0] += _log_stay(n, discount, 1)
    return found + math.lgamma(num_points)


@inner(fastmath=False)
def _log_stay(n: int, discount: float, clusters: int) -> float:
    """Return log(1 - d K / n)."""
    return np.log1p(-discount * clusters / n) if discount != 0 else 0.0


@inner(fastmath=False)
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if high - low > _NEGLIGIBLE else high + np.log1p(np.exp(low - high))


_STRIDE = 64
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class PartitionPrior(Hyperparameterised, ABC):
    r"""A Gibbs-type prior of partitions: a weight for every block and one for their number.

    .. math::
        p(c) = V_N(K) \prod_{k=1}^K w(n_k), \qquad w(n) = \frac{\Gamma(n - d)}{\Gamma(1 - d)}, \qquad
        V_N(K) = (N - d K) V_{N+1}(K) + V_{N+1}(K+1)

    Given n points in K clusters, the next one joins cluster k with weight :math:`n_k - d` and opens a new one
    with weight :math:`V_{n+1}(K+1) / V_{n+1}(K)`. Subclasses write :meth:`partition`, ``block_discount`` and
    ``_log_v``, and list their hyperparameters in ``hyper_names``. Wherever one is random, the methods below
    ask for a number.

    Attributes:
        is_pitman_yor: whether this is a Pitman-Yor process, in which a new cluster beside K others opens with
            weight ``concentration + K * block_discount``, whatever the number of points.

    References:
        Gnedin & Pitman (2006), Exchangeable Gibbs partitions. https://doi.org/10.1007/s10958-006-0335-z
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
        """Return log V_N(K), the weight of K clusters, in nats; minus infinity where that is impossible.

        Shape:
            clusters: ``(...)``, broadcast with ``batch_shape``; output: their broadcast, float64.

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
        batch, device = self.batch_shape, self.block_discount.device
        clusters = torch.arange(width + stride, device=device).view(-1, *(1,) * len(batch))
        discounts = self.block_discount.expand(batch).reshape(-1).tolist()
        rows = []
        for n in range(stride, num_points + stride, stride):
            log_v = self.log_v(n, clusters).reshape(len(clusters), -1).T
            fewer = [
                log_v_of_fewer(one, discount, num_points=n, steps=stride - 1)
                for one, discount in zip(log_v, discounts, strict=True)
            ]
            rows.append(torch.stack(fewer).flip(1))
        log_v = torch.cat(rows, 1).view(*batch, -1, width + 1).to(device)
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

        with generalised Stirling numbers S. Cost O(N K) once per discount and N, then O(K).

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


PriorT = TypeVar("PriorT", bound=PartitionPrior)

# An end of the bounds at zero or of a bounded interval is approached, not taken: 1e-9 of the way.
_MARGIN = 1e-9
_TOLERANCE = 1e-12


def elicit(
    family: Callable[[float], PriorT],
    *,
    num_points: int,
    expected_clusters: float,
    bounds: tuple[float, float] = (1e-6, 1e6),
) -> PriorT:
    """Find the hyperparameter that gives a wanted prior mean of the number of clusters, by Brent's method.

    Args:
        family: builds the prior from the hyperparameter to be found, all others fixed;
            ``expected_num_clusters`` must rise or fall with it.
        num_points: N at which the mean is wanted.
        expected_clusters: the wanted mean, between 1 and N.
        bounds: where to look, on a log scale. With a lower bound of zero, such as ``(0, 1)`` for a discount,
            the search is on the plain scale and stays 1e-9 of the way inside.

    Returns:
        The prior; it holds the number that was found.

    Raises:
        ValueError: if the prior cannot have the wanted mean within the bounds, or the family refuses a number
            within them.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> prior = elicit(ChineseRestaurantPrior, num_points=100, expected_clusters=5.0)
        >>> round(prior.concentration, 4), round(prior.expected_num_clusters(100).item(), 9)
        (0.9476, 5.0)
    """
    num_points = check_count("num_points", num_points)
    check_number("expected_clusters", expected_clusters)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"bounds is {shown(bounds)}, expected two numbers, the lower one first")
    low, high = (check_number(f"bounds[{place}]", one) for place, one in enumerate(bounds))
    if not low < high:
        raise ValueError(f"bounds is {bounds}, expected the lower one first")
    logarithmic = low > 0
    if not logarithmic:
        low, high = low + _MARGIN * (high - low), high - _MARGIN * (high - low)

    def mean(position: float) -> float:
        value = math.exp(position) if logarithmic else position
        return float(family(value).expected_num_clusters(num_points))

    ends = (math.log(low), math.log(high)) if logarithmic else (low, high)
    reached = sorted(mean(end) for end in ends)
    if not reached[0] <= expected_clusters <= reached[1]:
        raise ValueError(
            f"expected_clusters is {expected_clusters}, expected {reached[0]:.6g} to {reached[1]:.6g}: what "
            f"this prior reaches at {num_points} points with the hyperparameter between {bounds[0]:g} and "
            f"{bounds[1]:g}; widen bounds or change the other hyperparameters"
        )
    found = scipy.optimize.brentq(
        lambda at: mean(at) - expected_clusters, *ends, xtol=_TOLERANCE, rtol=_TOLERANCE
    )
    return family(math.exp(found) if logarithmic else found)
