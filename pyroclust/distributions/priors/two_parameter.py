"""The two-parameter family of exchangeable partitions: one law and one sampler for its members."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import each_in_threads
from pyroclust.core.numbers import as_numbers
from pyroclust.distributions.hyperparameters import as_number, shown
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior, block_sizes, log_block_weights
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.partitions import label_range

# Points a task: enough to outweigh handing it to a thread.
_POINTS_A_TASK = 1 << 17


def draw_from_urn(discount: Tensor, concentration: Tensor, *, num_points: int) -> Tensor:
    """Draw one partition for each pair of parameters, ``(...) -> (..., N)``, in compiled code, O(N) each.

    The next point opens a cluster with probability :math:`(a + K d) / (a + n)`, else it joins cluster k by
    :math:`n_k - d`: the cluster of a random earlier point, refused with probability :math:`d / n_k` where d
    is positive, and mixed with a cluster chosen evenly where it is negative. Draws are the same for any
    number of cores.
    """
    rows = discount.numel()
    labels = np.empty((rows, num_points), dtype=np.int64)
    d, a = (one.detach().cpu().double().reshape(-1).numpy() for one in (discount, concentration))
    starts = range(0, rows, max(1, _POINTS_A_TASK // num_points))
    seeds = np.random.SeedSequence(int(torch.randint(2**63 - 1, ()))).spawn(len(starts))

    def seat(start: int, seed: np.random.SeedSequence) -> None:
        part = slice(start, start + starts.step)
        _seat(labels[part], d[part], a[part], np.random.default_rng(seed))

    each_in_threads(seat, starts, seeds)
    return torch.from_numpy(labels).view(*discount.shape, num_points).to(discount.device)


@compiled(fastmath=False)
def _seat(
    labels: np.ndarray, discount: np.ndarray, concentration: np.ndarray, generator: np.random.Generator
) -> None:
    sizes = np.empty(labels.shape[1], dtype=np.int64)
    for row in range(labels.shape[0]):
        d, a = discount[row], concentration[row]
        labels[row, 0], sizes[0], clusters = 0, 1, 1
        for n in range(1, labels.shape[1]):
            threshold = generator.random() * (a + n) - (a + clusters * d)
            if threshold < 0:
                label, sizes[clusters] = clusters, 0
                clusters += 1
            elif d < 0:
                label = _joined_evenly(labels[row], n, threshold, -d, clusters)
            else:
                label = _joined_at_discount(labels[row], n, sizes, d, generator)
            labels[row, n] = label
            sizes[label] += 1


@compiled(fastmath=False)
def _joined_evenly(labels: np.ndarray, n: int, threshold: float, extra: float, clusters: int) -> int:
    """Choose a cluster by n_k + extra, the threshold being uniform between 0 and n + K extra."""
    if threshold < n:
        return labels[int(threshold)]
    return min(int((threshold - n) / extra), clusters - 1)


@compiled(fastmath=False)
def _joined_at_discount(
    labels: np.ndarray, n: int, sizes: np.ndarray, discount: float, generator: np.random.Generator
) -> int:
    """Choose a cluster by n_k - d."""
    while True:
        label = labels[min(int(generator.random() * n), n - 1)]
        if discount == 0 or generator.random() * sizes[label] >= discount:
            return label


def as_parameter(name: str, value: Any) -> Tensor:
    """Return tensors as they are; numbers, and arrays and lists of them, in float64; refuse others."""
    if isinstance(value, np.ndarray | list | tuple):
        value = torch.from_numpy(np.array(as_numbers(name, value)))
    found = as_number(name, value)
    if not bool((found.abs() <= torch.finfo(torch.float32).max).all()):
        sized = ", of a size that single precision has" if bool(found.isfinite().all()) else ""
        raise ValueError(f"{name} is {shown(value)}, expected finite numbers{sized}")
    return value if isinstance(value, Tensor) else found


def has_no_discount(discount: Tensor, concentration: Tensor) -> Tensor:
    """Return where a discount is zero, or so small that the concentration holds no such number of it."""
    return (discount == 0) | (concentration / discount.abs()).isinf()


def log_two_parameter_v(
    discount: Tensor, concentration: Tensor, *, num_points: int, clusters: Tensor
) -> Tensor:
    """Return log V_N(K), a product in closed form for every sign of d; minus infinity where K is impossible.

    Where d is negative, a is a whole multiple M of -d: the law of M components.
    """
    opened = clusters.double() - 1
    d, a = discount.to(opened), concentration.to(opened)
    none = has_no_discount(d, a)
    if bool(none.all()):
        return opened * a.log() - log_rising(a + 1, num_points - 1.0)
    step = torch.where(none, 1.0, d.abs())
    components = (a / step).round()
    start = torch.where(d > 0, a / step + 1, (components - opened).clamp(min=1))
    product = opened * step.log() + log_rising(start, opened)
    product = torch.where(none, opened * torch.where(none, a, 1.0).log(), product)
    product = torch.where((d < 0) & (opened >= components), -torch.inf, product)
    return product - log_rising(a + 1, num_points - 1.0)


class TwoParameterPartition(PartitionDistribution):
    """A partition distribution of the two-parameter family, whose parameters ``arg_constraints`` lists."""

    has_enumerate_support = True

    two_parameters: Callable[..., tuple[Tensor, Tensor]]
    """Translates the parameters of the law to discount and concentration."""

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        return self.two_parameters(*(getattr(self, name).double() for name in self.arg_constraints))

    @property
    def batched(self) -> dict[str, int]:  # type: ignore[override]
        return dict.fromkeys(self.arg_constraints, 0)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        discount, concentration = (one.expand(shape[:-1]) for one in self._two_parameters())
        return draw_from_urn(discount, concentration, num_points=self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        discount, concentration = self._two_parameters()
        log_v = log_two_parameter_v(
            discount, concentration, num_points=self.num_points, clusters=label_range(value)
        )
        return log_v + log_block_weights(block_sizes(value), discount).sum(-1)


class TwoParameterPrior(PartitionPrior):
    r"""A Gibbs-type prior with a discount and a concentration, the parameters of its ``process``.

    .. math:: V_N(K) = \frac{\prod_{j=1}^{K-1} (a + j d)}{\prod_{i=1}^{N-1} (a + i)}
    """

    process: Any

    def partition(self, num_points: int) -> PartitionDistribution:
        found: PartitionDistribution = self.process(*map(self.value, self.hyper_names), num_points)
        return found

    def _two_parameters(self) -> tuple[Tensor, Tensor]:
        discount, concentration = torch.broadcast_tensors(
            *self.process.two_parameters(*map(self.value, self.hyper_names))
        )
        return discount, concentration

    @property
    def block_discount(self) -> Tensor:
        return self._two_parameters()[0]

    def log_opening_odds(self, num_points: int, clusters: Tensor) -> Tensor:
        """Return log(a + K d), the log-weight of a new cluster after n points in K."""
        discount, concentration = (one.to(clusters.device) for one in self._two_parameters())
        weight = concentration + clusters * discount
        possible = (weight > 0) & (clusters >= 1) & (clusters <= num_points)
        return torch.where(possible, torch.where(possible, weight, 1.0).log(), -torch.inf)

    def log_opening_table(self, num_points: int, width: int) -> Tensor:
        """Tabulate :meth:`log_opening_odds`; of a batch the rows for all n are the same numbers in memory."""
        clusters = torch.arange(width, device=self.block_discount.device)
        if self.batch_shape:
            odds = self.log_opening_odds(max(num_points, width), clusters.unsqueeze(-1)).T
            return odds.unsqueeze(1).expand(-1, num_points, -1)
        odds = self.log_opening_odds(num_points, clusters)
        possible = clusters <= torch.arange(num_points).unsqueeze(-1)
        return torch.where(possible, odds, -torch.inf)

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        discount, concentration = self._two_parameters()
        return log_two_parameter_v(discount, concentration, num_points=num_points, clusters=clusters)
