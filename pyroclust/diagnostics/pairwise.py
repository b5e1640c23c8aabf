"""Losses of all pairs of two sets of partitions."""

import numpy as np

from pyroclust.diagnostics.contingency import all_losses
from pyroclust.diagnostics.membership import flatten
from pyroclust.diagnostics.partition_losses import PartitionLoss, VariationOfInformation, check_points

__all__ = ["pairwise_loss"]

_DEFAULT_LOSS = VariationOfInformation()


def pairwise_loss(a: np.ndarray, b: np.ndarray, *, loss: PartitionLoss = _DEFAULT_LOSS) -> np.ndarray:
    """Return the losses of every partition of the first set with every one of the second.

    Cost: O(S T N) in compiled threads, a second for about 10^9 of that product; memory O(S T).

    Shape:
        a: ``(S, N)``, b: ``(T, N)`` labels 0 to N - 1, or with a dimension of chains in front, which is
        merged; output: ``(S, T)``.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

    Example:
        >>> labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        >>> pairwise_loss(labels, labels).tolist()
        [[0.0, 2.0], [2.0, 0.0]]
    """
    a, b = flatten(a), flatten(b)
    check_points(a, b)
    losses = np.empty((len(a), len(b)))
    for rows, block in all_losses(a, b, loss.terms(a.shape[-1]), loss.form()):
        losses[rows] = block
    return losses
