"""What encoders of points are, and dense ones: plain layers for any shape, residual ones for tables."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.nn.modules import MAX_BLOCKS

Layer = nn.Conv1d | nn.Conv2d | nn.Linear

FIRST_SPREAD = 2.0
"""Standard deviation of the vectors at the start, in units of a typical cluster: clusters differ from one
another, and lie within the bandwidths of a scorer."""


class Encoder(Protocol):
    """A module that turns every point of a data set into a vector, trained with the guide.

    An encoder of graphs, whose points are the nodes, takes matrices ``(B, N, N)`` and has an attribute
    ``takes_graphs`` that is true: rows and columns are then brought into the order of a visit.

    Attributes:
        dim: E, of the vectors.

    Shape:
        data: ``(B, N, *event_shape)``; output: ``(B, N, E)``.
    """

    dim: int

    def __call__(self, data: Tensor) -> Tensor: ...


def vectors_of(encoder: Any, data: Tensor) -> Tensor:
    """Return the vectors of points, which are the points themselves where there is no encoder."""
    vectors: Tensor = data if encoder is None else encoder(data)
    return vectors


def single_points(data: Tensor, event_shape: tuple[int, ...]) -> Tensor:
    """Return points, or points laid flat as tables have them, one after the other in their own shape."""
    forms = dict.fromkeys([event_shape, (math.prod(event_shape),)])
    if tuple(data.shape[2:]) not in forms:
        expected = " or ".join(f"(B, N, {', '.join(map(str, one))})" for one in forms)
        raise ValueError(f"data has shape {tuple(data.shape)}, expected {expected} as the encoder takes them")
    return data.reshape(-1, *event_shape)


def keep_differences(layer: Layer, *, gain: float = 2**0.5) -> None:
    """Start a layer with normal weights that multiply the standard deviation of what comes in by a gain.

    With PyTorch's own first weights the vectors of different points differ by a thousandth, and training
    stands still. By default the variance is kept through a nonlinearity that lets half of it pass.
    """
    nn.init.normal_(layer.weight, std=gain / layer.weight[0].numel() ** 0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


class ResidualBlock(nn.Module):
    """Add to a point what two layers of its own shape make of it; the second is small at the start."""

    def __init__(self, first: Layer, second: Layer) -> None:
        super().__init__()
        self.first, self.second = first, second
        keep_differences(first)
        keep_differences(second, gain=0.3)

    def forward(self, point: Tensor) -> Tensor:
        added: Tensor = self.second(F.silu(self.first(F.silu(point))))
        return point + added


@register(Encoder)
class DenseEncoder(nn.Module):
    """Turn every point into a vector by dense layers, each with batch normalisation and ReLU.

    In training every layer is normalised over the batch, which must have two points or more.

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

    with :math:`\sigma` the SiLU. The straight way C keeps distances of the columns; the blocks bend them,
    which helps where many columns say little each, or clusters are bent. Cost O(D W + L W^2) a point.

    Args:
        num_columns: D, at most 64.
        dim: E, of the vectors.
        width: W, of the blocks.
        num_blocks: L.
        scale: s, the standard deviation of the numbers over all points, 1 for standardised tables.

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
