"""Drawing partitions of the two-parameter family point by point, in compiled code."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numba import njit
from torch import Tensor

from pyroclust.threads import num_threads

__all__ = ["draw_from_urn"]

# Points a task: enough to outweigh handing it to a thread.
_POINTS_A_TASK = 1 << 17


def draw_from_urn(discount: Tensor, concentration: Tensor, *, num_points: int) -> Tensor:
    r"""Draw one partition for each pair of parameters.

    Given n points in K clusters, the next point opens a cluster with probability
    :math:`(a + K d) / (a + n)`. Otherwise it joins cluster k with probability proportional to
    :math:`n_k - d`: the cluster of a random earlier point, refused with probability :math:`d / n_k` where d
    is positive, and mixed with a cluster chosen evenly where d is negative. Expected cost O(N) a draw for
    all parameters, memory O(N) a draw; large batches are split over the processor's cores, the draws being
    the same for any number of cores.

    Args:
        discount: d, below 1.
        concentration: a, above -d; where d is negative, a whole multiple of -d.
        num_points: N.

    Shape:
        discount, concentration: ``(...)``; output: ``(..., N)`` int64 canonical, on the same device.

    Example:
        >>> zero = torch.zeros(1000)
        >>> draws = draw_from_urn(zero, zero + 0.5, num_points=2)
        >>> abs((draws[:, 1] == 0).double().mean() - 1 / 1.5) < 0.06
        tensor(True)
    """
    rows = discount.numel()
    labels = np.empty((rows, num_points), dtype=np.int64)
    d, a = (one.detach().cpu().double().reshape(-1).numpy() for one in (discount, concentration))
    starts = range(0, rows, max(1, _POINTS_A_TASK // num_points))
    seeds = np.random.SeedSequence(int(torch.randint(2**63 - 1, ()))).spawn(len(starts))

    def seat(start: int, seed: np.random.SeedSequence) -> None:
        part = slice(start, start + starts.step)
        _seat(labels[part], d[part], a[part], np.random.default_rng(seed))

    if len(starts) == 1:
        seat(0, seeds[0])
    else:
        with ThreadPoolExecutor(num_threads()) as pool:
            list(pool.map(seat, starts, seeds))
    return torch.from_numpy(labels).view(*discount.shape, num_points).to(discount.device)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _joined_evenly(labels: np.ndarray, n: int, threshold: float, extra: float, clusters: int) -> int:
    """Choose a cluster by n_k + extra, the threshold being uniform between 0 and n + K extra."""
    if threshold < n:
        return labels[int(threshold)]
    return min(int((threshold - n) / extra), clusters - 1)


@njit(cache=True, nogil=True)
def _joined_at_discount(
    labels: np.ndarray, n: int, sizes: np.ndarray, discount: float, generator: np.random.Generator
) -> int:
    """Choose a cluster by n_k - d."""
    while True:
        label = labels[min(int(generator.random() * n), n - 1)]
        if discount == 0 or generator.random() * sizes[label] >= discount:
            return label
