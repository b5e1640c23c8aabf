"""Sizes of the blocks of partitions, and their weights under Gibbs-type priors."""

import torch
from torch import Tensor

from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.partitions import num_clusters

__all__ = ["block_sizes", "log_block_weights"]

# Up to here log-gamma functions may be subtracted: they lose fewer than three digits.
_MODERATE = -100.0


def block_sizes(assignments: Tensor) -> Tensor:
    """Count the points of every cluster.

    Shape:
        assignments: ``(..., N)`` canonical; output: ``(..., K)`` int64 with K the largest number of
        clusters among the label vectors, zeros where a vector has fewer. Cost O(N) a vector.

    Example:
        >>> block_sizes(torch.tensor([[0, 0, 1], [0, 0, 0]])).tolist()
        [[2, 1], [3, 0]]
    """
    width = int(num_clusters(assignments).max())
    zeros = torch.zeros(*assignments.shape[:-1], width, dtype=torch.int64, device=assignments.device)
    return zeros.scatter_add_(-1, assignments.long(), torch.ones_like(assignments, dtype=torch.int64))


def log_block_weights(sizes: Tensor, discount: Tensor) -> Tensor:
    r"""Return the log-weights of blocks in nats, 0 for empty ones.

    .. math:: \log w(n) = \log\Gamma(n - d) - \log\Gamma(1 - d)

    Shape:
        sizes: ``(..., K)``; discount: ``(*batch)``, below 1, broadcast against the dimensions before K;
        output: float64.

    Example:
        >>> log_block_weights(torch.tensor([3, 0]), torch.tensor(0.0)).exp().tolist()
        [2.0, 1.0]
    """
    more = (sizes.double() - 1).clamp(min=0)
    start = 1 - discount.to(more)
    start = start.unsqueeze(-1) if discount.dim() else start
    if bool((discount > _MODERATE).all()):
        return (start + more).lgamma() - start.lgamma()
    return log_rising(start, more)
