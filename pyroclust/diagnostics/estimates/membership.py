"""How probable it is that a point belongs to each cluster of one partition."""

import numpy as np

from pyroclust.diagnostics.draws.labels import count_rows, flatten
from pyroclust.partitions.raw_labels import DrawsLike


def membership(
    draws: DrawsLike, partition: np.ndarray, *, row_weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how companions of each point in the draws are divided among clusters of a partition."""
    labels = flatten(draws)
    size, clusters, columns = len(labels), int(labels.max()) + 1, int(partition.max()) + 1
    cells = np.arange(size)[:, None] * clusters + labels
    counts = count_rows(cells * columns + partition, size * clusters * columns, row_weights=row_weights)
    counts = counts.reshape(size * clusters, columns)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    # One cluster at a time: all of them at once would take S N J numbers.
    return np.stack([shares[:, j][cells].mean(0) for j in range(columns)], axis=-1)
