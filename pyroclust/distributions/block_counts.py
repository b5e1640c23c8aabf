"""Sizes of the blocks of partitions."""

import torch
from torch import Tensor

from pyroclust.partitions import num_clusters

__all__ = ["block_sizes", "log_gamma_of_block_sizes"]


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


def log_gamma_of_block_sizes(assignments: Tensor) -> Tensor:
    """Sum log Gamma(n_k) over the clusters of each partition, ``(..., N) -> (...)`` float64.

    Example:
        >>> log_gamma_of_block_sizes(torch.tensor([0, 0, 0])).exp().item()
        2.0
    """
    sizes = block_sizes(assignments).double()
    return torch.where(sizes > 0, sizes.clamp(min=1).lgamma(), 0.0).sum(-1)
