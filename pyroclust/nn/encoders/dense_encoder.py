"""A plain network of dense layers from points of any shape to vectors."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.nn.encoders.encoder import Encoder, single_points
from pyroclust.nn.sizes import MAX_BLOCKS

__all__ = ["DenseEncoder", "checked_widths", "dense_layers"]


@register(Encoder)
class DenseEncoder(nn.Module):
    """Turn every point into a vector by dense layers, each with batch normalisation and ReLU.

    For points of many numbers, as images laid flat and bags of words. In training every layer is normalised
    over the batch, so that a batch must have two points or more. Cost O(sum of products of neighbouring
    widths) a point.

    Args:
        event_shape: shape of a point; its numbers are laid flat.
        widths: of the layers; the last is E, that of the vectors.
        log_counts: take log(1 + x) of the numbers first, as counts need it.

    Shape:
        data: ``(B, N, *event_shape)``; output: ``(B, N, E)``.

    Raises:
        ValueError: if a number is no count.

    Example:
        >>> import torch
        >>> DenseEncoder((8, 8), widths=(32, 16))(torch.rand(2, 7, 8, 8)).shape
        torch.Size([2, 7, 16])
    """

    def __init__(
        self, event_shape: Sequence[int], *, widths: Sequence[int] = (512, 512), log_counts: bool = False
    ) -> None:
        super().__init__()
        self.event_shape = tuple(check_count("event_shape", one) for one in event_shape)
        self.widths, self.log_counts = checked_widths(widths), log_counts
        self.dim = self.widths[-1]
        self.layers = dense_layers(math.prod(self.event_shape), self.widths)

    def forward(self, data: Tensor) -> Tensor:
        """Encode each point on its own."""
        flat = single_points(data, self.event_shape).flatten(1).to(next(self.parameters()).dtype)
        vectors: Tensor = self.layers(flat.log1p() if self.log_counts else flat)
        return vectors.view(*data.shape[:2], self.dim)


def checked_widths(widths: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of layers.

    Raises:
        ValueError: if there are none or too many, or one is no count.

    Example:
        >>> checked_widths([64, 32])
        (64, 32)
    """
    if not 1 <= len(widths) <= MAX_BLOCKS:
        raise ValueError(f"widths has {len(widths)} numbers, expected 1 to {MAX_BLOCKS}, one a layer")
    return tuple(check_count("widths", one) for one in widths)


def dense_layers(inputs: int, widths: Sequence[int]) -> nn.Sequential:
    """Return dense layers with batch normalisation and ReLU each."""
    layers: list[nn.Module] = []
    for before, after in zip((inputs, *widths), widths, strict=False):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers)
