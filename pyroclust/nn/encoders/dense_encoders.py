"""Dense networks from points to vectors: plain layers for any shape, residual ones for tables."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.nn.encoders.encoder import (
    FIRST_SPREAD,
    Encoder,
    ResidualBlock,
    keep_differences,
    single_points,
)
from pyroclust.nn.modules import MAX_BLOCKS


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
        flat = single_points(data, self.event_shape).flatten(1).to(next(self.parameters()).dtype)
        vectors: Tensor = self.layers(flat.log1p() if self.log_counts else flat)
        return vectors.view(*data.shape[:2], self.dim)


def checked_widths(widths: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of layers."""
    if not 1 <= len(widths) <= MAX_BLOCKS:
        raise ValueError(f"widths has {len(widths)} numbers, expected 1 to {MAX_BLOCKS}, one a layer")
    return tuple(check_count("widths", one) for one in widths)


def dense_layers(inputs: int, widths: Sequence[int]) -> nn.Sequential:
    """Return dense layers with batch normalisation and ReLU each."""
    layers: list[nn.Module] = []
    for before, after in zip((inputs, *widths), widths, strict=False):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers)


_MAX_COLUMNS = 64


@register(Encoder)
class VectorEncoder(nn.Module):
    r"""Turn every row of a table into a vector, trained with the guide.

    .. math::
        h_0 = A x / s, \qquad h_l = h_{l-1} + G_l \, \sigma\big(F_l \, \sigma(h_{l-1})\big), \qquad
        e = C x / s + D \, \sigma(h_L)

    with :math:`\sigma` the SiLU. The straight way C keeps distances of the columns; the blocks bend them.
    Guides of vectors look at the columns themselves, and need no encoder while these are few and each
    matters; where many columns say little each, or clusters are bent, an encoder learns what to look at.
    The first weights keep the differences between points. Cost O(D W + L W^2) a point.

    Args:
        num_columns: D, at most 64.
        dim: E, of the vectors.
        width: W, of the blocks.
        num_blocks: L.
        scale: s, that the numbers are divided by; their standard deviation over all points, 1 for
            standardised tables.

    Shape:
        data: ``(B, N, D)``; output: ``(B, N, E)``.

    Example:
        >>> import torch
        >>> VectorEncoder(30, dim=5)(torch.zeros(2, 9, 30)).shape
        torch.Size([2, 9, 5])

    References:
        He et al. (2016), Identity mappings in deep residual networks. https://arxiv.org/abs/1603.05027
    """

    def __init__(
        self, num_columns: int, *, dim: int = 8, width: int = 64, num_blocks: int = 2, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.num_columns = check_count("num_columns", num_columns, at_most=_MAX_COLUMNS)
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        self.num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.scale = check_number("scale", scale, above=0)
        self.first = nn.Linear(num_columns, width)
        self.blocks = nn.Sequential(
            *(ResidualBlock(nn.Linear(width, width), nn.Linear(width, width)) for _ in range(num_blocks))
        )
        self.straight, self.last = nn.Linear(num_columns, dim, bias=False), nn.Linear(width, dim)
        keep_differences(self.first, gain=1.0)
        # Half of the variance goes straight, half through the blocks.
        keep_differences(self.straight, gain=FIRST_SPREAD / 2**0.5)
        keep_differences(self.last, gain=FIRST_SPREAD)

    def forward(self, data: Tensor) -> Tensor:
        scaled = single_points(data, (self.num_columns,)).to(self.first.weight.dtype) / self.scale
        bent = nn.functional.silu(self.blocks(self.first(scaled)))
        vectors: Tensor = self.straight(scaled) + self.last(bent)
        return vectors.view(*data.shape[:2], self.dim)
