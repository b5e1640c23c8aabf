"""How probable it is that a point belongs to each cluster of one partition."""

import numpy as np

from pyroclust.diagnostics.draws.labels import count_rows, flatten
from pyroclust.partitions.raw_labels import DrawsLike

__all__ = ["membership"]


def membership(
    draws: DrawsLike, partition: np.ndarray, *, row_weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return how the companions that each point has in the draws are divided among clusters of a partition.

    .. math:: p_{ij} = \frac1S \sum_s \frac{\#\{l : c^{(s)}_l = c^{(s)}_i, \, \hat c_l = j\}}
        {\#\{l : c^{(s)}_l = c^{(s)}_i\}}

    A point is its own companion. Labels of draws have no meaning of their own: this takes the place of the
    posterior class probabilities of latent class analysis. Cost O(S N J), memory O(S N + S K J).

    Args:
        draws: S draws of N points.
        partition: labels of J clusters.
        row_weights: how many equal rows each point stands for; one by default.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; partition: ``(N,)``; row_weights: ``(N,)``; output:
        ``(N, J)``, rows sum to 1.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1.

    Example:
        >>> membership(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 0, 1])).tolist()
        [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75]]
    """
    labels = flatten(draws)
    size, clusters, columns = len(labels), int(labels.max()) + 1, int(partition.max()) + 1
    cells = np.arange(size)[:, None] * clusters + labels
    counts = count_rows(cells * columns + partition, size * clusters * columns, row_weights=row_weights)
    counts = counts.reshape(size * clusters, columns)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    # One cluster at a time: all of them at once would take S N J numbers.
    return np.stack([shares[:, j][cells].mean(0) for j in range(columns)], axis=-1)
