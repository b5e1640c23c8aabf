"""Data sets of several sizes, as batches of equal size."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pyroclust.infer.checks import check_finite

__all__ = ["DataGroup", "group_by_size"]

DataGroup = tuple[Tensor, Tensor]


def group_by_size(data: Tensor | Sequence[Tensor], dim: int) -> list[DataGroup]:
    """Batch data sets of equal numbers of points, small ones first, and remember where they were.

    Shape:
        data: ``(*batch, N, D)``, or a sequence of ``(N, D)``; output: pairs of positions ``(B,)`` and data
        ``(B, N, D)``.

    Raises:
        ValueError: if there is no data set, one is not ``(N, dim)`` with N of at least 2, or one is not
            finite.

    Example:
        >>> groups = group_by_size([torch.zeros(5, 2), torch.ones(3, 2), torch.zeros(5, 2)], 2)
        >>> [(positions.tolist(), tuple(some.shape)) for positions, some in groups]
        [([1], (1, 3, 2)), ([0, 2], (2, 5, 2))]
    """
    if isinstance(data, Tensor):
        if data.dim() < 2:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected (*batch, N, {dim})")
        data = list(data.reshape(-1, *data.shape[-2:]))
    if not len(data):
        raise ValueError("data holds no data set, expected at least one")
    for position, one in enumerate(data):
        if one.dim() != 2 or one.shape[0] < 2 or one.shape[1] != dim:
            raise ValueError(
                f"data set {position} has shape {tuple(one.shape)}, expected (N, {dim}) "
                "with at least 2 points"
            )
        check_finite(one)
    sizes = torch.tensor([len(one) for one in data])
    positions = [(sizes == size).nonzero()[:, 0] for size in sizes.unique()]
    return [(index, torch.stack([data[i] for i in index.tolist()])) for index in positions]
